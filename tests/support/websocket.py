# SPDX-License-Identifier: Apache-2.0
"""RFC 6455 over a socket: a client that shakes hands through the gateway, and an upstream that echoes frames,
streams downloads and swallows uploads."""
import base64
import hashlib
import os
import socket
import struct
import threading
import time

from .client import Closed, Connection, request_bytes
from .ports import free_port

TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10
BLOCK = b"z" * 65536


def accept_of(key):
    digest = hashlib.sha1(key.encode() + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()
    return base64.b64encode(digest).decode()


def frame(opcode, payload, mask=b""):
    size = len(payload)
    head = bytes([0x80 | opcode])
    bit = 0x80 if mask else 0
    if size < 126:
        head += bytes([bit | size])
    elif size < 65536:
        head += bytes([bit | 126]) + struct.pack("!H", size)
    else:
        head += bytes([bit | 127]) + struct.pack("!Q", size)
    return head + mask + (masked(payload, mask) if mask else payload)


def masked(payload, mask):
    repeated = (mask * (len(payload) // 4 + 1))[:len(payload)]
    return (int.from_bytes(payload, "big") ^ int.from_bytes(repeated, "big")).to_bytes(len(payload), "big")


def read_frame(read_exactly):
    """(opcode, payload) of one frame, unmasked."""
    first, second = read_exactly(2)
    size = second & 0x7f
    if size == 126:
        size = struct.unpack("!H", read_exactly(2))[0]
    elif size == 127:
        size = struct.unpack("!Q", read_exactly(8))[0]
    mask = read_exactly(4) if second & 0x80 else b""
    payload = read_exactly(size)
    return first & 0xf, masked(payload, mask) if mask else payload


class WebSocket:
    """A client's open WebSocket. open() returns the response instead where the handshake is refused."""

    def __init__(self, link, answer):
        self.link, self.answer = link, answer

    @classmethod
    def open(cls, address, target="/ws", headers=None, timeout=10.0, link=None):
        key = base64.b64encode(os.urandom(16)).decode()
        fields = {"Connection": "keep-alive, Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
                  "Sec-WebSocket-Key": key, **(headers or {})}
        link = link or Connection(address, timeout)
        link.send(request_bytes("GET", target, fields))
        answer = link.read_response()
        if answer.status != 101:
            link.close()
            return answer
        if answer["Sec-WebSocket-Accept"] != accept_of(key) or answer["Upgrade"].lower() != "websocket":
            raise ValueError(f"not a handshake: {answer}")
        return cls(link, answer)

    def send(self, payload, opcode=BINARY):
        self.link.send(frame(opcode, payload, os.urandom(4)))

    def receive(self):
        return read_frame(self.link.read_exactly)

    def echoes(self, payload=b"hello"):
        self.send(payload)
        return self.receive() == (BINARY, payload)

    def told_to_go(self):
        """The gateway ends it: a close frame of status 1001, then the end of the connection."""
        return self.receive() == (CLOSE, struct.pack("!H", 1001)) and self.link.read_to_end() == b""

    def close(self):
        """The closing handshake, then the end of the connection."""
        self.send(struct.pack("!H", 1000), CLOSE)
        reply = self.receive()
        end = self.link.read_to_end()
        self.link.close()
        return reply == (CLOSE, struct.pack("!H", 1000)) and end == b""


class WebSocketUpstream:
    """/ws: echo. /download/N: N bytes, /slow/N: the same in 20 pieces over 4 s. Uploads are counted and
    answered with their size. Everything else: 200. One thread per connection."""

    def __init__(self):
        self.port = free_port()
        self.listener = socket.create_server(("127.0.0.1", self.port), backlog=256)
        self.heads, self.lock, self.stopping, self.open = [], threading.Lock(), False, set()
        self.thread = threading.Thread(target=self._accept, daemon=True)
        self.thread.start()

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def stop(self):
        self.stopping = True
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        with self.lock:
            links = list(self.open)
        for link in links:
            try:
                link.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self.thread.join(5)

    def _accept(self):
        while not self.stopping:
            try:
                link, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(link,), daemon=True).start()

    def _serve(self, raw):
        link = Connection.__new__(Connection)
        link.socket, link.buffer = raw, b""
        with self.lock:
            self.open.add(raw)
        try:
            while self._answer(link):
                pass
        except (Closed, OSError):
            pass
        finally:
            with self.lock:
                self.open.discard(raw)
            raw.close()

    def _answer(self, link):
        lines = link.read_until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        target = lines[0].split(" ")[1]
        fields = {name.lower(): value.strip() for name, value in (line.split(":", 1) for line in lines[1:])}
        with self.lock:
            self.heads.append((target, fields))
        if target == "/ws" and fields.get("upgrade") == "websocket":
            return self._echo(link, fields)
        if target.startswith(("/download/", "/slow/")):
            return self._download(link, int(target.rsplit("/", 1)[1]), 0.2 if target.startswith("/slow/") else 0)
        left = size = int(fields.get("content-length", 0))
        while left:
            taken = len(link.buffer) or len(link.socket.recv(65536))
            link.buffer = b""
            if not taken:
                return False
            left -= taken
        body = str(size).encode()
        link.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        return True

    @staticmethod
    def _download(link, size, pause):
        link.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size)
        sent, piece = 0, max(size // 20, 1) if pause else len(BLOCK)
        while sent < size:
            piece = min(piece, size - sent)
            link.send(BLOCK[:piece] if piece <= len(BLOCK) else b"z" * piece)
            sent += piece
            if pause:
                time.sleep(pause)
        return True

    @staticmethod
    def _echo(link, fields):
        link.send(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                  b"Sec-WebSocket-Accept: %s\r\n\r\n" % accept_of(fields["sec-websocket-key"]).encode())
        while True:
            opcode, payload = read_frame(link.read_exactly)
            link.send(frame(PONG if opcode == PING else opcode, payload))
            if opcode == CLOSE:
                return False
