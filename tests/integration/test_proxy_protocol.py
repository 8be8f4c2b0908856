# SPDX-License-Identifier: Apache-2.0
"""The PROXY protocol: whom a trusted balancer names is who is limited and logged; nobody else may name anybody."""
import socket
import struct
import time

from support.case import GatewayCase
from support.certificates import Authority, TlsConnection, raw_exchange
from support.client import Connection, request_bytes

SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"


def text_header(client, port=40000):
    family = "TCP6" if ":" in client else "TCP4"
    return f"PROXY {family} {client} {'::1' if ':' in client else '10.0.0.9'} {port} 443\r\n".encode()


def binary_header(client, port=40000, values=b""):
    kind = socket.AF_INET6 if ":" in client else socket.AF_INET
    addresses = socket.inet_pton(kind, client) * 2 + struct.pack("!HH", port, 443)
    family = 0x21 if ":" in client else 0x11
    return SIGNATURE + bytes([0x21, family]) + struct.pack("!H", len(addresses + values)) + addresses + values


LOCAL = SIGNATURE + b"\x20\x00\x00\x00"


class ProxyProtocol(GatewayCase):
    def proxied(self, upstream, limit=None, trusted=("127.0.0.0/8",), tls=None, **settings):
        weir = self.weir(upstream, limit, settings={"trusted_proxies": list(trusted), **settings}, wait=False)
        weir.stop()
        listen = {**weir.settings["listen"][0], "proxy_protocol": True}
        weir.settings["listen"] = [{**listen, "tls": tls} if tls else listen]
        weir.folder.write(weir.folder.main, weir.settings)
        weir.start()
        return weir

    def ask(self, weir, header, pieces=None, **fields):
        """One request behind the header; with `pieces`, cut there."""
        data = header + request_bytes("GET", "/", fields)
        with Connection(weir.client.address) as link:
            for piece in (data[a:b] for a, b in zip([0, *(pieces or [])], [*(pieces or []), len(data)])):
                link.send(piece)
                time.sleep(0.05 if pieces else 0)
            return link.read_response()

    def test_the_client_it_names_is_limited_logged_and_passed_on(self):
        upstream = self.upstream()
        weir = self.proxied(upstream, {"ip": {"default": 2, "window": "31d"}})
        one, two = text_header("192.0.2.1"), binary_header("192.0.2.2", values=b"\x04\x00\x02ab")
        self.assertEqual([self.ask(weir, one).status for _ in range(4)], [200, 200, 429, 429])
        self.assertEqual(self.ask(weir, two).status, 200)
        self.assertEqual(upstream.last().get("X-Forwarded-For"), "192.0.2.2")
        six = binary_header("2001:db8::1")
        self.assertEqual(self.ask(weir, six).status, 200)
        self.assertEqual(self.ask(weir, text_header("2001:db8::1")).status, 200)
        self.assertEqual(self.ask(weir, six).status, 429)
        for client in ("192.0.2.1", "192.0.2.2", "2001:db8::1"):
            self.eventually(lambda c=client: weir.records(f'"client":"{c}"'), 3, f"a line of {client}")
        # Somebody whom the balancer names is no proxy: what he says of others is not believed.
        self.ask(weir, text_header("192.0.2.3"), **{"X-Forwarded-For": "192.0.2.1"})
        self.assertEqual(upstream.last().get("X-Forwarded-For"), "192.0.2.3")

    def test_the_balancer_may_speak_for_itself(self):
        weir = self.proxied(self.upstream())
        self.assertEqual(self.ask(weir, LOCAL).status, 200)
        self.assertEqual(self.ask(weir, b"PROXY UNKNOWN\r\n").status, 200)
        self.eventually(lambda: len(weir.records('"client":"127.0.0.1"')) == 2, 3, "two lines of the balancer")

    def test_headers_may_come_in_pieces(self):
        weir = self.proxied(self.upstream())
        text, binary = text_header("192.0.2.7"), binary_header("192.0.2.8")
        self.assertEqual(self.ask(weir, text, [1, 7, 30, len(text) - 1]).status, 200)
        self.assertEqual(self.ask(weir, binary, [5, 13, 20, len(binary), len(binary) + 3]).status, 200)

    def test_what_is_no_header_ends_the_connection(self):
        weir = self.proxied(self.upstream(), timeouts={"header": "1s"})
        for wrong in (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", b"PROXY TCP4 1.2.3.4\r\n", SIGNATURE + b"\x31\x11\x00\x00",
                      SIGNATURE + b"\x21\x11\xff\xff" + b"x" * 5000, b"PROXY " + b"x" * 200):
            self.assertEqual(raw_exchange(weir.client.address, wrong), b"", wrong)
        self.assert_metric(weir, 5, "weir_proxy_header_refused_total", reason="malformed")
        with Connection(weir.client.address) as slow:
            slow.send(b"PROXY TCP4 192")
            self.assertTrue(slow.closed_by_peer(10))
        self.assert_metric(weir, 1, "weir_proxy_header_refused_total", reason="timeout")
        self.assert_metric(weir, 0, "weir_connections_open")

    def test_who_is_not_trusted_is_turned_away(self):
        weir = self.proxied(self.upstream(), trusted=("192.0.2.0/24",))
        self.assertEqual(raw_exchange(weir.client.address, text_header("192.0.2.1")), b"")
        self.assert_metric(weir, 1, "weir_proxy_header_refused_total", reason="untrusted")

    def test_the_cap_by_address_counts_the_clients(self):
        weir = self.proxied(self.upstream(), limits={"connections_per_address": 2})
        links = []
        for n in range(6):  # more than two from the balancer's own address
            link = Connection(weir.client.address)
            self.addCleanup(link.close)
            link.send(text_header(f"192.0.2.{n % 3 + 1}") + request_bytes("GET", "/"))
            self.assertEqual(link.read_response().status, 200)
            links.append(link)
        self.assertEqual(raw_exchange(weir.client.address, text_header("192.0.2.1")), b"")
        for link in links:
            link.close()
        self.assert_metric(weir, 0, "weir_connections_open")
        self.assertEqual(self.ask(weir, text_header("192.0.2.1")).status, 200)

    def test_it_stands_before_tls(self):
        authority = Authority()
        self.addCleanup(authority.remove)
        weir = self.proxied(self.upstream(), tls=authority.issue("a", "DNS:a.test"))
        for header in (text_header("192.0.2.1"), binary_header("192.0.2.2")):
            with TlsConnection(weir.client.address, authority.client_context(), "a.test", before=header) as link:
                self.assertEqual(link.request("GET", "/", host="a.test").status, 200)
        self.eventually(lambda: weir.records('"client":"192.0.2.2"', '"tls":"TLSv1.3"'), 3, "the access line")
