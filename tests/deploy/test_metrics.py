# SPDX-License-Identifier: Apache-2.0
"""Every metric is documented, and every documented metric exists."""
import pathlib
import re
import subprocess
import unittest

from support.case import GatewayCase, who

ROOT = pathlib.Path(__file__).resolve().parents[2]
TYPES = {"c": "counter", "g": "gauge", "h": "histogram"}


def documented():
    """{name: type} of the table in src/telemetry/README.md."""
    out = {}
    for line in (ROOT / "src/telemetry/README.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if len(cells) >= 3 and cells[1] in TYPES:
            out.update({name: TYPES[cells[1]] for name in re.findall(r"`(weir_\w+)`", cells[0])})
    return out


def in_code():
    """Names in literals of the sources. A prefix that a source completes ends in an underscore and is no name."""
    names = set()
    for path in (ROOT / "src").rglob("*.cpp"):
        names.update(re.findall(r'"(weir_[a-z0-9_]*[a-z0-9])"', path.read_text()))
    return names


def used(text):
    return {re.sub(r"_(bucket|sum|count)$", "", name)
            for name in re.findall(r"(?<![\w:])weir_[a-z0-9_]+", text)}


class Documented(unittest.TestCase):
    def test_both_ways(self):
        self.assertEqual(sorted(in_code()), sorted(documented()))

    def test_rules_and_dashboard_use_nothing_else(self):
        for name in ("prometheus/recording.yml", "prometheus/alerts.yml", "grafana/dashboards/weir.json"):
            text = re.sub(r"record: \S+", "", (ROOT / "docker" / name).read_text())
            text = re.sub(r"\w+:weir_\w+:\w+", "", text)
            unknown = {each for each in used(text) - set(documented()) if each != "weir_admin_token"}
            self.assertFalse(unknown, name)


class Live(GatewayCase):
    def test_promtool_has_no_complaint_and_types_are_as_documented(self):
        redis = self.redis()
        weir = self.weir(self.upstream(), {"caller": {"default": 5, "window": "1h"}}, store=redis)
        self.at_once(weir, 40, "/", who("A", "u"))
        text = self.eventually(lambda: weir.metrics().has("weir_top_caller_refusals") and weir.metrics().text)
        checked = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, timeout=60)
        self.assertEqual((checked.returncode, checked.stdout + checked.stderr), (0, ""))
        types = dict(re.findall(r"^# TYPE (weir_\w+) (\w+)$", text, re.M))
        known = documented()
        self.assertEqual(types, {name: known.get(name) for name in types})


if __name__ == "__main__":
    unittest.main()
