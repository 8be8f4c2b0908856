# SPDX-License-Identifier: Apache-2.0
"""JSON Web Tokens and key sets: HS256 by hmac, RS256 and ES256 by the openssl command."""
import base64
import hashlib
import hmac
import json
import os
import subprocess
import tempfile
import time


def b64(octets):
    return base64.urlsafe_b64encode(octets).rstrip(b"=").decode()


def unsigned(header, claims):
    return ".".join(b64(part if isinstance(part, bytes) else json.dumps(part).encode()) for part in (header, claims))


def openssl(*arguments, data=None):
    return subprocess.run(["openssl", *arguments], input=data, capture_output=True, check=True).stdout


class Key:
    """One key: `jwk` for the key set, `token(claims)` signed by it."""

    def __init__(self, algorithm, kid="k1"):
        self.algorithm, self.kid = algorithm, kid
        self.jwk = {"kid": kid, "alg": algorithm, "use": "sig"}
        getattr(self, "_make_" + algorithm.lower())()

    def _make_hs256(self):
        self.secret = os.urandom(32)
        self.jwk.update(kty="oct", k=b64(self.secret))

    def _make_rs256(self):
        self.pem = openssl("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048")
        modulus = openssl("rsa", "-noout", "-modulus", data=self.pem).decode().split("=")[1].strip()
        self.jwk.update(kty="RSA", n=b64(bytes.fromhex(modulus)), e="AQAB")

    def _make_es256(self):
        self.pem = openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:prime256v1")
        point = openssl("pkey", "-pubout", "-outform", "DER", data=self.pem)[-64:]
        self.jwk.update(kty="EC", crv="P-256", x=b64(point[:32]), y=b64(point[32:]))

    def public_pem(self):
        return openssl("pkey", "-pubout", data=self.pem)

    def sign(self, text):
        if self.algorithm == "HS256":
            return hmac.new(self.secret, text.encode(), hashlib.sha256).digest()
        with tempfile.NamedTemporaryFile() as file:
            file.write(self.pem)
            file.flush()
            signature = openssl("dgst", "-sha256", "-sign", file.name, data=text.encode())
        return _raw_pair(signature) if self.algorithm == "ES256" else signature

    def token(self, claims, **header):
        if isinstance(claims, dict):
            claims = {"exp": int(time.time()) + 300, **claims}
        text = unsigned({"alg": self.algorithm, "kid": self.kid, **header}, claims)
        return text + "." + b64(self.sign(text))


def _raw_pair(der):
    """r and s of a DER signature as 32 octets each."""
    out, at = b"", 2
    for _ in range(2):
        size = der[at + 1]
        out += der[at + 2:at + 2 + size].lstrip(b"\0").rjust(32, b"\0")
        at += 2 + size
    return out


def key_set(*keys):
    return json.dumps({"keys": [key.jwk for key in keys]}, indent=1)


def bearer(token):
    return {"Authorization": "Bearer " + token}
