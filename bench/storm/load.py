# SPDX-License-Identifier: Apache-2.0
"""Tenants that each send at a steady rate of their own, over one pipelined connection each."""
import asyncio
import dataclasses
import re
import time

_LENGTH = re.compile(rb"\r\ncontent-length: (\d+)", re.I)
TICK = 0.01


@dataclasses.dataclass
class Tenant:
    name: str
    rate: float          # requests a second
    storm: float = 1.0   # its factor while the storm lasts


class Link(asyncio.Protocol):
    """Counts answers by second of their sending: {second: [sent, good]}."""

    def __init__(self, tenant):
        self.tenant, self.buffer, self.waiting = tenant, b"", []
        self.seconds, self.carry, self.transport = {}, 0.0, None
        self.request = (f"GET /order HTTP/1.1\r\nHost: storm\r\nX-Caller-Id: {tenant.name}\r\n"
                        f"X-User-Id: u-{tenant.name}\r\n\r\n").encode()

    def connection_made(self, transport):
        self.transport = transport

    def send(self, count, second):
        cell = self.seconds.setdefault(second, [0, 0])
        cell[0] += count
        self.waiting += [cell] * count
        self.transport.write(self.request * count)

    def data_received(self, data):
        self.buffer += data
        while True:
            end = self.buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            head = self.buffer[:end]
            length = _LENGTH.search(head)
            size = end + 4 + (int(length[1]) if length else 0)
            if len(self.buffer) < size:
                return
            self.buffer = self.buffer[size:]
            cell = self.waiting.pop(0)
            cell[1] += head[9:12] == b"200"

    def connection_lost(self, error):
        if self.waiting:
            raise RuntimeError(f"{self.tenant.name}: {len(self.waiting)} requests were never answered") from error


async def drive(address, tenants, calm_s, storm_s, after_s, on_storm):
    """Runs the three phases; calls on_storm() as the second begins. Returns the links."""
    loop, links = asyncio.get_running_loop(), []
    for tenant in tenants:
        _, link = await loop.create_connection(lambda t=tenant: Link(t), *address)
        links.append(link)
    for number, link in enumerate(links):
        link.carry = number / len(links)  # not all at once
    start = last = time.monotonic()
    told = False
    while (now := time.monotonic()) < start + calm_s + storm_s + after_s:
        passed = now - start
        stormy = calm_s <= passed < calm_s + storm_s
        if stormy and not told:
            told = True
            on_storm()
        for link in links:
            link.carry += link.tenant.rate * (link.tenant.storm if stormy else 1) * (now - last)
            count = int(link.carry)
            if count:
                link.carry -= count
                link.send(count, int(passed))
        last = now
        await asyncio.sleep(TICK)
    for _ in range(500):
        if not any(link.waiting for link in links):
            break
        await asyncio.sleep(TICK)
    for link in links:
        link.transport.close()
    await asyncio.sleep(0)
    return links
