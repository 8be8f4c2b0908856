# SPDX-License-Identifier: Apache-2.0
"""The store under load: what one request costs it, what a hot key costs it, and how little a frozen one is felt
(scenarios C01, C56, C61)."""
import threading
import time

from support.case import GatewayCase, who

FOUR = {"node": {"total": 1000000, "window": "31d"}, "caller": {"default": 1000000, "window": "31d"},
        "user": {"default": 1000000, "window": "31d"}, "api": {"default": 1000000, "window": "31d"}}
BUCKETS = ("0.005", "0.025", "0.05")


class Stream(threading.Thread):
    """Requests over one connection at a steady pace: [(end, status)]."""

    def __init__(self, weir, per_second, headers):
        super().__init__(daemon=True)
        self.weir, self.gap, self.headers, self.answers = weir, 1 / per_second, headers, []
        self.stopped = threading.Event()
        self.start()

    def run(self):
        due = time.monotonic()
        with self.weir.client.connect() as link:
            while not self.stopped.is_set():
                due = max(due + self.gap, time.monotonic() - 0.2)
                time.sleep(max(0, due - time.monotonic()))
                status = link.request("GET", "/", self.headers).status
                self.answers.append((time.monotonic(), status))

    def end(self):
        self.stopped.set()
        self.join(15)


def judged(weir):
    """{bound in seconds: requests judged within it} and the number of all, by the gateway's own clock."""
    found = weir.metrics().find("weir_limiter_duration_seconds_bucket")
    return {labels["le"]: value for labels, value in found}


def share_within(before, after, bound):
    total = after["+Inf"] - before["+Inf"]
    return (after[bound] - before[bound]) / total if total else 1.0


class RoundTrips(GatewayCase):
    def test_four_layers_are_one_call(self):
        redis = self.redis()
        weir = self.weir(self.upstream(), FOUR, store=redis, counting="exact")
        weir.client.get("/", who("A", "u"))
        script = lambda: redis.calls_of("evalsha") + redis.calls_of("eval")
        before = script(), weir.metrics().value("weir_store_call_duration_seconds_count")
        weir.client.repeat(100, "/", who("A", "u"))
        calls = weir.metrics().value("weir_store_call_duration_seconds_count") - before[1]
        self.assertEqual(calls, 100)
        self.assertTrue(100 <= script() - before[0] <= 125, f"{script() - before[0]}: heartbeats among them")


class HotKey(GatewayCase):
    def test_a_long_log_is_trimmed_bit_by_bit(self):
        """A full sliding_log of 10000: no call of the script takes long, whoever else shares the server."""
        redis = self.redis()
        limit = {"caller": {"default": 10000, "window": "3s", "algorithm": "sliding_log"},
                 "api": {"default": 1000000, "cost": {"/big": 5000}}}
        weir = self.weir(self.upstream(), limit, store=redis, counting="exact")
        self.assertEqual([weir.client.get("/big", who("A")).status for _ in range(3)], [200, 200, 429])
        redis.call("CONFIG", "RESETSTAT")
        weir.client.repeat(200, "/", who("A"))
        time.sleep(3)  # now all of it is to be trimmed
        weir.client.repeat(200, "/", who("A"))
        for line in redis.call("INFO", "commandstats").decode().splitlines():
            if line.startswith("cmdstat_evalsha:"):
                self.assertLess(float(line.split("usec_per_call=")[1].split(",")[0]), 2000, line)
                return
        self.fail("no call was counted")


class Frozen(GatewayCase):
    RATE = 100  # permits a second

    def test_a_frozen_store_is_hardly_felt_and_the_limit_kept(self):
        redis, backend = self.redis(), self.upstream()
        limit = {"caller": {"default": self.RATE, "window": "1s", "algorithm": "token_bucket"}}
        weirs = [self.weir(backend, limit, store=redis, patient=False, counting="exact",
                           settings={"workers": 1})
                 for _ in range(2)]
        self.eventually(lambda: all(weir.status()["store"]["live_instances"] == 2 for weir in weirs), 15, "both know")
        streams = [Stream(weir, 150, who("A")) for weir in weirs]
        time.sleep(3)
        start = [judged(weir) for weir in weirs]
        redis.pause()
        frozen_at = time.monotonic()
        self.eventually(lambda: all(weir.metrics().value("weir_store_breaker_opened_total") for weir in weirs),
                        10, "breakers open")
        opened = [judged(weir) for weir in weirs]
        time.sleep(3)
        end = [judged(weir) for weir in weirs]
        redis.resume()
        thawed_at = time.monotonic()
        self.eventually(lambda: all(weir.metrics().value("weir_store_breaker_open") == 0 for weir in weirs), 10,
                        "counting in Redis again")
        back = time.monotonic() - thawed_at
        for stream in streams:
            stream.end()
        self.figures(start, opened, end, back)
        allowed = [at for stream in streams for at, status in stream.answers if status == 200]
        self.assertEqual({status for stream in streams for _, status in stream.answers} - {200, 429}, set())
        during = sum(frozen_at <= at < thawed_at for at in allowed)
        most = 1.2 * self.RATE * (thawed_at - frozen_at) + 2 * self.RATE  # and what both buckets held
        self.assertLessEqual(during, most)
        self.assertGreater(during, 0.3 * self.RATE * (thawed_at - frozen_at), "it goes on")

    def figures(self, start, opened, end, back):
        for before, after, final in zip(start, opened, end):
            # 20 ms is the deadline. A loaded machine wakes processes late, so the bar is set where only a missing
            # deadline or breaker would fail it; the figures say the rest.
            within = {bound: round(share_within(before, after, bound), 4) for bound in BUCKETS if bound in after}
            later = {bound: round(share_within(after, final, bound), 4) for bound in ("0.001", "0.005") if bound in after}
            print(f"judged until the breakers opened {within}, after that {later}; exact again after {back:.2f} s")
            self.assertGreaterEqual(share_within(after, final, "0.005"), 0.95)
        self.assertLess(back, 6, "one probe interval, of two seconds at most, and a reconnect")


if __name__ == "__main__":
    import unittest
    unittest.main()
