# SPDX-License-Identifier: Apache-2.0
"""weir top, in a pipe and in a terminal; weir explain of a logged request."""
import fcntl
import json
import os
import pty
import select
import struct
import subprocess
import termios
import time
import unittest

from support.case import GatewayCase, who
from support.weir_process import WEIR_BIN, run

LIMIT = {"caller": {"default": 100, "overrides": {"small": 3}}, "user": {"default": 50}}


class Top(GatewayCase):
    def busy(self, **settings):
        weir = self.weir(self.upstream(), LIMIT, settings=settings)
        for n in range(8):
            weir.client.get("/", headers=who("small", "u1"))
        for n in range(8):
            weir.client.get("/", headers=who("other", f"v{n}" if n else "\xc3\x85\xe2\x80\xae" + "long" * 60))
        return weir, "%s:%d" % weir.admin.address

    def test_once(self):
        weir, admin = self.busy()
        result = run("top", "--admin", admin, "--once")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("node test", result.stdout)
        self.assertRegex(result.stdout, r"(?m)^ +8 +5  small$")
        self.assertRegex(result.stdout, r"(?m)^ +5  caller, small$")
        self.assertNotIn("\x1b", result.stdout)

    def test_no_gateway(self):
        result = run("top", "--admin", "127.0.0.1:1", "--once")
        self.assertEqual(result.returncode, 2)
        self.assertIn("no answer from 127.0.0.1:1", result.stderr)

    def test_the_token(self):
        _, admin = self.busy(admin={"token": "s3cret"})
        self.assertEqual(run("top", "--admin", admin, "--once").returncode, 2)

    def test_in_a_terminal(self):
        """Fits the window, follows its size, ends on q, gives the terminal back."""
        _, admin = self.busy()
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        before = termios.tcgetattr(slave)

        def resize(rows, columns):
            fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        resize(12, 60)
        process = subprocess.Popen([WEIR_BIN, "top", "--admin", admin, "--interval", "60"], stdin=slave, stdout=slave, stderr=slave,
                                   start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        self.addCleanup(lambda: process.poll() is None and process.kill())
        frame = self.read_frame(master)
        rows = frame.replace("\x1b[K", "").replace("\x1b[1m", "").replace("\x1b[0m", "").split("\r\n")
        self.assertLessEqual(len(rows), 12)
        self.assertTrue(all(len(row) <= 60 for row in rows), rows)
        self.assertIn("small", frame)
        resize(40, 100)
        frame = self.read_frame(master)  # by SIGWINCH: the interval is a minute
        self.assertGreater(frame.count("\r\n"), 12)
        os.write(master, b"q")
        self.assertEqual(process.wait(20), 0)
        self.assertEqual(termios.tcgetattr(slave), before)
        os.close(slave)

    def read_frame(self, master):
        """From the cursor's way home to the end of the frame."""
        text, deadline = "", time.monotonic() + 20
        while time.monotonic() < deadline:
            if select.select([master], [], [], 0.1)[0]:
                text += os.read(master, 65536).decode(errors="replace")
            start = text.rfind("\x1b[H")
            if start >= 0 and "\x1b[J" in text[start:]:
                return text[start + 3:text.index("\x1b[J", start)]
        self.fail(f"no frame: {text!r}")


class ExplainALoggedRequest(GatewayCase):
    def test_by_its_id(self):
        weir = self.weir(self.upstream(), LIMIT, settings={"log": {"access": "access.jsonl", "denials": {"sample": "100%"}}})
        for n in range(5):
            weir.client.get("/a/../b", headers={"X-Request-Id": f"request-{n}", **who("small", "u1")})
        weir.stop()
        log, main = str(weir.folder.path / "access.jsonl"), str(weir.folder.main)
        refused = run("explain", "-c", main, "--request-id", "request-4", log)
        self.assertEqual(refused.returncode, 0, refused.stderr)
        for word in ("refused by caller", "normal path  /b", "small", "3 per 60000 ms", "quotas.yaml:1:"):
            self.assertIn(word, refused.stdout)
        self.assertIn("let through", run("explain", "-c", main, "--request-id", "request-0", log).stdout)
        as_json = json.loads(run("explain", "-c", main, "--json", "--request-id", "request-4", log).stdout)
        self.assertEqual(as_json["identity"]["caller"], "small")
        self.assertEqual(run("explain", "-c", main, "--request-id", "request-9", log).returncode, 1)
        self.assertEqual(run("explain", "-c", main, "--request-id", "request-9").returncode, 2)


if __name__ == "__main__":
    unittest.main()
