# SPDX-License-Identifier: Apache-2.0
"""Hot keys of a fleet of gateways: requests at random moments (Poisson), whether or not the earlier ones are
answered yet, and what the answers say about a limit. Times are the host's wall clock, which Redis counts by, too."""
import asyncio
import random
import re
import time
from typing import NamedTuple

_LENGTH = re.compile(rb"\r\ncontent-length: (\d+)", re.I)


class Answer(NamedTuple):
    sent: float
    answered: float
    status: int


class _Link(asyncio.Protocol):
    """One pipelined connection: one key at one gateway."""

    def __init__(self, caller, per_second, answers, seed):
        self.answers, self.per_second = answers, per_second
        self.request = f"GET / HTTP/1.1\r\nHost: fleet\r\nX-Caller-Id: {caller}\r\n\r\n".encode()
        self.random, self.waiting, self.buffer = random.Random(seed), [], b""
        self.transport = self.timer = None

    def connection_made(self, transport):
        self.transport = transport

    def begin(self, loop):
        self.loop, self.due = loop, loop.time()
        self._next()

    def _next(self):
        self.due += self.random.expovariate(self.per_second)
        self.timer = self.loop.call_at(self.due, self._send)

    def _send(self):
        if self.transport.is_closing():
            return
        self.waiting.append(time.time())
        self.transport.write(self.request)
        self._next()

    def data_received(self, data):
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            length = _LENGTH.search(self.buffer[:end])
            size = end + 4 + (int(length[1]) if length else 0)
            if len(self.buffer) < size:
                return
            self.answers.append(Answer(self.waiting.pop(0), time.time(), int(self.buffer[9:12])))
            self.buffer = self.buffer[size:]

    def connection_lost(self, _):
        self.waiting.clear()  # its gateway was killed


async def _drive(addresses, rates, seconds, seed, warm, on_warm):
    loop, answers, links = asyncio.get_running_loop(), {caller: [] for caller in rates}, []
    for number, (host, port) in enumerate(addresses):
        for caller, per_second in rates.items():
            link = _Link(caller, per_second / len(addresses), answers[caller], f"{seed} {number} {caller}")
            await loop.create_connection(lambda link=link: link, host, port)
            links.append(link)
    for link in links:
        link.begin(loop)
    await asyncio.sleep(warm)
    if on_warm:
        await loop.run_in_executor(None, on_warm)
    begin = time.time()
    await asyncio.sleep(seconds)
    for link in links:
        link.timer.cancel()
    end = loop.time() + 15
    while any(link.waiting for link in links) and loop.time() < end:
        await asyncio.sleep(0.01)
    for link in links:
        link.transport.abort()
    return {caller: sorted((one for one in each if one.sent >= begin), key=lambda one: one.answered)
            for caller, each in answers.items()}


def drive(addresses, rates, seconds, seed=1, warm=0, on_warm=None):
    """{caller: its answers in the order in which they came}. rates: {caller: requests a second, of all gateways}. The
    first `warm` seconds do not count; as they end, on_warm() is called while the load goes on."""
    return asyncio.run(_drive(addresses, rates, seconds, seed, warm, on_warm))


def allowed(answers):
    return [answer for answer in answers if answer.status == 200]


def kept_up(answers):
    """False where the machine was too busy for the load: what it shows then is how long processes wait for a core."""
    took = sorted(answer.answered - answer.sent for answer in answers)
    return bool(took) and took[len(took) * 95 // 100] < 0.02


def most_in_a_window(answers, window):
    """The most that surely passed in any `window` seconds: sent and answered within."""
    passed, first, most = allowed(answers), 0, 0
    for n, (_, answered, _) in enumerate(passed):
        while first < n and answered - passed[first].sent >= window:
            first += 1
        most = max(most, sum(1 for each in passed[first:n + 1] if answered - each.sent < window))
    return most


def most_beyond_a_bucket(answers, burst, per_second):
    """By how many more than the burst and what came back in it the worst stretch of time surely had."""
    worst, least = 0.0, float("inf")
    for n, (sent, answered, _) in enumerate(allowed(answers)):
        least = min(least, n - per_second * sent)
        worst = max(worst, n + 1 - per_second * answered - least - burst)
    return worst


def fixed_windows(answers, limit, window, an_end):
    """(the most that surely passed in one window, passed, could have passed) over the whole windows. an_end: when
    some window ends."""
    number = lambda at: int((at - an_end) // window)
    most = passed = possible = 0
    for each in range(number(answers[0].sent) + 1, number(answers[-1].answered)):
        within = [answer for answer in answers if number(answer.answered) == each]
        good = allowed(within)
        most = max(most, sum(1 for answer in good if number(answer.sent) == each))
        passed += len(good)
        possible += min(limit, len(within))
    return most, passed, possible


def state_of(redis, name):
    """The numbers in the state of the one counter whose key has `name` in it (lua/README.md)."""
    (key,) = [key for key in redis.keys() if name in key]
    return redis.state(key)


def an_end_of(redis, name):
    """When the window of the one fixed_window counter whose key has `name` in it ends, in seconds."""
    return state_of(redis, name)[1] / 1000


def in_bucket(redis, name, algorithm, limit, window_ms):
    """Permits in the one bucket whose key has `name` in it, whose burst is its limit, now."""
    state = state_of(redis, name)
    seconds, microseconds = redis.call("TIME")
    now = int(seconds) * 1000 + int(microseconds) / 1000
    if algorithm == "gcra":
        tat, fraction = state[:2]
        return limit - max(0, (tat - now) * limit + fraction) / window_ms
    level, when = state[:2]
    return min(limit, (level + (now - when) * limit) / window_ms)
