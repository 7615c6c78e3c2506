"""A TCP proxy that makes a server look as far away as a region is: every answer comes later by the same time.

    python benchmarks/parts/delay_proxy.py UPSTREAM_PORT DELAY_MS

It runs in a process of its own, prints the port that it listens on, and ends when its standard input does.
"""

import asyncio
import contextlib
import sys

CHUNK_BYTES = 1 << 18
GO_ON = b"HTTP/1.1 100 "
"""Not yet an answer: a server's word that the body may come. One request is delayed once."""


async def _up(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    while data := await source.read(CHUNK_BYTES):
        target.write(data)
        await target.drain()
    target.write_eof()


async def _down(source: asyncio.StreamReader, target: asyncio.StreamWriter, delay_s: float) -> None:
    """Chunks keep their distances: each is sent that much after it came, not that much after the one before."""
    line: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(maxsize=1024)
    async with asyncio.TaskGroup() as both:
        both.create_task(_take(source, line, delay_s))
        both.create_task(_hand_on(line, target))


async def _take(source: asyncio.StreamReader, line: asyncio.Queue[tuple[float, bytes]], delay_s: float) -> None:
    now_s = asyncio.get_running_loop().time
    while data := await source.read(CHUNK_BYTES):
        goes_on = data.startswith(GO_ON) and data.endswith(b"\r\n\r\n")
        await line.put((now_s() + (0.0 if goes_on else delay_s), data))
    await line.put((0.0, b""))


async def _hand_on(line: asyncio.Queue[tuple[float, bytes]], target: asyncio.StreamWriter) -> None:
    now_s = asyncio.get_running_loop().time
    while True:
        due_s, data = await line.get()
        if not data:
            return
        await asyncio.sleep(max(0.0, due_s - now_s()))
        target.write(data)
        await target.drain()


async def _serve(upstream: int, delay_s: float) -> None:
    async def connection(client_in: asyncio.StreamReader, client_out: asyncio.StreamWriter) -> None:
        server_in, server_out = await asyncio.open_connection("127.0.0.1", upstream)
        with contextlib.suppress(ExceptionGroup):  # one of the two hung up
            async with asyncio.TaskGroup() as both:
                both.create_task(_up(client_in, server_out))
                both.create_task(_down(server_in, client_out, delay_s))
        server_out.close()
        client_out.close()

    server = await asyncio.start_server(connection, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1]), int(sys.argv[2]) / 1000))
