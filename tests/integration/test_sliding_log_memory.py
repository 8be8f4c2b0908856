# SPDX-License-Identifier: Apache-2.0
"""The exact log keeps one entry per granted permit, none per refusal, and disappears by itself."""
from support.case import GatewayCase, who


class SlidingLogMemory(GatewayCase):
    def test_refused_requests_leave_nothing(self):
        redis = self.redis()
        limit = {"caller": {"default": 50, "window": "60s", "algorithm": "sliding_log"}}
        weir = self.weir(self.upstream(), limit, store=redis)
        self.at_once(weir, 200, "/", who("A"))
        size = self.entries(redis)
        for _ in range(3):
            self.at_once(weir, 200, "/", who("A"))
        self.assertEqual(self.entries(redis), size)
        self.assertLessEqual(size["count"], 50 + 1)

    @staticmethod
    def entries(redis):
        """Entries and bytes of all keys, whatever type holds them."""
        count = size = 0
        for key in redis.keys():
            kind = redis.call("TYPE", key).decode()
            size += redis.call("MEMORY", "USAGE", key)
            if kind == "string":
                continue
            count += redis.call({"zset": "ZCARD", "list": "LLEN", "hash": "HLEN", "set": "SCARD"}[kind], key)
        return {"count": count, "bytes": size}

    def test_the_key_goes_with_its_last_entry(self):
        redis = self.redis()
        limit = {"caller": {"default": 5, "window": "1s", "algorithm": "sliding_log"}}
        weir = self.weir(self.upstream(), limit, store=redis)
        weir.client.repeat(8, "/", who("A"))
        self.assertTrue(redis.keys())
        self.eventually(lambda: not redis.keys(), 5, "the end of the key")


if __name__ == "__main__":
    import unittest
    unittest.main()
