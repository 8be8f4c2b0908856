# SPDX-License-Identifier: Apache-2.0
"""The proxy itself: what passes through, what is added, what is removed."""
import time

from support.case import GatewayCase
from support.client import request_bytes
from support.upstream import Answer


class Passing(GatewayCase):
    def setUp(self):
        self.backend = self.upstream()
        self.gateway = self.weir(self.backend)

    def test_keep_alive_on_both_sides(self):
        with self.gateway.client.connect() as link:
            for n in range(20):
                self.assertEqual(link.request("GET", f"/{n}").body, b"ok")
        self.assertEqual(self.backend.total, 20)
        self.assertLessEqual(self.backend.connections, 2)

    def test_pipelined_answers_come_in_order(self):
        self.backend.answer = lambda seen: Answer(body=seen.target.encode(), delay=0.05 if seen.target == "/0" else 0)
        with self.gateway.client.connect() as link:
            link.send(b"".join(request_bytes("GET", f"/{n}") for n in range(10)))
            self.assertEqual([link.read_response().body for _ in range(10)], [b"/%d" % n for n in range(10)])

    def test_request_bodies(self):
        body = bytes(range(256)) * 4000
        self.gateway.client.post("/length", body=body)
        self.assertEqual(self.backend.last().body, body)
        with self.gateway.client.connect() as link:
            link.send(request_bytes("POST", "/chunked", {"Transfer-Encoding": "chunked"}))
            for start in range(0, len(body), 100_000):
                piece = body[start:start + 100_000]
                link.send(b"%x\r\n" % len(piece) + piece + b"\r\n")
            link.send(b"0\r\n\r\n")
            self.assertEqual(link.read_response().status, 200)
            self.assertEqual(link.request("GET", "/after").status, 200)
        self.assertEqual([seen.body for seen in self.backend.seen if seen.target == "/chunked"], [body])

    def test_response_bodies(self):
        big = bytes(range(256)) * 8000
        kinds = {"length": Answer(body=big), "chunked": Answer(chunks=[big[i:i + 70000] for i in range(0, len(big), 70000)]),
                 "close": Answer(body=big, framing=False)}
        self.backend.answer = lambda seen: kinds[seen.target[1:]]
        for kind in kinds:
            self.assertEqual(self.gateway.client.get(f"/{kind}").body, big, kind)

    def test_answers_stream(self):
        self.backend.answer = lambda seen: Answer(chunks=[b"first", b"second"], chunk_delay=0.4)
        with self.gateway.client.connect() as link:
            before = time.monotonic()
            link.send(request_bytes("GET", "/"))
            link.read_head()
            link.read_until(b"first")
            self.assertLess(time.monotonic() - before, 0.75)
            link.read_until(b"second")
            self.assertGreater(time.monotonic() - before, 0.75)

    def test_bodiless_answers_leave_the_connection_usable(self):
        self.backend.answer = lambda seen: Answer(int(seen.target[1:]), body=b"12345")
        with self.gateway.client.connect() as link:
            head = link.request("HEAD", "/200")
            self.assertEqual((head.status, head["Content-Length"]), (200, "5"))
            for status in (204, 304, 200):
                self.assertEqual(link.request("GET", f"/{status}").status, status)

    def test_http_1_0(self):
        self.backend.answer = lambda seen: Answer(chunks=[b"a", b"b"])
        with self.gateway.client.connect() as link:
            link.send(request_bytes("GET", "/", version="1.0"))
            answer = link.read_response()
        self.assertEqual(answer.body, b"ab")
        self.assertNotIn("Transfer-Encoding", answer)
        self.assertEqual(self.backend.last().version, "HTTP/1.1")

    def test_the_target_and_the_query_are_untouched(self):
        for target in ("/a?b=c&d=%20%2f+", "/%7Euser/x", "/?", "/a?b?c"):
            self.gateway.client.get(target)
            self.assertEqual(self.backend.last().target, target)

    def test_connection_close_is_honoured(self):
        with self.gateway.client.connect() as link:
            answer = link.request("GET", "/", {"Connection": "close"})
            self.assertEqual(answer["Connection"], "close")
            self.assertTrue(link.closed_by_peer())


class Fields(GatewayCase):
    def setUp(self):
        self.backend = self.upstream()
        self.gateway = self.weir(self.backend)

    def test_hop_by_hop_fields_stop_here_both_ways(self):
        self.backend.answer = lambda seen: Answer(headers=[
            ("Connection", "X-Private"), ("X-Private", "1"), ("Keep-Alive", "timeout=9"), ("X-Public", "2"),
            ("Proxy-Authenticate", "Basic")])
        answer = self.gateway.client.get("/", {
            "Connection": "keep-alive, X-Hop", "X-Hop": "1", "Keep-Alive": "x", "TE": "trailers", "X-End": "2",
            "Proxy-Connection": "keep-alive", "Proxy-Authorization": "secret"})
        seen = self.backend.last()
        for name in ("X-Hop", "Keep-Alive", "Proxy-Connection", "Proxy-Authorization"):
            self.assertIsNone(seen.get(name), name)
        self.assertEqual(seen.get("X-End"), "2")
        for name in ("X-Private", "Keep-Alive"):
            self.assertNotIn(name, answer)
        self.assertEqual(answer["X-Public"], "2")

    def test_connection_cannot_remove_what_matters(self):
        self.gateway.client.get("/", {"Connection": "close, Host, X-Forwarded-For, X-Request-Id"})
        seen = self.backend.last()
        for name in ("Host", "X-Forwarded-For", "X-Request-Id"):
            self.assertIsNotNone(seen.get(name), name)

    def test_forwarded_fields(self):
        self.gateway.client.get("/", {"X-Forwarded-For": "6.6.6.6", "X-Forwarded-Proto": "https", "Host": "shop.test"})
        seen = self.backend.last()
        self.assertEqual(seen.get("X-Forwarded-For"), "127.0.0.1", "nobody is trusted: the client's list is dropped")
        self.assertEqual(seen.get("X-Forwarded-Proto"), "http")
        self.assertEqual(seen.get("Host"), "shop.test")

    def test_forwarded_fields_of_a_trusted_proxy(self):
        weir = self.weir(self.backend, settings={"trusted_proxies": ["127.0.0.0/8"]})
        weir.client.get("/", {"X-Forwarded-For": "6.6.6.6", "X-Forwarded-Proto": "https"})
        seen = self.backend.last()
        self.assertEqual(seen.get("X-Forwarded-For"), "6.6.6.6, 127.0.0.1")
        self.assertEqual(seen.get("X-Forwarded-Proto"), "https")

    def test_repeated_fields_keep_their_order(self):
        self.backend.answer = lambda seen: Answer(headers=[("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")])
        answer = self.gateway.client.get("/", [("X-M", "1"), ("Cookie", "c=3"), ("X-M", "2")])
        self.assertEqual(answer.all("Set-Cookie"), ["a=1", "b=2"])
        self.assertEqual(self.backend.last().all("X-M"), ["1", "2"])

    def test_trailers_arrive(self):
        self.backend.answer = lambda seen: Answer(chunks=[b"x"], trailers=[("X-Checksum", "9")])
        answer = self.gateway.client.get("/", {"TE": "trailers"})
        self.assertIn(answer.trailers, ([("X-Checksum", "9")], []))
        self.assertEqual(answer.body, b"x")
        self.assertNotIn("X-Checksum", answer, "never merged into the head")


if __name__ == "__main__":
    import unittest
    unittest.main()
