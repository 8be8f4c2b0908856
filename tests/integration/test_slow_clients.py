# SPDX-License-Identifier: Apache-2.0
"""Slow clients by the hundred (slowhttptest's four modes) beside ordinary ones: these see no failure, and what the
slow ones hold is bounded in time and memory. WEIR_LONG=1 makes them two thousand for half a minute each."""
import os
import shutil
import subprocess
import sys
import threading
import time
import unittest

from support.case import GatewayCase
from support.client import Closed
from support.ports import free_port
from support.upstream import Answer
from support.weir_process import ROOT, sanitized

LONG = bool(os.environ.get("WEIR_LONG"))
CONNECTIONS, SECONDS = (2000, 30) if LONG else (200, 5)
MIB = 1 << 20


class Ordinary:
    """A client that asks all the time: by turns over a kept connection and over a fresh one."""

    def __init__(self, client):
        self.client, self.failures, self.times = client, [], []
        self.done = threading.Event()
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self):
        kept = self.client.connect()
        for turn in range(10 ** 9):
            if self.done.is_set():
                break
            began = time.monotonic()
            try:
                answer = kept.request("GET", "/") if turn % 2 else self.client.get("/")
                if answer.status != 200:
                    self.failures.append(answer)
            except (OSError, Closed) as error:
                self.failures.append(error)
                break
            self.times.append(time.monotonic() - began)
            self.done.wait(0.01)
        kept.close()

    def stop(self):
        self.done.set()
        self.thread.join()


def big_upstream(case, size):
    """Its address; every answer is `size` bytes."""
    port = free_port()
    process = subprocess.Popen([sys.executable, "-B", "-m", "support.big_upstream", str(port), str(size)],
                               cwd=ROOT / "tests")
    case.addCleanup(process.wait)
    case.addCleanup(process.terminate)
    return f"127.0.0.1:{port}"


@unittest.skipUnless(shutil.which("slowhttptest"), "slowhttptest is not installed")
class SlowClients(GatewayCase):
    TIMES = {"header": "2s", "body_idle": "2s"}

    def under_attack(self, *options):
        """Runs slowhttptest against a gateway with an ordinary client beside it. Returns the gateway and the most
        connections that were open at once."""
        weir = self.weir(self.upstream(), settings={
            "timeouts": self.TIMES, "log": {"access": "off"},
            "upstreams": {"big": {"endpoints": [big_upstream(self, MIB)]}},
            "routes": [{"path": "/big", "upstream": "big"}, {"path": "/**", "upstream": "default"}]})
        self.eventually(lambda: weir.client.get("/big").status == 200, 10, "the upstream of large answers")
        before, peak, most = weir.rss(), 0, 0
        ordinary = Ordinary(weir.client)
        attack = subprocess.Popen(
            ["slowhttptest", *options, "-c", str(CONNECTIONS), "-r", str(CONNECTIONS), "-l", str(SECONDS),
             "-p", "5", "-u", f"{weir.url}/big", "-v", "0"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while attack.poll() is None:
            peak = max(peak, weir.rss() - before)
            most = max(most, weir.metrics().value("weir_connections_open"))
            time.sleep(0.1)
        ordinary.stop()
        self.assertEqual(ordinary.failures, [])
        self.assertGreater(len(ordinary.times), 5 * SECONDS)
        self.assertLess(max(ordinary.times), 5)
        self.assertLess(peak, (16 * MIB + CONNECTIONS * 128 * 1024) * (2 if sanitized() else 1))
        print(f"slowhttptest {options[0]}: {most:.0f} connections at once, {len(ordinary.times)} ordinary requests, "
              f"slowest {max(ordinary.times) * 1000:.0f} ms, grew by {peak / MIB:.1f} MiB")
        return weir, most

    def test_slow_headers(self):
        weir, most = self.under_attack("-H", "-i", "1")
        self.assertGreater(most, CONNECTIONS / 4)
        # Each had two seconds for its head, then 408: the gateway does not wait for them to give up.
        given_up = weir.metrics().value("weir_malformed_requests_total", **{"class": "4xx"})
        self.assertGreaterEqual(given_up, CONNECTIONS / 4)

    def test_slow_bodies(self):
        _, most = self.under_attack("-B", "-i", "1", "-s", "8192")
        self.assertGreater(most, CONNECTIONS / 4)

    def test_ranges(self):
        self.under_attack("-R")

    def test_slow_reading(self):
        _, most = self.under_attack("-X", "-n", "1", "-z", "32", "-w", "512", "-y", "1024")
        self.assertGreater(most, CONNECTIONS / 4)


class Readers(GatewayCase):
    def test_slow_lines_live_and_one_that_holds_on_is_cut(self):
        """64 at 100 KiB/s, and one at 10 B/s: its grace is the `write` time, or the window of the minimum rate."""
        backend = big_upstream(self, 8 * MIB)
        weir = self.weir(self.upstream(), settings={
            "timeouts": {"write": "10s"}, "upstreams": {"default": {"endpoints": [backend]}}})
        self.eventually(lambda: weir.client.get("/").status == 200, 10, "the upstream of large answers")
        links = [weir.client.connect() for _ in range(65)]
        for n, link in enumerate(links):
            self.addCleanup(link.close)
            link.send(f"GET /{'held' if n == 64 else 'slow'} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
        got, held, gone = [0] * 64, links.pop(), []
        end = time.monotonic() + 30
        while not gone and time.monotonic() < end:
            began = time.monotonic()
            for n, link in enumerate(links):
                got[n] += len(link.socket.recv(50 * 1024))
            try:
                held.socket.recv(5)
            except ConnectionResetError:
                pass
            gone = weir.records('"path":"/held"')
            time.sleep(max(0.0, 0.5 - (time.monotonic() - began)))
        self.assertEqual([(record["ending"], record["status"]) for record in gone], [("timed_out", 200)])
        self.assertEqual(weir.records('"path":"/slow"'), [], "all the others still read")
        for n in range(4):
            while got[n] < 8 * MIB:
                piece = len(links[n].socket.recv(MIB))
                self.assertGreater(piece, 0)
                got[n] += piece
        lines = self.eventually(lambda: len(found := weir.records('"path":"/slow"')) == 4 and found, 10, "their lines")
        self.assertEqual({record["ending"] for record in lines}, {"complete"})


class Bounds(GatewayCase):
    """Each limit by itself."""

    def test_a_body_that_stops_and_one_that_dribbles(self):
        weir = self.weir(self.upstream(), settings={"timeouts": {"body_idle": "1s"}})
        with weir.client.connect() as link:
            link.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf")
            self.assertEqual(link.read_response().status, 408)
            self.assertTrue(link.closed_by_peer())

    def test_the_whole_exchange_has_a_limit(self):
        weir = self.weir(self.upstream(lambda seen: Answer(delay=20)), settings={"timeouts": {"total": "1s"}})
        began = time.monotonic()
        answer = weir.client.get("/")
        self.assertEqual(answer.status, 504)
        self.assertLess(time.monotonic() - began, 10)

    def test_a_reader_that_stops_is_given_up(self):
        body = b"x" * (32 * MIB)
        weir = self.weir(self.upstream(lambda seen: Answer(body=body)), settings={"timeouts": {"write": "1s"}})
        before = weir.rss()
        with weir.client.connect() as link:
            link.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            record, = self.eventually(lambda: weir.records('"path":"/"'), 15, "the end of the exchange")
            self.assertEqual(record["ending"], "timed_out")
            self.assertLess(record["bytes_out"], len(body))
        self.assertLess(weir.rss() - before, 16 * MIB)
        self.assert_metric(weir, 0, "weir_connections_open")


if __name__ == "__main__":
    unittest.main()
