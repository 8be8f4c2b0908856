# SPDX-License-Identifier: Apache-2.0
"""What the scripts are called with: every key in KEYS, none in ARGV, one round trip for a chain, and one
caller's keys in one slot, so that a cluster can run it."""
import random
import re

from support.case import GatewayCase, who

H = {"window": "60s"}
CHAIN = {"node": {"total": 100000, **H}, "caller": {"default": 10000, **H}, "user": {"default": 1000, **H},
         "role": {"key": ["caller", "role"], "default": 1000, "before": "api", **H}, "api": {"default": 50000, **H}}
ROLE = {"identity": {"role": {"from": [{"header": "X-Role"}], "missing": "anonymous"}}}


def slot_tag(key):
    """What a cluster hashes: the first non-empty {...}, else the whole key."""
    found = re.search(rb"\{([^}]+)\}", key)
    return found[1] if found else key


class ClusterKeys(GatewayCase):
    def start(self):
        self.server = self.redis()
        self.fake = self.fake_redis(self.server)
        # Exact, because each call shall carry the whole chain: layers with permits at hand are not asked for.
        return self.weir(self.upstream(), CHAIN, store=self.fake, settings=ROLE, counting="exact")

    def test_all_keys_are_declared_and_only_keys(self):
        weir = self.start()
        weir.client.get("/", who("warm", "up"))
        self.fake.clear()
        for n in range(20):
            weir.client.get("/", who(f"caller{n}", f"user{n}", X_Role="ADMIN"))
        calls = self.fake.scripts()
        self.assertEqual(len(calls), 20, "one round trip for a chain of five layers")
        for _, keys, arguments in calls:
            self.assertEqual(len(keys), 5, keys)
            self.assertEqual(len(set(keys)), 5)
            for argument in arguments:
                self.assertFalse(any(key in argument or argument == key for key in keys), argument)
                self.assertNotRegex(argument, rb"caller\d|user\d")
        stored = set(self.server.keys())
        declared = {key.decode("latin-1") for _, keys, _ in calls for key in keys}
        self.assertEqual(declared - stored, set())
        undeclared = {key for key in stored - declared if "warm" not in key}
        self.assertEqual(undeclared, set(), "no script makes up a key")

    def test_one_callers_keys_share_a_slot(self):
        weir = self.start()
        weir.client.get("/", who("warm", "up"))
        self.fake.clear()
        rng = random.Random(7)
        letters = "abc{}:%/|~ \u00e9"
        for _ in range(200):
            caller = "".join(rng.choice(letters) for _ in range(8)).strip() or "x"
            user = "".join(rng.choice(letters) for _ in range(8)).strip() or "y"
            self.assertEqual(weir.client.get("/", who(caller, user, X_Role="R")).status, 200)
        for _, keys, _ in self.fake.scripts():
            tags = [slot_tag(key) for key in keys]
            callers = [tag for tag in tags if tag.startswith(b"c=")]
            self.assertEqual((len(callers), len(set(callers))), (3, 1), keys)
            self.assertEqual(len(set(tags)), 3, "beside it the node's slot and the API's")


if __name__ == "__main__":
    import unittest
    unittest.main()
