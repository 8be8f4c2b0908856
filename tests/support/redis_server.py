# SPDX-License-Identifier: Apache-2.0
"""A real redis-server of the test's own: nothing persisted, on a free port, stopped by its pid."""
import shutil
import signal
import struct
import subprocess
import tempfile
import time

from .ports import free_port
from .resp import RedisClient, RedisError


class RedisServer:
    def __init__(self, *options):
        self.port, self.options = free_port(), options
        self.folder = tempfile.mkdtemp(prefix="weir-redis-")
        self.process = self.client = None
        self.start()

    @property
    def url(self):
        return f"redis://127.0.0.1:{self.port}"

    def start(self):
        command = ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "",
                   "--appendonly", "no", "--dir", self.folder, *self.options]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + 10
        while True:
            try:
                self.client = RedisClient(self.port)
                self.client.call("PING")
                return
            except RedisError as error:
                if "NOAUTH" in str(error):
                    return
                raise
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.02)

    def kill(self):
        """Gone at once, as in a crash."""
        if self.process:
            self.client.close()
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait(10)
            self.process = None

    def stop(self):
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def restart(self):
        self.kill()
        self.start()

    def pause(self):
        """Accepts connections (the kernel does) and answers nothing."""
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def reconnect(self):
        """A server whose role changes drops its clients."""
        self.client.close()
        self.client = RedisClient(self.port)

    def call(self, *args):
        return self.client.call(*args)

    def role(self):
        return self.call("ROLE")[0]

    def flush(self):
        self.call("FLUSHALL")

    def keys(self):
        """{key of a counter: time to live in ms}; -1 means it never expires."""
        found, cursor = {}, b"0"
        while True:
            cursor, names = self.call("SCAN", cursor, "COUNT", 1000)
            for name in names:
                if name.startswith(b"w1:{beat:"):
                    continue
                life = self.call("PTTL", name)
                if life != -2:
                    found[name.decode("latin-1")] = life
            if cursor == b"0":
                return found

    def state(self, key):
        """The numbers of a counter whose state is a string, as lua/README.md names them."""
        raw = self.call("GET", key)
        return struct.unpack_from(f">{len(raw) // 8}d", raw, 1)

    def calls_of(self, command):
        """How often the server ran `command` (lower case) since it started."""
        for line in self.call("INFO", "commandstats").decode().splitlines():
            if line.startswith(f"cmdstat_{command}:"):
                return int(line.split("calls=")[1].split(",")[0])
        return 0
