# SPDX-License-Identifier: Apache-2.0
"""What loads the proxies, and the upstream behind them, both on CPU 1: peer_load, which is both in one thread, or wrk
and an nginx. A load is used as `with`; `run` loads one proxy for some seconds."""
import dataclasses
import json
import pathlib
import re
import subprocess
import time

import proxies

# The requests are put together once: a load generator that is slower than the proxies would let them sleep, and what
# they pay for waking up would hide what they cost.
LUA = """
local requests, n = {}, 0
init = function()
  for k = 1, 1000 do
    requests[k] = wrk.format("GET", "/item/" .. (k % 10), {["X-Caller-Id"] = "c" .. (k % 10), ["X-User-Id"] = "u" .. k,
      ["Accept"] = "*/*", ["User-Agent"] = "bench/1.0"})
  end
end
request = function()
  n = n % 1000 + 1
  return requests[n]
end
"""


@dataclasses.dataclass
class Outcome:
    requests: int
    refused: int  # answered by something else than 2xx
    seconds: float
    p99_ms: float


class PeerLoad:
    """bench/peers/peer_load.cpp. Plain HTTP only."""

    def __init__(self, binary, body_bytes):
        self.command = [binary, str(proxies.UPSTREAM), str(body_bytes)]

    def __enter__(self):
        self.process = subprocess.Popen(proxies.on_cpu(1, self.command), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        return self

    def run(self, proxy, seconds, connections):
        self.process.stdin.write(f"{proxy.port} {connections} {seconds}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"peer_load ended with {self.process.wait(10)} while it loaded {proxy.name}")
        told = json.loads(line)
        return Outcome(told["requests"], told["refused"], told["seconds"], told["p99_us"] / 1000)

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(10)


class Wrk:
    def __init__(self, work, body_bytes):
        self.work, self.body_bytes = work, body_bytes
        self.script = pathlib.Path(work) / "load.lua"
        self.script.write_text(LUA)

    def __enter__(self):
        self.upstream = start_upstream(self.work, self.body_bytes)
        return self

    def run(self, proxy, seconds, connections):
        seconds = max(1, round(seconds))  # wrk knows whole ones only
        text = subprocess.run(
            proxies.on_cpu(1, ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", "-s", str(self.script),
                               f"{proxy.scheme}://127.0.0.1:{proxy.port}"]), stdout=subprocess.PIPE, text=True).stdout
        failed = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
        number, unit = re.search(r"99%\s+([\d.]+)(us|ms|s)", text).groups()
        return Outcome(int(re.search(r"(\d+) requests in", text)[1]), int(failed[1]) if failed else 0, seconds,
                       float(number) * {"us": 0.001, "ms": 1, "s": 1000}[unit])

    def __exit__(self, *_):
        self.upstream.terminate()
        self.upstream.wait(10)


def start_upstream(work, body_bytes):
    folder = pathlib.Path(work) / "upstream"
    folder.mkdir(exist_ok=True)
    pathlib.Path(work).chmod(0o755)  # nginx reads the body as another user
    (folder / "body").write_text("x" * body_bytes)
    # A configuration word holds 4 KiB at most; a file costs the upstream more, whose CPU is not counted.
    answer = f'return 200 "{"x" * body_bytes}";' if body_bytes <= 1024 else f"root {folder}; try_files /body =404;"
    config = folder / "nginx.conf"
    config.write_text(f"""
worker_processes 1; daemon off; pid {folder}/pid; error_log {folder}/error.log; worker_rlimit_nofile 20000;
events {{ worker_connections 8192; }}
http {{ access_log off; keepalive_requests 100000000; client_body_temp_path {folder}/b; proxy_temp_path {folder}/p;
  fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  server {{ listen 127.0.0.1:{proxies.UPSTREAM} backlog=4096; location / {{ {answer} }} }} }}
""")
    process = subprocess.Popen(proxies.on_cpu(1, ["nginx", "-c", str(config)]))
    time.sleep(0.3)
    return process
