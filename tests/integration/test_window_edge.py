# SPDX-License-Identifier: Apache-2.0
"""Fixed windows of different keys end at different moments, so that not everybody comes back at once; the same
key's offset is the same after a restart and on every instance."""
import time
from collections import Counter

from support.case import GatewayCase, who

LIMIT = {"caller": {"default": 10, "window": "60s", "algorithm": "fixed_window"}}
DELTA = {"answers": {"legacy": "delta"}}


class WindowEdge(GatewayCase):
    def ends(self, weir, names):
        """The moment each caller's window ends, in seconds of this host's monotonic clock."""
        out = {}
        with weir.client.connect() as link:
            for name in names:
                answer = link.request("GET", "/", who(name))
                out[name] = time.monotonic() + answer.number("X-RateLimit-Reset")
        return out

    def test_ends_are_spread(self):
        for store in (None, self.redis()):
            weir = self.weir(self.upstream(), LIMIT, store=store, settings=DELTA)
            ends = self.ends(weir, [f"tenant-{n}" for n in range(1000)])
            seconds = Counter(int(end) % 60 for end in ends.values())
            self.assertLessEqual(max(seconds.values()), 45, seconds)
            self.assertGreaterEqual(len(seconds), 50)

    def test_without_an_offset_all_end_together(self):
        limit = {"caller": {**LIMIT["caller"], "offset": "none"}}
        weir = self.weir(self.upstream(), limit, settings=DELTA)
        ends = self.ends(weir, [f"tenant-{n}" for n in range(30)])
        spread = max(ends.values()) - min(ends.values())
        self.assertTrue(spread < 3 or spread > 57, spread)

    def test_the_offset_of_a_key_is_stable(self):
        redis, names = self.redis(), [f"tenant-{n}" for n in range(20)]
        pair = [self.weir(self.upstream(), LIMIT, store=redis, settings=DELTA) for _ in range(2)]
        first, second = (self.ends(weir, names) for weir in pair)
        pair[0].stop()
        redis.flush()
        pair[0].start()
        third = self.ends(pair[0], names)
        for name in names:
            for other in (second, third):
                apart = abs(first[name] - other[name]) % 60
                self.assertLess(min(apart, 60 - apart), 2.5, name)


if __name__ == "__main__":
    import unittest
    unittest.main()
