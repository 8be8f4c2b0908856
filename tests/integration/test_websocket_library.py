# SPDX-License-Identifier: Apache-2.0
"""WebSockets as a real library speaks them on both sides of the gateway: compression, fragments, subprotocols, pings,
either side's close; plain and over TLS."""
import json
import socket
import subprocess
import unittest

from support.case import GatewayCase
from support.certificates import Authority
from support.ports import free_port
from support.weir_process import ROOT

PYTHON = "/usr/bin/python3"  # Debian's, whose packages are Debian's
SCRIPT = str(ROOT / "tests" / "support" / "websocket_library.py")


def installed():
    try:
        return subprocess.run([PYTHON, "-c", "import websockets"], capture_output=True, timeout=60).returncode == 0
    except OSError:
        return False


class Upstream:
    def __init__(self):
        self.port = free_port()
        self.address = f"127.0.0.1:{self.port}"
        self.process = subprocess.Popen([PYTHON, "-B", SCRIPT, "serve", str(self.port)])

    def answers(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), 5).close()
            return True
        except OSError:
            return False

    def stop(self):
        self.process.terminate()
        self.process.wait(10)


@unittest.skipUnless(installed(), "python3-websockets is not installed")
class Library(GatewayCase):
    def setUp(self):
        self.backend = Upstream()
        self.addCleanup(self.backend.stop)
        self.eventually(self.backend.answers, 90, "the upstream")

    def talk(self, url, authorities=""):
        done = subprocess.run([PYTHON, "-B", SCRIPT, "talk", url, authorities], capture_output=True, text=True, timeout=90)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        self.assertEqual(json.loads(done.stdout), {
            "subprotocol": "chat", "extensions": ["permessage-deflate"], "wrong": [], "closed": 1000,
            "plain_extensions": [], "left": [4001, "as you wish"], "many": True})

    def test_plain(self):
        weir = self.weir(self.backend)
        self.talk("ws://%s:%d/ws" % weir.client.address)
        self.assert_metric(weir, 0, "weir_tunnels_open")
        lines = self.eventually(lambda: len(found := weir.records('"path":"/ws"')) == 22 and found, 5, "their lines")
        self.assertEqual({(line["status"], line["ending"]) for line in lines}, {(101, "complete")})

    def test_over_tls(self):
        authority = Authority()
        self.addCleanup(authority.remove)
        weir = self.weir(self.backend, wait=False)
        weir.stop()
        weir.settings["listen"] = [{**weir.settings["listen"][0], "tls": authority.issue("a", "DNS:a.test")}]
        weir.folder.write(weir.folder.main, weir.settings)
        weir.start()
        self.talk("wss://%s:%d/ws" % weir.client.address, authority.ca)


if __name__ == "__main__":
    unittest.main()
