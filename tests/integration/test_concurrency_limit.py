# SPDX-License-Identifier: Apache-2.0
"""Concurrency limits: a slot is given back on every way out of a request, also when its gateway dies."""
import time

from support.case import GatewayCase, who
from support.client import request_bytes, statuses
from support.upstream import Answer

THREE = {"user": {"default": 3, "algorithm": "concurrency"}}
FAST = {"upstreams": {"default": {"timeout": {"connect": "300ms", "response": "300ms"}}},
        "limits": {"body_bytes": "1KiB"}}


class Slots(GatewayCase):
    def store(self):
        return None

    def setUp(self):
        self.mode = {}
        self.backend = self.upstream(lambda seen: self.mode.get(seen.target, Answer()))
        self.mode["/slow"] = Answer(delay=1.5)
        self.mode["/silent"] = Answer(delay=3)
        self.mode["/reset"] = Answer(reset="before")
        self.mode["/half"] = Answer(reset="middle", body=b"x" * 1000)

    def admits_exactly_three(self, weir):
        """All slots are free: of ten at once, three pass."""
        self.eventually(lambda: self.backend.in_flight == 0)
        self.mode["/probe"] = Answer(delay=0.25)

        def three():
            answers = self.at_once(weir, 10, "/probe", who("A", "u"))
            return statuses(answers) == {200: 3, 429: 7}
        self.assertTrue(three() or self.eventually(three, 3, "all three slots free"))

    def leave(self, weir, target, after=0.05, body=None):
        link = weir.client.connect()
        link.send(request_bytes("POST" if body else "GET", target, who("A", "u"), body))
        time.sleep(after)
        link.reset()

    def test_every_way_out_gives_the_slot_back(self):
        weir = self.weir(self.backend, THREE, store=self.store(), settings=FAST)
        ways = {
            "answered": lambda: weir.client.get("/", who("A", "u")),
            "client leaves before the answer": lambda: self.leave(weir, "/silent"),
            "client leaves at once": lambda: self.leave(weir, "/silent", 0),
            "client leaves in the middle of its body": lambda: self.half_a_body(weir),
            "upstream resets": lambda: weir.client.get("/reset", who("A", "u")),
            "upstream resets in the middle": lambda: self.leave(weir, "/half", 0.1),
            "upstream times out": lambda: weir.client.get("/silent", who("A", "u")),
            "body too large": lambda: weir.client.post("/", who("A", "u"), b"x" * 2000),
        }
        for way, take in ways.items():
            with self.subTest(way):
                for _ in range(4):  # one more than there are slots: a leak shows as a refusal
                    take()
                self.admits_exactly_three(weir)

    def half_a_body(self, weir):
        link = weir.client.connect()
        link.send(request_bytes("POST", "/", {**who("A", "u"), "Content-Length": "900"}) + b"half")
        time.sleep(0.05)
        link.reset()

    def test_two_layers_release_their_own(self):
        limit = THREE | {"caller": {"default": 5, "algorithm": "concurrency"}}
        weir = self.weir(self.backend, limit, store=self.store())
        for _ in range(3):
            answers = self.at_once(weir, 20, "/slow", lambda i: who("A", f"u{i % 2}"))
            self.assertEqual(statuses(answers), {200: 5, 429: 15})
        self.admits_exactly_three(weir)

    def test_a_refused_request_holds_no_slot_of_another_layer(self):
        limit = THREE | {"api": {"default": 1, "window": "31d"}}
        weir = self.weir(self.backend, limit, store=self.store())
        self.assertEqual(weir.client.get("/", who("A", "u")).status, 200)
        self.assertEqual(statuses(weir.client.repeat(10, "/", who("A", "u"))), {429: 10})
        weir.reload_limit(THREE)
        self.admits_exactly_three(weir)


class SlotsInRedis(Slots):
    def store(self):
        if not hasattr(self, "server"):
            self.server = self.redis()
        return self.server

    def test_slots_of_a_dead_gateway_expire(self):
        redis = self.store()
        pair = [self.weir(self.backend, THREE, store=redis) for _ in range(2)]
        self.mode["/slow"] = Answer(delay=20)
        links = [pair[0].client.connect() for _ in range(3)]
        for link in links:
            link.send(request_bytes("GET", "/slow", who("A", "u")))
        self.eventually(lambda: self.backend.in_flight == 3)
        self.assertEqual(pair[1].client.get("/", who("A", "u")).status, 429)
        pair[0].kill()
        self.eventually(lambda: pair[1].client.get("/", who("A", "u")).status == 200, 8, "the dead gateway's slots")

    def test_long_requests_keep_their_slots(self):
        weir = self.weir(self.backend, THREE, store=self.store())
        self.mode["/slow"] = Answer(delay=8)
        links = [weir.client.connect() for _ in range(3)]
        for link in links:
            link.send(request_bytes("GET", "/slow", who("A", "u")))
        self.eventually(lambda: self.backend.in_flight == 3)
        end = time.monotonic() + 7
        while time.monotonic() < end:
            self.assertEqual(weir.client.get("/", who("A", "u")).status, 429)
            time.sleep(0.25)
        self.assert_statuses([link.read_response() for link in links], s200=3)


if __name__ == "__main__":
    import unittest
    unittest.main()
