# SPDX-License-Identifier: Apache-2.0
"""Certificates for a test, made by the openssl command in a folder of their own, and clients that speak TLS."""
import pathlib
import shutil
import socket
import ssl
import subprocess
import tempfile

from .client import Client, Connection

NEW_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
CA_CONFIG = """[ca]
default_ca=own
[own]
database=index.txt
new_certs_dir=.
certificate=ca.pem
private_key=ca.key
default_md=sha256
rand_serial=yes
policy=any
unique_subject=no
copy_extensions=copy
default_days=10
[any]
commonName=optional
organizationName=optional
"""


class Authority:
    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="weir-certificates-"))
        self.openssl("req", "-x509", *NEW_KEY, "-keyout", "ca.key", "-out", "ca.pem", "-days", "10",
                     "-subj", "/CN=weir test CA")
        (self.folder / "ca.conf").write_text(CA_CONFIG)
        (self.folder / "index.txt").write_text("")

    @property
    def ca(self):
        return str(self.folder / "ca.pem")

    def openssl(self, *arguments):
        done = subprocess.run(["openssl", *arguments], cwd=self.folder, capture_output=True, text=True, timeout=60)
        if done.returncode:
            raise AssertionError(f"openssl {' '.join(arguments)}: {done.stderr}")
        return done.stdout

    def issue(self, name, san="", dates=()):
        """NAME.pem and NAME.key. san: "DNS:a.test,IP:127.0.0.1". dates: begin and end, "20200101000000Z".
        Returns the pair as the configuration names it."""
        extension = ["-addext", f"subjectAltName={san}"] if san else []
        self.openssl("req", "-new", *NEW_KEY, "-keyout", f"{name}.key", "-out", f"{name}.csr",
                     "-subj", f"/O=weir/CN={name}", *extension)
        times = ["-startdate", dates[0], "-enddate", dates[1]] if dates else []
        self.openssl("ca", "-batch", "-notext", "-config", "ca.conf", "-in", f"{name}.csr", "-out", f"{name}.pem",
                     *times)
        return self.pair(name)

    def self_sign(self, name, san):
        self.openssl("req", "-x509", *NEW_KEY, "-keyout", f"{name}.key", "-out", f"{name}.pem", "-days", "10",
                     "-subj", f"/CN={name}", "-addext", f"subjectAltName={san}")
        return self.pair(name)

    def pair(self, name):
        return {"certificate": str(self.folder / f"{name}.pem"), "key": str(self.folder / f"{name}.key")}

    def client_context(self, pair=None, trust=True):
        context = ssl.create_default_context(cafile=self.ca)
        if not trust:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if pair:
            context.load_cert_chain(pair["certificate"], pair["key"])
        return context

    def server_context(self, pair):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pair["certificate"], pair["key"])
        return context

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)


class TlsConnection(Connection):
    """`before` goes over the wire first, in plain."""

    def __init__(self, address, context, name, timeout=20.0, before=b"", session=None):
        super().__init__(address, timeout)
        try:
            if before:
                self.socket.sendall(before)
            self.socket = context.wrap_socket(self.socket, server_hostname=name, session=session)
        except (OSError, ssl.SSLError):
            self.socket.close()
            raise

    def end(self):
        """Says close_notify, then goes."""
        try:
            self.socket.unwrap().close()
        except (OSError, ssl.SSLError):
            self.socket.close()


class TlsClient(Client):
    def __init__(self, address, context, name="a.test", timeout=20.0):
        super().__init__(address, timeout, host=name)
        self.context, self.name = context, name

    def connect(self, source=None):
        return TlsConnection(self.address, self.context, self.name, self.timeout)


def raw_exchange(address, data, timeout=10.0):
    """Sends bytes on a plain connection; what comes until the peer closes (b"" if it resets)."""
    with socket.create_connection(address, timeout) as link:
        link.sendall(data)
        got = b""
        try:
            while piece := link.recv(65536):
                got += piece
        except ConnectionResetError:
            pass
        return got
