# SPDX-License-Identifier: Apache-2.0
"""A fleet whose Redis goes and comes back under load, and a fleet whose size changes: no herd, and a small limit is
neither nobody's nor everybody's."""
import threading
import time

from support.case import GatewayCase, who
from support.fleet_load import allowed, drive, kept_up


def caller(limit, window, algorithm="token_bucket"):
    return {"caller": {"default": limit, "window": window, "algorithm": algorithm}}


class FleetCase(GatewayCase):
    def fleet(self, count, redis, backend, limit, workers=1, patient=False):
        return [self.weir(backend, limit, store=redis, patient=patient, settings={"workers": workers})
                for _ in range(count)]

    def until_they_know_each_other(self, weirs):
        count = len(weirs)
        self.eventually(lambda: all(weir.metrics().value("weir_store_live_instances") == count for weir in weirs),
                        20, f"{count} heartbeats")


class Herd(FleetCase):
    def test_a_redis_that_returns_is_not_run_down(self):
        redis = self.redis()
        weirs = self.fleet(6, redis, self.upstream(), caller(10 ** 6, "31d"), workers=2)
        found = {}
        rates = {f"hot{n}": 60 for n in range(4)}
        load = threading.Thread(target=lambda: found.update(
            drive([weir.client.address for weir in weirs], rates, 10)))
        load.start()
        time.sleep(2)
        redis.kill()
        time.sleep(2.5)
        redis.start()
        back = time.time()
        time.sleep(3)
        connections = int(redis.call("INFO", "stats").decode().split("total_connections_received:")[1].split()[0])
        calls, until = redis.calls_of("evalsha") + redis.calls_of("eval"), time.time()
        load.join(60)
        answers = [answer for each in found.values() for answer in each]
        self.assertEqual({answer.status for answer in answers}, {200})
        if not kept_up([answer for answer in answers if answer.answered < back - 2.5]):
            self.skipTest("the machine does not keep up with the load")
        meanwhile = sum(back <= answer.sent <= until for answer in answers)
        workers = 12
        self.assertLessEqual(connections, 2 * workers + 1, "one connection for each worker, hardly a second try")
        # A heartbeat and a hand-in of four counters for each, probes, and what the requests themselves ask for.
        self.assertLessEqual(calls, 4 * workers + 3 * 6 + 2 * workers + meanwhile / 2)
        self.assertGreater(calls, 6)
        for weir in weirs:
            self.assertEqual(weir.metrics().value("weir_store_breaker_open"), 0)


class Sizes(FleetCase):
    PER_SECOND = 3

    def passed_alone(self, redis, weirs, seconds=5):
        """What the fleet lets pass of a limit of three a second while Redis is away."""
        self.until_they_know_each_other(weirs)
        redis.kill()
        addresses = [weir.client.address for weir in weirs]
        drive(addresses, {"warm": 30 * len(weirs)}, 0.5)
        answers = drive(addresses, {"small": 12 * len(weirs)}, seconds)["small"]
        redis.start()
        by_gateway_at_start = len(weirs)
        took = answers[-1].answered - answers[0].sent
        passed = len(allowed(answers))
        self.assertLessEqual(passed, 1.2 * self.PER_SECOND * took + by_gateway_at_start + self.PER_SECOND)
        if not kept_up(answers):
            self.skipTest("the machine does not keep up with the load")
        self.assertGreaterEqual(passed, 0.8 * self.PER_SECOND * seconds)

    def test_five_one_and_eight_share_three_a_second(self):
        redis, backend = self.redis(), self.upstream()
        limit = caller(self.PER_SECOND, "1s")
        weirs = self.fleet(5, redis, backend, limit)
        self.passed_alone(redis, weirs)
        for weir in weirs[1:]:
            self.assertEqual(weir.stop(), 0)
        self.passed_alone(redis, weirs[:1])
        self.passed_alone(redis, weirs[:1] + self.fleet(7, redis, backend, limit))

    def test_leases_keep_the_limit_while_the_fleet_changes(self):
        """From two to five to three gateways, with the same hot key all the time."""
        redis, backend, limit = self.redis(), self.upstream(), 300
        weirs = self.fleet(5, redis, backend, caller(limit, "31d", "fixed_window"), patient=True)
        parts = []
        for members in (weirs[:2], weirs, weirs[2:]):
            parts += drive([weir.client.address for weir in members], {"hot": 60}, 2)["hot"]
        for weir in weirs[:2]:
            self.assertEqual(weir.stop(), 0)
        parts += drive([weir.client.address for weir in weirs[2:]], {"hot": 60}, 3)["hot"]
        self.assertLessEqual(len(allowed(parts)), limit)
        if not kept_up(parts):
            self.skipTest("the machine does not keep up with the load")
        self.assertGreater(len(parts), limit)
        self.assertEqual(len(allowed(parts)), limit)


if __name__ == "__main__":
    import unittest
    unittest.main()
