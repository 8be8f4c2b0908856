# SPDX-License-Identifier: Apache-2.0
"""An upstream that counts what reaches it and answers what the test says. Runs in a thread of its own."""
import asyncio
import socket
import threading
import time
from collections import Counter
from dataclasses import dataclass, field

from .ports import free_port


@dataclass
class Seen:
    """One request as it arrived."""
    method: str
    target: str
    version: str
    fields: list
    body: bytes = b""
    trailers: list = field(default_factory=list)
    connection: int = 0
    at: float = 0.0

    def all(self, name):
        return [value for key, value in self.fields if key.lower() == name.lower()]

    def get(self, name, default=None):
        values = self.all(name)
        return ", ".join(values) if values else default


@dataclass
class Answer:
    status: int = 200
    headers: list = field(default_factory=list)
    body: bytes = b"ok"
    chunks: list = None          # send these as chunks instead of body
    trailers: list = field(default_factory=list)
    delay: float = 0.0           # before the head
    chunk_delay: float = 0.0     # before each chunk
    raw: bytes = None            # send exactly this, then close
    reset: str = ""              # "before": RST instead of an answer; "middle": RST after half of the body
    framing: bool = True         # add Content-Length for body


class Upstream:
    def __init__(self, answer=None, port=None, tls=None):
        """tls: an ssl.SSLContext to speak TLS with."""
        self.tls = tls
        self.port = port or free_port()
        self.lock = threading.Lock()
        self.seen, self.hits, self.connections, self.cancelled = [], Counter(), 0, 0
        self.in_flight = self.peak = 0
        self.answer = answer or (lambda seen: Answer())
        self.loop = asyncio.new_event_loop()
        self.server = None
        ready = threading.Event()
        self.thread = threading.Thread(target=self._run, args=(ready,), daemon=True)
        self.thread.start()
        if not ready.wait(5):
            raise RuntimeError("upstream did not start")

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    @property
    def total(self):
        with self.lock:
            return sum(self.hits.values())

    def clear(self):
        with self.lock:
            self.seen, self.hits, self.cancelled, self.peak = [], Counter(), 0, 0

    def last(self):
        with self.lock:
            return self.seen[-1]

    def stop(self):
        if self.loop.is_running():
            self.loop.call_soon_threadsafe(self._shut)
            self.thread.join(5)

    def _shut(self):
        self.server.close()
        for task in asyncio.all_tasks(self.loop):
            task.cancel()
        self.loop.call_later(0.02, self.loop.stop)

    def _run(self, ready):
        asyncio.set_event_loop(self.loop)
        self.loop.set_exception_handler(lambda loop, context: None)
        start = asyncio.start_server(self._serve, "127.0.0.1", self.port, backlog=1024, ssl=self.tls)
        self.server = self.loop.run_until_complete(start)
        ready.set()
        self.loop.run_forever()
        self.loop.close()

    async def _serve(self, reader, writer):
        with self.lock:
            self.connections += 1
            number = self.connections
        try:
            while await self._exchange(reader, writer, number):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            with self.lock:
                self.cancelled += 1
        finally:
            writer.close()

    async def _exchange(self, reader, writer, number):
        seen = await self._read(reader)
        if seen is None:
            return False
        seen.connection, seen.at = number, time.monotonic()
        with self.lock:
            self.seen.append(seen)
            self.hits[seen.target.split("?")[0]] += 1
            self.in_flight += 1
            self.peak = max(self.peak, self.in_flight)
        try:
            return await self._reply(self.answer(seen), seen, reader, writer)
        finally:
            with self.lock:
                self.in_flight -= 1

    async def _read(self, reader):
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError as error:
            if error.partial:
                raise
            return None
        lines = head.decode("latin-1").split("\r\n")
        method, target, version = lines[0].split(" ")
        fields = [(name, value.strip()) for name, value in (line.split(":", 1) for line in lines[1:] if line)]
        seen = Seen(method, target, version, fields)
        if "chunked" in seen.get("Transfer-Encoding", "").lower():
            await self._read_chunks(reader, seen)
        elif seen.get("Content-Length"):
            seen.body = await reader.readexactly(int(seen.get("Content-Length")))
        return seen

    @staticmethod
    async def _read_chunks(reader, seen):
        while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
            seen.body += (await reader.readexactly(size + 2))[:-2]
        while (line := await reader.readuntil(b"\r\n")) != b"\r\n":
            name, value = line.decode("latin-1").split(":", 1)
            seen.trailers.append((name, value.strip()))

    @staticmethod
    def _reset(writer):
        sock = writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        writer.transport.abort()
        return False

    async def _wait(self, seconds, reader):
        """Sleeps, but notices a gateway that leaves."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            await asyncio.sleep(min(left, 0.02))
            if reader.at_eof():
                raise ConnectionResetError

    async def _reply(self, answer, seen, reader, writer):
        if answer.delay:
            await self._wait(answer.delay, reader)
        if answer.reset == "before":
            return self._reset(writer)
        if answer.raw is not None:
            writer.write(answer.raw)
            await writer.drain()
            return False
        fields = list(answer.headers.items() if isinstance(answer.headers, dict) else answer.headers)
        bodiless = seen.method == "HEAD" or answer.status in (204, 304)
        if answer.chunks is not None:
            fields.append(("Transfer-Encoding", "chunked"))
        elif answer.framing and answer.status not in (204, 304):
            fields.append(("Content-Length", str(len(answer.body))))
        head = f"HTTP/1.1 {answer.status} Answer\r\n" + "".join(f"{k}: {v}\r\n" for k, v in fields) + "\r\n"
        body = b"" if bodiless or answer.chunks is not None else answer.body
        if answer.reset == "middle":
            body = body[:len(body) // 2]
        writer.write(head.encode("latin-1") + body)
        await writer.drain()
        if answer.reset == "middle":
            await asyncio.sleep(0.05)
            return self._reset(writer)
        if answer.chunks is not None and not bodiless:
            await self._send_chunks(answer, reader, writer)
        if not answer.framing and not bodiless and answer.chunks is None:
            return False
        return "close" not in seen.get("Connection", "").lower()

    async def _send_chunks(self, answer, reader, writer):
        for chunk in answer.chunks:
            if answer.chunk_delay:
                await self._wait(answer.chunk_delay, reader)
            writer.write(f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n")
            await writer.drain()
        end = "0\r\n" + "".join(f"{name}: {value}\r\n" for name, value in answer.trailers) + "\r\n"
        writer.write(end.encode("latin-1"))
        await writer.drain()
