# SPDX-License-Identifier: Apache-2.0
"""What a client reads: the status, the fields and the body of a refusal, and the switches for each."""
import json
import signal
import time

from support.case import GatewayCase, who
from support.client import request_bytes
from support.upstream import Answer

ONE = {"user": {"default": 1, "window": "31d"}}


class Refusals(GatewayCase):
    def refused(self, limit=ONE, settings=None, headers=None, backend=None):
        weir = self.weir(backend or self.upstream(), limit, settings=settings or {})
        answers = weir.client.repeat(2, "/", headers or who("A", "u"))
        self.assertEqual(answers[0].status, 200, answers[0])
        return answers[1]

    def test_the_default(self):
        answer = self.refused()
        self.assertEqual((answer.status, answer.reason), (429, "Too Many Requests"))
        self.assertTrue(answer["Content-Type"].startswith("application/problem+json"))
        body = answer.json()
        self.assertEqual((body["status"], body["violated-policies"]), (429, ["user"]))
        self.assertTrue(body["type"] and body["title"])
        self.assertGreaterEqual(answer.number("Retry-After"), 1)
        for name in ("RateLimit", "RateLimit-Policy", "X-RateLimit-Limit", "X-RateLimit-Remaining",
                     "X-RateLimit-Reset", "X-Request-Id", "Date"):
            self.assertEqual(len(answer.all(name)), 1, name)

    def test_no_identity_in_the_body(self):
        answer = self.refused(headers=who("tenant-secret", "user-secret"))
        self.assertNotIn(b"secret", answer.body)

    def test_body_template(self):
        template = '{"code":429,"message":"slow down","layer":"{layer}","wait":{retry_after},"limit":{limit},"id":"{request_id}"}'
        answer = self.refused(settings={"answers": {"body": {"template": template}}}, headers=who("A", "u", X_Request_Id="abc-1"))
        self.assertEqual(answer.status, 429)
        body = answer.json()
        self.assertEqual((body["code"], body["layer"], body["limit"], body["id"]), (429, "user", 1, "abc-1"))
        self.assertEqual(body["wait"], answer.number("Retry-After"))
        self.assertTrue(answer["Content-Type"].startswith("application/json"))

    def test_each_family_can_be_switched_off(self):
        answer = self.refused(settings={"answers": {"ietf": False}})
        self.assertNotIn("RateLimit", answer)
        self.assertNotIn("RateLimit-Policy", answer)
        self.assertIn("X-RateLimit-Limit", answer)
        answer = self.refused(settings={"answers": {"legacy": "off"}})
        self.assertNotIn("X-RateLimit-Limit", answer)
        self.assertIn("RateLimit", answer)

    def test_reset_as_seconds_or_epoch(self):
        delta = self.refused(settings={"answers": {"legacy": "delta"}}).number("X-RateLimit-Reset")
        self.assertTrue(1 <= delta <= 31 * 86400 + 1)
        epoch = self.refused().number("X-RateLimit-Reset")
        self.assertTrue(1 <= epoch - time.time() + 1 <= 31 * 86400 + 2)

    def test_blocked_is_403_and_says_no_time(self):
        weir = self.weir(self.upstream(), {"caller": {"default": 5, "overrides": {"bad": "blocked"}}})
        answer = weir.client.get("/", who("bad"))
        self.assertEqual(answer.status, 403)
        self.assertNotIn("Retry-After", answer)
        self.assertEqual(answer.json()["violated-policies"], ["caller"])
        self.assertEqual(weir.client.get("/", who("good")).status, 200)

    def test_head_gets_no_body(self):
        weir = self.weir(self.upstream(), ONE)
        weir.client.get("/", who("A", "u"))
        with weir.client.connect() as link:
            link.send(request_bytes("HEAD", "/", who("A", "u")) + request_bytes("GET", "/", who("A", "u")))
            self.assertEqual(link.read_response("HEAD").status, 429)
            self.assertEqual(link.read_response().json()["status"], 429, "the next answer is whole")


class SuccessFields(GatewayCase):
    def test_the_tightest_layer(self):
        limit = {"caller": {"default": 100, "window": "31d"}, "user": {"default": 10, "window": "31d"}}
        weir = self.weir(self.upstream(), limit)
        answer = weir.client.get("/", who("A", "u"))
        self.assertEqual((answer["X-RateLimit-Limit"], answer["X-RateLimit-Remaining"]), ("10", "9"))
        self.assertTrue(answer["RateLimit"].startswith('"user";r=9'), answer)
        self.assertTrue(answer["RateLimit-Policy"].startswith('"user";q=10;w=2678400'), answer)
        self.assertNotIn("Retry-After", answer)

    def test_upstream_fields(self):
        own = [("RateLimit", '"theirs";r=1'), ("X-RateLimit-Limit", "77"), ("Retry-After", "9")]
        limit = {"user": {"default": 10, "window": "31d"}}
        backend = self.upstream(lambda seen: Answer(headers=own))
        weir = self.weir(backend, limit, settings={"answers": {"upstream_fields": "strip"}})
        answer = weir.client.get("/", who("A", "u"))
        self.assertEqual(answer.all("X-RateLimit-Limit"), ["10"])
        self.assertNotIn("theirs", answer["RateLimit"])
        weir = self.weir(backend, limit)
        self.assertIn("77", weir.client.get("/", who("A", "u")).all("X-RateLimit-Limit"))

    def test_an_upstream_429_is_not_ours(self):
        backend = self.upstream(lambda seen: Answer(429, [("Retry-After", "7")], b"theirs"))
        weir = self.weir(backend, {"user": {"default": 100, "window": "31d"}})
        answer = weir.client.get("/", who("A", "u"))
        self.assertEqual((answer.status, answer.body, answer["Retry-After"]), (429, b"theirs", "7"))
        self.assert_metric(weir, 1, "weir_responses_total", **{"class": "4xx"})
        self.assert_metric(weir, 0, "weir_denials_total")


class RequestIds(GatewayCase):
    def test_kept_if_valid_made_if_not(self):
        backend = self.upstream()
        weir = self.weir(backend)
        answer = weir.client.get("/", {"X-Request-Id": "my-id_1.2"})
        self.assertEqual((answer["X-Request-Id"], backend.last().get("X-Request-Id")), ("my-id_1.2", "my-id_1.2"))
        made = set()
        for headers in ({}, {"X-Request-Id": "x" * 500}, {"X-Request-Id": 'a"b'}, {"X-Request-Id": "a b\tc"}):
            answer = weir.client.get("/", headers)
            self.assertRegex(answer["X-Request-Id"], r"^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")
            self.assertEqual(backend.last().all("X-Request-Id"), [answer["X-Request-Id"]])
            made.add(answer["X-Request-Id"])
        self.assertEqual(len(made), 4)


class BodiesStillComing(GatewayCase):
    def test_a_large_upload_reads_its_refusal(self):
        weir = self.weir(self.upstream(), ONE)
        weir.client.get("/", who("A", "u"))
        for size, status in ((8_000_000, 429), (50_000_000, 413)):
            with weir.client.connect() as link:
                link.send(request_bytes("POST", "/", {**who("A", "u"), "Content-Length": str(size)}))
                try:
                    for _ in range(9):  # within the MiB that is still taken
                        link.send(b"x" * 100_000)
                except ConnectionError:
                    pass
                answer = link.read_response()
            self.assertEqual((answer.status, answer.get("Connection")), (status, "close"))

    def test_a_refused_body_that_dribbles_holds_up_no_drain(self):
        weir = self.weir(self.upstream(), ONE, settings={"limits": {"body_bytes": "100MiB"}, "timeouts": {"drain": "60s"}})
        weir.client.get("/", who("A", "u"))
        with weir.client.connect() as link:
            link.send(request_bytes("POST", "/", {**who("A", "u"), "Content-Length": "50000000"}) + b"x" * 100_000)
            answer = link.read_response()
            self.assertEqual((answer.status, answer.get("Connection")), (429, "close"))
            weir.process.send_signal(signal.SIGTERM)
            began = time.monotonic()
            while weir.process.poll() is None and time.monotonic() - began < 30:
                try:
                    link.send(b"x")
                except OSError:
                    pass
                time.sleep(0.1)
            self.assertLess(time.monotonic() - began, 15)

    def test_a_small_body_is_read_and_the_connection_kept(self):
        weir = self.weir(self.upstream(), ONE)
        weir.client.get("/", who("A", "u"))
        with weir.client.connect() as link:
            for _ in range(3):
                self.assertEqual(link.request("POST", "/", who("A", "u"), b"x" * 1000).status, 429)

    def test_expect_continue_is_refused_before_the_body(self):
        weir = self.weir(self.upstream(), ONE)
        weir.client.get("/", who("A", "u"))
        headers = {**who("A", "u"), "Expect": "100-continue", "Content-Length": "1000000"}
        with weir.client.connect() as link:
            link.send(request_bytes("POST", "/", headers))
            answer = link.read_response("POST")
        self.assertEqual((answer.status, answer.interim), (429, []))

    def test_a_body_over_the_limit_is_413(self):
        backend = self.upstream()
        weir = self.weir(backend, settings={"limits": {"body_bytes": "10KiB"}})
        self.assertEqual(weir.client.post("/", body=b"x" * 10240).status, 200)
        answer = weir.client.post("/", body=b"x" * 10241)
        self.assertEqual(answer.status, 413)

    def test_grpc_gets_its_status(self):
        weir = self.weir(self.upstream(), ONE)
        headers = {**who("A", "u"), "Content-Type": "application/grpc"}
        weir.client.post("/pkg.Service/Call", headers, b"")
        answer = weir.client.post("/pkg.Service/Call", headers, b"")
        self.assertIn((answer.status, answer.get("grpc-status")), ((200, "8"), (429, "8"), (415, None)))


class Malformed(GatewayCase):
    def test_ambiguous_framing_is_refused_and_costs_nothing(self):
        backend = self.upstream()
        weir = self.weir(backend, {"caller": {"default": 3, "window": "31d"}})
        for raw in (b"GET / HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", b"nonsense\r\n\r\n",
                    b"GET  / HTTP/1.1\r\nHost: a\r\n\r\n", b"GET / HTTP/2.5\r\nHost: a\r\n\r\n",
                    b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                    b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc",
                    b"GET / HTTP/1.1\r\nHost: a\r\nX : y\r\n\r\n", b"GET / HTTP/1.1\r\nHost: a\r\n folded: y\r\n\r\n"):
            with weir.client.connect() as link:
                link.send(raw)
                self.assertIn(link.read_response().status, (400, 501, 505), raw)
        self.assertEqual(backend.total, 0)
        self.assertEqual(weir.client.get("/", who("A"))["X-RateLimit-Remaining"], "2")

    def test_problem_bodies_are_json(self):
        weir = self.weir(self.upstream(), settings={"identity": {"caller": {"missing": "reject"}}},
                         limit={"caller": {"default": 3}})
        answer = weir.client.get("/")
        self.assertEqual(answer.status, 401)
        self.assertEqual(json.loads(answer.body)["status"], 401)


if __name__ == "__main__":
    import unittest
    unittest.main()
