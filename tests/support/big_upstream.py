# SPDX-License-Identifier: Apache-2.0
"""An upstream in a process of its own that answers every request with the same large body, as fast as it is taken.
usage: python3 -m support.big_upstream PORT BYTES"""
import asyncio
import sys

BLOCK = b"x" * 65536


async def serve(reader, writer, size):
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
            if lengths:
                await reader.readexactly(int(lengths[0].split(b":")[1]))
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size)
            left = 0 if head.startswith(b"HEAD ") else size
            while left > 0:
                writer.write(BLOCK[:left])
                await writer.drain()
                left -= len(BLOCK)
    except (ConnectionError, asyncio.IncompleteReadError):
        pass
    finally:
        writer.close()


async def main(port, size):
    server = await asyncio.start_server(lambda r, w: serve(r, w, size), "127.0.0.1", port, backlog=4096)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
