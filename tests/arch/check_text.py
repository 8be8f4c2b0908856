#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fail on what must not be in any tracked file: paths of one machine, unfinished work, tests that cannot fail,
files that are too long to read, sources without the licence line.
usage: check_text.py ROOT"""
import pathlib
import re
import subprocess
import sys

LONGEST = 400
CODE = {".cpp", ".hpp", ".lua", ".py", ".cmake"}
LICENSED = CODE | {".sh"}
# Files that may be longer, each with its reason.
LONG = {
    "tests/support/reference.py": "the one oracle of eight algorithms, read beside both implementations",
    "tests/corpus/run_corpus.py": "one self-contained program that runs the corpus against any proxy",
}
# The patterns are written so that they do not match themselves.
FORBIDDEN = {
    "a path of one machine": r"(?<![\w.])/wor[k]/|/tmp/bas[h]|\.\./share[d]\b|/home/\w+/",
    "unfinished work": r"\bTOD[O]\b|\bFIXM[E]\b|\bXX[X]\b",
    "a test that cannot fail": r"(EXPECT|ASSERT)_TRUE\((tru[e])\)|(EXPECT|ASSERT)_FALSE\((fals[e])\)|GTEST_SKI[P]|assertTrue\(Tru[e]\)",
}


def tracked(root):
    """Tracked files of a checkout; every file of a plain source tree."""
    listed = subprocess.run(["git", "-C", str(root), "ls-files", "-z"], capture_output=True)
    if listed.returncode == 0 and listed.stdout:
        return [root / name for name in listed.stdout.decode().split("\0") if name]
    return [path for path in root.rglob("*") if path.is_file() and ".git" not in path.parts]


def complaints(root, path):
    try:
        text = path.read_text()
    except (UnicodeDecodeError, FileNotFoundError):
        return
    lines, name = text.splitlines(), path.relative_to(root)
    for number, line in enumerate(lines, 1):
        for what, pattern in FORBIDDEN.items():
            if re.search(pattern, line):
                yield f"{name}:{number}: {what}: {line.strip()[:100]}"
    if path.suffix in CODE and len(lines) > LONGEST and str(name) not in LONG:
        yield f"{name}: {len(lines)} lines, more than {LONGEST}"
    if path.suffix in LICENSED and text and "SPDX-License-Identifier" not in "\n".join(lines[:3]):
        yield f"{name}: no licence line at its head"


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    found = [text for path in tracked(root) for text in complaints(root, path)]
    print("\n".join(found + [f"{len(found)} complaints"]))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
