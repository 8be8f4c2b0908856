# SPDX-License-Identifier: Apache-2.0
"""The ladder with a real Redis: frozen under load, killed, overloaded; how many instances share a limit; and how
the store is found again without a herd."""
import time

from support.case import GatewayCase, who
from support.client import statuses


def caller(limit, window="1h", algorithm="token_bucket", **more):
    return {"caller": {"default": limit, "window": window, "algorithm": algorithm, **more}}


class Ladder(GatewayCase):
    def timed(self, weir, seconds, headers=None, pause=0.005):
        """[(status, seconds it took)] of one connection."""
        found, end = [], time.monotonic() + seconds
        with weir.client.connect() as link:
            n = 0
            while time.monotonic() < end:
                before = time.monotonic()
                status = link.request("GET", "/", headers(n) if headers else who("A")).status
                found.append((status, time.monotonic() - before))
                n += 1
                time.sleep(pause)
        return found

    def wait_exact(self, weir, redis, timeout=15):
        """Requests are counted in Redis again, and no breaker is open. Returns how long it took."""
        began = time.monotonic()

        def counted():
            for _ in range(4):
                name = f"probe{time.monotonic_ns()}"
                weir.client.get("/", who(name))
                if any(name in key for key in redis.keys()) and weir.metrics().value("weir_store_breaker_open") == 0:
                    return True
        self.eventually(counted, timeout, "counting in Redis again")
        return time.monotonic() - began

    def test_frozen_under_load(self):
        redis = self.redis()
        weir = self.weir(self.upstream(), caller(1000000), store=redis, patient=False)
        self.timed(weir, 0.5)
        before = redis.call("INFO", "stats").decode()
        connections = int(before.split("total_connections_received:")[1].split()[0])
        redis.pause()
        try:
            took = self.timed(weir, 4)
            probes = weir.metrics().value("weir_store_probes_total")
        finally:
            redis.resume()
        self.assertEqual({status for status, _ in took}, {200})
        slow = sorted(seconds for _, seconds in took)
        # 20 ms of store.timeout until a worker's breaker opens (three calls each at most); the rest is the machine.
        self.assertLess(slow[-1], 1.0)
        self.assertLess(slow[int(len(slow) * 0.9)], 0.02, "no request waits for a probe")
        self.assertLessEqual(probes, 2 * 16, "two workers, pauses that double from 50 ms to 2 s")
        self.assertLess(self.wait_exact(weir, redis), 8, "a probe interval and a reconnect")
        after = redis.call("INFO", "stats").decode()
        fresh = int(after.split("total_connections_received:")[1].split()[0]) - connections
        self.assertLessEqual(fresh, 2 * 8, "one connection attempt at a time for each worker")
        self.assertGreater(weir.metrics().value("weir_store_breaker_opened_total"), 0)

    def local_use_is_handed_in(self, before):
        """`before` requests, an outage with more, and what Redis counted of all. In a window so long that next to
        nothing comes back while the test looks; one worker, so that it is known what it heard of Redis."""
        redis, window_ms = self.redis(), 31 * 86400 * 1000
        weir = self.weir(self.upstream(), caller(10000, "31d"), store=redis, patient=False, settings={"workers": 1})
        weir.client.repeat(before, "/", who("A"))
        redis.pause()
        used = len(self.timed(weir, 1, lambda n: who("A")))
        redis.resume()

        def counted():
            """A permit is as many units as the window has ms."""
            weir.client.repeat(4, "/", who("other"))
            key = next((key for key in redis.keys() if "c=A}" in key), None)
            if key is None:  # not handed in yet
                return 0
            return 10000 - redis.state(key)[0] / window_ms
        # Calls that timed out may have been counted twice, never less than once.
        self.eventually(lambda: counted() >= before + used - 10, 15, f"{used} permits of the outage in Redis")
        self.assertLessEqual(counted(), before + used + 10)

    def test_local_use_is_handed_in(self):
        self.local_use_is_handed_in(5)

    def test_so_is_what_was_used_before_the_first_answer(self):
        self.local_use_is_handed_in(0)

    def test_the_fleet_is_counted_and_shares(self):
        redis, backend = self.redis(), self.upstream()
        limit = caller(300, algorithm="fixed_window", window="31d")
        fleet = [self.weir(backend, limit, store=redis, patient=False) for _ in range(3)]
        self.eventually(lambda: all(weir.metrics().value("weir_store_live_instances") == 3 for weir in fleet), 10,
                        "three heartbeats")
        redis.kill()
        passed = 0
        for weir in fleet:
            weir.client.get("/", who("warm"))
            time.sleep(0.1)
            passed += statuses(self.at_once(weir, 250, "/", who("storm"))).get(200, 0)
        self.assertLessEqual(passed, 360, "1.2 times the limit, over all")
        self.assertGreaterEqual(passed, 300)
        redis.start()
        for weir in fleet:
            self.wait_exact(weir, redis)
        fleet[0].stop()
        self.eventually(lambda: fleet[1].metrics().value("weir_store_live_instances") == 2, 10,
                        "one that said good-bye is not counted")

    def test_small_limits_are_never_zero_and_never_whole(self):
        """Three permits a second over five instances: each has a part of them, never none, and together they have a
        fifth more than the limit at most."""
        redis, backend = self.redis(), self.upstream()
        fleet = [self.weir(backend, caller(3, "1s"), store=redis, patient=False, settings={"workers": 1})
                 for _ in range(5)]
        self.eventually(lambda: all(weir.metrics().value("weir_store_live_instances") == 5 for weir in fleet), 15,
                        "five heartbeats")
        redis.kill()
        for weir in fleet:
            weir.client.repeat(6, "/", who("warm"))
        began = time.monotonic()
        links, passed = [weir.client.connect() for weir in fleet], [0] * len(fleet)
        while time.monotonic() - began < 10:
            for n, link in enumerate(links):
                passed[n] += link.request("GET", "/", who("small")).status == 200
            time.sleep(0.02)
        took = time.monotonic() - began
        for link in links:
            link.close()
        self.assertTrue(all(count >= took * 3 / 5 * 0.8 for count in passed), passed)
        self.assertLessEqual(sum(passed), 1.2 * 3 * took + len(fleet), "and what each bucket held")

    def test_modes_change_after_a_long_failure(self):
        redis = self.redis()
        limit = caller(1000, on_store_failure={"brief": "allow", "long": "deny"})
        weir = self.weir(self.upstream(), limit, settings={"store": {"kind": "redis", "url": redis.url,
                                                                     "long_after": "1s"}})
        weir.wait_store()
        redis.kill()
        self.assertEqual(weir.client.get("/", who("A")).status, 200)
        self.eventually(lambda: weir.client.get("/", who("A")).status == 503, 10, "the long failure")
        self.assertEqual(weir.status()["store"]["health"], "long")
        redis.start()
        self.eventually(lambda: weir.client.get("/", who("A")).status == 200, 10, "the store again")
        self.eventually(lambda: weir.client.repeat(4, "/", who("A")) and
                        weir.status()["store"]["health"] == "healthy", 10, "the healthy state")

    def test_one_line_per_cause(self):
        redis = self.redis()
        weir = self.weir(self.upstream(), caller(1000000), store=redis, patient=False)
        redis.kill()
        self.timed(weir, 4, pause=0)
        lines = [line for line in weir.lines("store.") if "store." in line]
        self.assertTrue(weir.lines("store.health"), weir.output())
        self.assertLess(len(lines), 15, lines)


class Illness(GatewayCase):
    """What a real server says when it is ill: none of it is a 5xx."""

    def test_out_of_memory(self):
        redis = self.redis("--maxmemory", "3mb", "--maxmemory-policy", "noeviction")
        weir = self.weir(self.upstream(), caller(100), store=redis)
        try:
            for n in range(4000):
                redis.call("SET", f"ballast{n}", "x" * 1000)
        except Exception as error:
            self.assertIn("OOM", str(error))
        self.assertEqual(statuses(weir.client.repeat(50, "/", who("A"))), {200: 50})
        self.eventually(lambda: weir.client.get("/", who("A")) and weir.lines("OOM"), 5, "the reason in the log")

    def test_a_replica(self):
        primary, redis = self.redis(), self.redis()
        weir = self.weir(self.upstream(), caller(100), store=redis)
        weir.client.get("/", who("A"))
        redis.call("REPLICAOF", "127.0.0.1", primary.port)
        self.assertEqual(statuses(weir.client.repeat(20, "/", who("A"))), {200: 20})
        self.eventually(lambda: weir.client.get("/", who("A")) and weir.lines("READONLY"), 10, "the reason in the log")
        redis.call("REPLICAOF", "NO", "ONE")
        self.eventually(lambda: weir.client.get("/", who("B")) and any("B" in key for key in redis.keys()), 10,
                        "counting again")

    def test_a_server_that_sleeps(self):
        redis = self.redis("--enable-debug-command", "yes")
        weir = self.weir(self.upstream(), caller(100000), store=redis, patient=False)
        weir.client.get("/", who("A"))
        import threading
        sleeper = threading.Thread(target=lambda: redis.call("DEBUG", "SLEEP", "1"))
        sleeper.start()
        answers = [weir.client.get("/", who("A")) for _ in range(50)]
        sleeper.join()
        self.assertEqual(statuses(answers), {200: 50})

    def test_a_policy_that_evicts_is_named(self):
        redis = self.redis("--maxmemory", "50mb", "--maxmemory-policy", "allkeys-lru")
        weir = self.weir(self.upstream(), caller(100), store=redis)
        self.eventually(lambda: weir.metrics().value("weir_store_self_test", finding="evicts") == 1, 5, "the finding")
        self.eventually(lambda: weir.lines("maxmemory-policy"), 5, "the line")

    def test_an_account_without_scripts_is_named(self):
        redis = self.redis()
        redis.call("ACL", "SETUSER", "weak", "on", ">pw", "~*", "+@all", "-@scripting")
        weir = self.weir(self.upstream(), caller(100), wait=False, settings={
            "store": {"kind": "redis", "url": redis.url, "username": "weak", "password": "pw"}})
        self.eventually(lambda: weir.lines("gateway.start"), 20, "the start")
        self.eventually(lambda: weir.metrics().value("weir_store_self_test", finding="no_scripts") == 1, 5, "it")
        self.assertEqual(weir.client.get("/", who("A")).status, 200)


if __name__ == "__main__":
    import unittest
    unittest.main()
