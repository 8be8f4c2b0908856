# SPDX-License-Identifier: Apache-2.0
"""Whose counter a request draws from: keys, priority, nested overrides, tiers, the exempt lane, shadow,
warnings, staged roll-out, temporary overrides, and what a request costs."""
import time

from support.case import GatewayCase, who
from support.client import statuses
from support.upstream import Answer
from support.weir_process import ConfigFolder, base_settings, run

H = {"window": "31d", "algorithm": "sliding_window"}


def tier_of(name):
    return {name: {"from": [{"header": f"X-{name.capitalize()}"}], "missing": "anonymous"}}


class Keys(GatewayCase):
    def passed(self, weir, count, target, headers):
        return statuses(weir.client.repeat(count, target, headers)).get(200, 0)

    def test_the_scope_of_the_api_layer_is_its_key(self):
        """/a and /b: one counter for all callers, one per caller, one per caller and user."""
        found = {}
        for name, key in (("total", ["api"]), ("caller", ["caller", "api"]), ("user", ["caller", "user", "api"])):
            weir = self.weir(self.upstream(), {"api": {"key": key, "default": 4, **H}})
            found[name] = [self.passed(weir, 6, "/a", who(c, u)) for c, u in (("A", "u"), ("A", "v"), ("B", "u"))]
        self.assertEqual(found, {"total": [4, 0, 0], "caller": [4, 0, 4], "user": [4, 4, 4]})

    def test_two_apis_with_equal_numbers_never_share(self):
        for store in (None, self.redis()):
            limit = {"api": {"default": 100, "overrides": {"/a": 5, "/b": 5}, **H}}
            weir = self.weir(self.upstream(), limit, store=store)
            self.assertEqual([self.passed(weir, 8, path, None) for path in ("/a", "/b", "/a")], [5, 5, 0])

    def test_two_layers_with_equal_numbers_never_share(self):
        weir = self.weir(self.upstream(), {"caller": {"default": 5, **H}, "user": {"default": 5, **H}})
        self.assertEqual(self.passed(weir, 8, "/", who("A", "A")), 5)

    def test_unlisted_paths_are_one_api(self):
        weir = self.weir(self.upstream(), {"api": {"default": 4, **H}})
        self.assertEqual([self.passed(weir, 3, path, None) for path in ("/p1", "/p2")], [3, 1])

    def test_the_most_specific_template_is_the_api(self):
        limit = {"api": {"default": 50, "overrides": {"/report/**": 2, "/report/daily": 3}, **H}}
        weir = self.weir(self.upstream(), limit)
        paths = ("/report/daily", "/report/x", "/report/y", "/reports")
        self.assertEqual([self.passed(weir, 5, path, None) for path in paths], [3, 2, 0, 5])

    def test_declared_layers_and_classes(self):
        settings = {"classes": {"billing": ["/billing/**", "/prepay/**"], "report": ["/report/**"]},
                    "identity": tier_of("role")}
        limit = {"class": {"default": 9, "overrides": {"billing": 3}, **H},
                 "role": {"key": ["caller", "role"], "default": 100, "overrides": {"FINANCE": 2}, "before": "class", **H}}
        weir = self.weir(self.upstream(), limit, settings=settings)
        self.assertEqual(self.passed(weir, 2, "/billing/a", who("A")) + self.passed(weir, 2, "/prepay/b", who("A")), 3)
        self.assertEqual(self.passed(weir, 5, "/billing/a", who("B")), 3, "another caller's class counter")
        self.assertEqual(self.passed(weir, 5, "/report/a", who("A")), 5)
        self.assertEqual(self.passed(weir, 5, "/report/a", who("C", X_Role="FINANCE")), 2)

    def test_instance_scope_counts_per_process(self):
        redis, backend = self.redis(), self.upstream()
        limit = {"caller": {"default": 100, **H}, "node": {"total": 5, "scope": "instance", **H}}
        pair = [self.weir(backend, limit, store=redis) for _ in range(2)]
        self.assertEqual([self.passed(weir, 9, "/", who("A")) for weir in pair], [5, 5])


class Priority(GatewayCase):
    def test_the_api_layer_moves_before_the_user_layer_for_that_api_alone(self):
        limit = {"user": {"default": 1, **H}, "api": {"default": 1, "overrides": {"/pay": 1},
                                                      "priority": {"/pay": True}, **H}}
        weir = self.weir(self.upstream(), limit)
        first_of = lambda path, user: weir.client.repeat(2, path, who("A", user))[1].json()["violated-policies"]
        self.assertEqual(first_of("/pay", "u1"), ["api", "user"])
        self.assertEqual(first_of("/x", "u2"), ["user", "api"])


class Overrides(GatewayCase):
    def limits(self, weir, *requests):
        return [weir.client.get(target, headers).get("X-RateLimit-Limit") for target, headers in requests]

    def test_nested_in_a_caller(self):
        limit = {
            "caller": {"default": 1000, "overrides": {
                "big": 2000, "partner": {"limit": 900, "user": {"default": 30, "overrides": {"vip": 60}},
                                         "api": {"/order/pay": 5}}}, **H},
            "user": {"default": 100, "overrides": {"vip": 200}, **H},
            "api": {"default": 500, "overrides": {"/order/pay": 80}, **H},
        }
        weir = self.weir(self.upstream(), limit)
        found = self.limits(weir, ("/x", who("any", "u")), ("/x", who("any", "vip")), ("/x", who("partner", "u")),
                            ("/x", who("partner", "vip")), ("/order/pay", who("any", "z")),
                            ("/order/pay", who("partner", "z")))
        self.assertEqual(found, ["100", "200", "30", "60", "80", "5"])
        # The nested api limit is a further layer: the API's own total still counts the partner's requests.
        self.assertEqual(statuses(weir.client.repeat(10, "/order/pay", who("partner", "y"))), {200: 4, 429: 6})
        self.assertEqual(self.limits(weir, ("/order/pay", who("any", "y2"))), ["80"])
        self.assertEqual(weir.client.get("/order/pay", who("any", "y3"))["X-RateLimit-Remaining"], str(80 - 8))

    def test_unlimited_and_blocked_are_written(self):
        limit = {"caller": {"default": 2, "overrides": {"free": "unlimited", "bad": "blocked"}, **H}}
        weir = self.weir(self.upstream(), limit)
        self.assertEqual(statuses(weir.client.repeat(50, "/", who("free"))), {200: 50})
        self.assertEqual(statuses(weir.client.repeat(3, "/", who("bad"))), {403: 3})
        self.assertEqual(statuses(weir.client.repeat(3, "/", who("else"))), {200: 2, 429: 1})

    def test_in_force_only_between_from_and_until(self):
        stamp = lambda shift: time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + shift))
        limit = {"caller": {"default": 10, "overrides": {
            "over": {"limit": 99, "until": stamp(-60)}, "early": {"limit": 99, "from": stamp(3600)},
            "now": {"limit": 99, "from": stamp(-60), "until": stamp(3600)},
            "soon": {"limit": 99, "until": stamp(3)}}, **H}}
        weir = self.weir(self.upstream(), limit)
        ask = lambda name: self.limits(weir, ("/", who(name)))[0]
        self.assertEqual([ask("over"), ask("early"), ask("now"), ask("soon")], ["10", "10", "99", "99"])
        self.eventually(lambda: ask("soon") == "10", 6, "the end of the temporary override, without a reload")

    def test_tiers(self):
        limit = {"user": {"default": 10, "tiers": {"paid": 1000, "free": 5}, "overrides": {"vip": 7000}, **H}}
        weir = self.weir(self.upstream(), limit, settings={"identity": tier_of("tier")})
        found = self.limits(weir, ("/", who("A", "u")), ("/", who("A", "p", X_Tier="paid")),
                            ("/", who("A", "f", X_Tier="free")), ("/", who("A", "x", X_Tier="else")),
                            ("/", who("A", "vip", X_Tier="free")))
        self.assertEqual(found, ["10", "1000", "5", "10", "7000"])

    def test_a_share_of_the_capacity(self):
        weir = self.weir(self.upstream(), {"node": {"capacity": 1000, "total": "60%", **H}})
        self.assertEqual(self.limits(weir, ("/", None)), ["600"])


class ExemptLane(GatewayCase):
    def test_its_own_wider_limit(self):
        limit = {"node": {"total": 5, **H}, "caller": {"default": 3, **H},
                 "exempt": {"callers": ["monitor"], "paths": ["/healthz"], "factor": 4}}
        caller = {"caller": {"from": [{"header": "X-Caller-Id", "trust": "proxies"}], "missing": "anonymous"}}
        settings = {"identity": caller, "trusted_proxies": ["127.0.0.0/8"]}
        weir = self.weir(self.upstream(), limit, settings=settings)
        self.assertEqual(statuses(weir.client.repeat(20, "/", who("monitor"))), {200: 12, 429: 8})
        self.assertEqual(statuses(weir.client.repeat(5, "/", who("A"))), {200: 3, 429: 2})
        self.assertEqual(statuses(weir.client.repeat(5, "/", who("B"))), {200: 2, 429: 3}, "the node's five are used up")
        self.assertEqual(weir.client.get("/healthz", who("B")).status, 200, "the lane has its own node limit")

    def test_a_name_that_anyone_may_say_does_not_open_it(self):
        limit = {"caller": {"default": 3, **H}, "exempt": {"callers": ["monitor"], "factor": 10}}
        weir = self.weir(self.upstream(), limit)
        self.assertEqual(statuses(weir.client.repeat(5, "/", who("monitor"))), {200: 3, 429: 2})

    def test_by_address_which_nobody_can_claim_by_a_header(self):
        limit = {"ip": {"default": 2, **H}, "exempt": {"cidrs": ["127.0.0.7/32"], "factor": 3}}
        weir = self.weir(self.upstream(), limit)
        forged = {"X-Forwarded-For": "127.0.0.7"}
        self.assertEqual(statuses([weir.client.get("/", forged) for _ in range(4)]), {200: 2, 429: 2})
        self.assertEqual(statuses([weir.client.get("/", source="127.0.0.7") for _ in range(8)]), {200: 6, 429: 2})


class Enforcement(GatewayCase):
    def test_shadow_decides_and_counts_but_never_blocks(self):
        weir = self.weir(self.upstream(), {"user": {"default": 2, "mode": "shadow", **H}})
        self.assertEqual(statuses(weir.client.repeat(5, "/", who("A", "u"))), {200: 5})
        self.assert_metric(weir, 3, "weir_layer_decisions_total", layer="user", outcome="shadow_denied")
        self.assert_metric(weir, 0, "weir_denials_total", layer="user")

    def test_a_shadow_override(self):
        limit = {"caller": {"default": 2, "overrides": {"new": {"limit": 2, "mode": "shadow"}}, **H}}
        weir = self.weir(self.upstream(), limit)
        self.assertEqual(statuses(weir.client.repeat(4, "/", who("new"))), {200: 4})
        self.assertEqual(statuses(weir.client.repeat(4, "/", who("old"))), {200: 2, 429: 2})

    def test_enforce_percent_is_a_stable_share_of_keys(self):
        weir = self.weir(self.upstream(), {"user": {"default": 1, "enforce_percent": 30, **H}})
        refused = set()
        for _ in range(2):
            answers = self.at_once(weir, 400, "/", lambda i: who("A", f"u{i % 200}"))
            found = {i % 200 for i, a in enumerate(answers) if a.status == 429}
            self.assertTrue(refused <= found or not refused, "the same keys again")
            refused = refused or found
        self.assertTrue(35 <= len(refused) <= 90, len(refused))

    def test_warn_at_blocks_nothing(self):
        weir = self.weir(self.upstream(), {"user": {"default": 10, "warn_at": 0.8, **H}})
        self.assertEqual(statuses(weir.client.repeat(10, "/", who("A", "u"))), {200: 10})
        warned = lambda: weir.metrics().value("weir_layer_decisions_total", layer="user", outcome="warned")
        self.eventually(lambda: warned() >= 1, what="a counted warning")


class Cost(GatewayCase):
    def test_by_api(self):
        limit = {"user": {"default": 25, **H}, "api": {"default": 1000, "cost": {"/export": 10}, **H}}
        weir = self.weir(self.upstream(), limit)
        self.assertEqual(statuses(weir.client.repeat(3, "/export", who("A", "u"))), {200: 2, 429: 1})
        self.assertEqual(statuses(weir.client.repeat(6, "/x", who("A", "u"))), {200: 5, 429: 1})

    def test_by_header_from_a_trusted_party_only(self):
        limit = {"user": {"default": 20, **H}, "cost": {"header": "X-Cost"}}
        weir = self.weir(self.upstream(), limit, settings={"trusted_proxies": ["127.0.0.2/32"]})
        ask = lambda user, source, cost="8": weir.client.get("/", who("A", user, X_Cost=cost), source=source)
        self.assertEqual(ask("u", "127.0.0.2")["X-RateLimit-Remaining"], "12")
        self.assertEqual(ask("u", "127.0.0.1")["X-RateLimit-Remaining"], "11", "an untrusted header does not count")
        for nonsense in ("0", "-5", "1.5", "x", ""):
            self.assertEqual(ask(f"n{nonsense}", "127.0.0.2", nonsense)["X-RateLimit-Remaining"], "19", nonsense)

    def test_above_every_capacity_is_413_without_a_time(self):
        limit = {"user": {"default": 5, **H}, "cost": {"header": "X-Cost"}}
        weir = self.weir(self.upstream(), limit, settings={"trusted_proxies": ["127.0.0.0/8"]})
        answer = weir.client.get("/", who("A", "u", X_Cost="6"))
        self.assertEqual(answer.status, 413)
        self.assertNotIn("Retry-After", answer)
        self.assertEqual(weir.client.get("/", who("A", "u"))["X-RateLimit-Remaining"], "4", "it cost nothing")

    def test_the_true_cost_is_settled_after_the_response(self):
        backend = self.upstream(lambda seen: Answer(headers=[("X-Tokens", "30")]))
        limit = {"user": {"default": 100, **H}, "cost": {"settle": {"response_header": "X-Tokens"}}}
        weir = self.weir(backend, limit)
        first = weir.client.get("/", who("A", "u"))
        self.assertEqual(first["X-RateLimit-Remaining"], "99")
        time.sleep(0.1)
        self.assertEqual(weir.client.get("/", who("A", "u"))["X-RateLimit-Remaining"], str(100 - 30 - 1))


class CalendarWindows(GatewayCase):
    def test_a_day_ends_at_midnight_of_its_time_zone(self):
        zone = "Pacific/Kiritimati"  # UTC+14, no summer time
        limit = {"user": {"default": 1, "window": "day", "time_zone": zone, "algorithm": "fixed_window"}}
        weir = self.weir(self.upstream(), limit)
        refused = weir.client.repeat(2, "/", who("A", "u"))[1]
        left = 86400 - (int(time.time()) + 14 * 3600) % 86400
        self.assertAlmostEqual(refused.number("Retry-After"), left, delta=3)

    def test_a_rolling_day_does_not(self):
        limit = {"user": {"default": 1, "window": "24h", "algorithm": "sliding_log"}}
        weir = self.weir(self.upstream(), limit)
        refused = weir.client.repeat(2, "/", who("A", "u"))[1]
        self.assertAlmostEqual(refused.number("Retry-After"), 86400, delta=5)

    def test_only_a_fixed_window_can_be_a_calendar_window(self):
        folder = ConfigFolder(base_settings("127.0.0.1:9"),
                              {"limit": {"user": {"default": 1, "window": "day", "algorithm": "gcra"}}})
        self.addCleanup(folder.remove)
        self.assertEqual(run("check", "-c", str(folder.main)).returncode, 1)


if __name__ == "__main__":
    import unittest
    unittest.main()
