# SPDX-License-Identifier: Apache-2.0
"""What a request costs in counts, which are the same on every machine: heap allocations and system calls of a
warm data path. Time is for bench/."""
import os
import pathlib
import struct
import tempfile
import unittest
from unittest import mock

from support.case import GatewayCase, who
from support.client import request_bytes

COUNTER = os.environ.get("WEIR_COUNT_CALLS", "")
FOUR_LAYERS = {
    "node": {"total": 90000000, "algorithm": "sliding_window"},
    "caller": {"default": 9000000},
    "user": {"default": 9000000},
    "api": {"default": 90000000},
}


@unittest.skipUnless(COUNTER, "not built for counting (a sanitizer has the heap to itself)")
class Economy(GatewayCase):
    ROUNDS = 200
    CONNECTIONS = 64

    def counted(self, limit, **settings):
        """A gateway of one worker and the file it counts into."""
        counts = pathlib.Path(tempfile.mkstemp(prefix="weir-counts-")[1])
        self.addCleanup(counts.unlink)
        counts.write_bytes(bytes(16))
        with mock.patch.dict(os.environ, {"LD_PRELOAD": COUNTER, "WEIR_COUNTS": str(counts)}):
            weir = self.weir(self.upstream(), limit, settings={"workers": 1, **settings})
        return weir, counts

    def per_request(self, weir, counts):
        """(allocations, system calls) of one request once everything has been seen: each round sends one
        request over every connection, then reads the answers."""
        links = [weir.client.connect() for _ in range(self.CONNECTIONS)]

        def rounds(number):
            for n in range(number):
                for at, link in enumerate(links):
                    link.send(request_bytes("GET", f"/item/{n % 10}", who("c", f"u{at}")))
                for link in links:
                    link.read_response()

        rounds(self.ROUNDS // 4)
        before = struct.unpack("QQ", counts.read_bytes())
        rounds(self.ROUNDS)
        after = struct.unpack("QQ", counts.read_bytes())
        for link in links:
            link.close()
        return [(late - early) / self.ROUNDS / self.CONNECTIONS for early, late in zip(before, after)]

    def test_a_forwarded_request_allocates_nothing(self):
        weir, counts = self.counted(FOUR_LAYERS, log={"access": "access.log"})
        allocations, calls = self.per_request(weir, counts)
        # Timers, the log's writer and the rankings allocate now and then, whatever the number of requests.
        self.assertLess(allocations, 0.1)
        # Two reads and two writes; the rest is waiting for events, which a busy worker shares among requests.
        self.assertGreaterEqual(calls, 4)
        self.assertLess(calls, 9)

    def test_a_refused_request_allocates_nothing(self):
        weir, counts = self.counted({"caller": {"default": 1, "window": "31d"}}, log={"access": "off"})
        allocations, calls = self.per_request(weir, counts)
        self.assertLess(allocations, 0.1)
        self.assertGreaterEqual(calls, 2)
        self.assertLess(calls, 6)
