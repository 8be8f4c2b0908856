# SPDX-License-Identifier: Apache-2.0
"""The harness itself: a test that leans on a broken client or reader proves nothing."""
import time
import unittest

from support.client import Client, Closed, burst, request_bytes, statuses
from support.fake_redis import Break, FakeRedis, Say, Truncate, on_scripts
from support.prometheus import Metrics
from support.redis_server import RedisServer
from support.resp import RedisClient, RedisError
from support.structured_fields import Token, parse_dictionary, parse_item, parse_list
from support.upstream import Answer, Upstream


class UpstreamAndClient(unittest.TestCase):
    def setUp(self):
        self.upstream = Upstream()
        self.addCleanup(self.upstream.stop)
        self.client = Client(("127.0.0.1", self.upstream.port))

    def test_counts_and_records(self):
        self.assertEqual([a.status for a in self.client.repeat(3, "/a?x=1", {"X-K": "v"})], [200] * 3)
        self.assertEqual(self.upstream.hits["/a"], 3)
        self.assertEqual(self.upstream.connections, 1)
        self.assertEqual(self.upstream.last().get("x-k"), "v")

    def test_bodies_both_ways(self):
        self.upstream.answer = lambda seen: Answer(chunks=[b"one", b"two"], trailers=[("X-Sum", "6")])
        with self.client.connect() as link:
            link.send(request_bytes("POST", "/", {"Transfer-Encoding": "chunked"}) + b"3\r\nabc\r\n0\r\nX-T: 1\r\n\r\n")
            answer = link.read_response()
        self.assertEqual((answer.body, answer.trailers), (b"onetwo", [("X-Sum", "6")]))
        self.assertEqual((self.upstream.last().body, self.upstream.last().trailers), (b"abc", [("X-T", "1")]))

    def test_faults(self):
        self.upstream.answer = lambda seen: Answer(reset="middle", body=b"0123456789")
        with self.assertRaises((Closed, ConnectionError)):
            self.client.get()
        self.upstream.answer = lambda seen: Answer(raw=b"nonsense\r\n\r\n")
        with self.assertRaises(ValueError):
            self.client.get()

    def test_burst_is_concurrent(self):
        self.upstream.answer = lambda seen: Answer(delay=0.3)
        before = time.monotonic()
        answers = burst(self.client, 50, lambda i: request_bytes("GET", f"/{i}"))
        self.assertEqual(statuses(answers), {200: 50})
        self.assertGreater(self.upstream.peak, 25)
        self.assertLess(time.monotonic() - before, 10)


class Redis(unittest.TestCase):
    def setUp(self):
        self.server = RedisServer()
        self.addCleanup(self.server.stop)
        self.fake = FakeRedis(self.server)
        self.addCleanup(self.fake.stop)

    def test_passes_on_and_records(self):
        client = RedisClient(self.fake.port)
        self.assertEqual(client.call("EVAL", "return redis.call('INCR', KEYS[1]) + ARGV[1]", 1, "k", 4), 5)
        self.assertEqual(self.fake.scripts(), [(b"EVAL", [b"k"], [b"4"])])
        self.assertEqual(self.server.keys(), {"k": -1})
        client.close()

    def test_faults(self):
        for fault, kind in ((Say(b"-LOADING busy\r\n"), RedisError), (Break(applied=True), ConnectionError),
                            (Truncate(), ConnectionError)):
            self.fake.fault = on_scripts(fault)
            client = RedisClient(self.fake.port)
            self.assertEqual(client.call("PING"), b"PONG")
            with self.assertRaises(kind):
                client.call("EVAL", "return redis.call('INCR', KEYS[1])", 1, "n")
            client.close()
        self.assertEqual(self.server.call("GET", "n"), b"2")

    def test_pause_and_restart(self):
        self.server.pause()
        client = RedisClient(self.server.port, timeout=0.2)
        with self.assertRaises(OSError):
            client.call("PING")
        client.close()
        self.server.resume()
        self.server.call("SET", "k", "v")
        self.server.restart()
        self.assertIsNone(self.server.call("GET", "k"))


class Readers(unittest.TestCase):
    def test_structured_fields(self):
        limit, = parse_list('"user";q=100;w=60')
        self.assertEqual((limit.value, limit.parameters), ("user", {"q": 100, "w": 60}))
        self.assertEqual([item.value for item in parse_list('"a";r=0, b ,?1')], ["a", Token("b"), True])
        self.assertEqual(parse_dictionary("a=1, b;x")["b"].parameters, {"x": True})
        self.assertEqual(parse_list("(1 2);a=-1.5")[0].parameters, {"a": -1.5})
        self.assertEqual(parse_item('"\\"q\\""').value, '"q"')

    def test_structured_fields_are_strict(self):
        for bad in ('"user', '"a",', '"a";q=', '"a";Q=1', '"a" "b"', "1.", "1.2345", '"\u00e9"', '"\\x"', "=1"):
            with self.subTest(bad), self.assertRaises(ValueError):
                parse_list(bad)

    def test_prometheus(self):
        metrics = Metrics('# HELP a b\na_total{layer="user",x="q\\"}"} 3\na_total{layer="api"} 4\nb 1.5\n')
        self.assertEqual(metrics.value("a_total"), 7)
        self.assertEqual(metrics.value("a_total", layer="user"), 3)
        with self.assertRaises(ValueError):
            Metrics("a{b=c} 1\n")


if __name__ == "__main__":
    unittest.main()
