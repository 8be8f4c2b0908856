# SPDX-License-Identifier: Apache-2.0
"""Both ends of WebSockets by somebody else's library (Debian's python3-websockets), each a process of its own.
usage: /usr/bin/python3 websocket_library.py serve PORT
       /usr/bin/python3 websocket_library.py talk URL CAFILE    prints what it saw as JSON"""
import asyncio
import json
import os
import ssl
import sys

import websockets


async def echo(socket, _path):
    async for message in socket:
        if message == "leave":
            return await socket.close(4001, "as you wish")
        await socket.send(message)


async def serve(port):
    async with websockets.serve(echo, "127.0.0.1", port, subprotocols=["chat"], max_size=1 << 24):
        await asyncio.Future()


async def pieces(message):
    for at in range(0, len(message), 1000):
        yield message[at:at + 1000]


async def talk(url, authorities):
    context = ssl.create_default_context(cafile=authorities) if url.startswith("wss:") else None

    def connect(**more):
        name = {"server_hostname": "a.test"} if context else {}
        return websockets.connect(url, ssl=context, max_size=1 << 24, **name, **more)

    seen = {}
    async with connect(subprotocols=["none", "chat"]) as socket:
        seen["subprotocol"] = socket.subprotocol
        seen["extensions"] = [extension.name for extension in socket.extensions]
        wrong = []
        for message in ("", "gr\u00fc\u00df \U0001f30a", b"", os.urandom(1 << 20), "z" * (1 << 22)):
            await socket.send(message)
            if await socket.recv() != message:
                wrong.append(len(message))
        fragments = os.urandom(20500)
        await socket.send(pieces(fragments))
        if await socket.recv() != fragments:
            wrong.append("fragments")
        await (await socket.ping(b"beat"))
        seen["wrong"] = wrong
    seen["closed"] = socket.close_code
    async with connect(compression=None) as socket:
        seen["plain_extensions"] = [extension.name for extension in socket.extensions]
        await socket.send("leave")
        await socket.wait_closed()
        seen["left"] = [socket.close_code, socket.close_reason]
    many = await asyncio.gather(*(connect() for _ in range(20)))
    await asyncio.gather(*(socket.send(str(n)) for n, socket in enumerate(many)))
    seen["many"] = [await socket.recv() for socket in many] == [str(n) for n in range(20)]
    await asyncio.gather(*(socket.close() for socket in many))
    print(json.dumps(seen))


if sys.argv[1] == "serve":
    asyncio.run(serve(int(sys.argv[2])))
else:
    asyncio.run(asyncio.wait_for(talk(*sys.argv[2:4]), 60))
