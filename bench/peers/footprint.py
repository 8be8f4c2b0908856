#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What else a proxy costs, weir beside nginx and HAProxy: system calls per request (strace -c), memory per idle
connection, and response times at equal load.

Proxy on CPU 0, upstream and load generator on CPU 1, as in compare.py. Memory is the process's anonymous memory, the
kernel's sockets not included. Response times are of an open loop (bench/steps/step_load.cpp): each request counts from
when it was due.
usage: footprint.py --weir BUILD/weir --load BUILD/bench/peers/peer_load --steps BUILD/bench/steps/step_load
"""
import argparse
import json
import pathlib
import re
import resource
import shutil
import signal
import socket
import statistics
import subprocess
import tempfile
import time

import compare
import loads
import proxies

IDLE = 2000
CONNECTIONS = 64


def pids_of(proxy):
    return [proxy.process.pid, *proxies.children(proxy.process.pid)]


def calls_per_request(proxy, load, seconds):
    """(in all, the most frequent ones) of a second under a closed loop."""
    table = pathlib.Path(proxy.folder) / "calls"
    attach = [word for pid in pids_of(proxy) for word in ("-p", str(pid))]
    tracer = subprocess.Popen(["strace", "-c", "-f", "-o", str(table), *attach], stderr=subprocess.DEVNULL)
    time.sleep(0.5)
    requests = load.run(proxy, seconds, CONNECTIONS).requests
    tracer.send_signal(signal.SIGINT)
    tracer.wait(10)
    rows = re.findall(r"^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?(\w+)$", table.read_text(), re.M)
    counts = {name: int(count) / requests for count, name in rows}
    total = counts.pop("total")
    often = sorted(counts.items(), key=lambda row: -row[1])
    return total, ", ".join(f"{name} {count:.2f}" for name, count in often if count >= 0.01)


def anonymous_bytes(proxy):
    total = 0
    for pid in pids_of(proxy):
        rollup = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
        total += int(re.search(r"^Anonymous:\s+(\d+) kB", rollup, re.M)[1]) * 1024
    return total


def bytes_per_idle_connection(proxy):
    request = b"GET /item/1 HTTP/1.1\r\nHost: idle\r\nX-Caller-Id: c1\r\nX-User-Id: u1\r\n\r\n"

    def opened(count):
        links = [socket.create_connection(("127.0.0.1", proxy.port)) for _ in range(count)]
        for link in links:
            link.sendall(request)
            if not link.recv(65536).startswith(b"HTTP/1.1 200"):
                raise RuntimeError(f"{proxy.name} did not answer")
        return links

    held = opened(IDLE // 4)  # what is paid once: tables that grow, the first pages of pools
    before = anonymous_bytes(proxy)
    held += opened(IDLE)
    grown = anonymous_bytes(proxy) - before
    for link in held:
        link.close()
    return grown / IDLE


def response_times(proxy, steps, rate, seconds):
    command = [steps, str(proxy.port), str(rate), str(seconds), str(CONNECTIONS), "X-Caller-Id: c1", "X-User-Id: u1"]
    told = json.loads(subprocess.run(proxies.on_cpu(1, command), check=True, stdout=subprocess.PIPE, text=True).stdout)
    if set(told["statuses"]) != {"200"}:
        raise RuntimeError(f"{proxy.name} answered {told['statuses']}")
    return told["statuses"]["200"]["p50_us"], told["statuses"]["200"]["p99_us"]


def measure(name, args):
    work = tempfile.mkdtemp(prefix="weir-bench-")
    contestants = compare.scenario(name, work, str(pathlib.Path(args.weir).resolve()))
    started = []
    try:
        with loads.PeerLoad(args.load, 120) as load:
            for proxy in contestants:
                proxy.start(0)
                started.append(proxy)
                load.run(proxy, 0.5, CONNECTIONS)
            print(f"\n{name}: system calls per request")
            for proxy in contestants:
                total, often = calls_per_request(proxy, load, 2)
                print(f"  {proxy.name:8} {total:5.2f}  ({often})")
            print(f"{name}: bytes per idle connection, of {IDLE}")
            for proxy in contestants:
                print(f"  {proxy.name:8} {bytes_per_idle_connection(proxy):6.0f}")
            for rate in args.rates:
                print(f"{name}: response times at {rate} requests/s, medians of {args.rounds} rounds")
                times = {proxy.name: [] for proxy in contestants}
                for number in range(args.rounds):
                    for proxy in contestants if number % 2 == 0 else reversed(contestants):
                        times[proxy.name].append(response_times(proxy, args.steps, rate, 1))
                for proxy in contestants:
                    p50, p99 = (statistics.median(row[k] for row in times[proxy.name]) for k in range(2))
                    print(f"  {proxy.name:8} p50 {p50:6.0f} us  p99 {p99:6.0f} us")
    finally:
        for proxy in started:
            proxy.stop()
    shutil.rmtree(work, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weir", required=True)
    parser.add_argument("--load", required=True, help="BUILD/bench/peers/peer_load")
    parser.add_argument("--steps", required=True, help="BUILD/bench/steps/step_load")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--rates", type=int, nargs="*", default=[2000, 8000])
    parser.add_argument("scenarios", nargs="*", default=["plain", "full"])
    args = parser.parse_args()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    for name in args.scenarios:
        measure(name, args)


if __name__ == "__main__":
    main()
