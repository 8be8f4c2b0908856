# SPDX-License-Identifier: Apache-2.0
"""Who asks: no missing, empty, doubled or forged header ever means "no limit", and no two identities share a
counter."""
from support.case import GatewayCase, who
from support.client import statuses
from support.weir_process import ConfigFolder, base_settings, run

USER = {"user": {"default": 2, "window": "31d"}}


def user_missing(policy):
    return {"identity": {"user": {"from": [{"header": "X-User-Id"}], "missing": policy}}}


class MissingIdentity(GatewayCase):
    def test_reject(self):
        backend = self.upstream()
        weir = self.weir(backend, USER, settings=user_missing("reject"))
        answers = weir.client.repeat(5, "/", who("A"))
        self.assertEqual(statuses(answers), {401: 5})
        self.assertEqual(backend.total, 0)
        self.assert_metric(weir, 5, "weir_identity_missing_total", dimension="user", policy="reject")
        self.assertEqual(weir.client.get("/", who("A", "u")).status, 200)

    def test_anonymous_is_one_shared_key(self):
        weir = self.weir(self.upstream(), USER, settings=user_missing("anonymous"))
        self.assertEqual(statuses(weir.client.repeat(5, "/", who("A"))), {200: 2, 429: 3})
        self.assertEqual(weir.client.get("/", who("A", "anonymous")).status, 200, "a user of that name is another")

    def test_anonymous_has_its_own_limit(self):
        limit = {"user": {"default": 9, "anonymous": 1, "window": "31d"}}
        weir = self.weir(self.upstream(), limit, settings=user_missing("anonymous"))
        self.assertEqual(statuses(weir.client.repeat(4, "/", who("A"))), {200: 1, 429: 3})
        self.assertEqual(statuses(weir.client.repeat(10, "/", who("A", "u"))), {200: 9, 429: 1})

    def test_ip(self):
        weir = self.weir(self.upstream(), USER, settings=user_missing("ip"))
        for source in ("127.0.0.1", "127.0.0.2"):
            answers = [weir.client.get("/", who("A"), source=source) for _ in range(3)]
            self.assertEqual([a.status for a in answers], [200, 200, 429], source)

    def test_the_decision_must_be_written(self):
        settings = base_settings("127.0.0.1:9")
        del settings["identity"]["user"]["missing"]
        folder = ConfigFolder(settings, {"limit": USER})
        self.addCleanup(folder.remove)
        result = run("check", "-c", str(folder.main))
        self.assertEqual(result.returncode, 1, result)
        self.assertIn("missing", result.stdout + result.stderr)

    def test_empty_blank_and_contradictory_are_missing(self):
        weir = self.weir(self.upstream(), USER, settings=user_missing("reject"))
        for headers in ([("X-User-Id", "")], [("X-User-Id", "   ")], [("X-User-Id", "a"), ("X-User-Id", "b")]):
            self.assertEqual(weir.client.get("/", headers).status, 401, headers)
        for user in "ABC":
            self.assertEqual(statuses(weir.client.repeat(2, "/", who("A", user))), {200: 2})

    def test_empty_never_merges_with_another(self):
        weir = self.weir(self.upstream(), USER, settings=user_missing("anonymous"))
        self.assertEqual(statuses(weir.client.repeat(3, "/", {"X-User-Id": ""})), {200: 2, 429: 1})
        self.assertEqual(weir.client.get("/").status, 429, "empty and missing are the same anonymous key")
        for user in ("-", "_", "%", "0", "null", "anonymous", "~"):
            self.assertEqual(weir.client.get("/", who(None, user)).status, 200, user)


class DistinctIdentities(GatewayCase):
    def test_separators_are_escaped(self):
        weir = self.weir(self.upstream(), {"user": {"default": 1, "window": "31d"}})
        pairs = [("a:b", "c"), ("a", "b:c"), ("a|b", "c"), ("a", "b|c"), ("a%3Ab", "c"), ("a/b", "c"), ("a", "b/c"),
                 ("a{b}", "c"), ("{a}", "b}c"), ("a,b", "c"), ("a", "b,c"), ("a", "B"), ("a", "b"), ("A", "b")]
        for caller, user in pairs:
            self.assertEqual(weir.client.get("/", who(caller, user)).status, 200, (caller, user))
            self.assertEqual(weir.client.get("/", who(caller, user)).status, 429, (caller, user))

    def test_long_values_are_hashed_not_cut(self):
        weir = self.weir(self.upstream(), {"user": {"default": 1, "window": "31d"}})
        for last in "xyz":
            user = "u" * 8000 + last
            self.assertEqual(weir.client.get("/", who("a", user)).status, 200)
            self.assertEqual(weir.client.get("/", who("a", user)).status, 429)


class ClientAddress(GatewayCase):
    LIMIT = {"ip": {"default": 3, "window": "31d"}}

    def via(self, weir, forwarded, count=1, source="127.0.0.1"):
        headers = [("X-Forwarded-For", line) for line in ([forwarded] if isinstance(forwarded, str) else forwarded)]
        return [weir.client.get("/", headers, source=source).status for _ in range(count)]

    def test_nobody_is_trusted_by_default(self):
        weir = self.weir(self.upstream(), self.LIMIT)
        found = [self.via(weir, f"6.6.6.{n}")[0] for n in range(10)]
        self.assertEqual(found, [200] * 3 + [429] * 7)

    def test_rightmost_untrusted_counts(self):
        weir = self.weir(self.upstream(), self.LIMIT, settings={"trusted_proxies": ["127.0.0.0/8", "10.0.0.0/8"]})
        for n in range(3):
            self.assertEqual(self.via(weir, f"6.6.6.{n}, 1.2.3.4"), [200])
        self.assertEqual(self.via(weir, "6.6.6.9, 1.2.3.4"), [429])
        self.assertEqual(self.via(weir, ["6.6.6.9", "1.2.3.4, 10.0.0.1"]), [429], "two lines are one list")
        self.assertEqual(self.via(weir, "1.2.3.4, 1.2.3.5"), [200])
        self.assertEqual(self.via(weir, "::ffff:1.2.3.4"), [429], "the mapped form is the IPv4 address")
        self.assertEqual(self.via(weir, "1.2.3.4:8080"), [429], "a port does not make another client")

    def test_nonsense_falls_back_and_never_frees(self):
        weir = self.weir(self.upstream(), self.LIMIT, settings={"trusted_proxies": ["127.0.0.0/8"]})
        self.assertEqual(self.via(weir, "unknown", 4), [200, 200, 200, 429])
        for text in ("_obf", "1.2.3", "[", "[::1", "256.1.1.1", "", "a, b, c", ", ,", "1.2.3.4.5", "%", "\x7f"):
            self.assertIn(self.via(weir, text)[0], (429, 400), text)
        hops = ", ".join(["10.0.0.1"] * 5000)
        self.assertIn(self.via(weir, hops)[0], (200, 429, 431))
        self.assertEqual(weir.client.get("/", source="127.0.0.9").status, 200, "still alive")

    def test_ipv6_is_counted_by_prefix(self):
        weir = self.weir(self.upstream(), self.LIMIT, settings={"trusted_proxies": ["127.0.0.0/8"]})
        one = [self.via(weir, f"2001:db8:0:1::{n:x}")[0] for n in range(1, 11)]
        self.assertEqual(one, [200] * 3 + [429] * 7)
        self.assertEqual(self.via(weir, "2001:DB8:0:1:0:0:0:ff"), [429])
        self.assertEqual(self.via(weir, "[2001:db8:0:1::5]:443"), [429])
        self.assertEqual(self.via(weir, "2001:db8:0:2::1", 4), [200, 200, 200, 429])
        self.assertEqual(self.via(weir, "9.9.9.1", 4), [200, 200, 200, 429])
        self.assertEqual(self.via(weir, "9.9.9.2"), [200], "IPv4 stays one address each")

    def test_prefix_is_configurable(self):
        settings = {"trusted_proxies": ["127.0.0.0/8"], "client_address": {"ipv4_prefix": 24, "ipv6_prefix": 48}}
        weir = self.weir(self.upstream(), {"ip": {"default": 1, "window": "31d"}}, settings=settings)
        self.assertEqual(self.via(weir, "9.9.9.1") + self.via(weir, "9.9.9.2"), [200, 429])
        self.assertEqual(self.via(weir, "2001:db8:1:1::1") + self.via(weir, "2001:db8:1:2::1"), [200, 429])

    def test_trust_proxies_on_an_identity_header(self):
        """Only a listed proxy may assert the caller; from anyone else the header does not exist."""
        caller = {"from": [{"header": "X-Caller-Id", "trust": "proxies"}], "missing": "reject"}
        settings = {"identity": {"caller": caller}, "trusted_proxies": ["127.0.0.2/32"]}
        weir = self.weir(self.upstream(), {"caller": {"default": 1, "window": "31d"}}, settings=settings)
        self.assertEqual(weir.client.get("/", who("A"), source="127.0.0.1").status, 401)
        self.assertEqual(weir.client.get("/", who("A"), source="127.0.0.2").status, 200)
        self.assertEqual(weir.client.get("/", who("A"), source="127.0.0.2").status, 429)


class PathSpelling(GatewayCase):
    LIMIT = {"api": {"default": 1000, "overrides": {"/login": 3}, "window": "31d"}}
    SAME = ("/login", "//login", "/./login", "/x/../login", "/%6Cogin", "/%6cogin", "/login;v=1", "/login?x=1",
            "http://gateway.test/login", "/a/b/../../login")
    AMBIGUOUS = ("/login%2F", "/login%2fx", "/login%00", "/../login", "/%2e%2e/login", "/a/../../login", "/login%",
                 "/login%zz")

    def test_every_spelling_counts_to_one_bucket(self):
        for spelling in self.SAME:
            backend = self.upstream()
            weir = self.weir(backend, self.LIMIT, settings={"workers": 1})
            self.assertEqual(statuses(weir.client.repeat(3, "/login")), {200: 3})
            answer = weir.client.get(spelling)
            self.assertEqual(answer.status, 429, spelling)
            self.assertEqual(weir.client.get("/logins").status, 200)
            weir.stop()

    def test_the_raw_target_is_forwarded(self):
        backend = self.upstream()
        weir = self.weir(backend, self.LIMIT)
        self.assertEqual(weir.client.get("/x/%7Eme?q=%20").status, 200)
        self.assertEqual(backend.last().target, "/x/%7Eme?q=%20")

    def test_the_normal_form_is_forwarded_on_request(self):
        backend = self.upstream()
        weir = self.weir(backend, self.LIMIT, settings={"paths": {"forward": "normal"}})
        self.assertEqual(weir.client.get("/x/../a//%7Eme?q=%20").status, 200)
        self.assertEqual(backend.last().target, "/a/~me?q=%20")

    def test_what_two_servers_read_in_two_ways_is_refused(self):
        backend = self.upstream()
        weir = self.weir(backend, self.LIMIT)
        for spelling in self.AMBIGUOUS:
            self.assertEqual(weir.client.get(spelling).status, 400, spelling)
        self.assertEqual(backend.total, 0)

    def test_folding_is_a_choice(self):
        weir = self.weir(self.upstream(), self.LIMIT)
        weir.client.repeat(3, "/login")
        self.assertEqual([weir.client.get(p).status for p in ("/LOGIN", "/login/")], [200, 200])
        folded = self.weir(self.upstream(), self.LIMIT, settings={"paths": {"fold": ["case", "trailing_slash"]}})
        folded.client.repeat(3, "/login")
        self.assertEqual([folded.client.get(p).status for p in ("/LOGIN", "/login/", "/Login/")], [429] * 3)

    def test_encoded_slash_can_be_kept(self):
        weir = self.weir(self.upstream(), self.LIMIT, settings={"paths": {"encoded_slash": "keep"}})
        self.assertEqual(weir.client.get("/a%2Fb").status, 200)

    def test_method_templates(self):
        limit = {"api": {"default": 1000, "overrides": {"POST /order/{id}/pay": 2, "/both": 2}, "window": "31d"}}
        weir = self.weir(self.upstream(), limit)
        found = [weir.client.post(f"/order/{n}/pay").status for n in range(4)]
        self.assertEqual(found, [200, 200, 429, 429])
        self.assertEqual(weir.client.get("/order/1/pay").status, 200)
        found = [weir.client.get("/both").status, weir.client.post("/both").status, weir.client.get("/both").status]
        self.assertEqual(found, [200, 200, 429], "no method means all methods, one counter")


if __name__ == "__main__":
    import unittest
    unittest.main()
