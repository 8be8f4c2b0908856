# SPDX-License-Identifier: Apache-2.0
"""`weir push`: one quota file for the fleet, in the store; in force on every instance within ten seconds, and kept
when the store is gone, also through a restart. What is wrong changes nothing and says why."""
import json
import pathlib
import shutil
import tempfile
import time

from support.case import GatewayCase, who
from support.certificates import Authority
from support.ports import free_port
from support.weir_process import run

SEED = {"user": {"default": 10, "window": "31d"}}
FROM_STORE = {"from": "store", "file": "quotas.yaml", "every": "1s"}
WITHIN = 10


def quotas(limit):
    return f"limit:\n  user: {{default: {limit}, window: 1h}}\n"


class PushCase(GatewayCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="weir-push-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.origin = self.upstream()

    def gateway(self, store, **more):
        settings = {"quotas": FROM_STORE, "store": {"kind": "redis", "timeout": "3s", **store}}
        return self.weir(self.origin, SEED, settings=settings, **more)

    def push(self, weir, text=None, *options, code=0):
        """One command against the configuration of `weir`; its output."""
        arguments = ["push", "-c", str(weir.folder.main), *options]
        if text is not None:
            file = self.folder / "new.yaml"
            file.write_text(text)
            arguments.append(str(file))
        done = run(*arguments, timeout=60)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def limit_of(self, weir):
        return weir.client.get("/", who("A", "u"))["X-RateLimit-Limit"]

    def in_force(self, weir):
        return weir.status()["quotas"]["version"]

    def until_limit(self, weirs, limit):
        self.eventually(lambda: all(self.limit_of(weir) == str(limit) for weir in weirs), WITHIN,
                        f"a limit of {limit} everywhere")


class Fleet(PushCase):
    def test_all_instances_take_it_show_it_and_agree(self):
        redis = self.redis()
        weirs = [self.gateway({"url": redis.url}) for _ in range(2)]
        self.assertEqual([self.limit_of(weir) for weir in weirs], ["10", "10"])
        self.assertEqual([weir.status()["quotas"]["source"] for weir in weirs], ["file", "file"])
        self.assertIn("published as version 1-", self.push(weirs[0], quotas(20)))
        self.until_limit(weirs, 20)
        version = self.in_force(weirs[0])
        self.assertTrue(version.startswith("1-"))
        for weir in weirs:
            shown = weir.status()["quotas"]
            self.assertEqual((shown["version"], shown["source"], shown["published"]), (version, "store", version))
            self.assertLess(shown["source_age_s"], WITHIN)
            config = weir.admin.get("/config").json()["quotas"]
            self.assertEqual((config["from"], config["in_force"], config["version"]), ("store", "store", version))
            self.assert_metric(weir, 1, "weir_quotas_info", node="test", version=version, source="store")
            self.eventually(lambda: weir.lines("config.applied", version), 5, "the log line")
        # What was used stays used, and an instance that comes later begins with it.
        late = self.gateway({"url": redis.url})
        self.assertEqual(self.limit_of(late), "20")
        self.assertEqual(self.in_force(late), version)

    def test_dry_run_same_again_rollback_and_what_is_said(self):
        redis = self.redis()
        weir = self.gateway({"url": redis.url})
        self.push(weir, quotas(20))
        shown = self.push(weir, quotas(30), "--dry-run")
        self.assertIn("-2   user: {default: 20, window: 1h}", shown)
        self.assertIn("+2   user: {default: 30, window: 1h}", shown)
        self.assertIn("would be published in place of version 1-", shown)
        self.assertIn("nothing to publish", self.push(weir, quotas(20)))
        self.assertIn("nothing was published before", self.push(weir, None, "--rollback", code=2))
        self.push(weir, quotas(40))
        self.until_limit([weir], 40)
        self.assertIn("published as version 3-", self.push(weir, None, "--rollback"))
        self.until_limit([weir], 20)

    def test_override_files_travel_with_it(self):
        redis = self.redis()
        weir = self.gateway({"url": redis.url})
        (self.folder / "more.json").write_text(json.dumps({"u": 77}))
        self.push(weir, "limit:\n  user: {default: 20, window: 1h, overrides_file: more.json}\n")
        self.until_limit([weir], 77)
        (self.folder / "more.json").write_text(json.dumps({"u": 78}))
        self.assertIn("more.json", self.push(weir, "limit:\n  user: {default: 20, window: 1h, overrides_file: more.json}\n"))
        self.until_limit([weir], 78)

    def test_of_two_who_push_at_once_none_is_lost_unseen(self):
        redis = self.redis()
        weir = self.gateway({"url": redis.url})
        self.push(weir, quotas(20))
        key = next(name for name in redis.keys() if name.startswith("w1:{quotas:"))
        self.assertEqual(redis.keys()[key], -1, "the document has no end")
        # A second publisher's view is older than the store's: the script refuses it.
        script = (pathlib.Path(__file__).parents[2] / "lua/published.lua").read_text().replace(
            '--- @include "prelude_time"', "local now = 1")
        done, version, _ = redis.call("EVAL", script, 1, key, "publish", "0-older", "cafecafe", "{}")
        self.assertEqual((done, version.decode()), (0, self.push_version(redis, key)))

    @staticmethod
    def push_version(redis, key):
        return redis.call("HGET", key, "version").decode()


class Wrong(PushCase):
    def test_errors_are_those_of_check_and_nothing_is_published(self):
        redis = self.redis()
        weir = self.gateway({"url": redis.url})
        shown = self.push(weir, "limit:\n  user: {defualt: 20, window: 1h}\n", code=1)
        self.assertIn("new.yaml:2:10: limit.user.defualt: unknown key", shown)
        self.assertIn("nothing was published", shown)
        # Good by itself, but not for these gateways: they know of no such dimension.
        shown = self.push(weir, "limit:\n  shop: {key: [shop], default: 3}\n", code=1)
        self.assertIn("shop", shown)
        self.assertFalse([name for name in redis.keys() if name.startswith("w1:{quotas:")])

    def test_usage(self):
        redis = self.redis()
        memory = self.weir(self.origin, SEED)
        self.assertIn("store.kind is memory", self.push(memory, quotas(5), code=2))
        file = self.weir(self.origin, SEED, store=redis)
        self.assertIn("from a file", self.push(file, quotas(5), code=2))
        self.assertIn("one quota file is needed", self.push(file, code=2))
        gone = self.gateway({"url": f"redis://127.0.0.1:{free_port()}"})
        self.assertIn("the store does not answer", self.push(gone, quotas(5), code=2))

    def test_a_bad_document_changes_nothing_and_says_why(self):
        redis = self.redis()
        weir = self.gateway({"url": redis.url})
        self.push(weir, quotas(20))
        self.until_limit([weir], 20)
        version = self.in_force(weir)
        key = next(name for name in redis.keys() if name.startswith("w1:{quotas:"))
        good = redis.call("HGET", key, "document")
        for document, name, why in ((b"{}", "7-00000000", "was not written by `weir push`"),
                                    (good.replace(b"default: 20", b"default: 21"), "8-" + version[2:], "was not written")):
            redis.call("HSET", key, "document", document, "version", name)
            self.eventually(lambda: weir.lines("config.rejected", name, why), WITHIN, "a refusal that says why")
            status = weir.status()
            self.assertEqual((status["quotas"]["version"], status["last_reload_good"]), (version, False))
            self.assertEqual(status["quotas"]["published"], name)
            self.assertEqual(self.limit_of(weir), "20")
        self.assertGreaterEqual(weir.metrics().value("weir_config_reloads_total", result="rejected"), 2)
        refused = weir.metrics().value("weir_config_reloads_total", result="rejected")
        time.sleep(2.5)
        self.assertEqual(weir.metrics().value("weir_config_reloads_total", result="rejected"), refused,
                         "a bad document is judged once")
        redis.call("HSET", key, "document", good, "version", version)
        self.eventually(lambda: weir.status()["last_reload_good"], WITHIN, "all is well again")

    def test_what_fits_this_gateway_no_more_keeps_what_is_in_force(self):
        redis = self.redis()
        other = self.gateway({"url": redis.url})
        other.reload_settings({"identity": {"shop": {"from": [{"header": "X-Shop"}], "missing": "anonymous"}}})
        weir = self.gateway({"url": redis.url})
        self.push(other, "limit:\n  shop: {key: [shop], default: 3}\n")
        self.eventually(lambda: weir.lines("config.rejected", "pushed quotas 1-", "shop"), WITHIN, "a refusal")
        self.assertEqual(self.limit_of(weir), "10")
        # Its own file can still change, and when it knows the dimension, the quotas fit.
        weir.reload_settings({"identity": {"shop": {"from": [{"header": "X-Shop"}], "missing": "anonymous"}}})
        self.eventually(lambda: self.in_force(weir) == self.in_force(other), WITHIN, "both agree")


class StoreGone(PushCase):
    def test_the_last_good_ones_stay_also_through_a_restart(self):
        redis = self.redis()
        weir = self.gateway({"url": redis.url})
        self.push(weir, quotas(20))
        self.until_limit([weir], 20)
        version = self.in_force(weir)
        redis.kill()
        time.sleep(2)
        self.assertEqual(self.limit_of(weir), "20")
        self.assertEqual(weir.stop(), 0)
        weir.start()
        self.assertEqual(self.limit_of(weir), "20")
        shown = weir.status()["quotas"]
        self.assertEqual((shown["version"], shown["source"]), (version, "copy"))
        # A store that has been silent since the start is seen, too: the alert goes by this.
        self.eventually(lambda: weir.metrics().value("weir_quotas_source_age_seconds") > 1, WITHIN, "its silence")
        explained = run("explain", "-c", str(weir.folder.main), "-H", "X-User-Id: u", "GET", "/")
        self.assertIn("20", explained.stdout)
        # A store that lost everything changes nothing either.
        redis.start()
        self.eventually(lambda: "source_age_s" in weir.status()["quotas"], WITHIN, "the store answers")
        self.assertEqual(self.limit_of(weir), "20")
        self.push(weir, quotas(30))
        self.until_limit([weir], 30)

    def test_without_copy_and_store_it_starts_from_the_file(self):
        weir = self.gateway({"url": f"redis://127.0.0.1:{free_port()}"})
        self.assertEqual((self.limit_of(weir), weir.status()["quotas"]["source"]), ("10", "file"))
        weir.stop()
        (weir.folder.path / "quotas.pushed.json").write_text('{"format": 1, "version"')
        weir.start()
        self.assertEqual(self.limit_of(weir), "10")
        self.assertTrue(weir.lines("quotas.pushed.json", "is not JSON"))


class Ways(PushCase):
    """Every kind of store takes a push."""

    def works(self, store):
        weir = self.gateway(store)
        self.push(weir, quotas(20))
        self.until_limit([weir], 20)

    def test_tls_and_acl(self):
        authority = Authority()
        self.addCleanup(authority.remove)
        authority.issue("server", "DNS:localhost,IP:127.0.0.1")
        port, file = free_port(), lambda name: str(authority.folder / name)
        redis = self.redis("--tls-port", str(port), "--tls-cert-file", file("server.pem"), "--tls-key-file",
                           file("server.key"), "--tls-ca-cert-file", file("ca.pem"), "--tls-auth-clients", "no")
        redis.call("ACL", "SETUSER", "weir", "on", ">secret", "~w1:*", "~w2:*", "-@all", "+@connection", "+@scripting",
                   "+@read", "+@write", "+time")
        self.works({"url": f"rediss://localhost:{port}/0", "tls": {"ca": file("ca.pem")}, "username": "weir",
                    "password": "secret"})

    def test_cluster(self):
        self.works({"url": self.redis_cluster().urls})

    def test_sentinel(self):
        deployment = self.redis_sentinels()
        self.works({"url": f"redis://{deployment.name}/0", "sentinel": {"addresses": deployment.addresses}})


if __name__ == "__main__":
    import unittest
    unittest.main()
