#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Flag awaits that some GCCs miscompile: a lambda, a braced temporary or ?: in the same statement as co_await. usage: check_coawait.py FILE..."""
import re, sys
bad = 0
blank = lambda m: re.sub(r'[^\n]', ' ', m.group())
for path in sys.argv[1:]:
    text = open(path, errors='replace').read()
    text = re.sub(r'//[^\n]*|/\*.*?\*/|R"([^(]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Za-z_])\'(?:\\.|[^\'\\\n])+\'', blank, text, flags=re.S)
    for m in re.finditer(r'\bco_await\b', text):
        start = max(text.rfind(c, 0, m.start()) for c in ';{}') + 1          # the statement up to the await
        before = text[start:m.start()]
        if before.strip() == '' and start and text[start - 1] == '{' and re.search(r'[\w>]\s*\{$', text[:start]) and not re.search(r'\)\s*(const|noexcept|mutable|->[^;{]*)?\s*\{$|\b(else|do|try)\s*\{$', text[:start]):
            before = 'Aggregate{'
        i, depth, out = m.end(), 0, []
        while i < len(text):                                                 # the operand and the rest of the statement
            c = text[i]
            if c in '([{': depth += 1
            elif c in ')]}':
                if depth == 0: break
                depth -= 1
            elif c == ';' and depth == 0: break
            out.append(c); i += 1
        operand = ''.join(out)
        why = ('lambda' if re.search(r'(^|[(,<])\s*\[[^\]]*\]\s*(<[^>]*>)?\s*(\(|\{|mutable)', operand)
               else 'braced temporary' if re.search(r'(\b[A-Za-z_][\w:<>]*|[(,])\s*\{', operand) or before.endswith('Aggregate{')
               else '?: in the statement' if '?' in before or '?' in operand else None)
        if why: bad += 1; print(f"{path}:{text.count(chr(10), 0, m.start()) + 1}: {why}")
sys.exit(bool(bad))
