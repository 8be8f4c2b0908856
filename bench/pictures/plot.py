#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the handbook's pictures from what the real algorithms answer.
usage: plot.py BUILD/bench/pictures/algorithm_traces config/pictures"""
import collections
import csv
import pathlib
import subprocess
import sys

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams.update({"svg.hashsalt": "weir", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9})
from matplotlib import pyplot  # noqa: E402  (after the backend is chosen)

LIMIT, WINDOW, SECONDS = 20, 10.0, 62


def traces(program):
    out = collections.defaultdict(list)
    for row in csv.DictReader(subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()):
        out[row["algorithm"]].append((int(row["at_ms"]) / 1000, row["allowed"] == "1", int(row["wait_ms"]) / 1000))
    return out


def per_second(times):
    counts = [0] * SECONDS
    for at in times:
        counts[min(int(at), SECONDS - 1)] += 1
    return counts


def trailing(times):
    """How many were let through in the window that ends at each moment at which that changes."""
    moments = sorted({0.0, float(SECONDS), *times, *(at + WINDOW for at in times)})
    return moments, [sum(moment - WINDOW < at <= moment for at in times) for moment in moments]


def bars(axes, times, **look):
    shown = [(second + 0.5, count) for second, count in enumerate(per_second(times)) if count]
    axes.bar(*zip(*shown), width=0.9, **look)


def draw(name, trace, folder):
    offered = [at for at, _, _ in trace]
    passed = [at + wait for at, allowed, wait in trace if allowed]
    figure, axes = pyplot.subplots(figsize=(7.2, 2.1), layout="constrained")
    bars(axes, offered, color="#c9d3dd", label="offered, per second")
    bars(axes, passed, color="#2f7d5b", label="let through, per second")
    moments, counts = trailing(passed)
    axes.plot(moments, counts, drawstyle="steps-post", color="#c2410c", linewidth=1.4, label="let through, last 10 s")
    axes.axhline(LIMIT, color="#5b6875", linewidth=0.8, linestyle="--", label="limit: 20 in 10 s")
    axes.set_xlim(0, SECONDS)
    axes.set_ylim(0, 56)
    axes.set_xlabel("seconds")
    axes.set_title(f"{name}: {len(passed)} of {len(offered)} let through, at most {max(counts)} in any 10 s", loc="left", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="upper left", ncols=2, frameon=False, fontsize=7.5)
    figure.patch.set_facecolor("white")
    figure.savefig(folder / f"{name}.svg", metadata={"Date": None, "Creator": None})
    pyplot.close(figure)
    return len(passed), max(counts)


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    for name, trace in traces(program).items():
        print(name, *draw(name, trace, folder))


if __name__ == "__main__":
    main()
