# SPDX-License-Identifier: Apache-2.0
"""Single counters, looked at and reset on the admin port: for every algorithm and both stores, with confirmation,
with a log line, and never from elsewhere (OB-0, OB-6)."""
import json
from urllib.parse import quote

from support.case import GatewayCase, who
from support.client import statuses

H = {"window": "31d"}
JSON = {"Content-Type": "application/json"}


def look(weir, layer, lane=None, **key):
    """key: dimension and value; None is the counter of requests without one."""
    query = f"layer={quote(layer)}" + "".join(
        f"&key={quote(name)}" + ("" if value is None else ":" + quote(value)) for name, value in key.items())
    return weir.admin.get(f"/counters?{query}" + (f"&lane={lane}" if lane else ""))


def reset(weir, layer, confirm, lane="ordinary", headers=None, **key):
    body = json.dumps({"layer": layer, "lane": lane, "key": key, "confirm": confirm})
    return weir.admin.post("/counters/reset", {**JSON, **(headers or {})}, body)


class CounterCase(GatewayCase):
    def spend(self, weir, times, headers):
        return statuses(weir.client.repeat(times, "/", headers))

    def let_through(self, weir, headers):
        """What a process has leased or remembers as refused lasts for up to a second."""
        return self.eventually(lambda: weir.client.get("/", headers).status == 200, 5, "a request let through")


class Reset(CounterCase):
    ALGORITHMS = ("fixed_window", "sliding_window", "sliding_counter", "sliding_log", "token_bucket", "gcra")

    def resets(self, store):
        for algorithm in self.ALGORITHMS:
            with self.subTest(algorithm):
                weir = self.weir(self.upstream(), {"user": {"default": 5, "algorithm": algorithm, **H}}, store=store)
                self.one_is_reset_and_the_other_stays(weir)
                weir.stop()
                if store:
                    store.call("FLUSHALL")

    def one_is_reset_and_the_other_stays(self, weir):
        for user in ("u", "v"):
            self.assertEqual(self.spend(weir, 7, who("A", user)), {200: 5, 429: 2})
        seen = look(weir, "user", caller="A", user="u").json()
        self.assertEqual((seen["used"], seen["remaining"], seen["limit"]), (5, 0, 5))
        self.assertIn("quotas.yaml", seen["source"])
        done = reset(weir, "user", seen["confirm"], caller="A", user="u")
        self.assertEqual((done.status, done.json()["used_before"], done.json()["existed"]), (200, 5, True), done)
        self.assertEqual(look(weir, "user", caller="A", user="u").json()["used"], 0)
        self.let_through(weir, who("A", "u"))
        self.assertEqual(weir.client.get("/", who("A", "v")).status, 429)
        line = self.eventually(lambda: weir.records("counter.reset"), what="the log line")[-1]
        self.assertIn("127.0.0.1:", line["message"])
        self.assertIn(seen["counter"], line["message"])
        self.assertIn("5 of 5", line["message"])

    def test_every_algorithm_in_memory(self):
        self.resets(None)

    def test_every_algorithm_in_redis(self):
        self.resets(self.redis())

    def test_it_holds_for_the_whole_fleet(self):
        store, limit = self.redis(), {"user": {"default": 5, "algorithm": "fixed_window", **H}}
        first, second = (self.weir(self.upstream(), limit, store=store) for _ in range(2))
        self.spend(first, 6, who("A", "u"))
        seen = look(second, "user", caller="A", user="u").json()
        self.assertEqual(reset(second, "user", seen["confirm"], caller="A", user="u").status, 200)
        self.let_through(first, who("A", "u"))

    def test_a_layer_of_this_instance_is_reset_here(self):
        limit = {"user": {"default": 5, "algorithm": "fixed_window", "scope": "instance", **H}}
        weir = self.weir(self.upstream(), limit, store=self.redis())
        self.one_is_reset_and_the_other_stays(weir)

    def test_requests_without_a_user_and_the_exempt_lane_have_counters_of_their_own(self):
        trusted = {"caller": {"from": [{"header": "X-Caller-Id", "trust": "proxies"}], "missing": "anonymous"}}
        weir = self.weir(self.upstream(), {"caller": {"default": 3, **H}, "user": {"default": 3, **H},
                                           "exempt": {"callers": ["M"], "factor": 2}},
                         settings={"identity": trusted, "trusted_proxies": ["127.0.0.0/8"]})
        self.spend(weir, 2, who("A"))
        self.spend(weir, 4, who("M"))
        self.assertEqual(look(weir, "user", caller="A", user=None).json()["used"], 2)
        self.assertEqual(look(weir, "user", caller="A", user="").json()["used"], 0)
        exempt = look(weir, "caller", "exempt", caller="M").json()
        self.assertEqual((exempt["used"], exempt["lane"], look(weir, "caller", caller="M").json()["used"]), (4, "exempt", 0))
        self.assertEqual(reset(weir, "caller", exempt["confirm"], "exempt", caller="M").json()["used_before"], 4)

    def test_hostile_names(self):
        weir = self.weir(self.upstream(), {"caller": {"default": 1, **H}})
        for name in ("<script>alert(1)</script>", "a b&key=caller:x", "{c=x}:u=y", "%41", 'q"\\', "x" * 2000):
            with self.subTest(name[:20]):
                self.spend(weir, 2, who(name))
                seen = look(weir, "caller", caller=name).json()
                self.assertEqual(seen["used"], 1)
                self.assertEqual(reset(weir, "caller", seen["confirm"], caller=name).json()["existed"], True)
                self.assertEqual(weir.client.get("/", who(name)).status, 200)


class Refusals(CounterCase):
    LIMIT = {"caller": {"default": 5, "overrides": {"closed": "blocked", "open": "unlimited"}, **H}, "user": {"default": 2, **H}}

    def setUp(self):
        self.gateway = self.weir(self.upstream(), self.LIMIT)
        self.spend(self.gateway, 3, who("A", "u"))
        self.seen = look(self.gateway, "user", caller="A", user="u").json()

    def assert_untouched(self):
        self.assertEqual(look(self.gateway, "user", caller="A", user="u").json()["used"], 2)
        self.assertEqual(self.gateway.records("counter.reset"), [])

    def test_nothing_happens_without_the_right_confirmation(self):
        other = look(self.gateway, "caller", caller="A").json()["confirm"]
        for confirm in ("", "yes", "user", self.seen["confirm"][:-1], other):
            self.assertEqual(reset(self.gateway, "user", confirm, caller="A", user="u").status, 409, confirm)
        missing = self.gateway.admin.post("/counters/reset", JSON, json.dumps({"layer": "user", "key": {"caller": "A", "user": "u"}}))
        self.assertEqual(missing.status, 409)
        self.assert_untouched()

    def test_nothing_happens_for_another_site(self):
        confirm = self.seen["confirm"]
        for headers in ({"Origin": "http://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"},
                        {"Sec-Fetch-Site": "same-site"}):
            self.assertEqual(reset(self.gateway, "user", confirm, headers=headers, caller="A", user="u").status, 403, headers)
        body = json.dumps({"layer": "user", "key": {"caller": "A", "user": "u"}, "confirm": confirm})
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
            self.assertEqual(self.gateway.admin.post("/counters/reset", {"Content-Type": kind}, body).status, 415)
        rebound = self.gateway.admin.request("POST", "/counters/reset", JSON, body, host="evil.example:9901")
        self.assertEqual(rebound.status, 421)
        self.assertEqual(self.gateway.admin.get("/counters/reset").status, 405)
        self.assert_untouched()

    def test_own_origin_is_fine(self):
        own = {"Origin": "http://" + self.gateway.settings["admin"]["address"], "Sec-Fetch-Site": "same-origin"}
        done = reset(self.gateway, "user", self.seen["confirm"], headers=own, caller="A", user="u")
        self.assertEqual(done.status, 200, done)

    def test_the_public_port_knows_nothing_of_it(self):
        body = json.dumps({"layer": "user", "key": {"caller": "A", "user": "u"}, "confirm": self.seen["confirm"]})
        self.assertEqual(self.gateway.client.post("/counters/reset", JSON, body).body, b"ok", "the upstream's answer")
        self.assert_untouched()

    def test_what_names_no_counter_says_why(self):
        def problem(status, layer, **key):
            answer = look(self.gateway, layer, **key)
            self.assertEqual(answer.status, status, answer)
            return answer.json()["error"]

        self.assertIn("role", problem(404, "role", caller="A"))
        self.assertIn("user", problem(400, "user", caller="A"))
        self.assertIn("nation", problem(400, "user", caller="A", user="u", nation="x"))
        self.assertIn("caller blocks", problem(409, "caller", caller="closed"))
        self.assertIn("no limit", problem(409, "caller", caller="open"))
        layers = self.gateway.admin.get("/counters").json()["layers"]
        self.assertEqual(layers, [{"layer": "caller", "key": ["caller"]}, {"layer": "user", "key": ["caller", "user"]}])


class Token(CounterCase):
    def test_both_want_it(self):
        weir = self.weir(self.upstream(), {"user": {"default": 2, **H}}, files={"token": "s3cret-token"},
                         settings={"admin": {"token_file": "token"}})
        self.assertEqual(look(weir, "user", caller="A", user="u").status, 401)
        self.assertEqual(reset(weir, "user", "x", caller="A", user="u").status, 401)
        bearer = {"Authorization": "Bearer s3cret-token"}
        seen = weir.admin.get("/counters?layer=user&key=caller:A&key=user:u", bearer)
        self.assertEqual(seen.status, 200, seen)
        done = reset(weir, "user", seen.json()["confirm"], headers=bearer, caller="A", user="u")
        self.assertEqual((done.status, done.json()["existed"]), (200, False), done)


class StoreDown(CounterCase):
    def test_a_reset_that_cannot_be_made_is_no_success(self):
        redis = self.redis()
        weir = self.weir(self.upstream(), {"user": {"default": 5, "algorithm": "fixed_window", **H}}, store=redis)
        self.spend(weir, 2, who("A", "u"))
        confirm = look(weir, "user", caller="A", user="u").json()["confirm"]
        redis.kill()
        self.assertEqual(reset(weir, "user", confirm, caller="A", user="u").status, 503)
        self.assertEqual(weir.records("counter.reset"), [])


if __name__ == "__main__":
    import unittest
    unittest.main()
