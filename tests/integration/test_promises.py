# SPDX-License-Identifier: Apache-2.0
"""What GET /limits promises of each layer, and whether it holds: the promise is read, the situation is made, and what
passed beyond the limit is compared with the number."""

import time

from support.case import GatewayCase, who
from support.client import statuses
from support.fleet_load import allowed, drive

FOREVER = "31d"


def caller(limit, algorithm="fixed_window", **more):
    return {"caller": {"default": limit, "window": FOREVER, "algorithm": algorithm, **more}}


class Promises(GatewayCase):
    def fleet(self, count, redis, limit, **store):
        settings = {"workers": 2, "store": {"kind": "redis", "url": redis.url, "timeout": "3s", **store}}
        backend = self.upstream()
        weirs = [self.weir(backend, limit, settings=settings) for _ in range(count)]
        for weir in weirs:
            weir.wait_store()
        self.eventually(lambda: all(self.promise(weir)["instances"] == count for weir in weirs), 15, "all heartbeats")
        return weirs

    @staticmethod
    def promise(weir, layer="caller"):
        return next(one["promise"] for one in weir.admin.get("/limits").json()["layers"] if one["layer"] == layer)

    def passed(self, weirs, name, count=250):
        """One gateway after the other: each is asked for more than the limit."""
        return sum(statuses(self.at_once(weir, count, "/", who(name))).get(200, 0) for weir in weirs)

    def lose(self, redis, weirs):
        redis.kill()
        for weir in weirs:
            self.eventually(lambda weir=weir: weir.client.get("/", who("other")) and
                            self.promise(weir)["ladder"] == "brief", 15, "the failure")

    def test_while_the_store_answers(self):
        """Two hundred at once over two gateways; leased and exact."""
        redis = self.redis()
        algorithms = ("fixed_window", "token_bucket", "sliding_window", "sliding_log")
        layer = caller(20)
        layer["caller"]["overrides"] = {each: {"limit": 20, "algorithm": each} for each in algorithms}
        for counting, counted in (("auto", "leased"), ("exact", "exact")):
            redis.flush()
            weirs = self.fleet(2, redis, layer, counting=counting)
            promise = self.promise(weirs[0])
            self.assertEqual((promise["scope"], promise["counted"], promise["ladder"]), ("fleet", counted, "healthy"))
            now = promise["overshoot"]["now"]
            for algorithm in algorithms:
                passed = statuses(self.at_once(weirs, 200, "/", who(algorithm)))[200]
                self.assertEqual((passed - 20, now["lasting"]), (now["permits"], 0), algorithm)
            for weir in weirs:
                weir.stop()

    def test_debt(self):
        limit = 1000
        redis = self.redis()
        weirs = self.fleet(2, redis, caller(limit), counting="auto", lease={"debt": "5%"})
        promise = self.promise(weirs[0])["overshoot"]["now"]
        self.assertEqual((promise["permits"], promise["lasting"]), (50, 50))
        answers = drive([weir.client.address for weir in weirs], {"hot": 500}, 3.5)["hot"]
        self.assertLessEqual(len(allowed(answers)) - limit, promise["permits"])

    def test_while_the_store_is_away(self):
        limit = 100
        redis = self.redis()
        weirs = self.fleet(3, redis, caller(limit))
        foretold = self.promise(weirs[0])["overshoot"]["brief"]
        self.assertEqual((foretold["permits"], foretold["lasting"]), (122, 22))
        self.assertEqual(self.passed(weirs, "spent"), limit)
        self.lose(redis, weirs)
        promise = self.promise(weirs[0])
        self.assertEqual((promise["counted"], promise["overshoot"]["now"]), ("local", foretold))
        time.sleep(1.1)  # for so long a refusal of the store is remembered
        beyond = self.passed(weirs, "spent")
        self.assertLessEqual(beyond, foretold["permits"], "in the window in which the store failed")
        self.assertGreater(beyond, foretold["lasting"])
        beyond = self.passed(weirs, "new") - limit
        self.assertLessEqual(beyond, foretold["lasting"], "in one that began without the store")
        self.assertGreaterEqual(beyond, 0)

    def test_one_gateway_alone(self):
        limit = 100
        redis = self.redis()
        weirs = self.fleet(1, redis, caller(limit))
        self.lose(redis, weirs)
        now = self.promise(weirs[0])["overshoot"]["now"]
        self.assertEqual((now["permits"], now["lasting"]), (limit, 0))
        self.assertEqual(self.passed(weirs, "new"), limit)

    def test_on_store_failure(self):
        limit = {**caller(50, on_store_failure={"brief": "allow", "long": "deny"}),
                 "ip": {"default": 100000, "scope": "instance"}}
        redis = self.redis()
        (weir,) = self.fleet(1, redis, limit, long_after="2s")
        self.lose(redis, [weir])
        promise = self.promise(weir)
        self.assertEqual((promise["counted"], promise["overshoot"]["now"]["permits"]), ("allow", None))
        self.assertGreater(self.passed([weir], "A"), 50)
        self.eventually(lambda: self.passed([weir], "A", 40) == 0, 15, "the long failure, as each worker sees it")
        promise = self.promise(weir)
        self.assertEqual((promise["counted"], promise["ladder"]), ("deny", "long"))
        self.assertEqual(self.passed([weir], "A"), promise["overshoot"]["now"]["permits"])
        guard = self.promise(weir, "ip")
        self.assertEqual((guard["scope"], guard["counted"], guard["overshoot"]["now"]["permits"]),
                         ("instance", "in_process", 0))
        self.assertNotIn("ladder", guard)

    def test_memory_is_not_sold_as_one_count(self):
        backend = self.upstream()
        settings = {"store": {"kind": "memory", "instances": 2}}
        weirs = [self.weir(backend, caller(20), settings=settings) for _ in range(2)]
        promise = self.promise(weirs[0])
        self.assertEqual((promise["scope"], promise["counted"]), ("fleet", "in_process"))
        self.assertEqual(self.passed(weirs, "A", 60) - 20, promise["overshoot"]["now"]["permits"])

    def test_the_status_page_gets_the_same(self):
        weir = self.weir(self.upstream(), {**caller(20), "user": {"default": "unlimited"}})
        chain = weir.admin.get("/live").json()["chain"]
        limits = weir.admin.get("/limits").json()["layers"]
        self.assertEqual([one["layer"] for one in limits], ["caller", "user"])
        self.assertEqual(chain[0]["promise"], limits[0]["promise"])
        self.assertEqual(limits[0]["default"]["limit"], 20)
        self.assertIsNone(limits[1]["default"])
        self.assertNotIn("promise", chain[1])


if __name__ == "__main__":
    import unittest
    unittest.main()
