# SPDX-License-Identifier: Apache-2.0
"""The status page as it goes over the wire: its files, the figures behind it, what it costs with very many
callers. A browser looks at it in test_page_browser.py."""
import json
import os
import re
import time
import unittest

from support.case import GatewayCase, who
from support.client import request_bytes
from support.weir_process import sanitized

H = {"window": "31d"}
BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}


class Files(GatewayCase):
    def test_the_page_and_all_it_names(self):
        weir = self.weir(self.upstream())
        page = weir.admin.get("/", BROWSER)
        self.assertEqual((page.status, page["Content-Type"]), (200, "text/html; charset=utf-8"))
        wanted, octets = set(re.findall(r'(?:href|src)="(/page/[^"]+)"', page.body.decode())), len(page.body)
        self.assertGreaterEqual(len(wanted), 2)
        seen = set()
        while wanted - seen:
            path = (wanted - seen).pop()
            seen.add(path)
            file = weir.admin.get(path)
            self.assertEqual(file.status, 200, path)
            octets += len(file.body)
            wanted |= {f"/page/{name}" for name in re.findall(r'from "\./([^"]+)"', file.body.decode())}
        self.assertLess(octets, 200_000)

    def test_what_a_browser_is_told(self):
        weir = self.weir(self.upstream())
        for target in ("/", "/page/main.js", "/live", "/status", "/nothing"):
            answer = weir.admin.get(target, BROWSER)
            policy = answer["Content-Security-Policy"]
            for rule in ("default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"):
                self.assertIn(rule, policy, target)
            self.assertNotIn("unsafe", policy)
            self.assertEqual((answer["X-Content-Type-Options"], answer["X-Frame-Options"]), ("nosniff", "DENY"))
            self.assertNotIn("Access-Control-Allow-Origin", answer)

    def test_others_get_the_list_of_endpoints(self):
        weir = self.weir(self.upstream())
        for answer in (weir.admin.get("/"), weir.admin.get("/help"), weir.admin.get("/help", BROWSER)):
            self.assertIn(b"POST /counters/reset", answer.body)
            self.assertEqual(answer["Content-Type"], "text/plain; charset=utf-8")

    def test_a_name_made_to_resolve_here_is_refused(self):
        weir = self.weir(self.upstream())
        port = weir.admin.address[1]
        for host, status in ((f"evil.example:{port}", 421), (f"localhost:{port}", 200), (f"127.0.0.1:{port}", 200)):
            self.assertEqual(weir.admin.get("/live", host=host).status, status, host)
        self.assertEqual(weir.admin.get("/readyz", host="probe").status, 200)

    def test_with_a_token_the_files_are_open_and_the_figures_are_not(self):
        weir = self.weir(self.upstream(), files={"token": "s3cret-token"}, settings={"admin": {"token_file": "token"}})
        self.assertEqual([weir.admin.get(path, BROWSER).status for path in ("/", "/page/page.css", "/live", "/help")],
                         [200, 200, 401, 401])
        self.assertEqual(weir.admin.get("/live", {"Authorization": "Bearer s3cret-token"}).status, 200)


class Live(GatewayCase):
    LIMIT = {"node": {"total": 1000, **H}, "caller": {"default": 10, **H},
             "user": {"default": 5, "algorithm": "fixed_window", **H}}

    def live(self, weir, since=0):
        return weir.admin.get(f"/live?since={since}").json()

    def test_it_says_who_hits_what(self):
        weir = self.weir(self.upstream(), self.LIMIT)
        self.at_once(weir, 8, "/a", who("quiet", "u"))
        self.at_once(weir, 30, "/b", lambda i: who("<script>alert(1)</script>", f"u{i}"))
        self.eventually(lambda: self.live(weir)["traffic"]["points"][-1:] and
                        self.live(weir)["traffic"]["points"][-1][2:4] == [15, 23], 5, "both samples")
        live = self.live(weir)
        self.assertEqual(live["traffic"]["layers"], ["node", "caller", "user"])
        self.assertEqual(live["traffic"]["points"][-1][2:], [15, 23, 0, 0, 20, 3])
        self.assertEqual([(layer["layer"], layer["final_hits"]) for layer in live["chain"]],
                         [("node", 0), ("caller", 20), ("user", 3)])
        self.assertEqual(live["chain"][2]["key"], ["caller", "user"])
        user = live["chain"][2]["default"]
        self.assertEqual((user["limit"], user["window_ms"], user["algorithm"]), (5, 31 * 86400000, "fixed_window"))
        self.assertRegex(user["source"], r"quotas\.yaml:\d+:")
        self.assertEqual(live["top"]["refused"][0],
                         {"layer": "caller", "name": "<script>alert(1)</script>", "count": 20, "error": 0})
        self.assertEqual(live["top"]["caller"]["requests"][1], {"name": "quiet", "count": 8, "error": 0})
        self.assertEqual(live["headers"], {"caller": "X-Caller-Id", "user": "X-User-Id"})
        self.assertEqual([endpoint["upstream"] for endpoint in live["endpoints"]], ["default"])
        self.assertEqual(sum(endpoint["requests"] for endpoint in live["endpoints"]), 15)

    def test_a_reader_gets_what_is_new(self):
        weir = self.weir(self.upstream(), self.LIMIT)
        newest = self.eventually(lambda: self.live(weir)["traffic"]["points"], 5)[-1][0]
        later = self.eventually(lambda: self.live(weir, newest)["traffic"]["points"], 5)
        self.assertTrue(all(point[0] > newest for point in later))
        self.assertGreaterEqual(len(self.live(weir, 10**9)["traffic"]["points"]), 2, "a reader from before a restart")

    def test_loads_of_the_configuration_are_remembered(self):
        weir = self.weir(self.upstream(), self.LIMIT)
        weir.reload_limit({"user": {"default": 7, **H}})
        weir.write_limit({"user": {"default": 0, **H}})
        loads = self.eventually(lambda: (found := self.live(weir)["loads"])[0]["result"] == "rejected" and found, 5)
        self.assertEqual([load["result"] for load in loads], ["rejected", "applied", "applied"])
        self.assertIn("quotas.yaml", loads[0]["notes"][0])
        for limit in range(8, 30):
            weir.reload_limit({"user": {"default": limit, **H}})
        self.assertEqual(len(self.live(weir)["loads"]), 20)

    def test_a_store_that_is_ill_shows(self):
        redis = self.redis()
        weir = self.weir(self.upstream(), self.LIMIT, store=redis, patient=False)
        self.assertEqual(self.live(weir)["status"]["store"]["health"], "healthy")
        redis.kill()
        self.at_once(weir, 20, "/", who("A", "u"))
        live = self.eventually(lambda: (now := self.live(weir))["status"]["store"]["health"] == "brief" and now, 5)
        self.assertGreater(live["ladder"]["failed_calls"] + live["ladder"]["spared_calls"], 0)


class VeryMany(GatewayCase):
    """100,000 callers by 10 APIs; sizes are asserted closely, times widely: the machine may be busy."""
    CALLERS, APIS = 100_000, 10

    def test_metrics_and_page_stay_small(self):
        overrides = {f"named-{n}": 1000 + n for n in range(300)}
        api = {"default": 100, "overrides": {f"/api/{n}/**": 50 for n in range(self.APIS)}, **H}
        weir = self.weir(self.upstream(), {"node": {"total": 1, **H}, "caller": {"default": 10, "overrides": overrides, **H},
                                           "user": {"default": 10, **H}, "api": api}, settings={"log": {"access": "off"}})
        self.storm(weir)
        metrics, spent = self.timed(weir, "/metrics")
        self.assertLess(len(metrics), 1_000_000)
        live, live_spent = self.timed(weir, "/live?since=0")
        self.assertLess(len(live), 200_000)
        top = json.loads(live)["top"]
        self.assertEqual(len(top["api"]["requests"]), self.APIS)
        self.assertLessEqual(max(len(top[kind][by]) for kind in ("caller", "user", "api") for by in ("requests", "refusals")), 100)
        print(f"\n{self.CALLERS} callers, {self.APIS} APIs: /metrics {len(metrics)} octets in {spent * 1e3:.1f} ms (goal 50), "
              f"/live {len(live)} octets in {live_spent * 1e3:.1f} ms (goal 20)")
        self.assertLess(spent, 2)
        self.assertLess(live_spent, 2)

    def storm(self, weir):
        """Pipelined, so that the client is not what takes the time; nearly all are refused, which answers them here."""
        batch = 500
        with weir.client.connect() as link:
            for first in range(0, self.CALLERS, batch):
                link.send(b"".join(request_bytes("GET", f"/api/{n % self.APIS}/x", who(f"named-{n}" if n < 300 else f"caller-{n}", f"user-{n}"))
                                   for n in range(first, first + batch)))
                for _ in range(batch):
                    link.read_response()

    @staticmethod
    def timed(weir, target, tries=5):
        best, body = 1e9, b""
        with weir.admin.connect() as link:
            for _ in range(tries):
                start = time.monotonic()
                body = link.request("GET", target, host=weir.admin.host).body
                best = min(best, time.monotonic() - start)
        return body, best

    @unittest.skipUnless(os.environ.get("WEIR_LONG"), "a million requests: WEIR_LONG=1")
    def test_every_pair_of_caller_and_api(self):
        """C43. All million pairs, answered by an upstream, each caller refused two of its ten times; then the goals."""
        api = {"default": 100, "overrides": {f"/api/{n}/**": 10**6 for n in range(self.APIS)}, **H}
        weir = self.weir(self.fast_upstream(), {"node": {"total": 10**7, **H}, "caller": {"default": 8, **H}, "api": api},
                         settings={"log": {"access": "off", "denials": {"to": "off"}}})
        weir.client.repeat(9, "/api/0/x", who("warm"))
        before = len(weir.metrics().samples)
        with weir.client.connect() as link:
            for first in range(0, self.CALLERS, 50):
                callers = range(first, min(first + 50, self.CALLERS))
                link.send(b"".join(b"GET /api/%d/x HTTP/1.1\r\nHost: a\r\nX-Caller-Id: caller-%d\r\n\r\n" % (api, caller)
                                   for caller in callers for api in range(self.APIS)))
                for _ in range(len(callers) * self.APIS):
                    link.read_exactly(int(re.search(rb"(?i)content-length: (\d+)", link.read_until(b"\r\n\r\n"))[1]))
        self.assert_metric(weir, float(2 * self.CALLERS + 1), "weir_denials_total", layer="caller")
        metrics, spent = self.timed(weir, "/metrics", 20)
        live, live_spent = self.timed(weir, "/live?since=0", 20)
        print(f"\n{self.CALLERS} callers by {self.APIS} APIs, all pairs: /metrics {len(metrics)} octets in {spent * 1e3:.1f} ms, "
              f"/live {len(live)} octets in {live_spent * 1e3:.1f} ms, {weir.rss() >> 20} MiB resident")
        self.assertLess(len(metrics), 1_000_000)
        self.assertLess(len(weir.metrics().samples) - before, 200)
        self.assertLess(len(live), 200_000)
        if not sanitized():
            self.assertLess(spent, 0.050)
            self.assertLess(live_spent, 0.020)


if __name__ == "__main__":
    unittest.main()
