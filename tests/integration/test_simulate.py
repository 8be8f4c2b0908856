# SPDX-License-Identifier: Apache-2.0
"""weir simulate: replays the gateway's own log, refuses what the gateway refused, keeps the log's time."""
import collections
import datetime
import json
import os
import pty
import random
import resource
import subprocess
import time
import unittest

from support.case import GatewayCase
from support.client import Connection, request_bytes
from support.weir_process import ConfigFolder, WEIR_BIN, base_settings, run

START = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.timezone.utc)


def stamp(seconds):
    moment = START + datetime.timedelta(milliseconds=round(seconds * 1000))
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


def line(seconds, caller=None, user=None, **more):
    """A line as telemetry/access_log.cpp writes it."""
    record = {"time": stamp(seconds), "request_id": "r", "client": "192.0.2.1", "method": "GET", "path": "/x",
              "caller_id": caller, "user_id": user, "status": 200, "outcome": "allowed", "duration_ms": 1.5,
              "bytes_in": 0, "bytes_out": 2, "cost": 1, **more}
    return json.dumps({**{name: value for name, value in record.items() if value is not None}, "weight": more.get("weight", 1)})


class Simulated(unittest.TestCase):
    """Logs made up by the test."""

    def simulate(self, lines, new, old=None, settings=None, options=(), code=0):
        folder = ConfigFolder({**base_settings("127.0.0.1:9"), **(settings or {})}, {"limit": old or new})
        self.addCleanup(folder.remove)
        folder.write(folder.path / "new.yaml", {"limit": new})
        log = folder.path / "access.jsonl"
        log.write_text("".join(one + "\n" for one in lines))
        self.folder = folder
        result = run("simulate", "-c", str(folder.main), "--quotas", str(folder.path / "new.yaml"), "--format", "json",
                     *options, str(log), timeout=60)
        self.assertEqual(result.returncode, code, result.stderr)
        return json.loads(result.stdout) if result.stdout else None

    def test_the_logs_own_time(self):
        """Two a second for ten minutes against one a second: the burst, and one of two after it."""
        lines = [line(n / 2, "a", "u") for n in range(1200)]
        report = self.simulate(lines, {"caller": {"default": 60, "window": "60s"}}, old={"caller": {"default": 600}})
        self.assertEqual(report["all"]["refused_in_force"], 0)
        self.assertAlmostEqual(report["all"]["refused"], 1200 - 60 - 599, delta=2)
        self.assertEqual(report["all"]["refused"], report["all"]["newly_refused"])
        row = report["callers"]["rows"][0]
        self.assertEqual((row["name"], row["requests"]), ("a", 1200))
        self.assertEqual(row["by_layer"], {"caller": report["all"]["refused"]})
        self.assertEqual(report["log"]["out_of_order"], 0)
        self.assertGreater(row["first_refusal"], stamp(50))
        self.assertEqual(row["last_refusal"][:16], stamp(599)[:16])

    def test_lines_in_any_order(self):
        lines = [line(n / 2, "a", f"u{n % 7}") for n in range(1200)]
        limit = {"caller": {"default": 60}, "user": {"default": 20, "window": "30s"}}
        wanted = self.simulate(lines, limit)
        random.Random(5).shuffle(lines)
        shuffled = self.simulate(lines, limit)
        self.assertEqual(shuffled["all"], wanted["all"])
        self.assertEqual(shuffled["users"], wanted["users"])

    def test_what_cannot_be_read_is_counted_and_shown(self):
        lines = [line(0, "a"), "{broken", line(1, "a"), "[]", line(2, "a", time="yesterday"), '{"level":"info"}', ""]
        report = self.simulate(lines, {"caller": {"default": 60}})
        self.assertEqual(report["all"]["requests"], 2)
        self.assertEqual(report["log"]["unreadable"], 5)
        self.assertEqual([one["line"] for one in report["log"]["first_unreadable"]], [2, 4, 5, 6, 7])
        for one in report["log"]["first_unreadable"]:
            self.assertTrue(one["why"] and one["file"].endswith("access.jsonl"), one)

    def test_sampled_lines_stand_for_many(self):
        refused = {"status": 429, "outcome": "over_limit", "final_hit_layer": "caller", "retry_after": 1}
        lines = [line(0, "a"), line(1, "a", weight=40, **refused)]
        report = self.simulate(lines, {"caller": {"default": 10, "window": "1h"}})
        self.assertEqual((report["all"]["requests"], report["all"]["refused"]), (41, 31))
        self.assertEqual((report["log"]["sampled_lines"], report["log"]["sampled_requests"]), (1, 40))
        self.assertEqual(report["log"]["refused"], 40)
        self.assertTrue(any("sampled" in note for note in report["notes"]), report["notes"])

    def test_concurrency_lasts_as_long_as_the_request_did(self):
        """Three in flight at a time, of 20 s each (longer than a slot lives unrenewed), against two."""
        lines = [line(20 * n + m, "a", duration_ms=19_990.0) for n in range(10) for m in range(3)]
        report = self.simulate(lines, {"caller": {"default": 2, "algorithm": "concurrency"}}, old={"caller": {"default": 1000}})
        self.assertEqual(report["all"]["refused"], 10)

    def test_costs(self):
        """An API's own cost is the new file's; one that a header stated is the log's; the true one is settled."""
        api = {"api": {"default": 100, "window": "1h", "cost": {"/x": 10}}}
        lines = [line(n, "a") for n in range(20)]
        self.assertEqual(self.simulate(lines, api, old={"api": {"default": 100, "window": "1h"}})["all"]["refused"], 10)
        lines = [line(n, "a", cost=25) for n in range(20)]
        self.assertEqual(self.simulate(lines, api)["all"]["refused"], 16)
        settled = {"caller": {"default": 100, "window": "1h", "algorithm": "fixed_window"},
                   "cost": {"settle": {"bytes_per_permit": "1KiB"}}}
        lines = [line(n, "a", bytes_out=20 * 1024, upstream_status=200, true_cost=20) for n in range(20)]
        self.assertEqual(self.simulate(lines, settled)["all"]["refused"], 15)

    def test_dimensions_beside_caller_and_user(self):
        settings = base_settings("127.0.0.1:9")
        settings["identity"]["role"] = {"from": [{"header": "X-Role"}], "missing": "anonymous"}
        limit = {"role": {"key": ["role"], "default": 5, "window": "1h"}}
        lines = [line(n, "a", identity={"role": "ops"} if n % 2 else None) for n in range(20)]
        report = self.simulate(lines, limit, settings=settings)
        self.assertEqual(report["all"]["refused"], 10)

    def test_a_request_that_may_wait(self):
        delay = {"caller": {"default": 60, "burst": 1, "on_exceed": "delay", "max_delay": "5s"}}
        report = self.simulate([line(0, "a") for _ in range(10)], delay)
        self.assertEqual((report["all"]["refused"], report["delayed"]), (4, 5))

    def test_the_page_and_the_text(self):
        evil = '<script>alert("x")</script>'
        lines = [line(n / 10, evil, "u\u001b[31m&") for n in range(100)]
        self.simulate(lines, {"caller": {"default": 10}}, old={"caller": {"default": 50}})
        page = self.folder.path / "report.html"
        text = run("simulate", "-c", str(self.folder.main), "-q", str(self.folder.path / "new.yaml"), "--html", str(page),
                   str(self.folder.path / "access.jsonl")).stdout
        html = page.read_text()
        self.assertNotIn("<script", html)
        self.assertIn("&lt;script&gt;", html)
        for word in ("<svg", "newly refused", "Over time", "By layer", "default-src 'none'"):
            self.assertIn(word, html)
        self.assertNotIn("http:", html.replace("http-equiv", ""))
        self.assertIn("Newly refused", text)
        self.assertNotIn("\x1b", text)

    def test_a_bar_on_a_terminal_and_none_in_a_pipe(self):
        self.simulate([line(n / 10, "a") for n in range(9000)], {"caller": {"default": 10}})
        command = [WEIR_BIN, "simulate", "-c", str(self.folder.main), "-q", str(self.folder.quotas), str(self.folder.path / "access.jsonl")]
        self.assertEqual(subprocess.run(command, capture_output=True, timeout=60).stderr, b"")
        terminal, end = pty.openpty()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=end)
        os.close(end)
        shown = b""
        try:
            while piece := os.read(terminal, 4096):
                shown += piece
        except OSError:  # the other end is closed
            pass
        os.close(terminal)
        self.assertEqual(process.wait(60), 0)
        self.assertRegex(shown, rb"\[#*\.*\] \d+ %  [\d,]+ requests")
        self.assertTrue(shown.endswith(b"\r\x1b[K"), shown[-60:])

    def test_exit_codes(self):
        lines, small = [line(n / 10, "a") for n in range(100)], {"caller": {"default": 10}}
        self.simulate(lines, small, old={"caller": {"default": 500}}, options=("--strict",), code=1)
        self.simulate(lines, small, options=("--strict",), code=0)
        self.simulate(lines, {"caller": {"defualt": 10}}, old=small, code=1)
        self.assertEqual(run("simulate", "-c", str(self.folder.main)).returncode, 2)
        self.assertEqual(run("simulate", "-q", str(self.folder.quotas), "/nonexistent").returncode, 2)

    def test_several_files_are_one_log(self):
        lines = [line(n / 2, "a") for n in range(400)]
        whole = self.simulate(lines, {"caller": {"default": 60}})
        parts = [self.folder.path / name for name in ("one", "two")]
        parts[0].write_text("".join(one + "\n" for one in lines[::2]))
        parts[1].write_text("\n".join(lines[1::2]))
        result = run("simulate", "-c", str(self.folder.main), "-q", str(self.folder.path / "new.yaml"), "-f", "json",
                     *map(str, parts))
        self.assertEqual(json.loads(result.stdout)["all"], whole["all"])


QUOTAS = {
    "node": {"total": 420, "window": "2h"},
    "caller": {"default": 80, "window": "2h", "overrides": {"c1": 300, "c2": {"limit": 60, "mode": "shadow"}, "c3": "blocked"}},
    "user": {"default": 14, "window": "2h", "algorithm": "sliding_window", "anonymous": 40},
    "api": {"default": 400, "window": "2h", "algorithm": "sliding_log", "overrides": {"/order/pay": 60}, "cost": {"/order/pay": 2}},
}
OTHERS = {
    "node": {"total": 380, "window": "2h"},
    "caller": {"default": 70, "window": "2h", "algorithm": "gcra", "overrides": {"c1": 200, "c4": {"limit": 100, "user": {"default": 5}}}},
    "user": {"default": 20, "window": "2h"},
    "api": {"default": 500, "window": "2h", "algorithm": "sliding_log", "overrides": {"/order/{id}": 90}},
}


class AsTheGateway(GatewayCase):
    """The same trace through the real gateway and through simulate: the same refusals."""

    def trace(self, count=1500):
        dice = random.Random(11)
        for _ in range(count):
            headers = {"X-Caller-Id": f"c{min(dice.randrange(8), dice.randrange(8))}"}
            if dice.random() < 0.9:
                headers["X-User-Id"] = f"u{dice.randrange(12)}"
            yield request_bytes(dice.choice(("GET", "POST")), dice.choice(("/order/pay", "/order/7", "/a//b?q=secret", "/x")), headers)

    def serve(self, limit):
        """Returns the log of a gateway that has seen the trace, one request after the other."""
        upstream = self.upstream()
        weir = self.weir(upstream, limit, settings={
            "workers": 1, "log": {"access": "access.jsonl", "denials": {"to": "off", "sample": "100%"}}})
        with Connection(weir.client.address) as connection:
            for request in self.trace():
                connection.send(request)
                connection.read_response()
        weir.stop()
        return weir, weir.folder.path / "access.jsonl"

    @staticmethod
    def refusals(log):
        by_layer, by_caller = collections.Counter(), collections.Counter()
        for text in log.read_text().splitlines():
            record = json.loads(text)
            if "final_hit_layer" not in record:
                continue
            by_layer[record["final_hit_layer"]] += record["weight"]
            by_caller[record["caller_id"]] += record["weight"]
        return by_layer, by_caller

    def replay(self, weir, log, quotas, side):
        weir.folder.write(weir.folder.path / "new.yaml", {"limit": quotas})
        result = run("simulate", "-c", str(weir.folder.main), "--quotas", str(weir.folder.path / "new.yaml"),
                     "--format", "json", str(log), timeout=60)
        self.assertEqual(result.returncode, 0, result.stderr)
        report = json.loads(result.stdout)
        by_layer = {one["layer"]: one[side] for one in report["layers"] if one[side]}
        by_caller = {one["name"]: one[side] for one in report["callers"]["rows"] if one[side]}
        return report, by_layer, by_caller

    def test_the_same_refusals_as_the_gateway(self):
        weir, log = self.serve(QUOTAS)
        by_layer, by_caller = self.refusals(log)
        self.assertEqual(set(by_layer), {"node", "caller", "user", "api"}, "the trace is to reach every layer")
        report, simulated, callers = self.replay(weir, log, QUOTAS, "refused_in_force")
        self.assertEqual(simulated, by_layer)
        self.assertEqual(callers, by_caller)
        self.assertEqual(report["all"]["refused"], report["all"]["refused_in_force"])
        self.assertEqual(report["log"]["refused"], sum(by_layer.values()))
        self.assertNotIn("secret", log.read_text())

        _, other_log = self.serve(OTHERS)
        by_layer, by_caller = self.refusals(other_log)
        report, simulated, callers = self.replay(weir, log, OTHERS, "refused")
        self.assertEqual(simulated, by_layer)
        self.assertEqual(callers, by_caller)
        self.assertNotEqual(report["all"]["refused"], report["all"]["refused_in_force"])


@unittest.skipUnless(os.environ.get("WEIR_LONG"), "a million lines: WEIR_LONG=1")
class AMillionLines(unittest.TestCase):
    def test_time_and_memory(self):
        folder = ConfigFolder(base_settings("127.0.0.1:9"), {"limit": QUOTAS})
        self.addCleanup(folder.remove)
        folder.write(folder.path / "new.yaml", {"limit": OTHERS})
        log, dice = folder.path / "access.jsonl", random.Random(3)
        with open(log, "w") as file:
            for n in range(1_000_000):
                file.write(line(n / 100, f"c{dice.randrange(2000)}", f"u{dice.randrange(50_000)}") + "\n")
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        result = subprocess.run([WEIR_BIN, "simulate", "-c", str(folder.main), "-q", str(folder.path / "new.yaml"),
                                 "-f", "json", str(log)], capture_output=True, text=True, timeout=600)
        took, used = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(json.loads(result.stdout)["all"]["requests"], 1_000_000)
        cpu = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
        print(f"\n1,000,000 lines ({log.stat().st_size >> 20} MiB): {took:.1f} s, {cpu:.1f} s of CPU, {used.ru_maxrss >> 10} MiB at most")
        self.assertLess(cpu, 60)
        self.assertLess(used.ru_maxrss >> 10, 600)


if __name__ == "__main__":
    unittest.main()
