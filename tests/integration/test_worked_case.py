# SPDX-License-Identifier: Apache-2.0
"""The worked case of the quota model: node 1000, caller A 600, user u1 100, /order/pay 60. Whoever exceeds a
limit is refused inside the smallest box, and nobody else. Windows so long that none ends meanwhile."""
from support.case import GatewayCase, who

LIMIT = {
    "node": {"total": 1000, "window": "1h", "algorithm": "sliding_window"},
    "caller": {"default": 600, "window": "1h", "algorithm": "sliding_window"},
    "user": {"default": 600, "overrides": {"u1": 100}, "window": "1h", "algorithm": "sliding_window"},
    "api": {"default": 5000, "overrides": {"/order/pay": 60}, "window": "31d"},
}


class InMemory(GatewayCase):
    def start(self):
        self.backend = self.upstream()
        return self.weir(self.backend, LIMIT)

    def refused_by(self, answer, layer):
        self.assertEqual(answer.status, 429, answer)
        self.assertEqual(answer.json()["violated-policies"][0], layer, answer)

    def test_over_the_api_only(self):
        weir = self.start()
        answers = self.at_once(weir, 100, "/order/pay", lambda i: who(f"c{i % 5}", f"x{i % 7}"))
        self.assert_statuses(answers, s200=60, s429=40)
        self.refused_by(weir.client.get("/order/pay", who("fresh", "fresh")), "api")
        self.assertEqual(weir.client.get("/user/info", who("c1", "x1")).status, 200)
        self.assertEqual(self.backend.hits["/order/pay"], 60)

    def test_over_the_user_only(self):
        weir = self.start()
        self.assert_statuses(self.at_once(weir, 150, "/x", who("A", "u1")), s200=100, s429=50)
        self.refused_by(weir.client.get("/y", who("A", "u1")), "user")
        self.assert_statuses(self.at_once(weir, 100, "/x", lambda i: who("A", f"v{i % 4}")), s200=100)
        self.assertEqual(weir.client.get("/x", who("B", "w")).status, 200)

    def test_over_the_caller_only(self):
        weir = self.start()
        answers = self.at_once(weir, 720, "/x", lambda i: who("A", f"v{i % 8}"))
        self.assert_statuses(answers, s200=600, s429=120)
        self.refused_by(weir.client.get("/x", who("A", "fresh")), "caller")
        self.assert_statuses(self.at_once(weir, 100, "/x", lambda i: who("B", f"v{i % 8}")), s200=100)

    def test_over_the_node(self):
        weir = self.start()
        answers = self.at_once(weir, 1200, "/x", lambda i: who(f"c{i % 3}", f"v{i % 9}"))
        self.assert_statuses(answers, s200=1000, s429=200)
        for caller in ("A", "B", "c1", None):
            self.refused_by(weir.client.get("/y", who(caller, "fresh")), "node")
        self.assertEqual(self.backend.total, 1000)


class InRedis(InMemory):
    def start(self):
        self.backend = self.upstream()
        return self.weir(self.backend, LIMIT, store=self.redis())


if __name__ == "__main__":
    import unittest
    unittest.main()
