# SPDX-License-Identifier: Apache-2.0
"""As a system service: what systemd is told, sockets it opened beforehand, and the health command."""
import pathlib
import socket
import sys
import tempfile
import time

from support.case import GatewayCase
from support.ports import free_port
from support.weir_process import run

# Puts descriptors at 3, 4, ... as systemd does, and becomes the command.
ACTIVATE = """
import os, sys
count = int(sys.argv[1])
kept = [os.dup(int(fd)) for fd in sys.argv[2:2 + count]]
for place, fd in enumerate(kept):
    os.dup2(fd, 3 + place)
    os.set_inheritable(3 + place, True)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(count))
os.execv(sys.argv[2 + count], sys.argv[2 + count:])
"""


class Notices(GatewayCase):
    def socket(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = str(pathlib.Path(folder.name) / "notify")
        manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(manager.close)
        manager.bind(path)
        manager.settimeout(20)
        return manager, path

    def next_notice(self, manager, word):
        """The next datagram that has `word`, as {key: value}; watchdog notices come in between."""
        end = time.monotonic() + 20
        while time.monotonic() < end:
            notice = dict(line.split("=", 1) for line in manager.recv(4096).decode().splitlines())
            if word in notice:
                return notice
        self.fail(f"no {word}")

    def test_life_of_a_service(self):
        manager, path = self.socket()
        weir = self.weir(self.upstream(), {"user": {"default": 5}}, environment={"NOTIFY_SOCKET": path})
        self.assertEqual(self.next_notice(manager, "READY"), {"READY": "1", "STATUS": "serving"})
        weir.process.send_signal(1)
        began = time.monotonic_ns() // 1000
        reloading = self.next_notice(manager, "RELOADING")
        self.assertAlmostEqual(int(reloading["MONOTONIC_USEC"]), began, delta=20_000_000)
        self.assertEqual(self.next_notice(manager, "READY")["STATUS"], "serving")
        weir.folder.write(weir.folder.quotas, "limit: {nonsense: 1}\n")
        self.eventually(lambda: not weir.status()["last_reload_good"], 10, "the refusal")
        weir.process.send_signal(1)
        self.assertIn("refused", self.next_notice(manager, "READY")["STATUS"])
        weir.process.send_signal(15)
        self.assertEqual(self.next_notice(manager, "STOPPING")["STOPPING"], "1")

    def test_the_watchdog_is_fed_only_where_there_is_one(self):
        manager, path = self.socket()
        self.weir(self.upstream(), environment={"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "30000000"})
        self.next_notice(manager, "WATCHDOG")
        manager, path = self.socket()
        self.weir(self.upstream(), environment={"NOTIFY_SOCKET": path})
        self.next_notice(manager, "READY")
        manager.settimeout(2.5)
        with self.assertRaises(TimeoutError):
            manager.recv(4096)


class Activation(GatewayCase):
    def listening(self):
        listener = socket.create_server(("127.0.0.1", free_port()), backlog=64)
        self.addCleanup(listener.close)
        return listener

    def activated(self, upstream, listeners, **options):
        fds = [each.fileno() for each in listeners]
        prefix = [sys.executable, "-c", ACTIVATE, str(len(fds)), *map(str, fds)]
        return self.weir(upstream, prefix=prefix, pass_fds=fds, **options)

    def test_a_restart_refuses_nobody(self):
        listener = self.listening()
        address = "127.0.0.1:%d" % listener.getsockname()[1]
        weir = self.activated(self.upstream(), [listener], settings={"listen": [{"address": address}]})
        self.assertEqual({answer.status for answer in self.at_once(weir, 100)}, {200})
        accepted = weir.metrics().value("weir_connections_accepted_total")
        self.assertGreaterEqual(accepted, 100)
        weir.stop()
        waiting = weir.client.connect()  # in the kernel's queue, while nobody serves
        waiting.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        weir.start()
        self.assertEqual(waiting.read_response().status, 200)
        waiting.close()

    def test_a_socket_nobody_asked_for_ends_the_start(self):
        weir = self.activated(self.upstream(), [self.listening()], wait=False)
        self.assertEqual(weir.process.wait(20), 2)
        self.assertIn("no `listen` names what the service manager opened", weir.output())
        weir.process, weir.exit_code = None, 0


class Health(GatewayCase):
    def test_three_answers(self):
        weir = self.weir(self.upstream())
        admin = weir.settings["admin"]["address"]
        self.assertEqual((run("health", "--admin", admin).returncode, run("health", "--help").returncode), (0, 0))
        with weir.client.connect() as open_connection:
            open_connection.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n")
            self.eventually(lambda: weir.metrics().value("weir_requests_in_flight") == 1)
            weir.process.send_signal(15)
            self.eventually(lambda: run("health", "--admin", admin).returncode == 1, 5, "draining is not ready")
        self.assertEqual(run("health", "--admin", f"127.0.0.1:{free_port()}").returncode, 2)


if __name__ == "__main__":
    import unittest
    unittest.main()
