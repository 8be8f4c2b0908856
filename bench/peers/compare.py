#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""weir beside nginx and HAProxy in one run: the same upstream, the same load, CPU of the proxy per request.

Proxy on CPU 0; upstream and load generator (64 keep-alive connections) on CPU 1: peer_load with --load, else, and for
TLS always, wrk and an nginx. Rounds are interleaved and their order reversed each time; what is printed is the median
of the paired ratios of one round and their quartiles, since absolute times on a shared machine are worth little. CPU
time comes from /proc/PID/task/*/schedstat; `busy` is the proxy's share of its CPU: far below 100 % it was short of work.
"""
import argparse
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time

import loads
import nginx_lua
import proxies


def measure(proxy, load, seconds, connections):
    """(CPU microseconds per request, requests per second, p99 ms) of one window."""
    before = proxy.cpu_ns()
    outcome = load.run(proxy, seconds, connections)
    used = proxy.cpu_ns() - before
    wrong = outcome.requests - outcome.refused if proxy.refuses else outcome.refused
    if wrong > outcome.requests / 100:
        raise RuntimeError(f"{proxy.name} answered {wrong} of {outcome.requests} requests otherwise than it should")
    return used / 1000 / max(1, outcome.requests), outcome.requests / outcome.seconds, outcome.p99_ms


class Redis:
    """The shared store of a scenario, on the upstream's CPU; its own CPU per request is reported beside the proxy's."""

    def __init__(self, work):
        self.process = subprocess.Popen(
            proxies.on_cpu(1, ["redis-server", "--port", str(proxies.REDIS), "--bind", "127.0.0.1", "--save", "",
                               "--appendonly", "no", "--dir", str(work)]), stdout=subprocess.DEVNULL)
        time.sleep(0.3)

    def cpu_ns(self):
        return proxies.cpu_ns_of([self.process.pid])

    def stop(self):
        self.process.terminate()
        self.process.wait(10)


def ratio_text(mine, other):
    ratios = sorted(a / b for a, b in zip(mine, other))
    return f"{statistics.median(ratios):.2f}x [{ratios[len(ratios) // 4]:.2f}-{ratios[3 * len(ratios) // 4]:.2f}]"


def measure_with_store(contestants, load, rounds, seconds, connections, store):
    """Gateway and Redis CPU of each; ratios are against the last contestant."""
    print("\nredis: four layers, one store for all")
    results = {proxy.name: [] for proxy in contestants}
    for number in range(rounds):
        for proxy in contestants if number % 2 == 0 else reversed(contestants):
            before = store.cpu_ns()
            micros, rate, p99 = measure(proxy, load, seconds, connections)
            used = (store.cpu_ns() - before) / 1000 / max(1.0, rate * seconds)
            results[proxy.name].append((micros, used, rate, p99))
    peer = contestants[-1].name
    column = lambda name, k: [row[k] for row in results[name]]
    for proxy in contestants:
        micros, used, rate, p99 = (statistics.median(column(proxy.name, k)) for k in range(4))
        versus = "" if proxy.name == peer else (f"  of {peer}: gateway {ratio_text(column(proxy.name, 0), column(peer, 0))}"
                                                f", redis {ratio_text(column(proxy.name, 1), column(peer, 1))}")
        print(f"  {proxy.name:12} gateway {micros:6.2f} us/request, redis {used:6.2f} us/request, "
              f"{rate:7.0f} requests/s, p99 {p99:6.2f} ms{versus}")


def compare(title, contestants, load, rounds, seconds, connections):
    print(f"\n{title}")
    results = {proxy.name: [] for proxy in contestants}
    for number in range(rounds):
        for proxy in contestants if number % 2 == 0 else reversed(contestants):
            results[proxy.name].append(measure(proxy, load, seconds, connections))
    first = contestants[0].name
    for proxy in contestants:
        rows = results[proxy.name]
        ratios = sorted(mine[0] / other[0] for mine, other in zip(results[first], rows))
        low, mid, high = ratios[len(ratios) // 4], statistics.median(ratios), ratios[3 * len(ratios) // 4]
        micros, rate, p99 = (statistics.median(row[k] for row in rows) for k in range(3))
        versus = "" if proxy.name == first else f"  {first} = {mid:.2f}x [{low:.2f}-{high:.2f}]"
        print(f"  {proxy.name:16} {micros:7.2f} us/request {rate:9.0f} requests/s  busy {micros * rate / 1e6:4.0%}  "
              f"p99 {p99:6.2f} ms{versus}")


def scenario(name, work, binary):
    port = 19310
    if name == "plain" or name == "body16k":
        more = "answers: {ietf: false, legacy: \"off\"}"
        return [proxies.weir("weir", port, work, binary, proxies.UNLIMITED, more=more),
                proxies.nginx("nginx", port + 1, work), proxies.haproxy("haproxy", port + 2, work)]
    if name == "tls":  # the handshakes are few: wrk keeps its connections
        proxies.certificate(work)
        more = "answers: {ietf: false, legacy: \"off\"}"
        return [proxies.weir_tls("weir", port, work, binary, more=more), proxies.nginx_tls("nginx", port + 1, work),
                proxies.haproxy_tls("haproxy", port + 2, work)]
    if name == "full":
        return [proxies.weir_full("weir", port, work, binary), proxies.nginx_full("nginx", port + 1, work),
                proxies.haproxy_full("haproxy", port + 2, work)]
    if name == "refused":
        return [proxies.refusing(proxy) for proxy in (
            proxies.weir("weir", port, work, binary, proxies.REFUSING), proxies.nginx_refused("nginx", port + 1, work),
            proxies.haproxy_refused("haproxy", port + 2, work))]
    if name == "refused_alike":  # an answer as short as the peers': Retry-After and X-Request-Id beside a line of text
        more = ('answers: {ietf: false, legacy: "off", body: {content_type: text/plain, '
                'template: "Too many requests in a given amount of time.\\n"}}')
        return [proxies.refusing(proxy) for proxy in (
            proxies.weir("weir", port, work, binary, proxies.REFUSING, more=more),
            proxies.nginx_refused("nginx", port + 1, work), proxies.haproxy_refused("haproxy", port + 2, work))]
    if name == "redis":
        def weir(at, counting):
            store = f'{{kind: redis, url: "redis://127.0.0.1:{proxies.REDIS}", timeout: 200ms, counting: {counting}}}'
            return proxies.weir(f"weir-{counting}", at, work, binary, proxies.LIKE_THE_PEER, store=store)
        return [weir(port, "exact"), weir(port + 1, "leased"), nginx_lua.nginx_lua("nginx-lua", port + 2, work)]
    if name == "limiter":  # what four layers cost: the same gateway with and without them
        return [proxies.weir("weir-4-layers", port, work, binary, proxies.FOUR_LAYERS),
                proxies.weir("weir-none", port + 1, work, binary, proxies.UNLIMITED)]
    raise SystemExit(f"unknown scenario {name}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weir", required=True)
    parser.add_argument("--load", help="BUILD/bench/peers/peer_load")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("scenarios", nargs="*", default=["plain", "full", "refused", "body16k", "tls", "limiter", "redis"])
    args = parser.parse_args()
    for name in args.scenarios:
        work = tempfile.mkdtemp(prefix="weir-bench-")
        body_bytes = 16384 if name == "body16k" else 120
        load = (loads.PeerLoad(args.load, body_bytes) if args.load and name != "tls" else loads.Wrk(work, body_bytes))
        store = Redis(work) if name == "redis" else None
        contestants = scenario(name, work, str(pathlib.Path(args.weir).resolve()))
        started = []
        try:
            with load:
                for proxy in contestants:
                    proxy.start(0)
                    started.append(proxy)
                measured = (load, args.rounds, args.seconds, args.connections)
                if store is None:
                    compare(name, contestants, *measured)
                else:
                    measure_with_store(contestants, *measured, store)
        finally:
            for proxy in started:
                proxy.stop()
            if store is not None:
                store.stop()
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
