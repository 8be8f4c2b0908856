# SPDX-License-Identifier: Apache-2.0
"""Gateways whose host clocks are wrong, and step (libfaketime): every decision is that of the store's clock."""
import glob
import os
import pathlib
import tempfile
import time
import unittest

from support.case import GatewayCase, who
from support.weir_process import sanitized

LIBRARY = next(iter(glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")), None)


# libfaketime and a sanitizer's runtime both stand before malloc, and call each other.
@unittest.skipUnless(LIBRARY and not sanitized(), "needs package faketime and a binary without a sanitizer")
class HostClocks(GatewayCase):
    def clock(self, offset):
        """A file that says what time a gateway believes it is."""
        handle, name = tempfile.mkstemp(prefix="weir-clock-")
        os.close(handle)
        self.addCleanup(os.unlink, name)
        path = pathlib.Path(name)
        path.write_text(offset)
        return path

    def gateway(self, backend, redis, limit, clock):
        wrong = {"LD_PRELOAD": LIBRARY, "FAKETIME_TIMESTAMP_FILE": str(clock), "FAKETIME_NO_CACHE": "1",
                 "FAKETIME_DONT_FAKE_MONOTONIC": "1", "DONT_FAKE_MONOTONIC": "1"}
        os.environ.update(wrong)
        try:
            return self.weir(backend, limit, store=redis)
        finally:
            for name in wrong:
                del os.environ[name]

    def test_wrong_and_stepping_clocks_change_no_decision(self):
        redis, backend = self.redis(), self.upstream()
        algorithms = ("fixed_window", "sliding_window", "sliding_counter", "token_bucket", "gcra", "sliding_log")
        limit = {name: {"key": ["caller", "user"], "default": 60, "window": "1h", "algorithm": name}
                 for name in algorithms}
        clocks = [self.clock("+0.5"), self.clock("-300"), self.clock("+0")]
        fleet = [self.gateway(backend, redis, limit, clock) for clock in clocks]
        links = [weir.client.connect() for weir in fleet]
        steps = ("-0.5", "+300", "+86400", "-86400", "+0.5", "-300")
        left = []
        for n in range(66):
            if n % 11 == 10:
                clocks[n // 11 % 3].write_text(steps[n // 11])
            answer = links[n % 3].request("GET", "/", who("A", "u"))
            left.append((answer.status, answer.number("X-RateLimit-Remaining")))
        for link in links:
            link.close()
        # In an hour 66 requests take, a bucket refills one a minute: none of them here.
        self.assertEqual(left[:60], [(200, 59 - n) for n in range(60)])
        self.assertEqual({status for status, _ in left[60:]}, {429})

    def test_a_bucket_is_refilled_by_one_clock(self):
        redis, backend = self.redis(), self.upstream()
        limit = {"caller": {"default": 10, "window": "1s", "algorithm": "token_bucket"}}
        clocks = [self.clock("+2"), self.clock("-300")]
        pair = [self.gateway(backend, redis, limit, clock) for clock in clocks]
        links = [weir.client.connect() for weir in pair]
        began, allowed, n = time.monotonic(), 0, 0
        while time.monotonic() - began < 2:
            n += 1
            if n % 20 == 0:
                clocks[n // 20 % 2].write_text(("+300", "-0.5", "+2")[n // 20 % 3])
            for link in links:
                allowed += link.request("GET", "/", who("A")).status == 200
        took = time.monotonic() - began
        for link in links:
            link.close()
        self.assertLessEqual(allowed, 10 + 10 * took + 1)
        self.assertGreaterEqual(allowed, 20)

    def test_the_offset_is_measured(self):
        redis = self.redis()
        weir = self.gateway(self.upstream(), redis, {"user": {"default": 10}}, self.clock("-300"))
        self.eventually(lambda: 295 < (weir.metrics().value("weir_store_clock_offset_seconds") or 0) < 305, 10,
                        "the store is 300 s ahead of this host")
        self.eventually(lambda: weir.metrics().value("weir_store_self_test", finding="clock_differs") == 1, 5, "it")


if __name__ == "__main__":
    unittest.main()
