# SPDX-License-Identifier: Apache-2.0
"""Access and denial logs: rotated under load without a line lost or torn, to syslog, to a sink that hangs; and
nothing in them that a client proves itself with."""
import collections
import json
import os
import signal
import socket
import threading
import time
import unittest

from support.case import GatewayCase, who
from support.client import Connection, request_bytes
from support.weir_process import run


class Load:
    """Requests over one connection in a thread, one after the other, until it is told to end."""

    def __init__(self, weir, number):
        self.weir, self.number, self.count, self.ended = weir, number, 0, threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        with Connection(self.weir.client.address) as connection:
            while not self.ended.is_set():
                name = f"load-{self.number}-{self.count}"
                connection.send(request_bytes("GET", "/x", {"X-Request-Id": name, **who("a", f"u{self.number}")}))
                connection.read_response()
                self.count += 1

    def stop(self):
        self.ended.set()
        self.thread.join()
        return self.count


class Rotation(GatewayCase):
    def rotate(self, how):
        """Renames the log as logrotate does, tells the gateway, several times under load; returns all lines."""
        weir = self.weir(self.upstream(), {"caller": {"default": 10_000_000}}, settings={
            "log": {"access": "access.jsonl", "denials": {"to": "off"}}})
        log = weir.folder.path / "access.jsonl"
        loads = [Load(weir, n) for n in range(3)]
        for turn in range(5):
            time.sleep(0.4)
            os.rename(log, weir.folder.path / f"access.jsonl.{turn}")
            how(weir)
            self.eventually(log.exists, what="a new log file")
        count = sum(load.stop() for load in loads)
        weir.stop()
        files = [weir.folder.path / f"access.jsonl.{turn}" for turn in range(5)] + [log]
        self.assertGreater(sum(file.stat().st_size > 0 for file in files), 1, "no file but one was written to")
        lines = [json.loads(text) for file in files for text in file.read_text().splitlines()]
        names = collections.Counter(line["request_id"] for line in lines)
        self.assertEqual(len(lines), count)
        self.assertEqual(len(names), count, "a line was written twice")

    def test_rename_and_sigusr1_lose_no_line_and_tear_none(self):
        self.rotate(lambda weir: weir.process.send_signal(signal.SIGUSR1))

    def test_rename_alone_is_enough(self):
        self.rotate(lambda weir: None)

    def test_sigusr1_does_not_reload(self):
        weir = self.weir(self.upstream(), {"caller": {"default": 5}})
        before = weir.status()
        weir.process.send_signal(signal.SIGUSR1)
        weir.client.get("/")
        self.assertEqual(weir.status()["generation"], before["generation"])
        self.assertEqual(weir.lines("config.unchanged"), [])


class Syslog(GatewayCase):
    def test_one_message_per_line(self):
        sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(sink.close)
        sink.bind(("127.0.0.1", 0))
        sink.settimeout(15)
        target = "syslog://127.0.0.1:%d" % sink.getsockname()[1]
        weir = self.weir(self.upstream(), {"caller": {"default": 1, "window": "31d"}}, settings={
            "workers": 1, "log": {"access": target, "denials": {"to": target}}})
        for name in ("one", "two"):
            weir.client.get("/x", headers={"X-Request-Id": name, **who("a")})
        records = []
        for _ in range(3):
            head, line = sink.recv(65536).decode().split(" access - ", 1)
            self.assertRegex(head, r"^<134>1 \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z \S+ weir \d+$")
            records.append(json.loads(line))
        self.assertEqual(sorted(record["request_id"] for record in records), ["one", "two", "two"])
        self.assertEqual(weir.metrics().value("weir_request_log_lines_dropped_total"), 0)

    def test_no_daemon_is_no_outage(self):
        weir = self.weir(self.upstream(), {"caller": {"default": 5}}, settings={
            "log": {"access": "syslog:/nonexistent/log", "denials": {"to": "off"}}})
        self.assertEqual(weir.client.get("/").status, 200)
        self.eventually(lambda: weir.metrics().value("weir_request_log_lines_dropped_total") == 1, 15, "a lost line")
        self.eventually(lambda: weir.lines("log.syslog_lost"), what="a line about it")

    def test_a_target_that_is_none_is_an_error_of_the_configuration(self):
        weir = self.weir(self.upstream(), {"caller": {"default": 5}})
        weir.folder.write(weir.folder.main, {**weir.settings, "log": {"access": "syslog://somewhere:514"}})
        result = run("check", "-c", str(weir.folder.main))
        self.assertEqual(result.returncode, 1)
        self.assertIn("log.access: `syslog://somewhere:514` is no address with a port", result.stdout)


class Sinks(GatewayCase):
    def test_a_sink_that_hangs_holds_up_no_request(self):
        """C44: a pipe that nobody reads. Requests go on; lines are dropped and counted, none is written in part."""
        weir = self.weir(self.upstream(), {"caller": {"default": 10_000_000}}, settings={
            "log": {"access": "access.jsonl", "denials": {"to": "off"}}})
        path = weir.folder.path / "full"
        os.mkfifo(path)
        held = os.open(path, os.O_RDWR)
        self.addCleanup(os.close, held)
        weir.reload_settings({"log": {"access": str(path)}})
        loads, slowest = [Load(weir, n) for n in range(2)], 0.0
        deadline = time.monotonic() + 60
        while weir.metrics().value("weir_request_log_lines_dropped_total") == 0 and time.monotonic() < deadline:
            began = time.monotonic()
            self.assertEqual(weir.client.get("/" + "x" * 1500, headers=who("a")).status, 200)
            slowest = max(slowest, time.monotonic() - began)
        sum(load.stop() for load in loads)
        self.assertLess(slowest, 2.0, "a request waited for the log")

    def test_denials_under_attack_are_few_lines_and_exact_sums(self):
        weir = self.weir(self.upstream(), {"caller": {"default": 1, "window": "31d"}}, settings={
            "workers": 1, "log": {"access": "off", "denials": {"to": "denials.jsonl", "sample": "auto"}}})
        with Connection(weir.client.address) as connection:
            for _ in range(20):
                connection.send(request_bytes("GET", "/", who("a")) * 100)
                for _ in range(100):
                    connection.read_response()
        weir.stop()
        records = [json.loads(line) for line in (weir.folder.path / "denials.jsonl").read_text().splitlines()]
        self.assertEqual(sum(record["weight"] for record in records), 1999)
        self.assertLess(len(records), 1200)


class NothingSecret(GatewayCase):
    def test_query_strings_and_credentials_stay_out(self):
        weir = self.weir(self.upstream(), {"caller": {"default": 2, "window": "31d"}}, settings={
            "log": {"access": "access.jsonl", "denials": {"to": "denials.jsonl"}, "level": "debug"}})
        secrets = {"Authorization": "Bearer s3cret-token", "Cookie": "session=s3cret-cookie", "X-Api-Key": "s3cret-key"}
        for path in ("/a?password=s3cret-query", "/b;s3cret-parameter=1?x=s3cret-query", "/c#s3cret-fragment", "/d?s3cret"):
            weir.client.get(path, headers={**secrets, **who("a")})
        weir.stop()
        everything = weir.output() + "".join((weir.folder.path / name).read_text() for name in ("access.jsonl", "denials.jsonl"))
        self.assertIn('"path":"/a"', everything)
        self.assertNotIn("s3cret", everything)


if __name__ == "__main__":
    unittest.main()
