#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Load in steps, from half a limit's capacity to twice: what is let through, what is refused, how long answers
take and how busy the worker is.

The gateway (one worker) has CPU 0 for itself; upstream and load generator share CPU 1. The load is open loop, response
times count from the moment a request was due (step_load.cpp).
usage: steps.py --weir BUILD/weir --load BUILD/bench/steps/step_load [--out FOLDER] [--limit 10000] [--step 5]"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "bench/steps")]
import plot  # noqa: E402  (after its folder is on the path)

FIRST, LAST, BY = 50, 200, 10  # percent of the limit
CONNECTIONS = 64
STEADY_S = 1                   # a step's load runs this long before it counts: the bucket's burst is spent by then
WHO = ["X-Caller-Id: steps", "X-User-Id: u"]


def on_cpu(cpu, command):
    return ["taskset", "-c", str(cpu), *command]


def limits(limit):
    """One caller with `limit` a second and a tenth of it at once; nothing else is in the way."""
    return {"node": {"total": 20 * limit, "window": "1s"},
            "caller": {"default": limit, "window": "1s", "burst": max(1, limit // 10)}}


def load(arguments, port, rate, seconds):
    done = subprocess.run(on_cpu(1, [arguments.load, str(port), str(rate), str(seconds), str(CONNECTIONS), *WHO]),
                          check=True, stdout=subprocess.PIPE, text=True)
    told = json.loads(done.stdout)
    return told["seconds"], {int(status): found for status, found in told["statuses"].items()}


def one_step(weir, arguments, percent):
    rate, port = arguments.limit * percent / 100, weir.client.address[1]
    load(arguments, port, rate, STEADY_S)
    def busy():
        return weir.metrics().value("weir_worker_busy_seconds_total")
    before, began = busy(), time.monotonic()
    took, found = load(arguments, port, rate, arguments.step)
    worker = (busy() - before) / (time.monotonic() - began)
    if set(found) - {200, 429}:
        raise RuntimeError(f"answers that nobody expects: {found}")
    row = {"percent": percent, "seconds": took, "worker": worker}
    for name, status in (("allowed", 200), ("refused", 429)):
        of_status = found.get(status, {"count": 0, "p50_us": None, "p99_us": None})
        row[name] = of_status["count"] / took
        row[f"{name}_p50_us"], row[f"{name}_p99_us"] = of_status["p50_us"], of_status["p99_us"]
    return row


def table(rows, limit):
    def micros(value):
        return "-" if value is None else f"{value:,} us"
    yield "| load | offered/s | allowed/s | refused/s | allowed p50 | p99 | refused p50 | p99 | worker |"
    yield "|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
    for row in rows:
        yield (f"| {row['percent']} % | {limit * row['percent'] / 100:,.0f} | {row['allowed']:,.0f} | {row['refused']:,.0f} | "
               f"{micros(row['allowed_p50_us'])} | {micros(row['allowed_p99_us'])} | "
               f"{micros(row['refused_p50_us'])} | {micros(row['refused_p99_us'])} | {row['worker']:.0%} |")


def measure(arguments):
    from support.ports import free_port
    from support.weir_process import Weir
    port = free_port()
    upstream = subprocess.Popen(on_cpu(1, [arguments.weir, "demo-upstream", "--listen", f"127.0.0.1:{port}"]))
    weir = None
    try:
        weir = Weir(f"127.0.0.1:{port}", limits(arguments.limit), {"workers": 1, "log": {"access": "off"}},
                    prefix=on_cpu(0, []))
        load(arguments, weir.client.address[1], arguments.limit / 2, 1)
        return [one_step(weir, arguments, percent) for percent in range(FIRST, LAST + 1, BY)]
    finally:
        upstream.terminate()
        upstream.wait(10)
        if weir:
            weir.stop()
            weir.folder.remove()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weir", default=str(ROOT / "build-bench/weir"))
    parser.add_argument("--load", default=str(ROOT / "build-bench/bench/steps/step_load"))
    parser.add_argument("--out", default=str(ROOT / "bench/steps"))
    parser.add_argument("--limit", type=int, default=10000, help="requests a second that the caller may send")
    parser.add_argument("--step", type=float, default=5, help="seconds of each step")
    arguments = parser.parse_args()
    arguments.weir, arguments.load = os.path.abspath(arguments.weir), os.path.abspath(arguments.load)
    os.environ["WEIR_BIN"] = arguments.weir
    rows = measure(arguments)
    print(*table(rows, arguments.limit), sep="\n")
    (pathlib.Path(arguments.out) / "steps.json").write_text(
        "[" + ",\n ".join(json.dumps(row) for row in rows) + "]\n")
    plot.steps(rows, arguments.limit, pathlib.Path(arguments.out) / "steps.svg")
    late = [row["percent"] for row in rows if row["seconds"] > 1.05 * arguments.step]
    if late:
        print(f"the machine did not keep up at {', '.join(f'{percent} %' for percent in late)}: take no times from this run")
    most = max(row["allowed"] - limits(arguments.limit)["caller"]["burst"] / row["seconds"] for row in rows)
    print(f"at most {most:,.0f} a second were let through beyond the burst; the limit is {arguments.limit:,}")
    return int(most > arguments.limit)


if __name__ == "__main__":
    sys.exit(main())
