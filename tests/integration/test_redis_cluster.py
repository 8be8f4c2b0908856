# SPDX-License-Identifier: Apache-2.0
"""A real cluster of three primaries and three replicas: layers of one request on several nodes, a fail-over and
a resharding under load, a node that dies."""
import threading
import time

from support.case import GatewayCase, who
from support.client import statuses

H = {"window": "31d"}
CHAIN = {"caller": {"default": 1000, **H}, "user": {"default": 100, **H}, "api": {"default": 1000000, **H}}


class Load:
    """Requests one after the other on a few connections until stop(); keeps what was answered, and how late."""

    def __init__(self, weir, headers, links=3):
        self.weir, self.headers, self.answers, self.slowest = weir, headers, [], 0.0
        self.going = True
        self.threads = [threading.Thread(target=self._run) for _ in range(links)]
        for thread in self.threads:
            thread.start()

    def _run(self):
        with self.weir.client.connect() as link:
            n = 0
            while self.going:
                before = time.monotonic()
                answer = link.request("GET", "/", self.headers(n))
                self.slowest = max(self.slowest, time.monotonic() - before)
                self.answers.append(answer)
                n += 1
                time.sleep(0.002)

    def stop(self):
        self.going = False
        for thread in self.threads:
            thread.join(30)
        return statuses(self.answers)


class Cluster(GatewayCase):
    @classmethod
    def setUpClass(cls):
        from support.redis_groups import RedisCluster
        cls.cluster = RedisCluster()

    @classmethod
    def tearDownClass(cls):
        cls.cluster.stop()

    def gateway(self, limit=CHAIN, timeout="1s", **store):
        settings = {"store": {"kind": "redis", "url": self.cluster.urls, "timeout": timeout, **store}}
        weir = self.weir(self.upstream(), limit, settings=settings)
        weir.wait_store(20)
        return weir

    def test_a_chain_over_several_nodes_is_counted_once_everywhere(self):
        weir = self.gateway()
        for n in range(30):
            answers = weir.client.repeat(3, "/", who(f"many{n}", "u"))
            self.assertEqual([a.number("X-RateLimit-Remaining") for a in answers], [99, 98, 97])
        keys = self.cluster.keys()
        self.assertEqual(len([key for key in keys if "many" in key]), 60)
        for key, life in keys.items():
            self.assertGreater(life, 0, key)
        owners = {self.cluster.primary_of(key).port for key in keys if "many" in key}
        self.assertEqual(len(owners), 3, "callers are spread over all nodes")
        self.assertEqual(weir.metrics().value("weir_store_errors_total"), 0)
        self.assertEqual(weir.metrics().value("weir_store_state"), 0)

    def test_the_limit_is_exact_over_two_gateways(self):
        pair = [self.gateway(), self.gateway()]
        counts = statuses(self.at_once(pair, 200, "/", who("exact", "one")))
        self.assertEqual(counts, {200: 100, 429: 100})
        waste = sum(weir.metrics().value("weir_store_wasted_permits_total") for weir in pair)
        self.assertLessEqual(waste, 100, "only the api's, for each that was refused")

    def test_a_planned_fail_over_under_load(self):
        weir = self.gateway(timeout="100ms")
        weir.client.get("/", who("moving", "u"))
        key = next(key for key in self.cluster.keys() if "moving" in key and "caller" in key)
        old = self.cluster.primary_of(key)
        load = Load(weir, lambda n: who("moving", f"u{n % 50}"))
        time.sleep(0.5)
        self.cluster.replica_of(old).call("CLUSTER", "FAILOVER")
        self.eventually(lambda: self.cluster.primary_of(key) is not old, 20, "another primary")
        time.sleep(2)
        counts = load.stop()
        self.assertEqual([code for code in counts if code >= 500], [], counts)
        self.assertGreater(counts[200], 100)
        self.assertLessEqual(counts[200], 2 * 1000 * 1.2)
        self.wait_healthy(weir, "moving")

    def test_a_primary_that_dies_under_load(self):
        weir = self.gateway(timeout="100ms")
        weir.client.get("/", who("orphan", "u"))
        key = next(key for key in self.cluster.keys() if "orphan" in key and "caller" in key)
        old = self.cluster.primary_of(key)
        load = Load(weir, lambda n: who("orphan", f"u{n % 50}"))
        time.sleep(0.3)
        old.kill()
        self.addCleanup(self.cluster.revive, old)
        self.eventually(lambda: self.owned(key), 30, "a replica in its place")
        time.sleep(1)
        counts = load.stop()
        self.assertEqual([code for code in counts if code >= 500], [], counts)
        self.wait_healthy(weir, "orphan")
        # Another caller's node was never ill: it stays exact.
        self.assertLess(load.slowest, 3)

    def test_resharding_under_load(self):
        weir = self.gateway(timeout="200ms")
        load = Load(weir, lambda n: who(f"c{n % 40}", "u"))
        time.sleep(0.3)
        source, target = self.cluster.primaries()[:2]
        name = lambda node: node.call("CLUSTER", "MYID").decode()
        self.cluster.cli("--cluster", "reshard", f"127.0.0.1:{source.port}", "--cluster-from", name(source),
                         "--cluster-to", name(target), "--cluster-slots", "400", "--cluster-yes")
        time.sleep(0.5)
        counts = load.stop()
        self.assertEqual([code for code in counts if code >= 500], [], counts)
        self.wait_healthy(weir, "after")
        answers = weir.client.repeat(2, "/", who("after reshard", "u"))
        self.assertEqual([a.number("X-RateLimit-Remaining") for a in answers], [99, 98])

    def owned(self, key):
        try:
            return self.cluster.primary_of(key)
        except (OSError, AssertionError):
            return None

    def wait_healthy(self, weir, caller):
        def healthy():
            for n in range(20):
                weir.client.get("/", who(caller, f"probe{n}"))
            metrics = weir.metrics()
            return metrics.value("weir_store_breaker_open") == 0 and metrics.value("weir_store_state") == 0
        self.eventually(healthy, 30, "the healthy state")


class NotACluster(GatewayCase):
    def test_a_single_server_is_named_for_what_it_is(self):
        redis = self.redis()
        weir = self.weir(self.upstream(), CHAIN, settings={"store": {"kind": "redis", "url": redis.url,
                                                                     "cluster": True}}, wait=False)
        self.eventually(lambda: weir.lines("cluster support"), 15, "the reason in the log")

    def test_a_cluster_behind_the_address_of_one_server(self):
        cluster = self.redis_cluster()
        weir = self.weir(self.upstream(), CHAIN, settings={"store": {"kind": "redis", "url": cluster.urls[0]}},
                         wait=False)
        self.eventually(lambda: self.ask(weir) and weir.lines("this is a cluster"), 15, "the reason in the log")

    @staticmethod
    def ask(weir):
        try:
            return weir.client.repeat(5, "/", who("A", "u"))
        except OSError:
            return None


if __name__ == "__main__":
    import unittest
    unittest.main()
