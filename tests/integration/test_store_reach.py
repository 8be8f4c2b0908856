# SPDX-License-Identifier: Apache-2.0
"""The ways to a Redis: database number, unix socket, password, ACL user; and what an account without the right
to run scripts looks like."""
import os
import tempfile
import shutil

from support.case import GatewayCase, who
from support.certificates import Authority
from support.client import statuses
from support.ports import free_port

LIMIT = {"user": {"default": 10, "window": "31d"}}


class Reach(GatewayCase):
    def gateway(self, **store):
        weir = self.weir(self.upstream(), LIMIT, settings={"store": {"kind": "redis", "timeout": "3s", **store}})
        weir.wait_store()
        return weir

    def counts(self, weir, redis):
        answer = weir.client.get("/", who("A", "u"))
        self.assertEqual((answer.status, answer["X-RateLimit-Remaining"]), (200, "9"))
        self.eventually(lambda: redis.keys(), 3, "a key in Redis")

    def test_a_database_number(self):
        redis = self.redis()
        weir = self.gateway(url=f"{redis.url}/3")
        self.assertEqual(weir.client.get("/", who("A", "u")).status, 200)
        self.assertEqual(redis.keys(), {})
        redis.call("SELECT", 3)
        self.assertTrue(redis.keys())

    def test_a_unix_socket(self):
        folder = tempfile.mkdtemp(prefix="weir-sock-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        path = os.path.join(folder, "redis.sock")
        redis = self.redis("--unixsocket", path)
        self.counts(self.gateway(url=f"unix://{path}"), redis)

    def test_tls(self):
        authority = Authority()
        self.addCleanup(authority.remove)
        authority.issue("server", "DNS:localhost,IP:127.0.0.1")
        port, file = free_port(), lambda name: str(authority.folder / name)
        redis = self.redis("--tls-port", str(port), "--tls-cert-file", file("server.pem"), "--tls-key-file",
                           file("server.key"), "--tls-ca-cert-file", file("ca.pem"), "--tls-auth-clients", "optional")
        weir = self.gateway(url=f"rediss://localhost:{port}/0", tls={"ca": file("ca.pem")})
        self.counts(weir, redis)

    def test_a_server_of_an_unknown_authority_is_not_talked_to(self):
        authority = Authority()
        self.addCleanup(authority.remove)
        authority.issue("server", "DNS:localhost,IP:127.0.0.1")
        port, file = free_port(), lambda name: str(authority.folder / name)
        redis = self.redis("--tls-port", str(port), "--tls-cert-file", file("server.pem"), "--tls-key-file",
                           file("server.key"), "--tls-ca-cert-file", file("ca.pem"), "--tls-auth-clients", "no")
        store = {"kind": "redis", "url": f"rediss://127.0.0.1:{port}/0"}
        weir = self.weir(self.upstream(), LIMIT, settings={"store": store})
        self.assertEqual(weir.client.get("/", who("A", "u")).status, 200)
        self.assertEqual(redis.keys(), {})
        self.eventually(lambda: weir.client.get("/", who("A", "u")) and weir.lines("TLS handshake"), 5, "the reason")

    def test_a_password(self):
        redis = self.redis("--requirepass", "hunter2")
        redis.call("AUTH", "hunter2")
        os.environ["WEIR_TEST_PASSWORD"] = "hunter2"
        self.addCleanup(os.environ.pop, "WEIR_TEST_PASSWORD")
        self.counts(self.gateway(url=redis.url, password="${WEIR_TEST_PASSWORD}"), redis)

    def test_an_acl_user_with_just_enough_rights(self):
        redis = self.redis()
        redis.call("ACL", "SETUSER", "weir", "on", ">pw", "~*", "-@all", "+@connection", "+@scripting", "+@read",
                   "+@write", "+time", "+info", "+config|get")
        self.counts(self.gateway(url=redis.url, username="weir", password="pw"), redis)

    def test_an_account_that_may_not_run_scripts_is_loud(self):
        redis = self.redis()
        redis.call("ACL", "SETUSER", "weak", "on", ">pw", "~*", "+@all", "-@scripting")
        weir = self.gateway(url=redis.url, username="weak", password="pw")
        passed = statuses(weir.client.repeat(20, "/", who("A", "u")))[200]
        self.assertTrue(10 <= passed <= 12, f"{passed}: counted in this process instead")
        self.eventually(lambda: weir.lines("NOPERM"), 5, "the reason in the log")
        self.assertGreater(weir.metrics().value("weir_store_errors_total"), 0)


if __name__ == "__main__":
    import unittest
    unittest.main()
