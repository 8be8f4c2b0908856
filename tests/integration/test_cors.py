# SPDX-License-Identifier: Apache-2.0
"""Browsers: preflights cost nothing, and a refusal can be read by the script that caused it."""
from support.case import GatewayCase, who

ORIGIN = "https://a.example"
CORS = {"answers": {"cors": {"origins": [ORIGIN]}}}
TWO = {"user": {"default": 2, "window": "31d"}}


def preflight(origin=ORIGIN):
    return {"Origin": origin, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "x-user-id"}


class Cors(GatewayCase):
    def test_preflights_are_answered_without_charge(self):
        backend = self.upstream()
        weir = self.weir(backend, TWO, settings=CORS)
        for _ in range(5):
            answer = weir.client.request("OPTIONS", "/", preflight())
            self.assertEqual((answer.status, answer["Access-Control-Allow-Origin"]), (204, ORIGIN))
            self.assertIn("POST", answer["Access-Control-Allow-Methods"])
            self.assertIn("x-user-id", answer["Access-Control-Allow-Headers"].lower())
        self.assertEqual(backend.total, 0)
        headers = {**who(None, "u"), "Origin": ORIGIN}
        answers = weir.client.repeat(3, "/", headers)
        self.assertEqual([a.status for a in answers], [200, 200, 429])
        for answer in answers:
            self.assertEqual(answer.all("Access-Control-Allow-Origin"), [ORIGIN])
            exposed = answer["Access-Control-Expose-Headers"].lower()
            for name in ("retry-after", "ratelimit", "ratelimit-policy", "x-ratelimit-remaining"):
                self.assertIn(name, exposed.split(", "))
            self.assertIn("Origin", answer["Vary"])

    def test_an_anonymous_preflight_costs_the_anonymous_key_nothing(self):
        weir = self.weir(self.upstream(), TWO, settings=CORS)
        for _ in range(5):
            weir.client.request("OPTIONS", "/", preflight())
        self.assertEqual([a.status for a in weir.client.repeat(3, "/")], [200, 200, 429])

    def test_another_origin_gets_nothing(self):
        weir = self.weir(self.upstream(), TWO, settings=CORS)
        answer = weir.client.request("OPTIONS", "/", preflight("https://evil.example"))
        self.assertNotIn("Access-Control-Allow-Origin", answer)
        answer = weir.client.get("/", {**who(None, "u"), "Origin": "https://evil.example"})
        self.assertNotIn("Access-Control-Allow-Origin", answer)

    def test_a_bare_options_counts(self):
        backend = self.upstream()
        weir = self.weir(backend, TWO, settings=CORS)
        found = [weir.client.request("OPTIONS", "/", who(None, "u")).status for _ in range(3)]
        self.assertEqual(found, [200, 200, 429])
        self.assertEqual(backend.total, 2)

    def test_off_by_default(self):
        backend = self.upstream()
        weir = self.weir(backend, TWO)
        answer = weir.client.request("OPTIONS", "/", {**preflight(), **who(None, "u")})
        self.assertEqual((answer.status, backend.total), (200, 1))
        self.assertNotIn("Access-Control-Allow-Origin", answer)


if __name__ == "__main__":
    import unittest
    unittest.main()
