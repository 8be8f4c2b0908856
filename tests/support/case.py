# SPDX-License-Identifier: Apache-2.0
"""The base of the integration tests: starts what a test asks for, stops it all, and looks for signs of a
crash in what the gateway printed."""
import time
import unittest

from .client import burst, request_bytes, statuses
from .fake_redis import FakeRedis
from .redis_groups import RedisCluster, RedisSentinels
from .redis_server import RedisServer
from .upstream import Upstream
from .weir_process import DemoUpstream, Weir

SIGNS_OF_A_CRASH = ("AddressSanitizer", "ThreadSanitizer", "runtime error:", "terminate called", "Assertion")


def who(caller=None, user=None, **more):
    """The identity headers: X-Caller-Id, X-User-Id, and any other with _ for -."""
    named = {"X-Caller-Id": caller, "X-User-Id": user}
    named.update({name.replace("_", "-"): value for name, value in more.items()})
    return {name: value for name, value in named.items() if value is not None}


class GatewayCase(unittest.TestCase):
    maxDiff = 4000

    def upstream(self, answer=None, tls=None):
        upstream = Upstream(answer, tls=tls)
        self.addCleanup(upstream.stop)
        return upstream

    def fast_upstream(self):
        """`weir demo-upstream`, for many requests: it keeps no record of them."""
        upstream = DemoUpstream()
        self.addCleanup(upstream.stop)
        return upstream

    def redis(self, *options):
        server = RedisServer(*options)
        self.addCleanup(server.stop)
        return server

    def redis_cluster(self):
        cluster = RedisCluster()
        self.addCleanup(cluster.stop)
        return cluster

    def redis_sentinels(self, **options):
        deployment = RedisSentinels(**options)
        self.addCleanup(deployment.stop)
        return deployment

    def fake_redis(self, server):
        fake = FakeRedis(server)
        self.addCleanup(fake.stop)
        return fake

    def weir(self, upstream, limit=None, store=None, **options):
        """store: a RedisServer or FakeRedis to count in; None counts in memory. The call timeout is long unless
        `patient` is False: a machine under load shall not make the gateway fall back to local counting. counting:
        `exact` where a test looks at each single call of the store."""
        settings, patient = options.pop("settings", {}), options.pop("patient", True)
        counting = options.pop("counting", "auto")
        if store is not None:
            counters = {"kind": "redis", "url": store.url, "counting": counting, **({"timeout": "3s"} if patient else {})}
            settings = {"store": counters, **settings}
        weir = Weir(upstream.address, limit, settings, **options)
        self.addCleanup(self._finish, weir)
        if store is not None and options.get("wait", True):
            weir.wait_store()
        return weir

    def _finish(self, weir):
        code = weir.stop()
        output = weir.output()
        weir.folder.remove()
        for sign in SIGNS_OF_A_CRASH:
            self.assertNotIn(sign, output)
        self.assertEqual(code, 0, output)

    def assert_statuses(self, answers, **expected):
        """assert_statuses(answers, s200=10, s429=190)"""
        want = {int(name[1:]): count for name, count in expected.items() if count}
        self.assertEqual(statuses(answers), want, answers[-1])

    def eventually(self, check, timeout=5.0, what="condition"):
        end = time.monotonic() + timeout
        while True:
            value = check()
            if value:
                return value
            if time.monotonic() > end:
                self.fail(f"{what} not met within {timeout} s (last: {value!r})")
            time.sleep(0.02)

    def assert_metric(self, weir, value, name, **labels):
        """The sum of the matching samples becomes `value`: a request is counted just after its last byte."""
        deadline = time.monotonic() + 3
        while (found := weir.metrics().value(name, **labels)) != value and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertEqual(found, value, f"{name} {labels}")

    @staticmethod
    def at_once(weirs, count, target="/", headers=None, method="GET"):
        """`count` concurrent requests over one or several gateways. headers: dict, or function of i."""
        clients = [weir.client for weir in (weirs if isinstance(weirs, (list, tuple)) else [weirs])]
        pick = headers if callable(headers) else lambda i: headers
        return burst(clients, count, lambda i: request_bytes(method, target, pick(i)))
