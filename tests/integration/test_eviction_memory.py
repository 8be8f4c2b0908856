# SPDX-License-Identifier: Apache-2.0
"""A bounded table of counters: eviction hands nobody a fresh quota, and memory does not follow the number of
identities. WEIR_LONG=1 adds the run with two million users."""
import os
import threading
import time
import unittest

from support.case import GatewayCase, who
from support.client import request_bytes, statuses
from support.weir_process import ConfigFolder, base_settings, run

QUIET = {"log": {"access": "off", "denials": {"to": "off"}}}


def crowd(weir, first, count, threads=8, depth=50):
    """`count` distinct users, pipelined over a few connections. Returns the statuses seen."""
    found, lock = {}, threading.Lock()

    def part(number):
        own = {}
        with weir.client.connect() as link:
            for start in range(first + number * depth, first + count, threads * depth):
                batch = range(start, min(start + depth, first + count))
                link.send(b"".join(request_bytes("GET", "/", who("A", f"user-{n:056d}")) for n in batch))
                for _ in batch:
                    status = link.read_response().status
                    own[status] = own.get(status, 0) + 1
        with lock:
            for status, number_of in own.items():
                found[status] = found.get(status, 0) + number_of

    workers = [threading.Thread(target=part, args=(n,)) for n in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return found


class Eviction(GatewayCase):
    LIMIT = {"user": {"default": 3, "window": "31d"}}

    def small(self, limit=None, keys=1000):
        settings = {"store": {"kind": "memory", "max_keys": keys}, **QUIET}
        return self.weir(self.upstream(), limit or self.LIMIT, settings=settings)

    def test_an_exhausted_key_stays_exhausted(self):
        for algorithm in ("token_bucket", "fixed_window", "sliding_window", "sliding_log", "gcra"):
            with self.subTest(algorithm):
                weir = self.small({"user": {"default": 3, "window": "31d", "algorithm": algorithm}})
                self.assertEqual(statuses(weir.client.repeat(4, "/", who("A", "K"))), {200: 3, 429: 1})
                crowd(weir, 0, 4000)
                self.assertEqual(weir.client.get("/", who("A", "K")).status, 429)
                weir.stop()

    def test_a_crowd_is_served_and_memory_stays(self):
        """20,000 users on a table of 1,000: what the sketch overestimates may refuse a few of them, not more."""
        weir = self.small({"user": {"default": 100, "window": "60s"}})
        crowd(weir, 0, 2000)
        before = weir.rss()
        found = crowd(weir, 2000, 18000)
        self.assertGreaterEqual(found[200], 17000, found)
        self.assertLess(weir.rss() - before, 24 << 20)
        self.assertGreater(weir.metrics().value("weir_store_evictions_total"), 0)

    def test_a_table_too_small_is_refused(self):
        for keys in (0, 10, -1):
            folder = ConfigFolder({**base_settings("127.0.0.1:9"), "store": {"kind": "memory", "max_keys": keys}},
                                  {"limit": self.LIMIT})
            self.addCleanup(folder.remove)
            self.assertEqual(run("check", "-c", str(folder.main)).returncode, 1, keys)

    def test_long_identities_do_not_fill_memory(self):
        weir = self.small()
        weir.client.get("/", who("A", "x"))
        before = weir.rss()
        with weir.client.connect() as link:
            for n in range(2000):
                link.send(request_bytes("GET", "/", who("A", f"{n:08d}" + "x" * 8000)))
                self.assertEqual(link.read_response().status, 200)
        self.assertLess(weir.rss() - before, 24 << 20)


@unittest.skipUnless(os.environ.get("WEIR_LONG") == "1", "WEIR_LONG=1 runs it; it takes minutes")
class TwoMillion(GatewayCase):
    def test_memory_plateau(self):
        limit = {"user": {"default": 100, "window": "60s"}}
        weir = self.weir(self.upstream(), limit, settings={"store": {"kind": "memory", "max_keys": 100000}, **QUIET})
        start, sizes = time.monotonic(), []
        for block in range(20):
            crowd(weir, block * 100_000, 100_000)
            sizes.append(weir.rss() >> 20)
            print(f"{(block + 1) * 100_000} users, {time.monotonic() - start:.0f} s, RSS {sizes[-1]} MiB", flush=True)
        self.assertLess(sizes[-1], sizes[4] * 1.2 + 16)


if __name__ == "__main__":
    unittest.main()
