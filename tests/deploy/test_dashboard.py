# SPDX-License-Identifier: Apache-2.0
"""Every panel and every alert against a real Prometheus that scrapes a real gateway while a storm goes over it."""
import json
import math
import pathlib
import re
import threading
import time

from support.case import GatewayCase, who
from support.ports import free_port
from support.prometheus_server import PrometheusServer
from support.upstream import Answer

ROOT = pathlib.Path(__file__).resolve().parents[2]
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
            yield panel, target["expr"].replace("$job", "weir").replace("$__rate_interval", "15s")


def selectors():
    """Every series that an alert looks at, one by one."""
    for text in re.findall(r"^        expr: (?:\|\n((?:          .*\n)+)|(.*)\n)",
                           (ROOT / "docker/prometheus/alerts.yml").read_text(), re.M):
        yield from re.findall(r"(?:\b(?:job|instance)\w*:)?(?:weir_\w+|\bup\b)(?::\w+)?(?:\{[^}]*\})?", "".join(text))


class Storm(GatewayCase):
    @classmethod
    def setUpClass(cls):
        cls.stopped = threading.Event()

    def storm(self, weir):
        while not self.stopped.is_set():
            self.at_once(weir, 40, "/", who("storm", "u"))
            self.at_once(weir, 20, "/narrow", lambda i: who("calm", f"u{i}"))
            self.at_once(weir, 10, "/", lambda i: who(None, "same"))
            self.at_once(weir, 4, "/", who("monitor", "m"))
            self.at_once(weir, 2, "/broken", who("calm", "b"))
            self.at_once(weir, 2, "/dead", who("calm", "d"))
            with weir.client.connect() as bad:
                bad.send(b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n")
                bad.read_response()
            self.stopped.wait(0.3)

    def test_every_query_has_data_and_the_alert_names_the_caller(self):
        def answer(request):
            return Answer(status=500 if request.target == "/broken" else 200)

        weir = self.weir(self.upstream(answer), quotas=QUOTAS, store=self.redis(), settings={
            "log": {"access": "off"},
            "upstreams": {"dead": {"endpoints": [f"127.0.0.1:{free_port()}"]}},
            "routes": [{"path": "/dead", "upstream": "dead"}, {"path": "/**", "upstream": "default"}],
        })
        prometheus = PrometheusServer([weir.settings["admin"]["address"]])
        self.addCleanup(prometheus.stop)
        prometheus.wait_ready()
        driver = threading.Thread(target=self.storm, args=[weir])
        driver.start()
        try:
            self.named(prometheus)
            self.answered(prometheus)
        finally:
            self.stopped.set()
            driver.join()

    def named(self, prometheus):
        def raised():
            return [alert for alert in prometheus.firing() if alert["alertname"] == "WeirCallerRefused"]

        self.assertEqual({alert["caller"] for alert in self.eventually(raised, 90, "the alert")}, {"storm"})

    def answered(self, prometheus):
        """Rates need two scrapes within their window; a loaded machine may take its time."""
        left = {(panel["title"], query) for panel, query in panels()} | {("an alert", each) for each in selectors()}
        end = time.monotonic() + 60
        while left and time.monotonic() < end:
            left = {(title, query) for title, query in left
                    if not any(math.isfinite(value) for _, value in prometheus.query(query))}
            time.sleep(0.5)
        self.assertEqual(sorted(left), [])


if __name__ == "__main__":
    import unittest
    unittest.main()
