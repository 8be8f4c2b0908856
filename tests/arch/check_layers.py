#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fail if a file includes a folder that is not strictly below its own, a folder no level names, or climbs with '../'.
usage: check_layers.py ROOT level0 level1a,level1b ...      (ROOT: src or include/weir)"""
import pathlib, re, sys
root = pathlib.Path(sys.argv[1])
level = {name: n for n, names in enumerate(sys.argv[2:]) for name in names.split(',')}
bad = 0
def complain(text):
    global bad
    bad += 1; print(text)
for folder in sorted(p.name for p in root.iterdir() if p.is_dir()):
    if folder not in level: complain(f"{root/folder}: a folder that no level names")
for path in sorted(root.rglob('*')):
    if path.suffix not in {'.h', '.hpp', '.cc', '.cpp'}: continue
    here = path.relative_to(root).parts[0]
    for n, line in enumerate(path.read_text(errors='replace').splitlines(), 1):
        m = re.match(r'\s*#\s*include\s+["<]([^">]+)[">]', line)
        if not m: continue
        target = m[1]
        if target.startswith('../') or '/../' in target: complain(f"{path}:{n}: climbs with ../"); continue
        parts = target.removeprefix('weir/').split('/')
        if len(parts) < 2 or parts[0] not in level or here not in level: continue
        if parts[0] != here and level[parts[0]] >= level[here]:
            complain(f"{path}:{n}: {here} (level {level[here]}) includes {parts[0]} (level {level[parts[0]]})")
print(f"{bad} breaches"); sys.exit(bool(bad))
