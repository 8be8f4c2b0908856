# SPDX-License-Identifier: Apache-2.0
"""Under any concurrency a window never grants more than its limit, and never less while there is demand:
200 requests at once on a cold key, every algorithm, in memory and with two gateways on one Redis."""
from support.case import GatewayCase, who
from support.client import burst, request_bytes
from support.upstream import Answer

ALGORITHMS = ("fixed_window", "sliding_window", "sliding_counter", "sliding_log", "token_bucket", "gcra",
              "leaky_bucket")
LIMITS = (1, 2, 3, 10)


def layer(algorithm):
    terms = {"default": 1000, "overrides": {f"c{limit}": limit for limit in LIMITS}, "algorithm": algorithm,
             "window": "31d"}
    if algorithm == "leaky_bucket":  # as a plain bucket: room for all at once, and nobody waits for a drain
        terms["overrides"] = {f"c{limit}": {"limit": limit, "burst": limit} for limit in LIMITS}
        terms["max_wait"] = "1s"
    if algorithm == "concurrency":
        del terms["window"]
    return {"caller": terms}


class Exactness(GatewayCase):
    def check(self, weirs, backend, algorithm):
        for limit in LIMITS:
            with self.subTest(algorithm=algorithm, limit=limit):
                backend.clear()
                answers = self.at_once(weirs, 200, f"/{limit}", who(f"c{limit}", "u"))
                self.assert_statuses(answers, s200=limit, s429=200 - limit)
                self.assertEqual(backend.hits[f"/{limit}"], limit)

    def test_in_memory(self):
        backend = self.upstream()
        for algorithm in ALGORITHMS:
            self.check(self.weir(backend, layer(algorithm)), backend, algorithm)

    def test_two_gateways_on_one_redis(self):
        backend, redis = self.upstream(), self.redis()
        for algorithm in ALGORITHMS:
            redis.flush()
            pair = [self.weir(backend, layer(algorithm), store=redis) for _ in range(2)]
            self.check(pair, backend, algorithm)

    def check_concurrency(self, weirs, backend):
        backend.answer = lambda seen: Answer(delay=2.0)
        clients = [weir.client for weir in weirs]
        make = lambda i: request_bytes("GET", f"/{LIMITS[i % 4]}", who(f"c{LIMITS[i % 4]}", "u"))
        for _ in range(2):
            backend.clear()
            self.assert_statuses(burst(clients, 200, make), s200=sum(LIMITS), s429=200 - sum(LIMITS))
            for limit in LIMITS:
                self.assertEqual(backend.hits[f"/{limit}"], limit)

    def test_concurrency_in_memory(self):
        backend = self.upstream()
        self.check_concurrency([self.weir(backend, layer("concurrency"))], backend)

    def test_concurrency_of_two_gateways(self):
        backend, redis = self.upstream(), self.redis()
        self.check_concurrency([self.weir(backend, layer("concurrency"), store=redis) for _ in range(2)], backend)

    def test_many_keys_at_once(self):
        """A chain of three layers: every layer exact although requests race on all of them."""
        backend, redis = self.upstream(), self.redis()
        terms = {"window": "31d", "algorithm": "token_bucket"}
        limit = {"node": {"total": 150, "window": "31d", "algorithm": "sliding_window"},
                 "caller": {"default": 60, **terms}, "user": {"default": 25, **terms}}
        for store in (None, redis):
            backend.clear()
            weirs = [self.weir(backend, limit, store=store)] * (1 if store is None else 2)
            answers = self.at_once(weirs, 400, "/", lambda i: who(f"c{i % 2}", f"u{i // 2 % 4}"))
            self.assert_statuses(answers, s200=120, s429=280)
            self.assertEqual(backend.total, 120)


if __name__ == "__main__":
    import unittest
    unittest.main()
