# SPDX-License-Identifier: Apache-2.0
"""Authentication comes before any counting: what is not proved is refused, costs nobody anything, and no faulty
token ever selects a tenant or makes the gateway fail."""
import hashlib
import hmac
import json
import time

from support.case import GatewayCase, who
from support.client import statuses
from support.tokens import Key, b64, bearer, key_set, unsigned
from support.weir_process import run

LIMIT = {"caller": {"default": 5, "window": "31d", "algorithm": "sliding_window"}}
CALLER = {"from": [{"jwt": "azp"}], "missing": "anonymous"}


class Authentication(GatewayCase):
    def gateway(self, keys, auth=None, backend=None, **settings):
        """A gateway with the key set `keys` (a text, or a list of keys) in jwks.json."""
        text = keys if isinstance(keys, str) else key_set(*keys)
        api_keys = {"keys": [{"sha256": hashlib.sha256(b"s3cret").hexdigest(), "caller": "held"}]}
        return self.weir(backend or self.upstream(), LIMIT, files={"jwks.json": text, "keys.yaml": api_keys},
                         settings={"identity": {"caller": CALLER}, **settings,
                                   "auth": {"jwt": {"jwks_file": "jwks.json"}, **(auth or {})}})

    def remaining(self, weir, token):
        answer = weir.client.get("/", bearer(token))
        self.assertEqual(answer.status, 200, answer)
        return answer.number("X-RateLimit-Remaining")

    def assert_refused(self, answer, why=""):
        self.assertEqual(answer.status, 401, (why, answer))
        self.assertEqual(answer["Content-Type"], "application/problem+json")
        self.assertIn("WWW-Authenticate", answer)
        self.assertEqual(answer.json()["status"], 401)
        self.assertNotIn("X-RateLimit-Remaining", answer)


class Tokens(Authentication):
    def test_every_algorithm_names_the_caller(self):
        keys = [Key(name, name.lower()) for name in ("HS256", "RS256", "ES256")]
        weir = self.gateway(keys)
        for key in keys:
            for left in (4, 3):
                self.assertEqual(self.remaining(weir, key.token({"azp": key.kid})), left, key.algorithm)
        self.assertEqual(weir.client.get("/").number("X-RateLimit-Remaining"), 4, "anonymous is another")

    def test_what_is_wrong_with_a_token_is_401_and_never_selects_a_tenant(self):
        """C64: no faulty token is a 5xx, none counts for anybody, and nothing of it is logged."""
        hs, rs, stranger = Key("HS256", "h"), Key("RS256", "r"), Key("HS256", "h")
        backend = self.upstream()
        jwt = {"jwks_file": "jwks.json", "audience": "gateway", "issuer": "login"}
        weir = self.gateway([hs, rs], {"jwt": jwt}, backend)
        ok = {"azp": "victim", "aud": "gateway", "iss": "login"}
        good = hs.token(ok)
        head, claims, signature = good.split(".")
        self.assertEqual(self.remaining(weir, good), 4)
        confused = unsigned({"alg": "HS256", "kid": "r"}, ok)
        now = int(time.time())
        bad = {
            "no token": ("malformed", "x"), "no parts": ("malformed", "a.b"), "blank": ("malformed", ""),
            "junk": ("malformed", "\xff\xfe.{}.%"), "padding": ("malformed", good + "="),
            "none": ("algorithm", unsigned({"alg": "none"}, ok) + "."),
            "none with a signature": ("algorithm", unsigned({"alg": "None"}, ok) + "." + signature),
            "no signature": ("signature", f"{head}.{claims}."),
            "tampered": ("signature", f"{head}.{b64(json.dumps({**ok, 'azp': 'other'}).encode())}.{signature}"),
            "truncated": ("signature", good[:-3]),
            "of a stranger": ("signature", stranger.token(ok)),
            "unknown kid": ("unknown_key", hs.token(ok, kid="zz")),
            "public key as secret": ("unknown_key", confused + "." + b64(
                hmac.new(rs.public_pem(), confused.encode(), hashlib.sha256).digest())),
            "crit": ("malformed", hs.token(ok, crit=["exp"])),
            "expired": ("expired", hs.token({**ok, "exp": now - 61})),
            "not yet": ("not_yet_valid", hs.token({**ok, "nbf": now + 90})),
            "wrong audience": ("audience", hs.token({**ok, "aud": "else"})),
            "no audience": ("audience", hs.token({"azp": "victim", "iss": "login"})),
            "wrong issuer": ("issuer", hs.token({**ok, "iss": "evil"})),
            "doubled member": ("malformed", hs.token(b'{"azp":"victim","azp":"victim"}')),
            "no object": ("malformed", hs.token(b'["victim"]')),
            "16 KB": ("malformed", hs.token({**ok, "x": "a" * 16384})),
        }
        counted = {}
        for why, (reason, token) in bad.items():
            self.assert_refused(weir.client.get("/", bearer(token)), why)
            counted[reason] = counted.get(reason, 0) + 1
        for reason, count in counted.items():
            self.assert_metric(weir, count, "weir_auth_failures_total", reason=reason)
        self.assertEqual(self.remaining(weir, good), 3, "refused requests cost nothing")
        self.assertEqual(backend.total, 2)
        output = (weir.folder.path / "stdout").read_text() + (weir.folder.path / "stderr").read_text()
        self.assertTrue(weir.records("auth.expired"))
        for part in (signature, claims, good[:-3], "Bearer"):
            self.assertNotIn(part, output)

    def test_claims_of_another_type_are_missing(self):
        key = Key("ES256")
        caller = {"from": [{"jwt": "azp"}, {"header": "X-Caller-Id"}], "missing": "reject"}
        weir = self.gateway([key], identity={"caller": caller})
        for claim in (["a"], {"a": "b"}, True, None, 1.5, "a\0b"):
            answer = weir.client.get("/", {**bearer(key.token({"azp": claim})), **who("forged")})
            self.assertEqual(answer.status, 401, claim)
        large = "a" * 11000
        self.assertEqual(self.remaining(weir, key.token({"azp": large})), 4)
        self.assertEqual(self.remaining(weir, key.token({"azp": large})), 3)
        self.assertEqual(self.remaining(weir, key.token({"azp": large + "b"})), 4)
        self.assertEqual(self.remaining(weir, key.token({"azp": 7})), 4)

    def test_challenge(self):
        key = Key("HS256")
        weir = self.gateway([key], {"required": "jwt"})
        missing = weir.client.get("/")
        self.assert_refused(missing)
        self.assertEqual(missing["WWW-Authenticate"], 'Bearer realm="gateway"')
        self.assert_refused(weir.client.get("/", {"Authorization": "Basic eDp5"}))
        late = weir.client.get("/", bearer(key.token({"exp": 1})))
        self.assertIn('error="invalid_token"', late["WWW-Authenticate"])
        self.assertIn("expired", late.json()["detail"])
        self.assertEqual(self.remaining(weir, key.token({"azp": "a"})), 4)
        self.assert_metric(weir, 2, "weir_auth_failures_total", reason="missing")

    def test_the_faulty_is_anonymous_on_request(self):
        key = Key("HS256")
        weir = self.gateway([key], {"on_invalid": "anonymous"})
        late = key.token({"azp": "a", "exp": 1})
        self.assertEqual(self.remaining(weir, late), 4)
        self.assertEqual(weir.client.get("/").number("X-RateLimit-Remaining"), 3, "the same anonymous key")
        self.assert_metric(weir, 1, "weir_auth_failures_total", reason="expired")


class Policies(Authentication):
    def test_keys_tokens_and_routes(self):
        key = Key("HS256")
        caller = {"from": [{"jwt": "azp"}, {"api_key": "X-Api-Key"}], "missing": "anonymous"}
        routes = [{"path": "/open/**", "auth": "none"}, {"path": "POST /pay", "auth": "jwt"}, {"path": "/**"}]
        backend = self.upstream()
        weir = self.gateway([key], {"api_keys_file": "keys.yaml", "required": "any"}, backend,
                            identity={"caller": caller}, routes=routes)
        held, token = {"X-Api-Key": "s3cret"}, bearer(key.token({"azp": "t"}))
        self.assertEqual([weir.client.get("/x", h).status for h in (None, held, token)], [401, 200, 200])
        self.assertEqual(weir.client.get("/x")["WWW-Authenticate"],
                         'Bearer realm="gateway", ApiKey realm="gateway"')
        self.assertEqual([weir.client.post("/pay", headers=h).status for h in (None, held, token)], [401, 401, 200])
        self.assertEqual(weir.client.get("/open/a").status, 200)
        guess = weir.client.get("/open/a", {"X-Api-Key": "guess"})
        self.assert_refused(guess)
        self.assertTrue(guess["WWW-Authenticate"].startswith("ApiKey"))
        self.assert_refused(weir.client.get("/open/../x"))
        self.assertEqual(weir.client.get("/x", held).number("X-RateLimit-Remaining"), 3)
        self.assertNotIn("s3cret", weir.output())

    def test_credentials_are_forwarded_unless_told_otherwise(self):
        key, backend = Key("HS256"), self.upstream()
        fields = {**bearer(key.token({"azp": "t"})), "X-Api-Key": "s3cret"}
        for forward in (True, False):
            weir = self.gateway([key], {"api_keys_file": "keys.yaml", "forward": forward}, backend)
            self.assertEqual(weir.client.get("/", fields).status, 200)
            seen = backend.last()
            self.assertEqual([seen.get(name) == fields[name] for name in fields], [forward] * 2)
            self.assertEqual([seen.get(name) is None for name in fields], [not forward] * 2)

    def test_explain_says_what_was_found_and_shows_no_secret(self):
        key = Key("HS256")
        weir = self.gateway([key], {"required": "jwt"})
        token = key.token({"azp": "shop"})
        for wanted, value in ((["jwt", "shop"], token), (["401", "signature"], token[:-3]), (["none", "401"], "")):
            header = ["--header", "Authorization: Bearer " + value] if value else []
            result = run("explain", "-c", str(weir.folder.main), *header, "GET", "/", cwd=weir.folder.path)
            for word in wanted:
                self.assertIn(word, result.stdout)
            self.assertNotIn(token[-24:-4], result.stdout + result.stderr)
        shown = weir.admin.get("/config").body.decode()
        self.assertNotIn(key.jwk["k"], shown)


class Reloading(Authentication):
    def test_keys_rotate(self):
        old, new = Key("ES256", "2026-10"), Key("ES256", "2026-11")
        weir = self.gateway([old])
        before, after = old.token({"azp": "a"}), new.token({"azp": "a"})
        self.assertEqual(self.remaining(weir, before), 4)
        self.assert_refused(weir.client.get("/", bearer(after)))
        weir.reload(lambda: weir.folder.write("jwks.json", key_set(old, new)))
        self.assertEqual(self.remaining(weir, before), 3)
        self.assertEqual(self.remaining(weir, after), 2)
        weir.reload(lambda: weir.folder.write("jwks.json", key_set(new)))
        self.assert_refused(weir.client.get("/", bearer(before)), "a remembered token of a key that left")
        self.assertEqual(self.remaining(weir, after), 1)

    def test_a_broken_key_set_keeps_the_last_good_one(self):
        key = Key("HS256")
        weir = self.gateway([key], {"required": "jwt"})
        token = key.token({"azp": "a"})
        self.assertEqual(self.remaining(weir, token), 4)
        weak = dict(key.jwk, k="c2hvcnQ")
        for text, said in (
                ('{"keys": [', "jwks.json:"), ("", "jwks.json: the file is empty"), ("{}", "keys: is missing"),
                ('{"keys": []}', "holds no key"),
                (json.dumps({"keys": [weak]}, indent=1), "jwks.json:8:5: keys[0].k: has 5 octets")):
            weir.folder.write("jwks.json", text)
            self.eventually(lambda: weir.lines(said), what=said)
            self.assertNotIn("c2hvcnQ", weir.output())
            self.assertEqual(weir.client.get("/").status, 401, "nothing opens")
        (weir.folder.path / "jwks.json").unlink()
        self.eventually(lambda: weir.lines("auth.jwt.jwks_file", "cannot read"), what="the missing file")
        self.assertEqual(self.remaining(weir, token), 3)
        self.assertFalse(weir.status()["last_reload_good"])
        weir.reload(lambda: weir.folder.write("jwks.json", key_set(key, Key("HS256", "k2"))))
        self.assertEqual(self.remaining(weir, token), 2)

    def test_check_names_the_line(self):
        weir = self.gateway([Key("HS256")])
        weir.folder.write("jwks.json", '{"keys": [\n  {"kty": "RSA", "n": "AQAB",\n   "e": "AQAB"}]}')
        result = run("check", "-c", str(weir.folder.main), cwd=weir.folder.path)
        self.assertEqual(result.returncode, 1, result)
        self.assertIn("jwks.json:2:", result.stdout + result.stderr)
        self.assertIn("keys[0].n: has 17 bits", result.stdout + result.stderr)

    def test_api_keys_are_watched_too(self):
        weir = self.gateway([Key("HS256")], {"api_keys_file": "keys.yaml", "required": "api_key"})
        self.assertEqual(weir.client.get("/", {"X-Api-Key": "s3cret"}).status, 200)
        fresh = {"keys": [{"sha256": hashlib.sha256(b"n3xt").hexdigest(), "caller": "held"}]}
        weir.reload(lambda: weir.folder.write("keys.yaml", fresh))
        self.assertEqual(statuses([weir.client.get("/", {"X-Api-Key": k}) for k in ("s3cret", "n3xt")]), {401: 1, 200: 1})


if __name__ == "__main__":
    import unittest
    unittest.main()
