# SPDX-License-Identifier: Apache-2.0
"""A real Prometheus of the test's own, with the rules that docker/ ships: scrapes gateways by their admin port, keeps
its data in a temporary folder, is stopped by its pid."""
import json
import pathlib
import shutil
import subprocess
import tempfile
import time
import urllib.parse
import urllib.request

from .ports import free_port

RULES = pathlib.Path(__file__).resolve().parents[2] / "docker/prometheus"


class PrometheusServer:
    """targets: "host:port" of admin ports. every: scrape and evaluation interval."""

    def __init__(self, targets, every="1s"):
        self.folder, self.port = tempfile.mkdtemp(prefix="weir-prometheus-"), free_port()
        config = {
            "global": {"scrape_interval": every, "evaluation_interval": every},
            "rule_files": [str(RULES / "recording.yml"), str(RULES / "alerts.yml")],
            "scrape_configs": [{"job_name": "weir", "static_configs": [{"targets": list(targets)}]}],
        }
        path = pathlib.Path(self.folder) / "prometheus.yml"
        path.write_text(json.dumps(config))
        self.log = open(pathlib.Path(self.folder) / "log", "wb")
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={path}", f"--storage.tsdb.path={self.folder}/data",
             f"--web.listen-address=127.0.0.1:{self.port}", "--log.level=warn"], stdout=self.log, stderr=self.log)

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(5)
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _get(self, path, **query):
        url = f"http://127.0.0.1:{self.port}{path}?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(url, timeout=20) as answer:
            return json.load(answer)["data"]

    def wait_ready(self, timeout=60):
        end = time.monotonic() + timeout
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/-/ready", timeout=5).close()
                return
            except OSError:
                if self.process.poll() is not None or time.monotonic() > end:
                    raise AssertionError((pathlib.Path(self.folder) / "log").read_text()) from None
                time.sleep(0.1)

    def query(self, expression):
        """[(labels, value)] now."""
        found = self._get("/api/v1/query", query=expression)["result"]
        return [(each["metric"], float(each["value"][1])) for each in found]

    def firing(self):
        """Labels of each alert that is raised."""
        return [each["labels"] for each in self._get("/api/v1/alerts")["alerts"] if each["state"] == "firing"]
