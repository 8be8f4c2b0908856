#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Starts a gateway of the data path alone and runs the corpus against it.  usage: run_gateway.py CORPUS_GATEWAY [runner options]"""
import pathlib
import socket
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from support.ports import free_port  # noqa: E402


def main():
    gateway, options = sys.argv[1], sys.argv[2:]
    listen, upstream = free_port(), free_port()
    process = subprocess.Popen([gateway, str(listen), str(upstream)])
    try:
        for _ in range(100):
            try:
                socket.create_connection(("127.0.0.1", listen), 1).close()
                break
            except OSError:
                time.sleep(0.05)
        command = [sys.executable, str(HERE / "run_corpus.py"), "--target", "127.0.0.1:%d" % listen,
                   "--upstream-port", str(upstream), *options, str(HERE / "http1.jsonl")]
        failed = subprocess.call(command)
        if process.poll() is not None:
            print("the gateway ended by itself: %d" % process.returncode)
            failed = 1
        return failed
    finally:
        process.terminate()
        process.wait(10)


if __name__ == "__main__":
    sys.exit(main())
