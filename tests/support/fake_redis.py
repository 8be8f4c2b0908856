# SPDX-License-Identifier: Apache-2.0
"""A Redis that misbehaves. It stands between the gateway and a real server, records every command, and for
each asks the test what to do: None (pass it on), or one of the faults below.

    Say(b"-LOADING ...\\r\\n")     answer this instead, the server never sees the command
    Break(applied=True)            close without a reply, after (or before) the server ran the command
    Truncate()                     send half of the true reply, then close
    Late(0.05)                     pass it on, answer that much later
"""
import socket
import threading
import time
from dataclasses import dataclass

from .ports import free_port
from .resp import encode, read_value


@dataclass
class Say:
    reply: bytes


@dataclass
class Break:
    applied: bool = False


@dataclass
class Truncate:
    pass


@dataclass
class Late:
    seconds: float


SCRIPT_CALLS = (b"EVAL", b"EVALSHA", b"EVAL_RO", b"EVALSHA_RO", b"FCALL")


HEARTBEAT = b"w1:{beat:"  # keys of lua/beat.lua


class FakeRedis:
    def __init__(self, server):
        self.server_port, self.port = server.port, free_port()
        self.fault = lambda command: None
        self.commands, self.lock = [], threading.Lock()
        self.links = []
        self.listener = None
        self.open()

    @property
    def url(self):
        return f"redis://127.0.0.1:{self.port}"

    def open(self):
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(("127.0.0.1", self.port))
        self.listener.listen(64)
        threading.Thread(target=self._accept, args=(self.listener,), daemon=True).start()

    def refuse(self):
        """Connection refused from now on, and every open connection is reset."""
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.drop_all()

    def drop_all(self):
        with self.lock:
            links, self.links = self.links, []
        for link in links:
            try:
                link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                link.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def stop(self):
        try:
            self.refuse()
        except OSError:
            pass

    def scripts(self):
        """The script calls for requests so far: [(name, keys, arguments)], all bytes."""
        out = []
        with self.lock:
            commands = list(self.commands)
        for command in commands:
            if command[0].upper() in SCRIPT_CALLS:
                count = int(command[2])
                if count and command[3].startswith(HEARTBEAT):
                    continue
                out.append((command[0].upper(), command[3:3 + count], command[3 + count:]))
        return out

    def clear(self):
        with self.lock:
            self.commands.clear()

    def _accept(self, listener):
        while True:
            try:
                link, _ = listener.accept()
            except OSError:
                return
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self.lock:
                self.links.append(link)
            threading.Thread(target=self._serve, args=(link,), daemon=True).start()

    def _serve(self, link):
        try:
            with link, socket.create_connection(("127.0.0.1", self.server_port)) as server:
                server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                asked, answered = link.makefile("rb"), server.makefile("rb")
                while self._one(link, server, asked, answered):
                    pass
        except (OSError, ConnectionError, ValueError):
            pass

    def _one(self, link, server, asked, answered):
        command, _ = read_value(asked)
        with self.lock:
            self.commands.append(command)
        fault = self.fault(command)
        if isinstance(fault, Say):
            link.sendall(fault.reply)
            return True
        if isinstance(fault, Break) and not fault.applied:
            return False
        server.sendall(encode(command))
        _, reply = read_value(answered)
        if isinstance(fault, Break):
            return False
        if isinstance(fault, Truncate):
            link.sendall(reply[:max(1, len(reply) // 2)])
            return False
        if isinstance(fault, Late):
            time.sleep(fault.seconds)
        link.sendall(reply)
        return True


def on_scripts(fault):
    """A fault for script calls only."""
    return lambda command: fault if command[0].upper() in SCRIPT_CALLS else None
