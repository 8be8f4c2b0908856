# SPDX-License-Identifier: Apache-2.0
"""Seeing who hits what: metrics, denial lines, access lines, explain, status; and that none of it floods or
shows a secret."""
import datetime
import json
import os
import time

from support.case import GatewayCase, who
from support.client import request_bytes, statuses
from support.weir_process import run

H = {"window": "31d"}
LAYERS = ("node", "caller", "user", "api")


def denying(layers):
    out = {}
    for name in LAYERS:
        out[name] = {"total" if name == "node" else "default": 1 if name in layers else 1000, **H}
    return out


class WhichLayer(GatewayCase):
    def test_every_face_names_the_same_layer(self):
        for layers in (["node"], ["caller"], ["user"], ["api"], ["caller", "api"], list(LAYERS)):
            with self.subTest(layers):
                self.names(layers)

    def names(self, layers):
        weir = self.weir(self.upstream(), denying(layers))
        answers = weir.client.repeat(2, "/x", who("A", "u", X_Request_Id="find-me"))
        self.assertEqual([a.status for a in answers], [200, 429])
        self.assertEqual(answers[1].json()["violated-policies"], layers)
        line = self.eventually(lambda: weir.records("hit_layers", "find-me"), what="the denial line")[0]
        for name in LAYERS:  # only the final hit counts
            self.assert_metric(weir, float(name == layers[0]), "weir_denials_total", layer=name)
        self.assertEqual((line["final_hit_layer"], line["hit_layers"]), (layers[0], layers))
        self.assertEqual((line["caller_id"], line["user_id"], line["request_id"]), ("A", "u", "find-me"))
        self.assertEqual((line["limit_value"], line["current_value"]), (1, 1))
        self.assertEqual(line["retry_after"], answers[1].number("Retry-After"))
        self.assertIn("api_path", line)
        explained = weir.admin.get("/explain?method=GET&path=/x&header=X-Caller-Id:A&header=X-User-Id:u").json()
        refusing = [layer["layer"] for layer in explained["layers"] if layer.get("would_pass") == "no"]
        self.assertEqual(refusing, layers)
        weir.stop()


class Explain(GatewayCase):
    LIMIT = "limit:\n  caller:\n    default: 5\n    overrides:\n      A: 7\n  user: {default: 3}\n"

    def test_where_each_limit_was_written_and_what_is_used(self):
        weir = self.weir(self.upstream(), quotas=self.LIMIT)
        weir.client.repeat(2, "/x", who("A", "u"))
        explained = weir.admin.get("/explain?path=/x&header=X-Caller-Id:A&header=X-User-Id:u").json()
        found = {layer["layer"]: layer for layer in explained["layers"]}
        self.assertEqual((found["caller"]["limit"], found["caller"]["remaining"]), (7, 5))
        self.assertIn("quotas.yaml:5:", found["caller"]["source"])
        self.assertIn("quotas.yaml:6:", found["user"]["source"])
        again = weir.admin.get("/explain?path=/x&header=X-Caller-Id:A&header=X-User-Id:u").json()
        self.assertEqual([layer["remaining"] for layer in again["layers"]], [5, 1], "looking costs nothing")

    def test_the_command(self):
        weir = self.weir(self.upstream(), quotas=self.LIMIT)
        weir.client.repeat(2, "/x", who("A", "u"))
        result = run("explain", "-c", str(weir.folder.main), "--header", "X-Caller-Id: A", "--header", "X-User-Id: u",
                     "GET", "/x")
        self.assertEqual(result.returncode, 0, result)
        for word in ("caller", "user", "quotas.yaml:5", "7", "token_bucket"):
            self.assertIn(word, result.stdout)


class Admin(GatewayCase):
    def test_pages(self):
        weir = self.weir(self.upstream(), denying([]))
        self.assertEqual([weir.admin.get(page).status for page in ("/livez", "/readyz", "/metrics", "/status", "/config")],
                         [200] * 5)
        self.assertEqual(weir.admin.get("/nothing").status, 404)
        self.assertGreaterEqual(weir.status()["generation"], 1)

    def test_admin_requests_are_never_counted(self):
        weir = self.weir(self.upstream(), {"node": {"total": 1, **H}})
        for _ in range(5):
            weir.admin.get("/livez")
        self.assertEqual(weir.client.get("/").status, 200)

    def test_the_public_port_shows_no_admin_page(self):
        backend = self.upstream()
        weir = self.weir(backend)
        weir.client.get("/metrics")
        self.assertEqual(backend.hits["/metrics"], 1)

    def test_secrets_are_never_shown(self):
        redis = self.redis("--requirepass", "hunter2-secret")
        os.environ["WEIR_TEST_SECRET"] = "hunter2-secret"
        self.addCleanup(os.environ.pop, "WEIR_TEST_SECRET")
        store = {"kind": "redis", "url": redis.url, "password": "${WEIR_TEST_SECRET}"}
        weir = self.weir(self.upstream(), {"user": {"default": 5, **H}}, settings={"store": store})
        self.assertEqual(weir.client.get("/", who("A", "u"))["X-RateLimit-Remaining"], "4")
        redis.call("AUTH", "hunter2-secret")
        self.assertTrue(redis.keys(), "it did count in Redis")
        for page in ("/config", "/status", "/metrics"):
            self.assertNotIn(b"hunter2", weir.admin.get(page).body, page)
        self.assertNotIn("hunter2", weir.output())

    def test_beyond_loopback_it_wants_a_token(self):
        weir = self.weir(self.upstream())
        weir.settings["admin"]["address"] = weir.settings["admin"]["address"].replace("127.0.0.1", "0.0.0.0")
        weir.folder.write(weir.folder.main, weir.settings)
        self.assertEqual(run("check", "-c", str(weir.folder.main)).returncode, 1)


class Volume(GatewayCase):
    def test_series_do_not_grow_with_identities(self):
        weir = self.weir(self.upstream(), {"caller": {"default": 1, **H}, "user": {"default": 1, **H}})
        weir.client.repeat(3, "/", who("warm", "up"))
        before = len(weir.metrics().samples)
        for block in range(5):
            self.at_once(weir, 400, f"/p{block}", lambda i: who(f"c{block}-{i}", f"u{i}"))
        start = time.monotonic()
        metrics = weir.metrics()
        self.assertLess(time.monotonic() - start, 0.5)
        self.assertLess(len(metrics.samples) - before, 200)
        self.assertLess(len(metrics.text), 1_000_000)

    def test_hostile_identities_do_not_break_the_formats(self):
        weir = self.weir(self.upstream(), {"user": {"default": 1, **H}})
        for name in ('q"uote', "back\\slash", "new{line}", "emoji-\u00ff", "<script>", "%0a%0d", "x" * 3000):
            self.assertEqual(statuses(weir.client.repeat(2, "/", who(name, name))), {200: 1, 429: 1})
        weir.metrics()
        lines = self.eventually(lambda: len(weir.records("hit_layers")) >= 1 and weir.records("hit_layers"))
        self.assertTrue(all(isinstance(line, dict) for line in lines))

    def test_denials_under_attack_are_sampled_and_counted_exactly(self):
        weir = self.weir(self.upstream(), {"user": {"default": 1, **H}}, settings={"log": {"access": "off"}})
        for _ in range(15):
            self.at_once(weir, 400, "/", who("A", "u"))
        self.assert_metric(weir, 5999, "weir_denials_total", layer="user")
        time.sleep(1.5)
        lines = weir.records("hit_layers")
        self.assertLess(len(lines), 5999)
        self.assertGreater(len(lines), 0)
        self.assertAlmostEqual(sum(line.get("weight", 1) for line in lines), 5999, delta=1500)


class DeadStore(GatewayCase):
    RATE, SECONDS = 5000, 30 if os.environ.get("WEIR_LONG") else 12

    def ask(self, weir):
        """RATE requests a second, each twentieth of a second's worth at once; returns how many were answered."""
        answered, begin, batch = 0, time.monotonic(), self.RATE // 20
        with weir.client.connect() as link:
            while (passed := time.monotonic() - begin) < self.SECONDS:
                link.send(request_bytes("GET", "/", who("A", "u")) * batch)
                for _ in range(batch):
                    self.assertEqual(link.read_response().status, 200)
                answered += batch
                time.sleep(max(0.0, answered / self.RATE - passed))
        return answered

    def test_it_does_not_flood_the_log(self):
        """C44: one line a cause and ten seconds, which says how many it stands for; every request counted."""
        redis = self.redis()
        weir = self.weir(self.fast_upstream(), {"user": {"default": 10**6, **H}}, store=redis,
                         settings={"log": {"access": "off"}})
        redis.kill()
        answered = self.ask(weir)
        self.assert_metric(weir, float(answered), "weir_requests_total")
        lines = [line for line in weir.records("cause") if line["cause"].startswith("store")]
        self.assertTrue(lines, weir.output())
        for cause in {line["cause"] for line in lines}:
            at = [datetime.datetime.fromisoformat(line["time"]) for line in lines if line["cause"] == cause]
            gaps = [(later - earlier).total_seconds() for earlier, later in zip(at, at[1:])]
            self.assertTrue(all(gap > 9 for gap in gaps), f"{cause}: {gaps}")
        self.assertTrue(weir.lines("more suppressed"), weir.output())
        self.assertLess(sum((weir.folder.path / name).stat().st_size for name in ("stdout", "stderr")), 100_000)


class AccessLog(GatewayCase):
    def test_one_json_line_per_request_with_the_normal_path(self):
        weir = self.weir(self.upstream(), denying([]), settings={"log": {"access": "access.log"}})
        weir.client.get("/a/../b?token=secret", who("A", "u", X_Request_Id="line-1"))
        path = weir.folder.path / "access.log"
        line = self.eventually(lambda: path.exists() and [x for x in path.read_text().splitlines() if "line-1" in x])[0]
        record = json.loads(line)
        self.assertEqual((record["method"], record["path"], record["status"]), ("GET", "/b", 200))


if __name__ == "__main__":
    import unittest
    unittest.main()
