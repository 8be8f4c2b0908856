# SPDX-License-Identifier: Apache-2.0
"""Reads the Prometheus text format strictly enough to catch a malformed line."""
import re

_LINE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)(?: \d+)?$')
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)",?')


class Metrics:
    def __init__(self, text):
        self.text, self.samples = text, []
        for line in text.splitlines():
            if not line or line.startswith("#"):
                continue
            found = _LINE.match(line)
            if not found:
                raise ValueError(f"bad metrics line: {line!r}")
            labels, rest = {}, found[2] or ""
            while rest:
                label = _LABEL.match(rest)
                if not label:
                    raise ValueError(f"bad labels: {line!r}")
                labels[label[1]] = label[2]
                rest = rest[label.end():]
            self.samples.append((found[1], labels, float(found[3])))

    def find(self, name, **labels):
        return [(have, value) for key, have, value in self.samples
                if key == name and all(have.get(k) == v for k, v in labels.items())]

    def value(self, name, **labels):
        """The sum over all samples that match; 0 if there is none."""
        return sum(value for _, value in self.find(name, **labels))

    def has(self, name):
        return any(key == name for key, _, _ in self.samples)
