# SPDX-License-Identifier: Apache-2.0
"""Waiting instead of refusing: leaky_bucket paces what it lets through, on_exceed: delay holds a request until
it passes; both only up to their limit of patience."""
import time

from support.case import GatewayCase, who
from support.client import request_bytes


class LeakyBucket(GatewayCase):
    LIMIT = {"user": {"default": 10, "window": "1s", "burst": 1, "algorithm": "leaky_bucket", "max_wait": "500ms"}}

    def test_paces_and_then_refuses(self):
        for store in (None, self.redis()):
            backend = self.upstream()
            weir = self.weir(backend, self.LIMIT, store=store)
            answers = self.at_once(weir, 20, "/", who("A", "u"))
            passed = sum(a.status == 200 for a in answers)
            # One at once, five within max_wait; a slow machine may drain one or two more while they arrive.
            self.assertTrue(6 <= passed <= 9, passed)
            self.assertTrue(all(a.number("Retry-After") >= 1 for a in answers if a.status == 429))
            times = sorted(seen.at for seen in backend.seen)
            self.assertGreater(times[5] - times[0], 0.4, "six permits take five tenths of a second")
            self.assertLess(times[-1] - times[0], 1.5)

    def test_a_waiting_client_may_leave(self):
        backend = self.upstream()
        limit = {"user": {"default": 10, "window": "100s", "burst": 1, "algorithm": "leaky_bucket", "max_wait": "60s"}}
        weir = self.weir(backend, limit)
        self.assertEqual(weir.client.get("/", who("A", "u")).status, 200)
        links = [weir.client.connect() for _ in range(3)]
        for link in links:
            link.send(request_bytes("GET", "/", who("A", "u")))
        self.assert_metric(weir, 3, "weir_requests_held")
        for link in links:
            link.reset()
        self.assert_metric(weir, 0, "weir_requests_held")
        self.assertEqual(weir.client.get("/", who("A", "v")).status, 200)
        self.assertEqual(backend.total, 2, "who left is not sent upstream")


class Delay(GatewayCase):
    def limit(self, max_delay):
        return {"user": {"default": 1, "window": "1s", "algorithm": "token_bucket", "on_exceed": "delay",
                         "max_delay": max_delay}}

    def test_held_until_it_passes(self):
        for store in (None, self.redis()):
            weir = self.weir(self.upstream(), self.limit("3s"), store=store)
            before = time.monotonic()
            answers = weir.client.repeat(2, "/", who("A", "u"))
            self.assert_statuses(answers, s200=2)
            self.assertTrue(0.7 <= time.monotonic() - before <= 2.9, time.monotonic() - before)

    def test_refused_when_the_wait_is_longer_than_allowed(self):
        weir = self.weir(self.upstream(), self.limit("200ms"))
        before = time.monotonic()
        answers = weir.client.repeat(2, "/", who("A", "u"))
        self.assertEqual([a.status for a in answers], [200, 429])
        self.assertLess(time.monotonic() - before, 0.7)
        self.assertEqual(answers[1]["Retry-After"], "1")

    def test_only_if_every_refusing_layer_says_so(self):
        limit = self.limit("3s") | {"caller": {"default": 1, "window": "1s", "algorithm": "token_bucket"}}
        weir = self.weir(self.upstream(), limit)
        before = time.monotonic()
        self.assertEqual([a.status for a in weir.client.repeat(2, "/", who("A", "u"))], [200, 429])
        self.assertLess(time.monotonic() - before, 0.7)

    def test_nobody_waits_for_ever(self):
        """A cost above the capacity never passes: it is refused at once, not held."""
        limit = self.limit("3s") | {"cost": {"header": "X-Cost"}}
        weir = self.weir(self.upstream(), limit, settings={"trusted_proxies": ["127.0.0.0/8"]})
        before = time.monotonic()
        self.assertEqual(weir.client.get("/", who("A", "u", X_Cost="5")).status, 413)
        self.assertLess(time.monotonic() - before, 0.7)


if __name__ == "__main__":
    import unittest
    unittest.main()
