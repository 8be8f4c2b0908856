# SPDX-License-Identifier: Apache-2.0
"""TLS towards upstreams: whom the gateway believes, what it shows of itself, and what a cut connection is."""
import os
import socket
import ssl
import threading

from support.case import GatewayCase
from support.certificates import Authority
from support.client import Closed
from support.ports import free_port
from support.upstream import Answer

MIB = 1 << 20


class CuttingUpstream:
    """Answers with a body that ends with the connection, and ends that without or with close_notify."""

    def __init__(self, context, clean):
        self.port, self.context, self.clean = free_port(), context, clean
        self.listener = socket.create_server(("127.0.0.1", self.port))
        self.address = f"127.0.0.1:{self.port}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                link, _ = self.listener.accept()
            except OSError:
                return
            try:
                secure = self.context.wrap_socket(link, server_side=True)
                secure.recv(65536)
                secure.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nhalf of it")
                if self.clean:
                    secure.unwrap()
                secure.close()
            except OSError:
                link.close()

    def stop(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


class TlsUpstreams(GatewayCase):
    @classmethod
    def setUpClass(cls):
        cls.authority = Authority()
        cls.addClassCleanup(cls.authority.remove)
        cls.good = cls.authority.issue("good", "DNS:good.test,IP:127.0.0.1")

    def behind(self, pair, tls=None, answer=None, context=None):
        """(gateway, upstream): the gateway trusts the test's authority."""
        upstream = self.upstream(answer, tls=context or self.authority.server_context(pair))
        settings = {"upstreams": {"default": {"tls": {"ca": self.authority.ca, **(tls or {})}}}}
        return self.weir(upstream, settings=settings), upstream

    def refused(self, weir, check):
        """502, and a line that names the check that failed."""
        answer = weir.client.get("/")
        self.assertEqual(answer.status, 502, answer)
        self.eventually(lambda: weir.lines("upstream.tls", check), 3, f"a line with {check}")

    def test_a_good_certificate_is_believed_and_its_connection_kept(self):
        weir, upstream = self.behind(self.good)
        self.assert_statuses([weir.client.get("/") for _ in range(6)], s200=6)
        self.assertLessEqual(upstream.connections, 2, "one a worker")
        weir, _ = self.behind(self.good, {"server_name": "good.test"})
        self.assertEqual(weir.client.get("/").status, 200)

    def test_sixteen_mebibytes_each_way(self):
        blob = os.urandom(MIB) * 16
        upstream = self.upstream(lambda seen: Answer(body=seen.body), tls=self.authority.server_context(self.good))
        weir = self.weir(upstream, settings={"upstreams": {"default": {"tls": {"ca": self.authority.ca}}},
                                             "limits": {"body_bytes": "32MiB"}})
        answer = weir.client.request("POST", "/", body=blob)
        self.assertEqual(answer.status, 200)
        self.assertTrue(answer.body == blob)

    def test_every_other_certificate_is_refused_with_its_fault(self):
        issue, dates = self.authority.issue, ("20200101000000Z", "20200201000000Z")
        for pair, check in ((issue("elsewhere", "DNS:other.test"), "certificate_name"),
                            (issue("late", "IP:127.0.0.1", dates), "certificate_expired"),
                            (self.authority.self_sign("lonely", "IP:127.0.0.1"), "certificate_self_signed")):
            weir, upstream = self.behind(pair)
            self.refused(weir, check)
            self.assertEqual(upstream.total, 0, "the request stayed here")
        weir, _ = self.behind(self.good, {"server_name": "bad.test"})
        self.refused(weir, "certificate_name")
        upstream = self.upstream(tls=self.authority.server_context(self.good))
        self.refused(self.weir(upstream, settings={"upstreams": {"default": {"tls": {"server_name": "good.test"}}}}),
                     "certificate_untrusted")

    def test_verification_is_off_only_where_it_is_written(self):
        lonely = self.authority.self_sign("lonelier", "DNS:nowhere.test")
        weir, _ = self.behind(lonely, {"verify": False})
        self.assertEqual(weir.client.get("/").status, 200)

    def test_an_upstream_without_tls_is_no_upstream(self):
        upstream = self.upstream()
        weir = self.weir(upstream, settings={"upstreams": {"default": {"tls": {"ca": self.authority.ca}}}})
        # It may answer nonsense at once, or wait for the end of a line that a ClientHello does not have.
        self.assertIn(weir.client.get("/").status, (502, 504))
        self.assertEqual(upstream.total, 0)

    def test_an_upstream_that_asks_gets_the_gateways_certificate(self):
        context = self.authority.server_context(self.good)
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(self.authority.ca)
        weir, _ = self.behind(self.good, context=context)
        self.assertEqual(weir.client.get("/").status, 502)
        own = self.authority.issue("gateway", "DNS:gateway.test")
        weir, _ = self.behind(self.good, own, context=context)
        self.assertEqual(weir.client.get("/").status, 200)

    def test_a_body_that_was_cut_is_not_whole(self):
        for clean in (True, False):
            upstream = CuttingUpstream(self.authority.server_context(self.good), clean)
            self.addCleanup(upstream.stop)
            weir = self.weir(upstream, settings={"upstreams": {"default": {"tls": {"ca": self.authority.ca}}}})
            if clean:
                self.assertEqual(weir.client.get("/").body, b"half of it")
                continue
            with self.assertRaises((Closed, ConnectionError)):
                weir.client.get("/")
