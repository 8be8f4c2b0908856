# SPDX-License-Identifier: Apache-2.0
"""Runs the gateway under test: writes its configuration, waits until it is ready, reads its admin port, and
stops it by its pid with SIGTERM, which must end in exit code 0."""
import copy
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

from .client import Client
from .ports import free_port
from .prometheus import Metrics

ROOT = pathlib.Path(__file__).resolve().parents[2]
WEIR_BIN = os.path.abspath(os.environ.get("WEIR_BIN") or ROOT / "build" / "weir")


def sanitized():
    """Whether the gateway is built with a sanitizer, which has memory and descriptors of its own."""
    program = pathlib.Path(WEIR_BIN).read_bytes()
    return b"__asan_init" in program or b"__tsan_init" in program


def merge(base, over):
    """`over` laid upon `base`, section by section; a None removes the key."""
    out = copy.deepcopy(base)
    for key, value in over.items():
        if value is None:
            out.pop(key, None)
        elif isinstance(value, dict) and isinstance(out.get(key), dict):
            out[key] = merge(out[key], value)
        else:
            out[key] = copy.deepcopy(value)
    return out


def to_yaml(document):
    """JSON is YAML; one top-level key a line, so that errors can be told apart by line."""
    if isinstance(document, str):
        return document
    return "".join(f"{key}: {json.dumps(value)}\n" for key, value in document.items())


def run(*arguments, cwd=None, timeout=20):
    """One command of the binary, to its end."""
    return subprocess.run([WEIR_BIN, *arguments], cwd=cwd, timeout=timeout, capture_output=True, text=True)


class DemoUpstream:
    """`weir demo-upstream` in a process of its own."""

    def __init__(self):
        self.address = f"127.0.0.1:{free_port()}"
        self.process = subprocess.Popen([WEIR_BIN, "demo-upstream", "--listen", self.address])

    def stop(self):
        self.process.terminate()
        self.process.wait(10)


class ConfigFolder:
    """weir.yaml and quotas.yaml in a folder of their own."""

    def __init__(self, settings, quotas):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="weir-test-"))
        self.main, self.quotas = self.path / "weir.yaml", self.path / "quotas.yaml"
        self.write(self.main, settings)
        self.write(self.quotas, quotas)

    def write(self, path, document):
        """By rename, as editors and deployment tools do: no reader sees half a file."""
        fresh = self.path / f".{pathlib.Path(path).name}.new"
        fresh.write_text(to_yaml(document))
        os.replace(fresh, self.path / path)

    def remove(self):
        shutil.rmtree(self.path, ignore_errors=True)


def base_settings(upstream_address):
    return {
        "node": "test",
        "workers": 2,
        "listen": [{"address": f"127.0.0.1:{free_port()}"}],
        "admin": {"address": f"127.0.0.1:{free_port()}"},
        "identity": {
            "caller": {"from": [{"header": "X-Caller-Id"}], "missing": "anonymous"},
            "user": {"from": [{"header": "X-User-Id"}], "missing": "anonymous"},
        },
        "upstreams": {"default": {"endpoints": [upstream_address]}},
        "routes": [{"path": "/**", "upstream": "default"}],
        "quotas": "quotas.yaml",
    }


def _address(text):
    host, port = text.rsplit(":", 1)
    return host.strip("[]"), int(port)


class Weir:
    """limit: the `limit:` section of quotas.yaml. settings: laid upon base_settings. quotas: the whole
    quotas.yaml instead (dict or text). files: others beside them, by name. prefix: a command that runs the
    gateway's, with the descriptors of pass_fds. environment: laid upon this process's."""

    def __init__(self, upstream_address, limit=None, settings=None, quotas=None, wait=True, files=None,
                 prefix=(), pass_fds=(), environment=None):
        self.settings = merge(base_settings(upstream_address), settings or {})
        self.folder = ConfigFolder(self.settings, quotas if quotas is not None else {"limit": limit or {}})
        for name, document in (files or {}).items():
            self.folder.write(name, document)
        self.launch = {"pass_fds": pass_fds, "env": {**os.environ, **(environment or {})}}
        self.prefix = prefix
        self.process = None
        self.exit_code = None
        self.start(wait)

    def start(self, wait=True):
        self.out = open(self.folder.path / "stdout", "ab")
        self.err = open(self.folder.path / "stderr", "ab")
        self.process = subprocess.Popen([*self.prefix, WEIR_BIN, "serve", "-c", str(self.folder.main)],
                                        stdout=self.out, stderr=self.err, cwd=self.folder.path, **self.launch)
        self.client = Client(_address(self.settings["listen"][0]["address"]))
        self.admin = Client(_address(self.settings["admin"]["address"]), host=self.settings["admin"]["address"])
        if wait:
            self.wait_ready()

    @property
    def url(self):
        return "http://%s:%d" % self.client.address

    def wait_ready(self, timeout=20):
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise AssertionError(f"weir ended with {self.process.returncode}:\n{self.output()}")
            try:
                if self.admin.get("/readyz").status == 200:
                    return
            except OSError:
                pass
            time.sleep(0.02)
        raise AssertionError(f"weir is not ready after {timeout} s:\n{self.output()}")

    def wait_store(self, timeout=5):
        """Until every worker has its store connection: before, requests are counted in the process."""
        end = time.monotonic() + timeout
        while self.status()["store"].get("workers_connected") != self.settings["workers"]:
            if time.monotonic() > end:
                raise AssertionError(f"no store connection after {timeout} s:\n{self.output()}")
            time.sleep(0.01)

    def stop(self, timeout=15):
        """SIGTERM; returns the exit code (also kept in exit_code)."""
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(timeout)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(5)
        if self.process:
            self.exit_code = self.process.returncode
            self.process = None
            self.out.close()
            self.err.close()
        return self.exit_code

    def kill(self):
        """SIGKILL: a crash."""
        self.process.kill()
        self.process.wait(10)
        self.process = None
        self.exit_code = 0

    def output(self):
        return "".join((self.folder.path / name).read_text(errors="replace")[-6000:] for name in ("stdout", "stderr"))

    def lines(self, *words):
        """Output lines that contain every word in any case, from stdout, then stderr."""
        text = "\n".join((self.folder.path / name).read_text(errors="replace") for name in ("stdout", "stderr"))
        return [line for line in text.splitlines() if all(word.lower() in line.lower() for word in words)]

    def records(self, *words):
        """The JSON lines among them, parsed."""
        return [json.loads(line) for line in self.lines(*words) if line.startswith("{")]

    def metrics(self):
        answer = self.admin.get("/metrics")
        assert answer.status == 200, answer
        return Metrics(answer.body.decode())

    def status(self):
        return self.admin.get("/status").json()

    def generation(self):
        return self.status()["generation"]

    def rss(self):
        """Resident memory in bytes."""
        with open(f"/proc/{self.process.pid}/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def write_limit(self, limit):
        self.folder.write(self.folder.quotas, {"limit": limit})

    def reload_limit(self, limit, timeout=5):
        self.reload(lambda: self.write_limit(limit), timeout)

    def reload_settings(self, changes, timeout=5):
        self.settings = merge(self.settings, changes)
        self.reload(lambda: self.folder.write(self.folder.main, self.settings), timeout)

    def reload(self, change, timeout=5):
        """Makes the change and waits until a newer configuration is in force."""
        before = self.generation()
        change()
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            if self.generation() > before:
                return
            time.sleep(0.02)
        raise AssertionError(f"no reload within {timeout} s:\n{self.output()}")
