# SPDX-License-Identifier: Apache-2.0
"""A raw HTTP/1.1 client: what goes over the wire is exactly what the test wrote.

`burst` opens all its connections first, then writes every request before it reads one answer, so that the
gateway really has all of them at once.
"""
import json
import socket
from concurrent.futures import ThreadPoolExecutor


class Closed(Exception):
    """The peer closed before the message was complete; `.partial` is what had come."""

    def __init__(self, partial):
        super().__init__(f"closed after {partial!r}")
        self.partial = partial


class Response:
    def __init__(self, status, reason, version, fields):
        self.status, self.reason, self.version, self.fields = status, reason, version, fields
        self.body, self.trailers, self.interim = b"", [], []

    def all(self, name):
        return [value for key, value in self.fields if key.lower() == name.lower()]

    def get(self, name, default=None):
        values = self.all(name)
        return ", ".join(values) if values else default

    def __getitem__(self, name):
        value = self.get(name)
        if value is None:
            raise KeyError(f"{name} is not in {self}")
        return value

    def __contains__(self, name):
        return bool(self.all(name))

    def number(self, name):
        return int(self[name])

    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"<{self.status} {self.reason} {self.fields} {self.body[:300]!r}>"


def request_bytes(method, target, headers=None, body=None, host="gateway.test", version="1.1"):
    """`headers`: dict or list of pairs. A Host line is added unless one is given (host=None: none)."""
    pairs = list(headers.items()) if isinstance(headers, dict) else list(headers or [])
    names = {name.lower() for name, _ in pairs}
    if host is not None and "host" not in names:
        pairs.insert(0, ("Host", host))
    if isinstance(body, str):
        body = body.encode()
    if body is not None and not names & {"content-length", "transfer-encoding"}:
        pairs.append(("Content-Length", str(len(body))))
    head = f"{method} {target} HTTP/{version}\r\n" + "".join(f"{name}: {value}\r\n" for name, value in pairs)
    return head.encode("latin-1") + b"\r\n" + (body or b"")


class Connection:
    def __init__(self, address, timeout=10.0, source=None):
        self.socket = socket.create_connection(address, timeout, source_address=source)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def reset(self):
        """Closes with RST instead of FIN."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def _more(self):
        data = self.socket.recv(65536)
        if not data:
            raise Closed(self.buffer)
        self.buffer += data

    def read_until(self, mark):
        while mark not in self.buffer:
            self._more()
        head, self.buffer = self.buffer.split(mark, 1)
        return head

    def read_exactly(self, count):
        while len(self.buffer) < count:
            self._more()
        data, self.buffer = self.buffer[:count], self.buffer[count:]
        return data

    def read_to_end(self):
        try:
            while True:
                self._more()
        except Closed:
            data, self.buffer = self.buffer, b""
            return data

    def _read_chunks(self, response):
        while True:
            size = int(self.read_until(b"\r\n").split(b";")[0], 16)
            if size == 0:
                break
            response.body += self.read_exactly(size)
            if self.read_exactly(2) != b"\r\n":
                raise ValueError("chunk does not end in CRLF")
        while line := self.read_until(b"\r\n"):
            name, value = line.decode("latin-1").split(":", 1)
            response.trailers.append((name, value.strip()))

    def read_head(self):
        lines = self.read_until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        version, status, *reason = lines[0].split(" ", 2)
        fields = [(name, value.strip()) for name, value in (line.split(":", 1) for line in lines[1:])]
        return Response(int(status), "".join(reason), version, fields)

    def read_response(self, method="GET"):
        interim = []
        while True:
            response = self.read_head()
            if not 100 <= response.status < 200 or response.status == 101:
                break
            interim.append(response)
        response.interim = interim
        if method == "HEAD" or response.status in (101, 204, 304):
            return response
        if "chunked" in response.get("Transfer-Encoding", "").lower():
            self._read_chunks(response)
        elif "Content-Length" in response:
            response.body = self.read_exactly(response.number("Content-Length"))
        else:
            response.body = self.read_to_end()
        return response

    def request(self, method, target, headers=None, body=None, **more):
        self.send(request_bytes(method, target, headers, body, **more))
        return self.read_response(method)

    def closed_by_peer(self, timeout=5.0):
        """Waits for the peer's FIN or RST. False if it is still open after `timeout`."""
        self.socket.settimeout(timeout)
        try:
            return self.socket.recv(1) == b""
        except ConnectionError:
            return True
        except TimeoutError:
            return False


class Client:
    """Sends requests to one address. Each call uses the kept connection of the caller's choice or a fresh one."""

    def __init__(self, address, timeout=10.0, host="gateway.test"):
        self.address, self.timeout, self.host = address, timeout, host

    def connect(self, source=None):
        return Connection(self.address, self.timeout, (source, 0) if source else None)

    def request(self, method, target, headers=None, body=None, source=None, **more):
        with self.connect(source) as connection:
            return connection.request(method, target, headers, body, **{"host": self.host, **more})

    def get(self, target="/", headers=None, **more):
        return self.request("GET", target, headers, **more)

    def post(self, target="/", headers=None, body=b"{}", **more):
        return self.request("POST", target, headers, body, **more)

    def repeat(self, count, target="/", headers=None, method="GET"):
        """`count` requests one after another on one connection (a new one where the gateway closes)."""
        answers, connection = [], self.connect()
        try:
            for _ in range(count):
                answers.append(connection.request(method, target, headers, host=self.host))
                if answers[-1].get("Connection", "").lower() == "close":
                    connection.close()
                    connection = self.connect()
        finally:
            connection.close()
        return answers


def burst(clients, count, make, at_once=200):
    """`count` requests at the same time, spread over `clients` (one or many). make(i) -> bytes of request i.
    Returns the responses in the order of i."""
    clients = clients if isinstance(clients, (list, tuple)) else [clients]
    answers = []
    for first in range(0, count, at_once):
        numbers = range(first, min(first + at_once, count))
        with ThreadPoolExecutor(16) as pool:
            links = list(pool.map(lambda i: clients[i % len(clients)].connect(), numbers))
        try:
            for number, link in zip(numbers, links):
                link.send(make(number))
            answers += [link.read_response() for link in links]
        finally:
            for link in links:
                link.close()
    return answers


def statuses(answers):
    """{status: how many}"""
    counts = {}
    for answer in answers:
        counts[answer.status] = counts.get(answer.status, 0) + 1
    return counts
