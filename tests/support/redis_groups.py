# SPDX-License-Identifier: Apache-2.0
"""Real Redis servers that belong together: a cluster of three primaries and three replicas, and a primary with
replicas that three Sentinels watch."""
import pathlib
import subprocess
import time

from .ports import free_port
from .redis_server import RedisServer
from .resp import RedisClient, RedisError


def until(check, timeout=30.0, what="condition"):
    end = time.monotonic() + timeout
    while True:
        try:
            value = check()
        except (OSError, RedisError):
            value = None
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"{what} not met within {timeout} s")
        time.sleep(0.05)


NO_DELAY = ("--repl-diskless-sync-delay", "0")  # else a new replica waits 5 s for others that want the same


def in_step(replica):
    """A replica that has its primary's data; one that takes over before is empty, or makes the clients wait for it."""
    return b"master_link_status:up" in replica.call("INFO", "replication")


class RedisCluster:
    def __init__(self, primaries=3, replicas=1):
        self.nodes = [RedisServer("--cluster-enabled", "yes", "--cluster-port", str(free_port()),
                                  "--cluster-node-timeout", "2000", "--cluster-config-file", "nodes.conf",
                                  "--cluster-require-full-coverage", "no", "--cluster-replica-validity-factor", "0",
                                  "--enable-debug-command", "yes", *NO_DELAY)
                      for _ in range(primaries * (1 + replicas))]
        self.cli("--cluster", "create", *[f"127.0.0.1:{node.port}" for node in self.nodes],
                 "--cluster-replicas", str(replicas), "--cluster-yes")
        self.replicas = primaries * replicas
        until(self.is_whole, what="a whole cluster")

    def is_whole(self):
        """Every node sees every slot served, and every replica is in step."""
        replicas = [node for node in self.nodes if node.role() == b"slave"]
        return (all(b"cluster_state:ok" in node.call("CLUSTER", "INFO") for node in self.nodes)
                and len(replicas) == self.replicas and all(map(in_step, replicas)))

    @property
    def urls(self):
        return [f"redis://127.0.0.1:{node.port}" for node in self.nodes[:2]]

    def cli(self, *arguments, timeout=120):
        done = subprocess.run(["redis-cli", *arguments], capture_output=True, text=True, timeout=timeout)
        if done.returncode:
            raise AssertionError(f"redis-cli {arguments}: {done.stdout}{done.stderr}")
        return done.stdout

    def primaries(self):
        return [node for node in self.nodes if node.process and node.role() == b"master"]

    def primary_of(self, key):
        """The node that owns `key`'s slot at the moment."""
        for node in self.primaries():
            try:
                node.call("EXISTS", key)
                return node
            except RedisError:
                continue
        raise AssertionError(f"nobody owns {key}")

    def replica_of(self, primary):
        name = primary.call("CLUSTER", "MYID").decode()
        for node in self.nodes:
            if node.process and node.role() == b"slave":
                for line in node.call("CLUSTER", "NODES").decode().splitlines():
                    if "myself" in line and name in line:
                        return node
        raise AssertionError("no replica")

    def revive(self, node):
        """Starts one that was killed, and waits until it is in step as a replica."""
        node.start()
        until(self.is_whole, what="a whole cluster")

    def keys(self):
        return {key: life for node in self.primaries() for key, life in node.keys().items()}

    def stop(self):
        for node in self.nodes:
            node.stop()


class RedisSentinels:
    """primary, replicas, and three Sentinels (redis-server --sentinel) that fail over after a second."""
    name = "mymaster"

    def __init__(self, replicas=1):
        self.primary = RedisServer(*NO_DELAY)
        self.replicas = [RedisServer("--replicaof", f"127.0.0.1 {self.primary.port}", *NO_DELAY)
                         for _ in range(replicas)]
        until(lambda: all(map(in_step, self.replicas)), what="replicas in step")
        self.sentinels = [self._sentinel() for _ in range(3)]
        until(lambda: all(self._knows(one) for one in self.sentinels), what="Sentinels that know each other")

    def _sentinel(self):
        port = free_port()
        folder = pathlib.Path(self.primary.folder) / f"sentinel{port}"
        folder.mkdir()
        config = folder / "sentinel.conf"
        config.write_text(f"port {port}\nbind 127.0.0.1\ndir {folder}\n"
                          f"sentinel monitor {self.name} 127.0.0.1 {self.primary.port} 2\n"
                          f"sentinel down-after-milliseconds {self.name} 1000\n"
                          f"sentinel failover-timeout {self.name} 5000\n")
        process = subprocess.Popen(["redis-server", str(config), "--sentinel"], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        return port, process

    def _knows(self, sentinel):
        client = RedisClient(sentinel[0])
        try:
            fields = client.call("SENTINEL", "MASTER", self.name)
            about = dict(zip(fields[::2], fields[1::2]))
            return about[b"num-other-sentinels"] == b"2" and int(about[b"num-slaves"]) == len(self.replicas)
        finally:
            client.close()

    @property
    def addresses(self):
        return [f"127.0.0.1:{port}" for port, _ in self.sentinels]

    def current(self):
        """The port of the primary that all Sentinels name; None while they differ."""
        named = {self._named_by(port) for port, _ in self.sentinels}
        return named.pop() if len(named) == 1 else None

    def _named_by(self, sentinel_port):
        client = RedisClient(sentinel_port)
        try:
            return int(client.call("SENTINEL", "get-master-addr-by-name", self.name)[1])
        finally:
            client.close()

    def stop(self):
        for _, process in self.sentinels:
            process.kill()
            process.wait(10)
        for server in [*self.replicas, self.primary]:
            server.stop()
