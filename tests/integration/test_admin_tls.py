# SPDX-License-Identifier: Apache-2.0
"""The admin port over TLS: what curl, openssl and the commands see, certificates in place of a token, reloads; and
what /config and /status say of TLS."""
import json
import shutil
import ssl
import subprocess
import unittest

from support.case import GatewayCase, who
from support.certificates import Authority, TlsClient, raw_exchange
from support.client import Closed
from support.ports import free_port
from support.weir_process import run

REFUSED = (OSError, ssl.SSLError, Closed)


class AdminTls(GatewayCase):
    @classmethod
    def setUpClass(cls):
        cls.authority = Authority()
        cls.addClassCleanup(cls.authority.remove)
        cls.a = cls.authority.issue("a", "DNS:a.test")
        cls.b = cls.authority.issue("b", "DNS:b.test")
        cls.ops = cls.authority.issue("ops", "")
        cls.trust = ["--ca", cls.authority.ca, "--server-name", "a.test"]
        cls.proof = ["--cert", cls.ops["certificate"], "--key", cls.ops["key"]]

    def secured(self, tls, pair=None, limit=None, **admin):
        """A gateway whose admin port speaks TLS, asked by the holder of `pair`."""
        weir = self.weir(self.upstream(), limit, wait=False)
        weir.stop()
        weir.settings["admin"].update(tls=tls, **admin)
        weir.folder.write(weir.folder.main, weir.settings)
        weir.start(wait=False)
        weir.place = "127.0.0.1:%d" % weir.admin.address[1]
        weir.admin = self.asks(weir, pair)
        weir.wait_ready()
        return weir

    def asks(self, weir, pair=None, name="a.test"):
        return TlsClient(weir.admin.address, self.authority.client_context(pair), name)

    def curl(self, weir, path, *options):
        port = weir.admin.address[1]
        done = subprocess.run(["curl", "-sS", "--cacert", self.authority.ca, "--resolve", f"a.test:{port}:127.0.0.1",
                               "-m", "20", *options, f"https://a.test:{port}{path}"],
                              capture_output=True, text=True, timeout=30)
        return done.stdout, done.stderr

    @unittest.skipUnless(shutil.which("curl"), "curl")
    def test_curl_openssl_and_the_commands(self):
        weir = self.secured(self.a, limit={"caller": {"default": 2, "window": "31d"}})
        weir.client.repeat(3, "/", who("A"))
        self.assertEqual(json.loads(self.curl(weir, "/status")[0])["state"], "ready")
        self.assertIn("weir_build_info", self.curl(weir, "/metrics")[0])
        self.assertIn("<!doctype html", self.curl(weir, "/", "-H", "Accept: text/html")[0].lower())
        seen = subprocess.run(["openssl", "s_client", "-connect", weir.place, "-CAfile", self.authority.ca,
                               "-verify_hostname", "a.test", "-verify_return_error", "-brief"],
                              input="", capture_output=True, text=True, timeout=30)
        self.assertIn("Verification: OK", seen.stdout + seen.stderr)
        self.assertIn("Protocol version: TLSv1.3", seen.stdout + seen.stderr)
        self.assertFalse(raw_exchange(weir.admin.address, b"GET /status HTTP/1.1\r\nHost: a\r\n\r\n")
                         .startswith(b"HTTP"), "in the clear nothing is said")
        for place in (weir.place, f"https://{weir.place}"):
            health = run("health", "--admin", place, *self.trust)
            self.assertEqual((health.returncode, health.stdout), (0, "ready\n"), health.stderr)
        top = run("top", "--admin", weir.place, "--once", *self.trust)
        self.assertEqual(top.returncode, 0, top.stderr)
        self.assertRegex(top.stdout, r"(?m)^ +3 +1  A$")
        for distrust, words in ((["--server-name", "a.test"], "certificate verify failed"),
                                (["--ca", self.authority.ca, "--server-name", "b.test"], "certificate verify failed"),
                                ([], "no answer from")):
            health = run("health", "--admin", weir.place, *distrust)
            self.assertEqual(health.returncode, 2, health.stdout)
            self.assertIn(words, health.stderr)
        self.assertEqual(run("health", "--cert", self.ops["certificate"]).returncode, 2)

    def test_a_certificate_stands_in_for_the_token(self):
        tls = {**self.a, "client_ca": self.authority.ca}
        weir = self.secured(tls, self.ops, {"user": {"default": 5, "window": "31d"}}, address="0.0.0.0:%d" % free_port())
        self.assertEqual(weir.admin.get("/status").status, 200)
        with self.assertRaises(REFUSED):
            self.asks(weir).get("/livez")
        self.eventually(lambda: weir.lines("admin.tls", "did not return a certificate"), 5, "the log line")
        self.assertEqual(run("health", "--admin", weir.place, *self.trust, *self.proof).returncode, 0)
        self.assertEqual(run("health", "--admin", weir.place, *self.trust).returncode, 2)
        weir.client.get("/", headers=who("A", "u"))
        seen = weir.admin.get("/counters?layer=user&key=caller:A&key=user:u").json()
        reset = weir.admin.request("POST", "/counters/reset", {"Content-Type": "application/json"}, json.dumps(
            {"layer": "user", "key": {"caller": "A", "user": "u"}, "confirm": seen["confirm"]}).encode())
        self.assertEqual(reset.status, 200, reset.body)
        self.eventually(lambda: weir.lines("counter.reset", "O=weir,CN=ops"), 5, "who did it")
        for optional, code in (("required", 0), ("optional", 1)):
            weir.settings["admin"]["tls"] = {**tls, "client_certificate": optional}
            weir.folder.write("other.yaml", weir.settings)
            done = run("check", "-c", str(weir.folder.path / "other.yaml"))
            self.assertEqual(done.returncode, code, done.stdout)

    def test_with_a_token_too(self):
        weir = self.secured(self.a, token="s3cret")
        self.assertEqual(weir.admin.get("/status").status, 401)
        (weir.folder.path / "token").write_text("s3cret\n")
        proof = ["--token-file", str(weir.folder.path / "token")]
        self.assertEqual(run("top", "--once", "--admin", weir.place, *self.trust, *proof).returncode, 0)

    def test_certificates_follow_a_reload_and_demands_a_restart(self):
        weir = self.secured(self.a)
        before = weir.generation()
        weir.settings["admin"]["tls"] = self.b
        weir.folder.write(weir.folder.main, weir.settings)
        weir.admin = self.asks(weir, name="b.test")
        self.eventually(lambda: self.shows_b(weir) and weir.generation() > before, 10, "the new certificate")
        with self.assertRaises(ssl.SSLCertVerificationError):
            self.asks(weir).get("/status")
        self.assertEqual(weir.status()["needs_restart"], [])
        del weir.settings["admin"]["tls"]
        weir.reload_settings({})
        self.assertEqual(weir.status()["needs_restart"], ["admin.tls"])
        weir.reload_settings({"limits": {"header_count": 90}})
        self.assertEqual(weir.status()["needs_restart"], ["admin.tls"], "it still does")
        weir.reload_settings({"admin": {"tls": self.b}})
        self.assertEqual(weir.status()["needs_restart"], [])

    @staticmethod
    def shows_b(weir):
        try:
            return weir.admin.get("/livez").status == 200
        except ssl.SSLCertVerificationError:
            return False

    def test_config_and_status_show_what_is_spoken_and_no_secret(self):
        weir = self.secured({**self.a, "client_ca": self.authority.ca}, self.ops)
        listen = {**weir.settings["listen"][0], "tls": {**self.a, "certificates": [self.b], "min_version": "1.3"}}
        weir.reload_settings({"listen": [listen]})
        config, status = weir.admin.get("/config").json(), weir.status()
        self.assertEqual(config["listen"][0]["address"], listen["address"])
        shown = config["listen"][0]["tls"]
        self.assertEqual([one["names"] for one in shown["certificates"]], [["a.test"], ["b.test"]])
        self.assertEqual((shown["min_version"], shown["client_certificate"]), ("TLSv1.3", "none"))
        self.assertRegex(shown["certificates"][0]["not_after"], r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertEqual(config["admin"]["tls"]["client_certificate"], "required")
        self.assertEqual(config["admin"]["tls"]["client_ca"], self.authority.ca)
        public, admin = status["listeners"]
        self.assertEqual([one["valid"] for one in public["certificates"]], [True, True])
        self.assertEqual((public["client_certificate"], admin["client_certificate"]), ("none", "required"))
        self.assertEqual(admin["certificates"][0]["file"], self.a["certificate"])
        self.assertEqual(len(weir.metrics().find("weir_tls_certificate_not_after_seconds")), 3)
        with open(self.a["key"]) as file:
            key = file.read().splitlines()[1]
        for page in ("/config", "/status", "/metrics"):
            body = weir.admin.get(page).body.decode()
            self.assertNotIn(key, body)
            self.assertNotIn("PRIVATE", body)


if __name__ == "__main__":
    unittest.main()
