# SPDX-License-Identifier: Apache-2.0
"""Tunnels and slow peers through the whole process: WebSockets live through reloads, count as one request that
lasts, end with the drain time; and what slow peers do not take is not kept in memory. WEIR_LONG=1 adds a
gibibyte each way and 64 readers of 16 MiB."""
import os
import signal
import threading
import time
import unittest

from support.case import GatewayCase, who
from support.certificates import Authority, TlsClient
from support.client import request_bytes
from support.websocket import PING, PONG, TEXT, WebSocket, WebSocketUpstream

MIB = 1 << 20
LONG = {"window": "31d"}


class TunnelCase(GatewayCase):
    def setUp(self):
        self.backend = WebSocketUpstream()
        self.addCleanup(self.backend.stop)

    def open(self, weir, headers=None):
        opened = WebSocket.open(weir.client.address, headers=headers)
        if isinstance(opened, WebSocket):
            self.addCleanup(opened.link.close)
        return opened

    def tunnels(self, weir, count):
        self.assert_metric(weir, count, "weir_tunnels_open")


class Tunnels(TunnelCase):
    def test_frames_of_every_kind_and_one_line_at_the_end(self):
        weir = self.weir(self.backend, {"user": {"default": 10, **LONG}})
        socket = self.open(weir, who("A", "u"))
        self.assertEqual(socket.answer["X-RateLimit-Remaining"], "9")
        for size in (0, 1, 125, 126, 65535, 65536, 3 * MIB):
            self.assertTrue(socket.echoes(os.urandom(size)), size)
        socket.send("gr\u00fc\u00df".encode(), TEXT)
        self.assertEqual(socket.receive(), (TEXT, "gr\u00fc\u00df".encode()))
        socket.send(b"beat", PING)
        self.assertEqual(socket.receive(), (PONG, b"beat"))
        self.tunnels(weir, 1)
        self.assertEqual(weir.records('"path":"/ws"'), [])
        self.assertTrue(socket.close())
        record, = self.eventually(lambda: weir.records('"path":"/ws"'), 3, "the access line")
        self.assertEqual((record["status"], record["ending"], record["upstream_status"]), (101, "complete", 101))
        self.assertGreater(record["bytes_in"], 3 * MIB)
        self.assertGreater(record["bytes_in"], record["bytes_out"])  # its frames are masked: four bytes more each
        self.tunnels(weir, 0)
        self.assertEqual(weir.client.get("/", who("A", "u"))["X-RateLimit-Remaining"], "8", "frames cost nothing")

    def test_the_upstream_is_asked_for_what_is_allowed_only(self):
        weir = self.weir(self.backend, settings={"upstreams": {"default": {"upgrades": []}}})
        answer = self.open(weir)
        self.assertEqual((answer.status, "Upgrade" in answer), (200, False))
        target, fields = self.backend.heads[-1]
        self.assertEqual(target, "/ws")
        self.assertNotIn("upgrade", fields)
        self.assertNotIn("connection", fields)
        weir.reload_settings({"upstreams": {"default": {"upgrades": ["websocket"]}}})
        self.assertTrue(self.open(weir).echoes())

    def test_silence_closes_both_ends(self):
        weir = self.weir(self.backend, settings={"timeouts": {"tunnel_idle": "500ms"}})
        socket = self.open(weir)
        self.assertTrue(socket.echoes())
        self.assertTrue(socket.told_to_go())
        self.eventually(lambda: not self.backend.open, 3, "the upstream's end")
        record, = self.eventually(lambda: weir.records('"path":"/ws"'), 3, "the access line")
        self.assertEqual(record["ending"], "timed_out")

    def test_twenty_sockets_and_a_download_live_through_twenty_reloads(self):
        weir = self.weir(self.backend, {"user": {"default": 1000, **LONG}})
        sockets = [self.open(weir, who("A", f"u{n}")) for n in range(20)]
        size, got = 20 * 65536, []

        def download():
            with weir.client.connect() as link:
                link.send(request_bytes("GET", f"/slow/{size}", who("A", "d")))
                got.append(len(link.read_response().body))

        thread = threading.Thread(target=download)
        thread.start()
        self.eventually(lambda: any(target.startswith("/slow/") for target, _ in self.backend.heads))
        other = self.upstream()
        for step in range(20):
            if step % 2:
                weir.reload_limit({"user": {"default": 1001 + step, **LONG}})
            else:
                weir.reload_settings({"upstreams": {"other": {"endpoints": [other.address]}},
                                      "routes": [{"path": f"/other{step}", "upstream": "other"},
                                                 {"path": "/**", "upstream": "default"}]})
            self.assertTrue(all(socket.echoes(b"%d" % step) for socket in sockets), step)
        self.tunnels(weir, 20)
        thread.join(20)
        self.assertEqual(got, [size])
        # An upstream that is no longer configured keeps the tunnels it has for its `drain`, then both sides are told.
        weir.reload_settings({"upstreams": {"default": {"endpoints": [other.address], "drain": "3s"}}})
        self.assertTrue(all(socket.echoes() for socket in sockets))
        self.assertTrue(all(socket.close() for socket in sockets[:10]))
        self.assertTrue(all(socket.told_to_go() for socket in sockets[10:]), "close 1001")
        self.tunnels(weir, 0)


class Slots(TunnelCase):
    def store(self):
        return None

    def holding(self, weir, count):
        """Tunnels of one user: `count` are open, and the next is refused."""
        sockets = [self.open(weir, who("A", "u")) for _ in range(count)]
        refused = self.open(weir, who("A", "u"))
        self.assertEqual((refused.status, "Upgrade" in refused), (429, False))
        return sockets

    def test_a_tunnel_holds_one_slot_until_it_closes(self):
        weir = self.weir(self.backend, {"user": {"default": 6, "algorithm": "concurrency"}}, store=self.store(),
                         settings={"workers": 1})
        sockets = self.holding(weir, 6)
        self.assertEqual(weir.client.get("/", who("A", "u")).status, 429)
        self.assertEqual(weir.client.get("/", who("A", "other")).status, 200)
        time.sleep(6)  # longer than a slot lives by itself
        self.assertTrue(all(socket.echoes() for socket in sockets))
        self.assertEqual(weir.client.get("/", who("A", "u")).status, 429)
        for _ in range(3):
            self.assertTrue(sockets.pop(0).close())
            self.eventually(lambda: weir.client.get("/", who("A", "u")).status == 200, 3, "one slot given back")
            sockets += self.holding(weir, 1)
        for socket in sockets:
            socket.link.reset()
        self.tunnels(weir, 0)
        for socket in self.holding(weir, 6):
            socket.link.reset()


class SharedSlots(Slots):
    def store(self):
        return self.redis()


class Drain(TunnelCase):
    def term(self, weir):
        weir.process.send_signal(signal.SIGTERM)
        self.eventually(lambda: weir.lines("gateway.drain"), 3, "the drain")
        return time.monotonic()

    def test_tunnels_live_until_the_drain_time(self):
        weir = self.weir(self.backend, settings={"timeouts": {"drain": "3s"}})
        sockets = [self.open(weir) for _ in range(5)]
        began = self.term(weir)
        time.sleep(1.5)
        self.assertEqual(weir.admin.get("/readyz").status, 503)
        self.assertTrue(all(socket.echoes() for socket in sockets))
        self.assertTrue(all(socket.told_to_go() for socket in sockets))
        self.assertGreater(time.monotonic() - began, 2.5)
        self.assertEqual(weir.process.wait(5), 0)
        self.assertEqual({record["ending"] for record in weir.records('"path":"/ws"')}, {"aborted"})
        self.assertEqual(len(weir.records('"path":"/ws"')), 5)

    def test_the_end_of_the_last_tunnel_ends_the_drain(self):
        weir = self.weir(self.backend, settings={"timeouts": {"drain": "60s"}})
        socket = self.open(weir)
        began = self.term(weir)
        self.assertTrue(socket.echoes())
        self.assertTrue(socket.close())
        self.assertEqual(weir.process.wait(10), 0)
        self.assertLess(time.monotonic() - began, 10)


class SlowPeers(TunnelCase):
    BIG = {"limits": {"body_bytes": "2GiB"}, "log": {"access": "off"}}

    def grown_while(self, weir, work):
        """How many bytes the gateway grew by at most while `work` ran, and the seconds it took."""
        before, peak, done = weir.rss(), [0], threading.Event()

        def watch():
            while not done.wait(0.02):
                peak[0] = max(peak[0], weir.rss() - before)

        watcher = threading.Thread(target=watch)
        watcher.start()
        began = time.monotonic()
        try:
            work()
        finally:
            seconds = time.monotonic() - began
            done.set()
            watcher.join()
        return peak[0], seconds

    def slow_readers(self, weir, count, size, slow_seconds):
        """`count` downloads of `size` bytes, read at 100 KiB/s for a while and then to their end."""
        links = [weir.client.connect() for _ in range(count)]
        got = [0] * count
        try:
            for link in links:
                link.send(request_bytes("GET", f"/download/{size}"))
            end = time.monotonic() + slow_seconds
            for link in links:
                self.assertEqual(link.read_head().status, 200)
            while time.monotonic() < end:
                for n, link in enumerate(links):
                    got[n] += len(link.buffer) or len(link.socket.recv(10240))
                    link.buffer = b""
                time.sleep(0.1)
            for n, link in enumerate(links):
                while got[n] < size:
                    piece = len(link.socket.recv(MIB))
                    self.assertGreater(piece, 0)
                    got[n] += piece
        finally:
            for link in links:
                link.close()
        self.assertEqual(got, [size] * count)

    def test_slow_readers_cost_no_memory(self):
        weir = self.weir(self.backend, settings=self.BIG)
        weir.client.get("/")
        grown, _ = self.grown_while(weir, lambda: self.slow_readers(weir, 16, 8 * MIB, 2))
        self.assertLess(grown, 16 * MIB)  # of 128 MiB on their way

    @unittest.skipUnless(os.environ.get("WEIR_LONG"), "takes minutes")
    def test_many_slow_readers(self):
        """Each holds one piece of 64 KiB with its head; over TLS its records, too. What it took is not kept."""
        for kind, promised in (("plain", 64 * 96 * 1024), ("tls", 64 * 192 * 1024)):
            weir = self.weir(self.backend, settings=self.BIG)
            if kind == "tls":
                self.speak_tls(weir)
            weir.client.get("/")
            grown, seconds = self.grown_while(weir, lambda: self.slow_readers(weir, 64, 16 * MIB, 60))
            print(f"64 {kind} readers of 16 MiB: grew by {grown / MIB:.1f} MiB in {seconds:.0f} s")
            self.assertLess(grown, 4 * MIB + promised)

    def speak_tls(self, weir):
        authority = Authority()
        self.addCleanup(authority.remove)
        tls = authority.issue("a", "DNS:a.test")
        weir.reload_settings({"listen": [{**weir.settings["listen"][0], "tls": tls}]})
        weir.client = TlsClient(weir.client.address, authority.client_context())

    @unittest.skipUnless(os.environ.get("WEIR_LONG"), "takes minutes")
    def test_a_gibibyte_each_way(self):
        weir = self.weir(self.backend, settings=self.BIG)
        weir.client.get("/")
        size, block = 1 << 30, b"x" * MIB

        def up():
            with weir.client.connect() as link:
                link.send(request_bytes("POST", "/", {"Content-Length": str(size)}))
                for _ in range(size // MIB):
                    link.send(block)
                self.assertEqual(link.read_response().body, str(size).encode())

        def down():
            with weir.client.connect() as link:
                link.send(request_bytes("GET", f"/download/{size}"))
                self.assertEqual(link.read_head().number("Content-Length"), size)
                left = size - len(link.buffer)
                while left:
                    piece = len(link.socket.recv(MIB))
                    self.assertGreater(piece, 0)
                    left -= piece

        for name, work in (("up", up), ("down", down)):
            grown, seconds = self.grown_while(weir, work)
            print(f"1 GiB {name}: {1024 / seconds:.0f} MiB/s, grew by {grown / MIB:.1f} MiB")
            self.assertLess(grown, 4 * MIB)


if __name__ == "__main__":
    unittest.main()
