# SPDX-License-Identifier: Apache-2.0
"""The steps as a picture: what was let through, how long it took, how busy the worker was, over one axis of load."""
import matplotlib

matplotlib.use("svg")
matplotlib.rcParams.update({"svg.hashsalt": "weir", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9})
from matplotlib import pyplot  # noqa: E402  (after the backend is chosen)

ALLOWED, REFUSED, INK = "#2f7d5b", "#c2410c", "#5b6875"


def _rates(axes, at, rows, limit):
    allowed = [row["allowed"] for row in rows]
    axes.bar(at, allowed, width=7, color=ALLOWED, label="allowed")
    axes.bar(at, [row["refused"] for row in rows], bottom=allowed, width=7, color=REFUSED, alpha=0.75, label="refused")
    axes.axhline(limit, color=INK, linewidth=0.8, linestyle="--", label=f"the limit: {limit:,} a second")
    axes.set_ylabel("requests/s")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")


def _times(axes, at, rows):
    for outcome, colour in (("allowed", ALLOWED), ("refused", REFUSED)):
        for percentile, style in (("p99", "--"), ("p50", "-")):
            shown = [(x, row[f"{outcome}_{percentile}_us"] / 1000) for x, row in zip(at, rows)
                     if row[outcome] and row[f"{outcome}_{percentile}_us"] is not None]
            if shown:
                axes.plot(*zip(*shown), style, color=colour, linewidth=1.4, label=f"{outcome}, {percentile}")
    axes.set_yscale("log")
    axes.set_ylim(top=6 * axes.get_ylim()[1])  # room for the legend
    axes.set_ylabel("response time, ms")
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")


def _worker(axes, at, rows):
    axes.plot(at, [100 * row["worker"] for row in rows], color=INK, linewidth=1.4, marker=".", label="the worker, % of its CPU")
    axes.set_ylim(0, 100)
    axes.set_ylabel("worker, %")
    axes.set_xlabel("offered load, % of the limit")


def steps(rows, limit, path):
    at = [row["percent"] for row in rows]
    figure, (rates, times, worker) = pyplot.subplots(
        3, 1, sharex=True, figsize=(7.2, 6.4), layout="constrained", height_ratios=(3, 3, 2))
    _rates(rates, at, rows, limit)
    _times(times, at, rows)
    _worker(worker, at, rows)
    for axes in (rates, times, worker):
        axes.spines[["top", "right"]].set_visible(False)
        axes.axvline(100, color=INK, linewidth=0.5, linestyle=":")
        axes.legend(loc="upper left", ncols=2, frameon=False, fontsize=7.5)
    rates.set_ylim(0, 2.6 * limit)
    worker.set_xticks(at)
    rates.set_title("One caller, from half its limit to twice its limit", loc="left", fontsize=10)
    figure.patch.set_facecolor("white")
    figure.savefig(path, metadata={"Date": None, "Creator": None})
    pyplot.close(figure)
