# SPDX-License-Identifier: Apache-2.0
"""TLS towards clients: what openssl's own client and Python's see, certificates that change under load, slow and
wrong peers, bodies with back-pressure, WebSockets, certificates as identities."""
import os
import re
import shutil
import socket
import ssl
import subprocess
import threading
import time
import unittest

from support.case import GatewayCase
from support.certificates import Authority, TlsClient, TlsConnection, raw_exchange
from support.client import Closed, request_bytes
from support.upstream import Answer
from support.websocket import WebSocket, WebSocketUpstream
from support.weir_process import run, sanitized

MIB = 1 << 20


class TlsCase(GatewayCase):
    @classmethod
    def setUpClass(cls):
        cls.authority = Authority()
        cls.addClassCleanup(cls.authority.remove)
        cls.a = cls.authority.issue("a", "DNS:a.test,DNS:*.wild.test")
        cls.b = cls.authority.issue("b", "DNS:b.test,DNS:one.wild.test")

    def tls_weir(self, upstream, tls, limit=None, **settings):
        """A gateway whose only listener speaks TLS."""
        weir = self.weir(upstream, limit, settings=settings, wait=False)
        weir.stop()
        weir.settings["listen"] = [{**weir.settings["listen"][0], "tls": tls}]
        weir.folder.write(weir.folder.main, weir.settings)
        weir.start()
        weir.tls = TlsClient(weir.client.address, self.authority.client_context())
        return weir

    def s_client(self, weir, *arguments, send=""):
        command = ["openssl", "s_client", "-connect", "%s:%d" % weir.client.address, "-CAfile", self.authority.ca,
                   *arguments]
        done = subprocess.run(command, input=send, capture_output=True, text=True, timeout=30)
        return done.stdout + done.stderr

    def shown(self, weir, name):
        """The file name of the certificate shown for a name."""
        context = self.authority.client_context(trust=False)
        with TlsConnection(weir.client.address, context, name) as link:
            der = link.socket.getpeercert(binary_form=True)
        return next(n for n, pair in (("a", self.a), ("b", self.b))
                    if ssl.PEM_cert_to_DER_cert(open(pair["certificate"]).read()) == der)


class Handshakes(TlsCase):
    def test_versions_names_protocols_and_resumption(self):
        weir = self.tls_weir(self.upstream(), {**self.a, "certificates": [self.b]})
        for option, version in (("-tls1_2", "TLSv1.2"), ("-tls1_3", "TLSv1.3")):
            seen = self.s_client(weir, option, "-servername", "a.test", "-verify_hostname", "a.test",
                                 "-verify_return_error", "-alpn", "h9,http/1.1", "-brief")
            self.assertIn(f"Protocol version: {version}", seen)
            self.assertIn("Verification: OK", seen)
            self.assertIn("Verified peername: a.test", seen)
        self.assertIn("ALPN protocol: http/1.1", self.s_client(weir, "-alpn", "http/1.1"))
        self.assertIn("no application protocol", self.s_client(weir, "-alpn", "h9"))
        self.assertIn("No ALPN negotiated", self.s_client(weir))
        refused = self.s_client(weir, "-tls1_1", "-cipher", "ALL:@SECLEVEL=0")
        self.assertNotIn("Cipher is ECDHE", refused)
        self.assertIn("Secure Renegotiation IS NOT supported",
                      self.s_client(weir, "-tls1_3"), "TLS 1.3 has none")
        self.assertIn("Compression: NONE", self.s_client(weir))
        for name, certificate in (("a.test", "a"), ("b.test", "b"), ("two.wild.test", "a"), ("one.wild.test", "b"),
                                  ("unknown.test", "a"), (None, "a")):
            self.assertEqual(self.shown(weir, name), certificate, name)
        self.assert_metric(weir, 1, "weir_tls_handshake_failures_total", reason="alpn")
        self.assertGreater(weir.metrics().value("weir_tls_handshakes_total", version="TLSv1.2"), 0)
        self.assertGreater(weir.metrics().value("weir_tls_handshakes_total", version="TLSv1.3"), 5)
        good_until = weir.metrics().value("weir_tls_certificate_not_after_seconds",
                                          certificate=self.a["certificate"])
        self.assertAlmostEqual(good_until, time.time() + 10 * 86400, delta=86400)

    def test_sessions_are_resumed_by_any_worker_and_after_a_reload(self):
        weir = self.tls_weir(self.upstream(), self.a)
        for count, option in ((90, "-tls1_2"), (91, "-tls1_3")):
            session = os.path.join(self.authority.folder, "session" + option)
            request = "GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n"
            self.s_client(weir, option, "-sess_out", session, "-ign_eof", send=request)
            for _ in range(4):
                self.assertIn("Reused, TLS", self.s_client(weir, option, "-sess_in", session))
            weir.reload_settings({"log": {"level": "info"}, "limits": {"header_count": count}})
            self.assertIn("Reused, TLS", self.s_client(weir, option, "-sess_in", session))
        self.assertGreaterEqual(weir.metrics().value("weir_tls_resumed_total"), 10)

    def test_requests_keep_their_connection_and_the_upstream_is_told(self):
        upstream = self.upstream()
        weir = self.tls_weir(upstream, self.a)
        with weir.tls.connect() as link:
            for n in range(5):
                self.assertEqual(link.request("GET", f"/{n}", host="a.test").status, 200)
            # The end of a TLS connection is announced.
            self.assertEqual(link.request("GET", "/last", {"Connection": "close"}, host="a.test").status, 200)
            self.assertEqual(link.socket.recv(1), b"")
        self.assertEqual(upstream.last().get("X-Forwarded-Proto"), "https")
        record = self.eventually(lambda: weir.records('"path":"/4"'), 3, "the access line")[0]
        self.assertEqual(record["tls"], "TLSv1.3")
        self.assert_metric(weir, 1, "weir_tls_handshakes_total")

    @unittest.skipUnless(shutil.which("curl"), "curl")
    def test_curl_believes_the_certificate(self):
        weir = self.tls_weir(self.upstream(), self.a)
        host, port = weir.client.address
        url = f"https://a.test:{port}/x"
        command = ["curl", "-sS", "--cacert", self.authority.ca, "--resolve", f"a.test:{port}:{host}", "-m", "20",
                   "-w", "%{http_code} %{num_connects} ", "-o", "/dev/null", url, "-o", "/dev/null", url]
        done = subprocess.run(command, capture_output=True, text=True, timeout=30)
        self.assertEqual(done.stdout.split(), ["200", "1", "200", "0"], done.stderr)

    def test_the_response_is_stapled(self):
        staple = os.path.join(self.authority.folder, "staple.der")
        self.authority.openssl("ocsp", "-issuer", "ca.pem", "-cert", "a.pem", "-reqout", "request.der")
        self.authority.openssl("ocsp", "-index", "index.txt", "-rsigner", "ca.pem", "-rkey", "ca.key", "-CA",
                               "ca.pem", "-reqin", "request.der", "-respout", "staple.der", "-ndays", "2")
        weir = self.tls_weir(self.upstream(), {**self.a, "ocsp_file": staple})
        self.assertIn("OCSP Response Status: successful", self.s_client(weir, "-status", "-servername", "a.test"))


class WrongPeers(TlsCase):
    def test_who_does_not_speak_tls_is_told_and_counted(self):
        weir = self.tls_weir(self.upstream(), self.a)
        answer = raw_exchange(weir.client.address, b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
        self.assertEqual(answer[:1], b"\x15", "a TLS alert")
        self.assert_metric(weir, 1, "weir_tls_handshake_failures_total", reason="plain_text")
        raw_exchange(weir.client.address, b"SSH-2.0-lost\r\n" * 40)
        self.assertEqual(weir.tls.get("/").status, 200)

    def test_a_hello_on_a_plain_port_is_a_bad_request(self):
        weir = self.weir(self.upstream())
        hello = bytes.fromhex("16030100c8010000c40303") + os.urandom(32) + b"\x00" * 150
        self.assertTrue(raw_exchange(weir.client.address, hello).startswith(b"HTTP/1.1 400 "))

    def test_slow_handshakes_are_cut_and_disturb_nobody(self):
        weir = self.tls_weir(self.upstream(), self.a, timeouts={"header": "1s"})
        silent = [socket.create_connection(weir.client.address) for _ in range(20)]
        for link in silent[10:]:
            link.sendall(b"\x16\x03\x01\x02\x00\x01")
        began = time.monotonic()
        self.assertEqual(weir.tls.get("/").status, 200)
        for link in silent:
            link.settimeout(10)
            self.assertEqual(link.recv(1), b"")
            link.close()
        self.assertGreater(time.monotonic() - began, 0.7)
        self.assert_metric(weir, 20, "weir_tls_handshake_failures_total", reason="timeout")
        self.assert_metric(weir, 0, "weir_connections_open")

    def test_what_is_wrong_with_a_certificate_is_said_before_serving(self):
        expired = self.authority.issue("old", "DNS:a.test", ("20200101000000Z", "20200201000000Z"))
        early = self.authority.issue("young", "DNS:a.test", ("20400101000000Z", "20400201000000Z"))
        weir = self.weir(self.upstream())

        def errors_of(tls):
            weir.folder.write("other.yaml", {**weir.settings, "listen": [{"address": "127.0.0.1:8080", "tls": tls}]})
            done = run("check", "-c", str(weir.folder.path / "other.yaml"))
            return done.returncode, done.stdout + done.stderr

        for tls, words in ((expired, "the certificate expired at 2020-02-01T00:00:00Z"),
                           (early, "the certificate is not valid before 2040-01-01T00:00:00Z")):
            code, said = errors_of(tls)
            self.assertEqual(code, 0, said)
            self.assertIn("warning: ", said)
            self.assertIn(words, said)
        for tls, words in (({**self.a, "key": self.b["key"]}, "the key does not belong to the certificate"),
                           ({"certificate": self.a["certificate"]}, "listen[0].tls.key: is missing"),
                           ({**self.a, "client_ca": self.a["key"]}, "holds no certificate in PEM form"),
                           ({**self.a, "client_certificate": "required"}, "needs client_ca"),
                           ({**self.a, "min_version": "1.1"}, "`1.1` is not one of 1.2 or 1.3"),
                           ({**self.a, "certificat": "x"}, "did you mean `certificate`?")):
            code, said = errors_of(tls)
            self.assertEqual(code, 1, said)
            self.assertIn(words, said)
        self.assertEqual(errors_of(self.a)[0], 0)


class Reloads(TlsCase):
    def replace(self, weir, name):
        """Both files at once would still be two renames: a load in between must find a pair that does not fit."""
        for kind in ("key", "certificate"):
            shutil.copy(getattr(self, name)[kind], weir.folder.path / ".new")
            os.replace(weir.folder.path / ".new", weir.folder.path / f"live.{kind}")

    def live_weir(self, **settings):
        weir = self.tls_weir(self.upstream(), self.a, **settings)
        self.replace(weir, "a")
        weir.reload_settings({"listen": [{**weir.settings["listen"][0],
                                          "tls": {"certificate": "live.certificate", "key": "live.key"}}]})
        return weir

    def test_a_new_pair_counts_within_a_second_and_a_bad_one_never(self):
        weir = self.live_weir()
        self.assertEqual(self.shown(weir, "x"), "a")
        with weir.tls.connect() as kept:
            kept.request("GET", "/", host="a.test")
            self.replace(weir, "b")
            self.eventually(lambda: self.shown(weir, "x") == "b", 5, "the new certificate")
            before = weir.generation()
            shutil.copy(self.a["key"], weir.folder.path / "live.key")
            said = self.eventually(lambda: weir.lines("config.rejected", "live.key: the key does not belong"), 5,
                                   "the reason")
            self.assertNotIn("PRIVATE", said[0])
            self.assertEqual((self.shown(weir, "x"), weir.generation()), ("b", before))
            self.assertGreater(weir.metrics().value("weir_config_reloads_total", result="rejected"), 0)
            self.assertEqual(kept.request("GET", "/", host="a.test").status, 200)

    def test_one_that_is_not_valid_never_replaces_another_and_stops_no_quota(self):
        self.old = self.authority.issue("old", "DNS:a.test", ("20200101000000Z", "20200201000000Z"))
        weir = self.live_weir()
        quotas = {"caller": {"default": 7, "window": "31d"}}
        self.replace(weir, "old")
        weir.reload_limit(quotas)
        self.assertEqual(weir.tls.get("/").get("X-RateLimit-Limit"), "7")
        self.assertEqual(self.shown(weir, "x"), "a")
        self.assertIn("live.certificate: the certificate expired at 2020-02-01T00:00:00Z; the one that is in force stays",
                      " ".join(weir.status()["warnings"]))
        self.assert_metric(weir, 1, "weir_tls_certificates_kept")
        self.assert_metric(weir, 0, "weir_tls_certificates_not_valid")
        self.replace(weir, "b")
        self.eventually(lambda: self.shown(weir, "x") == "b", 5, "the good certificate")
        self.assert_metric(weir, 0, "weir_tls_certificates_kept")
        # One that the gateway has never shown is an error of whoever writes it into the configuration.
        rejected = weir.metrics().value("weir_config_reloads_total", result="rejected")
        weir.settings["listen"][0]["tls"]["certificates"] = [self.old]
        weir.folder.write(weir.folder.main, weir.settings)
        self.eventually(lambda: weir.lines("config.rejected", "old.pem: the certificate expired"), 5, "the reason")
        self.assertGreater(weir.metrics().value("weir_config_reloads_total", result="rejected"), rejected)

    def test_one_in_force_that_has_expired_is_a_warning(self):
        old = self.authority.issue("old", "DNS:a.test", ("20200101000000Z", "20200201000000Z"))
        weir = self.tls_weir(self.upstream(), old)
        self.assert_metric(weir, 1, "weir_tls_certificates_not_valid")
        self.eventually(lambda: weir.lines("tls.certificate", "old.pem, which expired at 2020"), 5, "the line")
        weir.reload_limit({"caller": {"default": 7, "window": "31d"}})
        self.assertIn("it is in force, and clients refuse it", " ".join(weir.status()["warnings"]))
        with self.assertRaises(ssl.SSLCertVerificationError):
            weir.tls.get("/")
        careless = TlsClient(weir.client.address, self.authority.client_context(trust=False))
        self.assertEqual(careless.get("/").get("X-RateLimit-Limit"), "7")

    def test_a_hundred_reloads_under_load_drop_no_connection(self):
        weir = self.live_weir()
        over, faults, answered = threading.Event(), [], [0, 0]

        def load(index, fresh):
            context = self.authority.client_context(trust=False)
            client = TlsClient(weir.client.address, context)
            try:
                link = client.connect()
                while not over.is_set():
                    if fresh:
                        link.end()
                        link = client.connect()
                    if link.request("GET", "/", host="a.test").status != 200:
                        faults.append("status")
                    answered[index] += 1
                    time.sleep(0.005)
                link.close()
            except (OSError, Closed, ssl.SSLError) as error:
                faults.append(repr(error))

        threads = [threading.Thread(target=load, args=(index, index == 1)) for index in range(2)]
        for thread in threads:
            thread.start()
        begun = weir.generation()
        for n in range(100):
            self.replace(weir, "ab"[n % 2 == 0])
            weir.process.send_signal(1)  # SIGHUP
            time.sleep(0.02)
        self.replace(weir, "b")
        self.eventually(lambda: self.shown(weir, "x") == "b", 10, "the last certificate")
        over.set()
        for thread in threads:
            thread.join(30)
        self.assertEqual(faults, [])
        self.assertGreater(min(answered), 10)
        self.assertGreater(weir.generation() - begun, 5)


class Bodies(TlsCase):
    def test_sixteen_mebibytes_each_way(self):
        blob = os.urandom(MIB) * 16
        upstream = self.upstream(lambda seen: Answer(body=seen.body))
        weir = self.tls_weir(upstream, self.a, limits={"body_bytes": "32MiB"})
        with TlsConnection(weir.client.address, self.authority.client_context(), "a.test", 60) as link:
            answer = link.request("POST", "/", body=blob, host="a.test")
            self.assertEqual(answer.body, blob)
            self.assertEqual(link.request("GET", "/", host="a.test").status, 200)

    def test_a_reader_that_stops_holds_the_upstream_back(self):
        blob = b"d" * (16 * MIB)
        weir = self.tls_weir(self.upstream(lambda seen: Answer(body=blob)), self.a)
        with TlsConnection(weir.client.address, self.authority.client_context(), "a.test", 60) as link:
            before = weir.rss()
            link.send(request_bytes("GET", "/", host="a.test"))
            time.sleep(1)
            self.assertLess(weir.rss() - before, (12 if sanitized() else 6) * MIB, "of the 16 that are sent")
            self.assertEqual(len(link.read_response().body), len(blob))

    def test_an_early_answer_reaches_a_client_that_still_sends(self):
        weir = self.tls_weir(self.upstream(), self.a, limits={"body_bytes": "1MiB"})
        with weir.tls.connect() as link:
            link.send(request_bytes("POST", "/", {"Content-Length": str(4 * MIB)}, host="a.test") + b"x" * MIB)
            self.assertEqual(link.read_response().status, 413)

    def test_web_sockets_pass(self):
        backend = WebSocketUpstream()
        self.addCleanup(backend.stop)
        weir = self.tls_weir(backend, self.a)
        opened = WebSocket.open(weir.client.address, link=weir.tls.connect())
        self.addCleanup(opened.link.close)
        for size in (0, 1, 70000, MIB):
            self.assertTrue(opened.echoes(os.urandom(size)), size)
        self.assertTrue(opened.close())


class Clients(TlsCase):
    def setUp(self):
        self.one = self.authority.issue("one", "DNS:one.clients.test,URI:spiffe://weir/one,email:one@weir.test")
        self.two = self.authority.issue("two", "URI:spiffe://weir/two")
        self.foreign = self.authority.self_sign("foreign", "URI:spiffe://weir/one")

    def identities(self, part):
        return {"caller": {"from": [{"client_certificate": part}], "missing": "reject", "reject_status": 403},
                "user": {"from": [{"header": "X-User-Id"}], "missing": "anonymous"}}

    def client(self, weir, pair=None):
        return TlsClient(weir.client.address, self.authority.client_context(pair))

    def test_each_holder_has_a_quota_of_its_own(self):
        tls = {**self.a, "client_ca": self.authority.ca}
        weir = self.tls_weir(self.upstream(), tls, {"caller": {"default": 3, "window": "31d"}},
                             identity=self.identities("san_uri"))
        one, two = self.client(weir, self.one), self.client(weir, self.two)
        self.assertEqual([one.get("/").status for _ in range(5)], [200, 200, 200, 429, 429])
        self.assertEqual([two.get("/").status for _ in range(2)], [200, 200])
        record = self.eventually(lambda: weir.records("spiffe://weir/two"), 3, "the access line")[0]
        self.assertEqual(record["caller_id"], "spiffe://weir/two")

    def test_without_a_good_certificate_nobody_gets_in(self):
        weir = self.tls_weir(self.upstream(), {**self.a, "client_ca": self.authority.ca})
        for pair, reason in ((None, "certificate_missing"), (self.foreign, "certificate_self_signed")):
            with self.assertRaises((OSError, ssl.SSLError, Closed)):
                self.client(weir, pair).get("/")
            self.assert_metric(weir, 1, "weir_tls_handshake_failures_total", reason=reason)
        self.assertEqual(self.client(weir, self.one).get("/").status, 200)

    def test_optional_lets_in_but_proves_nothing(self):
        tls = {**self.a, "client_ca": self.authority.ca, "client_certificate": "optional"}
        upstream = self.upstream()
        weir = self.tls_weir(upstream, tls, {"caller": {"default": 100, "window": "31d"}},
                             identity=self.identities("cn"))
        self.assertEqual(self.client(weir).get("/").status, 403)
        self.assertEqual(self.client(weir, self.one).get("/").status, 200)
        with self.assertRaises((OSError, ssl.SSLError, Closed)):
            self.client(weir, self.foreign).get("/")
        record = self.eventually(lambda: weir.records('"caller_id":"one"'), 3, "the access line")[0]
        self.assertEqual(record["status"], 200)
        for part, value in (("subject", "O=weir,CN=one"), ("san_dns", "one.clients.test"),
                            ("san_email", "one@weir.test")):
            weir.reload_settings({"identity": self.identities(part)})
            self.assertEqual(self.client(weir, self.one).get(f"/{part}").status, 200)
            record = self.eventually(lambda: weir.records(f'"path":"/{part}"'), 3, "the access line")[0]
            self.assertEqual(record["caller_id"], value)

    def test_an_expired_client_is_refused(self):
        old = self.authority.issue("oldclient", "", ("20200101000000Z", "20200201000000Z"))
        weir = self.tls_weir(self.upstream(), {**self.a, "client_ca": self.authority.ca})
        with self.assertRaises((OSError, ssl.SSLError, Closed)):
            self.client(weir, old).get("/")
        self.assert_metric(weir, 1, "weir_tls_handshake_failures_total", reason="certificate_expired")


if __name__ == "__main__":
    unittest.main()
