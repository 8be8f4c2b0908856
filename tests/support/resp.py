# SPDX-License-Identifier: Apache-2.0
"""The Redis protocol, as much as the tests need: a blocking client, and readers for both directions."""
import socket


class RedisError(Exception):
    pass


def encode(args):
    parts = [part if isinstance(part, bytes) else str(part).encode() for part in args]
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)


def read_value(stream):
    """Reads one value (RESP2 and RESP3) from a file-like stream. Returns (value, raw bytes)."""
    line = stream.readline()
    if not line.endswith(b"\r\n"):
        raise ConnectionError("closed")
    kind, rest = line[:1], line[1:-2]
    if kind in b"$=!":
        if rest == b"-1":
            return None, line
        data = stream.read(int(rest) + 2)
        if len(data) != int(rest) + 2:
            raise ConnectionError("closed")
        return (RedisError(data[:-2].decode()) if kind == b"!" else data[:-2]), line + data
    if kind in b"*~>%":
        count = int(rest) * (2 if kind == b"%" else 1)
        if count < 0:
            return None, line
        items, raw = [], line
        for _ in range(count):
            value, more = read_value(stream)
            items.append(value)
            raw += more
        return items, raw
    if kind == b":":
        return int(rest), line
    if kind == b"-":
        return RedisError(rest.decode()), line
    if kind == b"_":
        return None, line
    return rest, line


class RedisClient:
    def __init__(self, port, timeout=5.0):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout)
        self.stream = self.socket.makefile("rb")

    def call(self, *args):
        self.socket.sendall(encode(args))
        value, _ = read_value(self.stream)
        if isinstance(value, RedisError):
            raise value
        return value

    def close(self):
        self.stream.close()
        self.socket.close()
