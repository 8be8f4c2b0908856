# SPDX-License-Identifier: Apache-2.0
"""Which upstream gets a request, what a client reads when an upstream fails, and how both sides may leave."""
import signal
import threading
import time

from support.case import GatewayCase
from support.client import Closed, request_bytes
from support.upstream import Answer


class Balancing(GatewayCase):
    def spread(self, balance, answer=None):
        backends = [self.upstream(), self.upstream(answer)]
        pool = {"endpoints": [b.address for b in backends], "balance": balance}
        weir = self.weir(backends[0], settings={"upstreams": {"default": pool}, "workers": 1})
        return backends, weir

    def test_round_robin(self):
        backends, weir = self.spread("round_robin")
        weir.client.repeat(20)
        self.assertEqual([b.total for b in backends], [10, 10])

    def test_least_request_avoids_the_slow_one(self):
        backends, weir = self.spread("least_request", lambda seen: Answer(delay=0.5))
        with_slow = threading.Thread(target=lambda: self.at_once(weir, 4))
        with_slow.start()
        time.sleep(0.15)
        weir.client.repeat(20)
        with_slow.join()
        self.assertGreaterEqual(backends[0].total, 18)

    def test_routes_choose_their_upstream(self):
        first, second = self.upstream(), self.upstream()
        weir = self.weir(first, settings={
            "upstreams": {"second": {"endpoints": [second.address]}},
            "routes": [{"path": "POST /order/{id}/pay", "upstream": "second"}, {"path": "/b/**", "upstream": "second"},
                       {"path": "/a/**", "upstream": "default"}]})
        self.assertEqual(weir.client.get("/b/x").status, 200)
        self.assertEqual(weir.client.post("/order/7/pay").status, 200)
        self.assertEqual(weir.client.get("/a/x").status, 200)
        self.assertEqual(weir.client.get("/nowhere").status, 404)
        self.assertEqual(weir.client.get("/order/7/pay").status, 404)
        self.assertEqual((first.total, second.total), (1, 2))


class IllUpstreams(GatewayCase):
    TIMES = {"upstreams": {"default": {"timeout": {"connect": "300ms", "response": "300ms"}}}}

    def problem(self, answer, status):
        self.assertEqual(answer.status, status, answer)
        self.assertTrue(answer["Content-Type"].startswith("application/problem+json"))
        self.assertEqual(answer.json()["status"], status)
        self.assertIn("X-Request-Id", answer)

    def test_refused_connections_are_502(self):
        backend = self.upstream()
        weir = self.weir(backend, settings=self.TIMES)
        backend.stop()
        self.problem(weir.client.get(), 502)

    def test_silence_is_504(self):
        weir = self.weir(self.upstream(lambda seen: Answer(delay=2)), settings=self.TIMES)
        before = time.monotonic()
        self.problem(weir.client.get(), 504)
        self.assertLess(time.monotonic() - before, 1.5)

    def test_resets_and_nonsense_are_502(self):
        for answer in (Answer(reset="before"), Answer(raw=b"nonsense\r\n\r\n"), Answer(raw=b""),
                       Answer(raw=b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx"),
                       Answer(raw=b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n"),
                       Answer(raw=b"HTTP/1.1 200 OK\r\nX: " + b"a" * 200_000 + b"\r\n\r\n")):
            weir = self.weir(self.upstream(lambda seen, answer=answer: answer), settings=self.TIMES)
            self.problem(weir.client.post("/"), 502)
            weir.stop()

    def test_a_reset_in_the_middle_is_seen_by_the_client(self):
        weir = self.weir(self.upstream(lambda seen: Answer(reset="middle", body=b"x" * 100_000)))
        with self.assertRaises((Closed, ConnectionError)):
            weir.client.get()

    def test_a_stale_pooled_connection_is_not_the_clients_problem(self):
        backend = self.upstream(lambda seen: Answer(raw=b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"))
        weir = self.weir(backend)
        self.assertEqual({weir.client.get().status for _ in range(30)}, {200})

    def test_an_early_answer_to_a_long_upload(self):
        backend = self.upstream(lambda seen: Answer(403, body=b"no"))
        weir = self.weir(backend)
        self.assertEqual(weir.client.post("/", body=b"x" * 2_000_000).status, 403)


class Leaving(GatewayCase):
    def test_a_client_that_leaves_cancels_upstream_work(self):
        backend = self.upstream(lambda seen: Answer(delay=5))
        weir = self.weir(backend)
        link = weir.client.connect()
        link.send(request_bytes("GET", "/"))
        self.eventually(lambda: backend.in_flight == 1)
        link.close()
        self.eventually(lambda: backend.in_flight == 0, 2, "the end of the upstream's work")

    def test_sigterm_drains(self):
        backend = self.upstream(lambda seen: Answer(delay=1.0))
        weir = self.weir(backend)
        idle = weir.client.connect()
        self.assertEqual(idle.request("HEAD", "/").status, 200)
        links = [weir.client.connect() for _ in range(50)]
        for link in links:
            link.send(request_bytes("GET", "/"))
        self.eventually(lambda: backend.in_flight == 50, what="50 requests in flight")
        weir.process.send_signal(signal.SIGTERM)
        time.sleep(0.1)
        try:
            self.assertEqual(weir.admin.get("/readyz").status, 503)
        except ConnectionError:
            pass  # the admin port may be gone already
        answers = [link.read_response() for link in links]
        self.assert_statuses(answers, s200=50)
        self.assertEqual(weir.process.wait(10), 0)
        with self.assertRaises(OSError):
            weir.client.connect()

    def test_drain_ends_at_its_time(self):
        backend = self.upstream(lambda seen: Answer(delay=30))
        weir = self.weir(backend, settings={"timeouts": {"drain": "500ms"}})
        link = weir.client.connect()
        link.send(request_bytes("GET", "/"))
        self.eventually(lambda: backend.in_flight == 1)
        before = time.monotonic()
        self.assertEqual(weir.stop(), 0)
        self.assertLess(time.monotonic() - before, 5)
        link.close()


class Slow(GatewayCase):
    def test_a_head_that_never_ends_is_408(self):
        weir = self.weir(self.upstream(), settings={"timeouts": {"header": "300ms"}})
        with weir.client.connect() as link:
            link.send(b"GET / HTTP/1.1\r\nHost: a\r\n")
            self.assertEqual(link.read_response().status, 408)

    def test_an_idle_connection_is_closed_quietly(self):
        weir = self.weir(self.upstream(), settings={"timeouts": {"keep_alive": "300ms"}})
        with weir.client.connect() as link:
            self.assertEqual(link.request("GET", "/").status, 200)
            self.assertTrue(link.closed_by_peer(3))

    def test_size_limits(self):
        weir = self.weir(self.upstream())
        self.assertEqual(weir.client.get("/" + "a" * 20_000).status, 414)
        self.assertEqual(weir.client.get("/", {"X-Big": "a" * 66_000}).status, 431)
        self.assertEqual(weir.client.get("/", [(f"X-{n}", "1") for n in range(150)]).status, 431)


if __name__ == "__main__":
    import unittest
    unittest.main()
