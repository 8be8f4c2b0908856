# SPDX-License-Identifier: Apache-2.0
"""A refused request costs no other layer anything: after any number of refusals by one layer, every other
layer has exactly what the allowed requests left. `accounting: relaxed` charges in chain order instead."""
from support.case import GatewayCase, who
from support.client import statuses

ROOM, TIGHT = 20, 5
LAYERS = ("node", "caller", "user", "api")


def limits(tight, algorithm="sliding_window"):
    """Room in every layer, but for one key of the tight one: caller A, user u1, api /a, or the node."""
    keys = {"caller": "A", "user": "u1", "api": "/a"}
    out = {name: {"default": ROOM, "window": "31d", "algorithm": algorithm} for name in LAYERS}
    if tight == "node":
        out["node"]["default"] = TIGHT
    elif tight is not None:
        out[tight]["overrides"] = {keys[tight]: TIGHT}
    return out


class Accounting(GatewayCase):
    def store(self):
        return None

    def count_until_refused(self, weir, target, headers):
        """How many pass, and which layer then refuses."""
        for count in range(100):
            answer = weir.client.get(target, headers)
            if answer.status == 429:
                return count, answer.json()["violated-policies"]
        self.fail("never refused")

    def test_each_layer_refusing_in_turn(self):
        backend = self.upstream()
        for algorithm in ("sliding_window", "token_bucket", "sliding_log", "gcra", "fixed_window"):
            self.each_layer(backend, algorithm)

    def each_layer(self, backend, algorithm):
        # A request that avoids the tight layer's key, and the layers that it shares with the refused ones.
        beside = {"caller": ("/a", who("B", "u1"), ["node", "api"]),
                  "user": ("/a", who("A", "u2"), ["node", "caller", "api"]),
                  "api": ("/b", who("A", "u1"), ["node", "caller", "user"])}
        for tight, (target, headers, shared) in beside.items():
            with self.subTest(algorithm=algorithm, refusing=tight):
                paths = {"routes": [{"path": path, "upstream": "default"} for path in ("/a", "/b", "/**")]}
                weir = self.weir(backend, limits(tight, algorithm), store=self.store(), settings=paths)
                refused = self.at_once(weir, 40, "/a", who("A", "u1"))
                self.assert_statuses(refused, s200=TIGHT, s429=40 - TIGHT)
                self.assertEqual(self.count_until_refused(weir, target, headers), (ROOM - TIGHT, shared))
                weir.stop()

    def test_node_refusing(self):
        """Nothing avoids the node's key: its limit is raised, and the others show what they were charged."""
        weir = self.weir(self.upstream(), limits("node"), store=self.store())
        self.assert_statuses(self.at_once(weir, 40, "/a", who("A", "u1")), s200=TIGHT, s429=40 - TIGHT)
        weir.reload_limit(limits(None) | {"node": {"default": 1000, "window": "31d", "algorithm": "sliding_window"}})
        count, layers = self.count_until_refused(weir, "/a", who("A", "u1"))
        self.assertEqual((count, layers), (ROOM - TIGHT, ["caller", "user", "api"]))

    def test_one_user_at_ten_times_its_limit_leaves_the_others_whole(self):
        limit = {"caller": {"default": 500, "window": "31d"}, "user": {"default": 40, "window": "31d"}}
        weir = self.weir(self.upstream(), limit, store=self.store())
        headers = lambda i: who("A", "loud" if i % 2 else f"quiet{i // 2 % 10}")
        answers = self.at_once(weir, 800, "/", headers)
        quiet, loud = answers[0::2], answers[1::2]
        self.assertEqual(statuses(quiet), {200: 400})
        self.assertEqual(statuses(loud), {200: 40, 429: 360})

    def test_shadow_layers_do_not_lose_either(self):
        limit = limits("user") | {"ip": {"default": ROOM + 10, "window": "31d", "mode": "shadow"}}
        weir = self.weir(self.upstream(), limit, store=self.store())
        self.assert_statuses(self.at_once(weir, 40, "/a", who("A", "u1")), s200=TIGHT, s429=40 - TIGHT)
        self.assertEqual(self.count_until_refused(weir, "/a", who("A", "u2"))[0], ROOM - TIGHT)
        self.assert_metric(weir, 0, "weir_layer_decisions_total", layer="ip", outcome="shadow_denied")

    def test_relaxed_charges_in_chain_order(self):
        limit = limits("user") | {"accounting": "relaxed"}
        weir = self.weir(self.upstream(), limit, store=self.store())
        answers = weir.client.repeat(ROOM, "/a", who("A", "u1"))
        self.assert_statuses(answers, s200=TIGHT, s429=ROOM - TIGHT)
        # node and caller stand before the refusing layer: used up. api stands behind it: charged five times.
        refused = weir.client.get("/a", who("A", "u2"))
        self.assertEqual(refused.json()["violated-policies"], ["node", "caller"])


class AccountingInRedis(Accounting):
    def setUp(self):
        self.server = self.redis()

    def store(self):
        self.server.flush()
        return self.server


if __name__ == "__main__":
    import unittest
    unittest.main()
