# SPDX-License-Identifier: Apache-2.0
"""The ways to a Redis: database number, unix socket, password, ACL user; and what an account without the right
to run scripts looks like."""
import os
import tempfile
import shutil
import time

from support.case import GatewayCase, who
from support.certificates import Authority
from support.client import statuses
from support.ports import free_port
from support.weir_process import run

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

    WEAK = ("ACL", "SETUSER", "weak", "on", ">pw", "~*", "+@all", "-@scripting")

    def weak(self, redis, limit=LIMIT, **more):
        store = {"kind": "redis", "timeout": "3s", "url": redis.url, "username": "weak", "password": "pw"}
        return self.weir(self.upstream(), limit, settings={"store": store}, **more)

    def ready(self, weir):
        try:
            return weir.admin.get("/readyz").status == 200
        except OSError:
            return False

    def test_an_account_that_may_not_run_scripts_is_not_ready(self):
        """It says why, and serves all the same; as soon as the right is given, it is ready."""
        redis = self.redis()
        redis.call(*self.WEAK)
        weir = self.weak(redis, wait=False)
        self.eventually(lambda: weir.lines("gateway.start"), 20, "the start")
        self.eventually(lambda: b"NOPERM" in weir.admin.get("/readyz").body, 10, "the reason")
        for _ in range(30):  # longer than a store that is absent is waited for
            answer = weir.admin.get("/readyz")
            self.assertEqual(answer.status, 503)
            time.sleep(0.1)
        self.assertIn(b"the account may not run scripts; it needs +eval +evalsha", answer.body)
        health = run("health", "--admin", "%s:%d" % weir.admin.address)
        self.assertEqual((health.returncode, "NOPERM" in health.stdout), (1, True), health)
        self.assertIn("NOPERM", weir.status()["not_ready"])
        self.assertEqual(weir.admin.get("/livez").status, 200)
        passed = statuses(weir.client.repeat(20, "/", who("A", "u")))[200]
        self.assertTrue(10 <= passed <= 12, f"{passed}: counted in this process instead")
        self.assertTrue(weir.lines("NOPERM"), "the reason in the log")
        redis.call("ACL", "SETUSER", "weak", "+@scripting")
        self.eventually(lambda: self.ready(weir), 10, "the right is noticed")
        self.eventually(lambda: weir.metrics().value("weir_store_self_test", finding="no_scripts") == 0, 5, "all well")

    def test_a_right_that_is_taken_away_later(self):
        """The gateway stays ready, and says that it counts alone: ladder level, one line each interval, what the limits
        are worth. Where nothing is counted no remaining permits are made up."""
        redis = self.redis()
        redis.call(*self.WEAK[:-1])
        limit = {**LIMIT, "caller": {"default": 7, "window": "31d", "on_store_failure": {"brief": "allow", "long": "allow"}}}
        weir = self.weak(redis, limit)
        weir.wait_store()
        first = weir.client.get("/", who("A", "u"))
        self.assertEqual((first.status, first["X-RateLimit-Remaining"]), (200, "6"))
        redis.call("ACL", "SETUSER", "weak", "-@scripting")
        answers = weir.client.repeat(60, "/", who("B", "v"))
        self.assertLessEqual(statuses(answers)[200], 11, "the user layer counts here")
        last = answers[0]
        self.assertEqual(last.number("X-RateLimit-Limit"), 10, "of the layer that counts, not of the one that lets all pass")
        self.eventually(lambda: weir.metrics().value("weir_store_state") == 1, 10, "the ladder's level")
        promises = {one["layer"]: one["promise"] for one in weir.admin.get("/limits").json()["layers"]}
        self.assertEqual({name: one["counted"] for name, one in promises.items()}, {"caller": "allow", "user": "local"})
        self.assertIsNone(promises["caller"]["overshoot"]["now"]["permits"])
        self.assertEqual(weir.admin.get("/readyz").status, 200)
        self.eventually(lambda: weir.lines("store.noperm"), 5, "the reason")
        for _ in range(3):
            weir.client.repeat(50, "/", who("C", "w"))
            time.sleep(0.5)
        self.assertLessEqual(len(weir.lines("store.noperm")), 2, "one line each interval")
        self.assertEqual(len(weir.lines("store.health")), 1)
        redis.call("ACL", "SETUSER", "weak", "+@scripting")
        self.eventually(lambda: weir.client.repeat(4, "/", who("D", "x")) and
                        weir.metrics().value("weir_store_state") == 0, 15, "the way back")


if __name__ == "__main__":
    import unittest
    unittest.main()
