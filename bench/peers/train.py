#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts what a gateway does under load, for the compiler: a binary built with WEIR_PROFILE=generate serves the
scenarios of compare.py, without the peers, and uploads besides; the counts of all of them become one .profdata file.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import tempfile

import compare
import loads
import proxies

SCENARIOS = ("plain", "full", "refused", "body16k", "tls", "redis")
UPLOADS = """
local n = 0
request = function()
  n = n + 1
  return wrk.format("POST", "/item/" .. (n % 10), {["X-Caller-Id"] = "c" .. (n % 10), ["X-User-Id"] = "u" .. (n % 1000),
    ["Content-Type"] = "application/json"}, string.rep("x", n % 2048))
end
"""


def train(name, binary, seconds):
    work = pathlib.Path(tempfile.mkdtemp(prefix="weir-train-"))
    scripts = []
    for number, text in enumerate((loads.LUA, UPLOADS)):
        scripts.append(work / f"load{number}.lua")
        scripts[-1].write_text(text)
    upstream = loads.start_upstream(work, 16384 if name == "body16k" else 120)
    store = compare.Redis(work) if name == "redis" else None
    try:
        for gateway in compare.scenario(name, str(work), binary):
            if gateway.command[0] != binary:
                continue
            gateway.start(0)
            try:
                for script in scripts:
                    subprocess.run(proxies.on_cpu(1, ["wrk", "-t1", "-c64", f"-d{seconds}s", "-s", str(script),
                                                      f"{gateway.scheme}://127.0.0.1:{gateway.port}"]),
                                   check=True, stdout=subprocess.DEVNULL)
            finally:
                gateway.stop()
            if gateway.process.returncode != 0:  # then its counts were not written
                raise SystemExit(f"{gateway.name} ended with {gateway.process.returncode}, see {gateway.folder}/out.log")
    finally:
        if store is not None:
            store.stop()
        upstream.terminate()
        upstream.wait(10)
    shutil.rmtree(work, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weir", required=True, help="built with WEIR_PROFILE=generate")
    parser.add_argument("--out", required=True, help="the .profdata file to write")
    parser.add_argument("--seconds", type=int, default=2, help="of each load")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="weir-counts-") as counts:
        os.environ["LLVM_PROFILE_FILE"] = f"{counts}/%p-%m.profraw"
        for name in SCENARIOS:
            train(name, str(pathlib.Path(args.weir).resolve()), args.seconds)
        files = sorted(pathlib.Path(counts).glob("*.profraw"))
        if not files:
            raise SystemExit(f"{args.weir} counts nothing: it was not built with WEIR_PROFILE=generate")
        subprocess.run(["llvm-profdata-19", "merge", "--sparse", "-o", args.out, *map(str, files)], check=True)
    print(f"{args.out}: counts of {len(files)} runs")


if __name__ == "__main__":
    main()
