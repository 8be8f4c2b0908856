# SPDX-License-Identifier: Apache-2.0
"""Second attempts: when there is one, who pays for it, and what is told of it; time limits; connection caps."""
import os
import pathlib
import socket
import ssl
import subprocess
import tempfile
import threading
import time

from support.case import GatewayCase, who
from support.client import Closed
from support.ports import free_port
from support.upstream import Answer


def busy(seen):
    return Answer(503, body=b"busy")


class RetryCase(GatewayCase):
    def pair(self, answer, limit=None, workers=1, routes=None, **options):
        good, bad = self.upstream(), self.upstream(answer)
        pool = {"endpoints": [good.address, bad.address], "balance": "round_robin", "ejection": "none", **options}
        settings = {"upstreams": {"default": pool}, "workers": workers}
        if routes:
            settings["routes"] = routes
        return good, bad, self.weir(good, limit, settings=settings)


class Retries(RetryCase):
    def test_statuses_are_tried_elsewhere(self):
        _, bad, weir = self.pair(busy, retries={"attempts": 2, "budget": "100%"})
        self.assertEqual({answer.status for answer in weir.client.repeat(20)}, {200})
        self.assertEqual(bad.total, 10)
        self.assert_metric(weir, 10, "weir_upstream_retries_total", reason="status", outcome="success")
        self.eventually(lambda: len([r for r in weir.records('"attempts":2') if r["status"] == 200]) == 10)

    def test_post_is_never_sent_twice(self):
        good, bad, weir = self.pair(busy, retries={"attempts": 3, "budget": "100%"})
        statuses = [weir.client.post("/", body=b"x").status for _ in range(20)]
        self.assertEqual(statuses.count(503), 10)
        self.assertEqual(good.total + bad.total, 20)

    def test_a_retry_charges_no_quota_twice(self):
        _, bad, weir = self.pair(busy, limit={"caller": {"default": 10, "window": "31d"}},
                                 retries={"attempts": 2, "budget": "100%"})
        statuses = [weir.client.get("/", who("a")).status for _ in range(12)]
        self.assertEqual(statuses, [200] * 10 + [429] * 2)
        self.assertEqual(bad.total, 5)

    def test_the_budget_bounds_them(self):
        bad = self.upstream(busy)
        pool = {"endpoints": [bad.address], "retries": {"attempts": 2, "budget": "10%"}}
        weir = self.weir(bad, settings={"upstreams": {"default": pool}, "workers": 1})
        self.at_once(weir, 100)
        self.assertLessEqual(bad.total, 113)

    def test_core_routes_get_one_by_default(self):
        routes = [{"path": "/core", "criticality": "core"}, {"path": "/**"}]
        _, _, weir = self.pair(busy, routes=routes)
        self.assertEqual({weir.client.get("/core").status for _ in range(6)}, {200})
        self.assertIn(503, {weir.client.get("/else").status for _ in range(6)})

    def test_a_connection_that_dies_is_replaced_once_and_none_means_none(self):
        _, _, weir = self.pair(lambda seen: Answer(reset="before"), retries={"attempts": 1, "budget": "100%"})
        self.assertEqual({weir.client.get().status for _ in range(6)}, {200})
        _, _, strict = self.pair(lambda seen: Answer(reset="before"), retries="none")
        self.assertIn(502, {strict.client.get().status for _ in range(6)})

    def test_what_was_never_sent_goes_elsewhere_whatever_the_method(self):
        good, bad, weir = self.pair(busy)
        bad.stop()
        self.assertEqual({weir.client.post("/", body=b"x").status for _ in range(10)}, {200})
        self.assertEqual(good.total, 10)


class TimeLimits(GatewayCase):
    def answer_of(self, behaviour, path="/", routes=None, **timeout):
        pool = {"timeout": timeout} if timeout else {}
        settings = {"upstreams": {"default": pool}}
        if routes:
            settings["routes"] = routes
        weir = self.weir(self.upstream(behaviour), settings=settings)
        began = time.monotonic()
        return weir.client.get(path), time.monotonic() - began

    def late(self, answer):
        self.assertEqual(answer.status, 504)
        self.assertEqual(answer.json()["status"], 504)
        self.assertIn("error=http_response_timeout", answer["Proxy-Status"])

    def test_the_response_head(self):
        answer, took = self.answer_of(lambda seen: Answer(delay=20), response="300ms")
        self.late(answer)
        self.assertLess(took, 10)

    def test_the_total(self):
        answer, took = self.answer_of(lambda seen: Answer(delay=20), total="300ms")
        self.late(answer)
        self.assertLess(took, 10)

    def test_the_total_of_core_routes_is_two_seconds(self):
        answer, took = self.answer_of(lambda seen: Answer(delay=20), routes=[{"path": "/**", "criticality": "core"}])
        self.late(answer)
        self.assertGreaterEqual(took, 1.9)
        self.assertLess(took, 12)

    def test_none_is_off(self):
        answer, _ = self.answer_of(lambda seen: Answer(delay=2.5), routes=[{"path": "/**", "criticality": "core"}],
                                   total="none", response="none")
        self.assertEqual(answer.status, 200)

    def test_an_idle_body_is_cut_where_the_client_sees_it(self):
        chunks = Answer(chunks=[b"a", b"b"], chunk_delay=20)
        weir = self.weir(self.upstream(lambda seen: chunks),
                         settings={"upstreams": {"default": {"timeout": {"idle": "300ms"}}}})
        began = time.monotonic()
        with self.assertRaises((Closed, ConnectionError)):
            weir.client.get()
        self.assertLess(time.monotonic() - began, 10)


class Caps(GatewayCase):
    def capped(self, delay, workers=2, **options):
        backend = self.upstream(lambda seen: Answer(delay=delay))
        weir = self.weir(backend, settings={"workers": workers, "upstreams": {"default": options}})
        return backend, weir

    def test_no_more_than_the_cap_over_all_workers_and_nobody_is_lost(self):
        backend, weir = self.capped(0.02, workers=4, max_connections=3, queue={"size": 1000, "wait": "60s"})
        self.assert_statuses(self.at_once(weir, 120), s200=120)
        self.assertLessEqual(backend.peak, 3)
        self.assert_metric(weir, 0, "weir_upstream_queue_depth", upstream="default")

    def test_a_full_queue_is_503_with_retry_after(self):
        backend, weir = self.capped(1.5, max_connections=1, queue={"size": 2, "wait": "60s"})
        answers = self.at_once(weir, 8)
        self.assert_statuses(answers, s200=3, s503=5)
        refused = next(answer for answer in answers if answer.status == 503)
        self.assertEqual(refused["Retry-After"], "1")
        self.assertEqual(backend.peak, 1)
        self.assert_metric(weir, 5, "weir_upstream_queue_refused_total", reason="full")

    def test_waiting_has_an_end(self):
        _, weir = self.capped(4, max_connections=1, queue={"size": 10, "wait": "300ms"})
        self.assert_statuses(self.at_once(weir, 4), s200=1, s503=3)
        self.assert_metric(weir, 3, "weir_upstream_queue_refused_total", reason="timeout")


class Sticky(GatewayCase):
    def test_one_caller_one_endpoint(self):
        backends = [self.upstream() for _ in range(3)]
        pool = {"endpoints": [b.address for b in backends], "balance": {"hash": "caller"}}
        weir = self.weir(backends[0], settings={"upstreams": {"default": pool}})
        homes = {}
        for _ in range(4):
            for caller in (f"caller-{n}" for n in range(20)):
                weir.client.get("/", who(caller))
        for backend in backends:
            for seen in backend.seen:
                homes.setdefault(seen.get("X-Caller-Id"), set()).add(backend.address)
        self.assertEqual({len(home) for home in homes.values()}, {1})
        self.assertTrue(all(backend.total for backend in backends))

    def test_weights(self):
        backends = [self.upstream(), self.upstream()]
        pool = {"endpoints": [{"address": backends[0].address, "weight": 3}, backends[1].address],
                "balance": "round_robin"}
        weir = self.weir(backends[0], settings={"upstreams": {"default": pool}, "workers": 1})
        weir.client.repeat(40)
        self.assertEqual([b.total for b in backends], [30, 10])


class Reach(GatewayCase):
    """Upstreams over unix sockets, TLS and HTTP/1.0."""

    def serve(self, listener, wrap=lambda link: link, answer=b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"):
        def run():
            while True:
                try:
                    link, _ = listener.accept()
                except OSError:
                    return
                try:
                    link = wrap(link)
                    data = b""
                    while b"\r\n\r\n" not in data:
                        more = link.recv(65536)
                        if not more:
                            break
                        data += more
                    if data:
                        link.sendall(answer)
                    link.close()
                except OSError:
                    link.close()
        threading.Thread(target=run, daemon=True).start()
        self.addCleanup(listener.close)

    def through(self, **pool):
        backend = self.upstream()
        return self.weir(backend, settings={"upstreams": {"default": pool}})

    def test_unix_socket(self):
        folder = tempfile.mkdtemp(prefix="weir-u-")
        path = os.path.join(folder, "s")
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        listener.listen(16)
        self.serve(listener)
        weir = self.through(endpoints=["unix:" + path])
        self.assertEqual([weir.client.get().body for _ in range(5)], [b"ok"] * 5)

    def test_http_1_0(self):
        listener = socket.create_server(("127.0.0.1", free_port()))
        self.serve(listener, answer=b"HTTP/1.0 200 OK\r\n\r\nuntil the end")
        weir = self.through(endpoints=["127.0.0.1:%d" % listener.getsockname()[1]])
        self.assertEqual([weir.client.get().body for _ in range(3)], [b"until the end"] * 3)

    def certificate(self, folder, name):
        run = lambda *words: subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)
        run("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
            "key.pem", "-out", "cert.pem", "-days", "2", "-subj", "/CN=" + name, "-addext",
            "subjectAltName=DNS:" + name)

    def test_tls_verified_by_its_own_ca_and_name(self):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="weir-tls-"))
        self.certificate(folder, "app.test")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
        names = []
        context.sni_callback = lambda link, name, _: names.append(name)
        listener = socket.create_server(("127.0.0.1", free_port()))
        self.serve(listener, lambda link: context.wrap_socket(link, server_side=True))
        address = "127.0.0.1:%d" % listener.getsockname()[1]
        good = {"ca": str(folder / "cert.pem"), "server_name": "app.test"}
        self.assertEqual(self.through(endpoints=[address], tls=good).client.get().body, b"ok")
        self.assertIn("app.test", names)
        for wrong in ({"server_name": "app.test"}, {**good, "server_name": "other.test"}):
            weir = self.through(endpoints=[address], tls=wrong)
            answer = weir.client.get()
            self.assertEqual(answer.status, 502)
            self.assertIn("tls_protocol_error", answer["Proxy-Status"])
            self.assertNotIn("certificate", answer.body.decode())
        weir = self.through(endpoints=[address], tls={"verify": False})
        self.assertEqual(weir.client.get().body, b"ok")


class Trailers(GatewayCase):
    def test_listed_ones_pass_as_trailers(self):
        answer = Answer(chunks=[b"ok"], trailers=[("Grpc-Status", "0"), ("X-Secret", "1"), ("Host", "evil")])
        backend = self.upstream(lambda seen: answer)
        weir = self.weir(backend)
        with weir.client.connect() as link:
            link.send(b"PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n"
                      b"Content-Digest: d\r\nAuthorization: no\r\n\r\n")
            link.read_until(b"\r\n0\r\n")
            self.assertEqual(link.read_until(b"\r\n\r\n"), b"Grpc-Status: 0")
        self.assertEqual([name.lower() for name, _ in backend.last().trailers], ["content-digest"])


if __name__ == "__main__":
    import unittest
    unittest.main()
