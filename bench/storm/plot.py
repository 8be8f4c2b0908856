# SPDX-License-Identifier: Apache-2.0
"""The storm as SVG: two charts side by side, success by second. Plain text, so that a change shows in a diff; drawn here,
so that the storm needs no more than Python."""
from html import escape

WIDTH, HEIGHT, TOP, LEFT, GAP = 400, 200, 64, 52, 70
OTHERS, CAMPAIGN, SHADE, INK = "#0b6bcb", "#d9480f", "#f1f3f5", "#343a40"


def _text(x, y, text, size=12, anchor="start", colour=INK, weight="normal"):
    return (f'<text x="{x:.0f}" y="{y:.0f}" font-size="{size}" text-anchor="{anchor}" fill="{colour}" '
            f'font-weight="{weight}">{escape(text)}</text>')


def _line(points, colour):
    joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{joined}" fill="none" stroke="{colour}" stroke-width="2"/>'


def _chart(left, label, run, calm, storm):
    seconds = len(run["others_by_second"])
    def x(second):
        return left + WIDTH * second / seconds
    def y(ratio):
        return TOP + HEIGHT * (1 - ratio)
    out = [f'<rect x="{x(calm):.1f}" y="{TOP}" width="{x(calm + storm) - x(calm):.1f}" height="{HEIGHT}" fill="{SHADE}"/>']
    for percent in (0, 25, 50, 75, 100):
        at = y(percent / 100)
        out.append(f'<line x1="{left}" y1="{at:.1f}" x2="{left + WIDTH}" y2="{at:.1f}" stroke="#dee2e6"/>')
        out.append(_text(left - 6, at + 4, f"{percent} %", 11, "end"))
    for second in range(0, seconds + 1, 10):
        out.append(_text(x(second), TOP + HEIGHT + 16, f"{second} s", 11, "middle"))
    for key, colour in (("campaign_by_second", CAMPAIGN), ("others_by_second", OTHERS)):
        out.append(_line([(x(n + 0.5), y(value)) for n, value in enumerate(run[key]) if value is not None], colour))
    if "alert" in run["named_after_s"]:
        at = x(calm + run["named_after_s"]["alert"])
        out.append(f'<line x1="{at:.1f}" y1="{TOP}" x2="{at:.1f}" y2="{TOP + HEIGHT}" stroke="{INK}" stroke-dasharray="4 3"/>')
        out.append(_text(at + 5, TOP + HEIGHT - 8, f"alert names it, {run['named_after_s']['alert']:.0f} s", 11))
    out.append(_text(left, TOP - 10, f"{label}: the others {run['others']:.2%} served", 13, weight="bold"))
    return "".join(out)


def storm(title, runs, calm, storm_s):
    """runs: {label: a result of storm.py}, two of them."""
    width, height = LEFT + 2 * WIDTH + GAP + 20, TOP + HEIGHT + 48
    body = [f'<rect width="{width}" height="{height}" fill="white"/>', _text(LEFT, 24, f"{title}: requests served, by second", 15, weight="bold")]
    for number, (label, run) in enumerate(runs.items()):
        body.append(_chart(LEFT + number * (WIDTH + GAP), label, run, calm, storm_s))
    base = height - 10
    for at, colour, text in ((LEFT, OTHERS, "all other tenants"), (LEFT + 150, CAMPAIGN, "the campaign"), (LEFT + 270, "#ced4da", "the storm lasts")):
        body.append(f'<rect x="{at}" y="{base - 9}" width="14" height="9" fill="{colour}"/>')
        body.append(_text(at + 20, base, text))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            f'font-family="system-ui, sans-serif">\n' + "\n".join(body) + "\n</svg>\n")
