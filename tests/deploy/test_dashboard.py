# SPDX-License-Identifier: Apache-2.0
"""Every panel and every alert against a real Prometheus that scrapes a real gateway while a storm goes over it."""
import json
import math
import pathlib
import re
import subprocess
import threading
import time

from support.case import GatewayCase, who
from support.certificates import Authority, TlsConnection
from support.ports import free_port
from support.prometheus_server import PrometheusServer
from support.upstream import Answer

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Series that this storm cannot have, and why.
ABSENT = {
    "weir_parent_state": "there is one region",
    "weir_store_split_permits_total": "there is one Redis, no cluster",
    "weir_store_wasted_permits_total": "there is one Redis, no cluster",
}
QUOTAS = """
limit:
  ip:     {default: 100000, window: 1h}
  node:   {total: 100000, window: 1h}
  caller:
    default: 100000
    window: 1h
    overrides:
      storm: 20
      calm: 5000
      sale: {limit: 50000, until: 2099-01-01T00:00:00Z}
      over: {limit: 50000, until: 2001-01-01T00:00:00Z}
  user:   {default: 50, window: 10s, warn_at: 0.5}
  api:    {default: 100000, window: 20s, overrides: {"/narrow": 30}}
  shade:  {key: [caller], default: 5, window: 1h, mode: shadow, before: api}
  exempt: {callers: [monitor]}
"""


def panels():
    board = json.loads((ROOT / "docker/grafana/dashboards/weir.json").read_text())
    for panel in board["panels"]:
        for target in panel.get("targets", []):
            yield panel["title"], target["expr"].replace("$job", "weir").replace("$__rate_interval", "15s")


def selectors():
    """Every series that an alert looks at, one by one."""
    for text in re.findall(r"^        expr: (?:\|\n((?:          .*\n)+)|(.*)\n)",
                           (ROOT / "docker/prometheus/alerts.yml").read_text(), re.M):
        yield from re.findall(r"(?:\b(?:job|instance)\w*:)?(?:weir_\w+|\bup\b)(?::\w+)?(?:\{[^}]*\})?", "".join(text))


class Storm(GatewayCase):
    @classmethod
    def setUpClass(cls):
        cls.stopped = threading.Event()
        cls.authority = Authority()
        cls.addClassCleanup(cls.authority.remove)

    def gateway(self, redis, **store):
        """Speaks HTTP and TLS, checks its upstream's health, and has another upstream that is not there."""
        def answer(request):
            return Answer(status=500 if request.target == "/broken" else 200)

        upstream = self.upstream(answer)
        secure = free_port()
        weir = self.weir(upstream, quotas=QUOTAS, settings={
            "log": {"access": "off"},
            "listen": [{"address": f"127.0.0.1:{free_port()}"},
                       {"address": f"127.0.0.1:{secure}", "tls": self.authority.issue("gateway", "DNS:gateway.test")}],
            "store": {"kind": "redis", "url": redis.url, "timeout": "3s", **store},
            "quotas": {"from": "store", "file": "quotas.yaml"},
            "upstreams": {"dead": {"endpoints": [f"127.0.0.1:{free_port()}"]},
                          "default": {"health": {"path": "/healthz", "interval": "1s"}}},
            "routes": [{"path": "/dead", "upstream": "dead"}, {"path": "/**", "upstream": "default"}],
        })
        weir.secure = ("127.0.0.1", secure)
        return weir

    def storm(self, weirs):
        context = self.authority.client_context()
        while not self.stopped.is_set():
            self.at_once(weirs, 80, "/", who("storm", "u"))
            self.at_once(weirs, 40, "/narrow", lambda i: who("calm", f"u{i}"))
            self.at_once(weirs, 10, "/", lambda i: who(None, "same"))
            self.at_once(weirs, 4, "/", who("monitor", "m"))
            self.at_once(weirs, 4, "/broken", who("calm", "b"))
            self.at_once(weirs, 4, "/dead", who("calm", "d"))
            with weirs[0].client.connect() as bad:
                bad.send(b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n")
                bad.read_response()
            with TlsConnection(weirs[0].secure, context, "gateway.test") as link:
                link.request("GET", "/", who("calm", "t"))
            self.stopped.wait(0.3)

    def test_every_query_has_data_and_the_alert_names_the_caller(self):
        redis = self.redis()
        weirs = [self.gateway(redis), self.gateway(redis, counting="leased")]
        prometheus = PrometheusServer([weir.settings["admin"]["address"] for weir in weirs])
        self.addCleanup(prometheus.stop)
        prometheus.wait_ready()
        driver = threading.Thread(target=self.storm, args=[weirs])
        driver.start()
        try:
            self.named(prometheus)
            self.answered(prometheus)
            for weir in weirs:  # with all that a storm brings forth
                checked = subprocess.run(["promtool", "check", "metrics"], input=weir.metrics().text, capture_output=True,
                                         text=True, timeout=60)
                self.assertEqual((checked.returncode, checked.stdout + checked.stderr), (0, ""))
        finally:
            self.stopped.set()
            driver.join()

    def named(self, prometheus):
        def raised():
            return [alert for alert in prometheus.firing() if alert["alertname"] == "WeirCallerRefused"]

        self.assertEqual({alert["caller"] for alert in self.eventually(raised, 90, "the alert")}, {"storm"})

    def answered(self, prometheus):
        """Rates need two scrapes within their window; a loaded machine may take its time."""
        left = {(title, query) for title, query in [*panels(), *(("an alert", each) for each in selectors())]
                if not any(name in query for name in ABSENT)}
        end = time.monotonic() + 60
        while left and time.monotonic() < end:
            left = {(title, query) for title, query in left
                    if not any(math.isfinite(value) for _, value in prometheus.query(query))}
            time.sleep(0.5)
        self.assertEqual(sorted(left), [])


if __name__ == "__main__":
    import unittest
    unittest.main()
