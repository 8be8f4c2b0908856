# SPDX-License-Identifier: Apache-2.0
"""The status page in a real browser, over a gateway under traffic. WEIR_BROWSER is a folder with playwright-core in
its node_modules (./dev test --all makes one); screenshots stay in its folder `shots`, to be looked at."""
import json
import os
import pathlib
import subprocess
import threading
import unittest

from integration.test_simulate import line
from support.case import GatewayCase, who
from support.ports import free_port
from support.weir_process import ConfigFolder, base_settings, run

HOME = pathlib.Path(os.environ.get("WEIR_BROWSER") or "none")
LOOK = pathlib.Path(__file__).resolve().parents[1] / "page" / "look.mjs"
H = {"window": "31d"}
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>"
LONG = "a-tenant-with-a-very-long-name-" * 4


@unittest.skipUnless((HOME / "node_modules").is_dir(), "no browser was installed; ./dev test --all does")
class Browser(GatewayCase):
    LIMIT = {"node": {"total": 100000, **H}, "caller": {"default": 200, **H},
             "user": {"default": 10, "algorithm": "fixed_window", **H}, "api": {"default": 5000, "mode": "shadow", **H}}

    def look(self, step, weir, *more):
        return self.look_at(f"http://{weir.settings['admin']['address']}/", step, *more)

    def look_at(self, url, step, *more):
        (HOME / "shots").mkdir(exist_ok=True)
        done = subprocess.run(["node", str(LOOK), step, url, *more], capture_output=True, text=True, timeout=180)
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        return json.loads(done.stdout)

    def under_traffic(self, weir):
        stop = threading.Event()

        def send():
            names = ["acme"] * 6 + [HOSTILE, LONG, "quiet"]
            for n in range(40):
                weir.client.get("/", who(f"caller-{n}", f"user-{n}"))
            while not stop.wait(0.1):
                for n, name in enumerate(names):
                    weir.client.repeat(4, f"/item/{n}", who(name, "u"))

        thread = threading.Thread(target=send)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(stop.set)

    def test_it_says_who_hits_what_on_every_screen(self):
        weir = self.weir(self.upstream(), self.LIMIT)
        self.under_traffic(weir)
        grounds = {}
        for view in self.look("looks", weir):
            with self.subTest(width=view["width"], scheme=view["scheme"]):
                self.assertEqual((view["trouble"], view["cutOff"], view["unseenFocus"], view["unnamed"]), ([], [], [], []))
                self.assertEqual((view["overflow"], view["scripts"]), (0, 1))
                self.assertLess(view["shifted"], 0.1)
                self.assertIn("refused", view["verdict"])
                self.assertIn("layer user", view["verdict"])
                self.assertIn("acme", view["verdict"])
                self.assertEqual(view["chain"], ["node", "caller", "user", "api"])
                self.assertEqual(view["explained"], ["node", "caller", "user", "api"])
                self.assertEqual(view["callers"][0], "acme")
                self.assertIn(HOSTILE, view["callers"])
                grounds.setdefault(view["scheme"], set()).add(view["ground"])
        self.assertEqual(len(grounds["light"]), 1)
        self.assertNotEqual(grounds["light"], grounds["dark"])

    def test_a_counter_is_reset_by_keyboard(self):
        weir = self.weir(self.upstream(), self.LIMIT)
        weir.client.repeat(12, "/", who("acme"))
        seen = self.look("reset", weir, "acme", "user")
        self.assertEqual((seen["trouble"], seen["focused"], seen["kept"]), ([], "Keep it", 0))
        self.assertIn("10 of 10", seen["facts"])
        self.assertIn("Layer user starts from zero; 10 were used", seen["done"])
        self.assertEqual(weir.client.get("/", who("acme")).status, 200)
        self.assertEqual(len(self.eventually(lambda: weir.records("counter.reset"))), 1)

    def test_old_figures_are_shown_as_old(self):
        weir = self.weir(self.upstream(), self.LIMIT)
        seen = self.look("stale", weir)
        self.assertFalse(seen["before"])
        self.assertIn("does not answer", seen["note"])

    def test_what_else_is_wrong_stands_at_the_top(self):
        redis = self.redis()
        weir = self.weir(self.upstream(), self.LIMIT, store=redis, patient=False, settings={
            "upstreams": {"dead": {"endpoints": [f"127.0.0.1:{free_port()}"]}},
            "routes": [{"path": "/dead", "upstream": "dead"}, {"path": "/**", "upstream": "default"}]})
        self.assertEqual(self.look("troubles", weir)["shown"], [])
        weir.client.repeat(3, "/dead", who("acme"))
        weir.write_limit({"user": {"defualt": 7}})
        redis.kill()
        weir.client.repeat(20, "/", who("acme"))
        self.eventually(lambda: weir.status()["store"]["health"] == "brief" and not weir.status()["last_reload_good"], 15)
        seen = self.look("troubles", weir)
        self.assertEqual((seen["trouble"], seen["cutOff"]), ([], []))
        shown = "\n".join(seen["shown"])
        for words in ("The shared store has not answered", "of upstream dead has answered none of 3 requests", "is rejected", "limit.user: has no default"):
            self.assertIn(words, shown)

    def test_it_asks_for_the_token(self):
        weir = self.weir(self.upstream(), self.LIMIT, files={"token": "s3cret-token"}, settings={"admin": {"token_file": "token"}})
        seen = self.look("token", weir, "s3cret-token")
        self.assertEqual((seen["open"], seen["inLocal"]), (False, 0))
        self.assertNotIn("s3cret", seen["url"])

    def test_without_traffic_and_without_layers(self):
        weir = self.weir(self.upstream(), {})
        seen = self.look("walk", weir)
        self.assertEqual(seen["trouble"], [])
        self.assertIn("No traffic", seen["verdict"])
        self.assertIn("refused", seen["value"])
        self.assertRegex(seen["readout"], r"^\d\d:\d\d:\d\d allowed 0/s")

    def test_the_report_of_simulate(self):
        """A loud caller, one with a name as long as a name can be, one that is hostile, and quiet ones."""
        folder = ConfigFolder(base_settings("127.0.0.1:9"), {"limit": {"caller": {"default": 400}}})
        self.addCleanup(folder.remove)
        folder.write("new.yaml", {"limit": {"caller": {"default": 30}, "user": {"default": 20, "window": "30s"}}})
        names = ["acme"] * 6 + [HOSTILE, LONG] + [f"quiet-{n}" for n in range(20)]
        log, page = folder.path / "access.jsonl", folder.path / "report.html"
        log.write_text("".join(line(n / 20, names[n * 5 % len(names)], f"user-{n % 3}") + "\n" for n in range(20_000)))
        self.assertEqual(run("simulate", "-c", str(folder.main), "-q", str(folder.path / "new.yaml"), "--html", str(page), str(log)).returncode, 0)
        for view in self.look_at(page.as_uri(), "report"):
            with self.subTest(width=view["width"], scheme=view["scheme"]):
                self.assertEqual((view["trouble"], view["cutOff"], view["overflow"], view["shown"]), ([], [], 0, 7))
                self.assertRegex(view["verdict"], r"[\d,]+ requests \([\d.]+\s%\) that pass today would be refused\.")
                self.assertIn("acme", view["verdict"])
                self.assertTrue(view["first"].startswith("acme"), view["first"])


if __name__ == "__main__":
    unittest.main()
