# SPDX-License-Identifier: Apache-2.0
"""Free ports below the ephemeral range, so that no outgoing connection takes one between choice and use.

Each port is held by a lock file for the life of this process: tests that run side by side never share one.
"""
import fcntl
import os
import random
import socket
import tempfile

FIRST, LAST = 12000, 31999
_held = []


def _is_free(port):
    for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((address, port))
            except OSError as error:
                if family == socket.AF_INET or error.errno == 98:
                    return False
    return True


def free_port():
    folder = os.path.join(tempfile.gettempdir(), f"weir-test-ports-{os.getuid()}")
    os.makedirs(folder, exist_ok=True)
    for _ in range(2000):
        port = random.randint(FIRST, LAST)
        lock = os.open(os.path.join(folder, str(port)), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            continue
        if _is_free(port):
            _held.append(lock)
            return port
        os.close(lock)
    raise RuntimeError("no free port found")
