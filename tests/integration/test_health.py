# SPDX-License-Identifier: Apache-2.0
"""Which endpoints are used: active checks, ejection of those that fail, the way back, and what is shown of it."""
import threading
import time

from support.case import GatewayCase
from support.upstream import Answer


class Switch:
    """An answer that can be turned bad while the upstream runs."""

    def __init__(self):
        self.good, self.health = True, True

    def __call__(self, seen):
        fine = self.health if seen.target == "/healthz" else self.good
        return Answer(200 if fine else 503, body=b"ok" if fine else b"ill")


class HealthCase(GatewayCase):
    def pool(self, count=2, workers=2, **options):
        switches = [Switch() for _ in range(count)]
        backends = [self.upstream(switch) for switch in switches]
        pool = {"endpoints": [b.address for b in backends], "balance": "round_robin", **options}
        weir = self.weir(backends[0], settings={"upstreams": {"default": pool}, "workers": workers})
        return weir, backends, switches

    def state(self, weir, backend):
        return weir.status()["upstreams"]["default"][backend.address]

    def becomes(self, weir, backend, state, timeout=20):
        self.eventually(lambda: self.state(weir, backend) == state, timeout, state)

    @staticmethod
    def hits(backend, target="/"):
        return backend.hits[target]


class ActiveChecks(HealthCase):
    CHECKS = {"path": "/healthz", "interval": "100ms", "timeout": "5s", "healthy": 2, "unhealthy": 2}

    def test_an_ill_endpoint_gets_nothing_until_it_is_well(self):
        weir, (one, two), (_, ill) = self.pool(health=self.CHECKS)
        self.eventually(lambda: self.hits(one, "/healthz") > 1 and self.hits(two, "/healthz") > 1)
        ill.health = False
        self.becomes(weir, two, "unhealthy")
        before = self.hits(two)
        self.assertEqual({answer.status for answer in weir.client.repeat(20)}, {200})
        self.assertEqual(self.hits(two), before)
        self.assert_metric(weir, 0, "weir_upstream_healthy", endpoint=two.address)
        self.assert_metric(weir, 1, "weir_upstream_healthy", endpoint=one.address)
        self.assertEqual(len(weir.lines("upstream.endpoint_out", two.address, "status 503")), 1)
        ill.health = True
        self.becomes(weir, two, "in_service")
        weir.client.repeat(20)
        self.assertGreater(self.hits(two), before)
        self.assertEqual(len(weir.lines("upstream.endpoint_in", two.address)), 1)

    def test_checks_are_the_process_s_not_each_worker_s(self):
        weir, (one, _), _ = self.pool(workers=4, health={**self.CHECKS, "interval": "1s"})
        self.eventually(lambda: self.hits(one, "/healthz") >= 2, 20)
        start, count = time.monotonic(), self.hits(one, "/healthz")
        time.sleep(3)
        most = (time.monotonic() - start) / 0.9 + 1
        self.assertLessEqual(self.hits(one, "/healthz") - count, most)

    def test_silence_and_a_closed_port_are_ill(self):
        backend = self.upstream()
        silent = self.upstream(lambda seen: Answer(delay=30) if seen.target == "/healthz" else Answer())
        gone = self.upstream()
        pool = {"endpoints": [b.address for b in (backend, silent, gone)], "retries": {"attempts": 1},
                "health": {**self.CHECKS, "timeout": "300ms"}}
        gone.stop()
        weir = self.weir(backend, settings={"upstreams": {"default": pool}})
        self.becomes(weir, silent, "unhealthy")
        self.becomes(weir, gone, "unhealthy")
        self.assertEqual({answer.status for answer in weir.client.repeat(20)}, {200})

    def test_all_ill_is_no_outage(self):
        weir, backends, switches = self.pool(health=self.CHECKS)
        for switch in switches:
            switch.health = False
        for backend in backends:
            self.becomes(weir, backend, "unhealthy")
        self.assertEqual({answer.status for answer in weir.client.repeat(20)}, {200})
        self.assertTrue(all(self.hits(backend) for backend in backends))

    def test_checks_come_and_go_with_the_configuration(self):
        weir, (one, two), (_, ill) = self.pool(health=self.CHECKS)
        ill.health = False
        self.becomes(weir, two, "unhealthy")
        weir.reload_settings({"upstreams": {"default": {"health": "none"}}})
        self.becomes(weir, two, "in_service")
        time.sleep(0.3)
        count = self.hits(one, "/healthz")
        time.sleep(0.5)
        self.assertEqual(self.hits(one, "/healthz"), count)


class Ejection(HealthCase):
    def test_who_fails_in_a_row_is_left_out_and_comes_back(self):
        weir, (_, two), (_, ill) = self.pool(workers=1, ejection={"failures": 3, "time": "2s"})
        ill.good = False
        weir.client.repeat(20)
        self.assertEqual(self.hits(two), 3)
        self.assertEqual(self.state(weir, two), "ejected")
        self.assert_metric(weir, 1, "weir_upstream_ejections_total", endpoint=two.address)
        ill.good = True
        self.becomes(weir, two, "in_service")
        weir.client.repeat(20)
        self.assertGreater(self.hits(two), 10)

    def test_the_failures_of_all_workers_count_together(self):
        weir, (_, two), (_, ill) = self.pool(workers=4, ejection={"failures": 4, "time": "600s"})
        ill.good = False
        self.at_once(weir, 60)
        self.assertEqual(self.state(weir, two), "ejected")
        before = self.hits(two)
        self.at_once(weir, 60)
        self.assertEqual(self.hits(two), before)

    def test_the_only_endpoint_is_never_left_out(self):
        weir, (one,), (ill,) = self.pool(count=1, ejection={"failures": 1, "time": "600s"})
        ill.good = False
        weir.client.repeat(10)
        self.assertEqual(self.hits(one), 10)
        self.assertEqual(self.state(weir, one), "in_service")


class RollingRestart(GatewayCase):
    def test_no_5xx_on_idempotent_requests(self):
        backends = [self.upstream(), self.upstream()]
        pool = {"endpoints": [b.address for b in backends], "balance": "round_robin",
                "ejection": {"failures": 5, "time": "300ms"}}
        weir = self.weir(backends[0], settings={"upstreams": {"default": pool}})
        statuses, stop = [], threading.Event()

        def load():
            with weir.client.connect() as link:
                while not stop.is_set():
                    statuses.append(link.request("GET", "/").status)

        clients = [threading.Thread(target=load) for _ in range(4)]
        for client in clients:
            client.start()
        try:
            for n in (0, 1, 0, 1):
                time.sleep(0.4)
                port = backends[n].port
                backends[n].stop()
                time.sleep(0.4)
                backends[n] = self.restarted(port)
            # What failed again is left out for longer than at first.
            until = time.monotonic() + 20
            while backends[1].total == 0 and time.monotonic() < until:
                time.sleep(0.05)
        finally:
            stop.set()
            for client in clients:
                client.join(20)
        self.assertGreater(len(statuses), 50)
        self.assertEqual({status for status in statuses}, {200})
        self.assertGreater(backends[0].total, 0)
        self.assertGreater(backends[1].total, 0)

    def restarted(self, port):
        from support.upstream import Upstream
        upstream = Upstream(port=port)
        self.addCleanup(upstream.stop)
        return upstream


if __name__ == "__main__":
    import unittest
    unittest.main()
