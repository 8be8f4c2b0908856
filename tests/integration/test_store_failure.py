# SPDX-License-Identifier: Apache-2.0
"""Redis ill in every way it can be: each layer answers as its failure mode says, quickly, never with a 500,
and nothing is counted twice."""
import time

from support.case import GatewayCase, who
from support.client import statuses
from support.fake_redis import Break, Late, Say, Truncate, on_scripts

FAULTS = {
    "LOADING": Say(b"-LOADING Redis is loading the dataset in memory\r\n"),
    "OOM": Say(b"-OOM command not allowed when used memory > 'maxmemory'.\r\n"),
    "NOSCRIPT": Say(b"-NOSCRIPT No matching script. Please use EVAL.\r\n"),
    "READONLY": Say(b"-READONLY You can't write against a read only replica.\r\n"),
    "NOAUTH": Say(b"-NOAUTH Authentication required.\r\n"),
    "MOVED": Say(b"-MOVED 3999 127.0.0.1:6381\r\n"),
    "CROSSSLOT": Say(b"-CROSSSLOT Keys in request don't hash to the same slot\r\n"),
    "ERR": Say(b"-ERR user_script:1: attempt to compare nil with number\r\n"),
    "truncated": Truncate(),
    "closed": Break(),
    "closed after it was applied": Break(applied=True),
    "wrong type": Say(b"+OK\r\n"),
    "integer": Say(b":5\r\n"),
    "nil": Say(b"$-1\r\n"),
    "empty list": Say(b"*0\r\n"),
    "short list": Say(b"*2\r\n:1\r\n:1\r\n"),
    "garbage": Say(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
    "negative bulk": Say(b"$-99\r\n"),
    "one megabyte": Say(b"$1000000\r\n" + b"x" * 1000000 + b"\r\n"),
    "deep nesting": Say(b"*1\r\n" * 200 + b":1\r\n"),
    "late": Late(0.2),
}


def caller(limit, mode="local", window="1h", **more):
    return {"caller": {"default": limit, "window": window, "algorithm": "token_bucket",
                       "on_store_failure": {"brief": mode, "long": mode}, **more}}


class Faults(GatewayCase):
    def through(self, mode, limit=1000):
        self.server = self.redis()
        fake = self.fake_redis(self.server)
        weir = self.weir(self.upstream(), caller(limit, mode), store=fake, patient=False)
        self.assertEqual(weir.client.get("/", who("warm")).status, 200)
        return fake, weir

    def each_fault(self, mode, expected):
        fake, weir = self.through(mode)
        for name, fault in FAULTS.items():
            with self.subTest(mode=mode, fault=name):
                fake.fault = on_scripts(fault)
                before = weir.metrics().value("weir_store_errors_total")
                answers = [weir.client.get("/", who(f"{mode}-{name.split()[0]}")) for _ in range(10)]
                self.assertEqual(statuses(answers), {expected: 10}, answers[0])
                if expected == 503:
                    self.assertTrue(all(a.number("Retry-After") >= 1 for a in answers))
                self.assertGreater(weir.metrics().value("weir_store_errors_total"), before)
                fake.fault = lambda command: None
                self.wait_healthy(weir)

    def wait_healthy(self, weir):
        """Every worker counts in Redis again: a fresh caller's key appears there, and no breaker is left open."""
        def counted():
            name = f"probe{time.monotonic_ns()}"
            weir.client.get("/", who(name))
            metrics = weir.metrics()
            return (any(name in key for key in self.server.keys()) and metrics.value("weir_store_breaker_open") == 0
                    and metrics.value("weir_store_state") == 0)
        self.eventually(counted, 20, "counting in Redis again")

    def test_local(self):
        self.each_fault("local", 200)

    def test_allow(self):
        self.each_fault("allow", 200)

    def test_deny(self):
        self.each_fault("deny", 503)

    def test_a_refused_connection(self):
        for mode, expected in (("local", 200), ("allow", 200), ("deny", 503)):
            fake, weir = self.through(mode)
            fake.refuse()
            answers = [weir.client.get("/", who("x")) for _ in range(10)]
            self.assertEqual(statuses(answers), {expected: 10})
            fake.open()
            self.wait_healthy(weir)

    def test_an_unknown_outcome_is_not_replayed(self):
        """The reply is lost after Redis counted: asking again would count twice."""
        fake, weir = self.through("allow", 5)
        fake.clear()
        fake.fault = on_scripts(Break(applied=True))
        asked = 0
        for _ in range(5):
            self.assertEqual(weir.client.get("/", who("once")).status, 200)
            asked += 1
            seen = [call for call in fake.scripts() if any(b"once" in key for key in call[1])]
            self.assertLessEqual(len(seen), asked)
        self.assertGreaterEqual(len(seen), 1)

    def test_local_still_limits(self):
        fake, weir = self.through("local", 10)
        fake.refuse()
        counts = statuses(self.at_once(weir, 100, "/", who("storm")))
        # Two workers share one process: 1.2 times the instance's share of 10 at most, and never nobody.
        self.assertEqual(set(counts), {200, 429})
        self.assertTrue(1 <= counts[200] <= 12, counts)


class Scripts(GatewayCase):
    def test_a_flushed_script_is_loaded_again(self):
        redis = self.redis()
        weir = self.weir(self.upstream(), caller(100), store=redis)
        answers = weir.client.repeat(5, "/", who("A"))
        redis.call("SCRIPT", "FLUSH")
        answers += weir.client.repeat(5, "/", who("A"))
        self.assertEqual(statuses(answers), {200: 10})
        self.assertEqual([a.number("X-RateLimit-Remaining") for a in answers], list(range(99, 89, -1)))

    def test_no_stampede_and_no_double_charge(self):
        redis = self.redis()
        weir = self.weir(self.upstream(), caller(1000), store=redis)
        weir.client.get("/", who("A"))
        redis.call("SCRIPT", "FLUSH")
        before = redis.calls_of("eval") + redis.calls_of("script|load")
        self.assert_statuses(self.at_once(weir, 200, "/", who("A")), s200=200)
        sent = redis.calls_of("eval") + redis.calls_of("script|load") - before
        self.assertLessEqual(sent, 2 * 3, "one body for each worker, or two, and the heartbeat's")
        answer = weir.client.get("/", who("A"))
        self.assertEqual(answer.number("X-RateLimit-Remaining"), 1000 - 202)

    def test_restart(self):
        redis = self.redis()
        weir = self.weir(self.upstream(), caller(100), store=redis)
        weir.client.repeat(5, "/", who("A"))
        redis.restart()
        self.assertEqual(statuses(weir.client.repeat(5, "/", who("A"))), {200: 5})

        def counts_again():
            weir.client.get("/", who("A"))
            return redis.keys()
        self.eventually(counts_again, 10, "counting after the restart")

    def test_flushed_counters_restart(self):
        redis = self.redis()
        weir = self.weir(self.upstream(), caller(5), store=redis)
        weir.client.repeat(6, "/", who("A"))
        redis.flush()
        self.eventually(lambda: weir.client.get("/", who("A")).status == 200, 3, "a fresh counter")


class SlowOrAbsent(GatewayCase):
    def test_a_frozen_redis_costs_nobody_a_second(self):
        redis = self.redis()
        weir = self.weir(self.upstream(), caller(100000), store=redis, patient=False)
        weir.client.repeat(20, "/", who("A"))
        redis.pause()
        self.addCleanup(lambda: redis.process and redis.resume())
        times = []
        with weir.client.connect() as link:
            for _ in range(100):
                before = time.monotonic()
                self.assertEqual(link.request("GET", "/", who("A")).status, 200)
                times.append(time.monotonic() - before)
                time.sleep(0.01)
        times.sort()
        # 20 ms of store.timeout for the first few, nothing once the breaker is open; the rest is the machine.
        self.assertLess(times[-1], 0.5)
        self.assertLess(times[50], 0.02)
        redis.resume()
        self.eventually(lambda: weir.client.get("/", who("A")) and weir.metrics().value("weir_store_state") == 0, 10,
                        "the healthy state")

    def test_starts_and_serves_without_redis(self):
        redis = self.redis()
        redis.kill()
        weir = self.weir(self.upstream(), caller(10), store=redis, wait=False)
        self.eventually(lambda: self.answers(weir), 5, "an answer without Redis")
        redis.start()
        self.eventually(lambda: self.answers(weir) and redis.keys(), 4, "a connection is tried every two seconds")

    @staticmethod
    def answers(weir):
        try:
            return weir.client.get("/", who("A")).status == 200
        except OSError:
            return False

    def test_a_wrong_password_is_one_clear_line_without_the_secret(self):
        redis = self.redis("--requirepass", "right-horse")
        password = {"kind": "redis", "url": redis.url, "password_file": "secret"}
        weir = self.weir(self.upstream(), caller(10), settings={"store": None}, wait=False)
        weir.stop()
        (weir.folder.path / "secret").write_text("wrong-battery\n")
        weir.settings["store"] = password
        weir.folder.write(weir.folder.main, weir.settings)
        weir.start(wait=False)
        self.eventually(lambda: self.answers(weir), 5, "an answer with a wrong password")
        said = lambda: weir.lines("wrongpass") or weir.lines("noauth") or weir.lines("password")
        self.eventually(lambda: weir.client.get("/", who("A")) and said(), 5, "the reason in the log")
        self.assertNotIn("wrong-battery", weir.output())


class Keys(GatewayCase):
    def test_every_key_expires(self):
        redis = self.redis()
        backend = self.upstream()
        for algorithm in ("fixed_window", "sliding_window", "sliding_counter", "sliding_log", "token_bucket", "gcra",
                          "leaky_bucket", "concurrency"):
            terms = {"algorithm": algorithm} if algorithm == "concurrency" else {"algorithm": algorithm, "window": "60s"}
            limit = {"caller": {"default": 5, **terms}, "user": {"default": 3, **terms}}
            weir = self.weir(backend, limit, store=redis, settings={"node": algorithm})
            self.at_once(weir, 30, "/", lambda i: who("A", f"u{i % 3}"))
            for key, life in redis.keys().items():
                self.assertTrue(0 < life <= 2 * 60000 + 2000, (algorithm, key, life))
            weir.stop()

    def test_raw_addresses_never_become_keys(self):
        redis = self.redis()
        weir = self.weir(self.upstream(), {"ip": {"default": 5, "window": "60s"}}, store=redis)
        weir.client.get("/")
        self.assertTrue(redis.keys())
        for key in redis.keys():
            self.assertNotIn("127.0.0.1", key)


class HostClock(GatewayCase):
    def test_the_store_clock_decides(self):
        """Two gateways alternate on one bucket of 10 a second: never more than one gateway alone would grant."""
        redis, backend = self.redis(), self.upstream()
        limit = {"caller": {"default": 10, "window": "1s", "algorithm": "token_bucket"}}
        pair = [self.weir(backend, limit, store=redis) for _ in range(2)]
        end, allowed, start = time.monotonic() + 1.5, 0, time.monotonic()
        links = [weir.client.connect() for weir in pair]
        while time.monotonic() < end:
            for link in links:
                allowed += link.request("GET", "/", who("A")).status == 200
        took = time.monotonic() - start
        for link in links:
            link.close()
        self.assertLessEqual(allowed, 10 + 10 * took + 1)
        self.assertGreaterEqual(allowed, 15)


if __name__ == "__main__":
    import unittest
    unittest.main()
