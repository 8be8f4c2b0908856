# SPDX-License-Identifier: Apache-2.0
"""How many connections the gateway takes: in all, per address, and when there are no descriptors left."""
import time
import unittest

from support.case import GatewayCase, who
from support.client import request_bytes, statuses
from support.weir_process import sanitized


def processor_seconds(weir):
    with open(f"/proc/{weir.process.pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / 100


class Caps(GatewayCase):
    def connected(self, weir, count, source=None):
        """Connections that have been served once, and stay open."""
        links = [weir.client.connect(source) for _ in range(count)]
        for link in links:
            self.addCleanup(link.close)
            self.assertEqual(link.request("GET", "/").status, 200)
        return links

    def test_per_address(self):
        weir = self.weir(self.upstream(), settings={"limits": {"connections_per_address": 3}})
        links = self.connected(weir, 3)
        for turned_away in range(1, 3):
            with weir.client.connect() as link:
                self.assertTrue(link.closed_by_peer(), "the fourth is closed without an answer")
            self.assert_metric(weir, turned_away, "weir_connections_rejected_total")
        self.connected(weir, 3, source="127.0.0.2")
        self.assertEqual([link.request("GET", "/").status for link in links], [200] * 3)
        links[0].close()
        self.assert_metric(weir, 5, "weir_connections_open")
        self.connected(weir, 1)

    def test_in_all(self):
        weir = self.weir(self.upstream(), settings={"limits": {"connections": 8}, "workers": 1})
        links = self.connected(weir, 8)
        with weir.client.connect() as waiting:
            waiting.send(request_bytes("GET", "/"))
            self.assertFalse(waiting.closed_by_peer(0.5), "it waits")
            self.assertEqual([link.request("GET", "/").status for link in links], [200] * 8)
            links[0].close()
            waiting.socket.settimeout(10)
            self.assertEqual(waiting.read_response().status, 200)
        self.assertGreater(weir.metrics().value("weir_accept_pauses_total"), 0)

    def test_at_the_cap_those_that_idle_make_room(self):
        weir = self.weir(self.upstream(), settings={"limits": {"connections": 8}, "workers": 1})
        idle = self.connected(weir, 7)
        busy, = self.connected(weir, 1)
        busy.send(b"GET / HTTP/1.1\r\n")  # a head under way is not idle
        time.sleep(1.2)
        self.connected(weir, 3)
        self.assertTrue(any(link.closed_by_peer() for link in idle))
        self.assertGreaterEqual(weir.metrics().value("weir_connections_shed_total"), 3)
        busy.send(b"Host: a\r\n\r\n")
        self.assertEqual(busy.read_response().status, 200)

    @unittest.skipIf(sanitized(), "without descriptors UBSan takes every object for a broken one")
    def test_without_descriptors_it_waits_and_does_not_spin(self):
        weir = self.weir(self.upstream(), settings={"workers": 1}, prefix=("prlimit", "--nofile=48"))
        links = [weir.client.connect() for _ in range(80)]
        for link in links:
            self.addCleanup(link.close)
        before = processor_seconds(weir)
        time.sleep(2)
        self.assertLess(processor_seconds(weir) - before, 0.5)
        for link in links[:70]:
            link.close()
        for link in links[70:]:
            self.assertEqual(link.request("GET", "/").status, 200)


class OneConnection(GatewayCase):
    def test_ten_thousand_pipelined_requests_are_limited_like_any(self):
        count, limit = 10_000, 100
        weir = self.weir(self.upstream(), {"user": {"default": limit, "algorithm": "fixed_window", "window": "31d"}},
                         settings={"log": {"access": "off"}})
        answers = []
        with weir.client.connect() as link:
            for first in range(0, count, 500):
                link.send(request_bytes("GET", "/", who("A", "u")) * 500)
                answers += [link.read_response() for _ in range(500)]
        self.assertEqual(statuses(answers), {200: limit, 429: count - limit})
        self.assertEqual([answer.status for answer in answers[:limit]], [200] * limit)


if __name__ == "__main__":
    unittest.main()
