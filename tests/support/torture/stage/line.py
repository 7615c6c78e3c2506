"""The line between processes and a server: a TCP proxy, good until it is told to be bad for a while.

It runs on a thread of its own, and keeps its port while the server behind it is killed and started again.
"""

import asyncio
import contextlib
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from enum import Enum
from typing import Any

CHUNK_BYTES = 1 << 16
HELD_S = 0.25
"""How long a slow line holds each piece: many in a row make calls of seconds."""
START_LIMIT_S = 30.0


class Weather(Enum):
    GOOD = "good"
    CUT = "cut"
    """What is connected is cut off, and so is whoever connects."""
    SLOW = "slow"
    """Every piece comes late, in both directions."""
    TORN = "torn"
    """Of an answer, the half of what comes first arrives, and then the connection ends."""


class Line:
    def __init__(self, upstream: Callable[[], int]) -> None:
        """`upstream` tells the server's port at each connection."""
        self.done: Counter[Weather] = Counter()
        """How many connections or pieces met with each."""
        self.port = 0
        self._upstream = upstream
        self._weather = Weather.GOOD
        self._open: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._stopping = asyncio.Event()
        self._listens = threading.Event()
        self._thread = threading.Thread(target=self._run, name="line")

    def start(self) -> None:
        self._thread.start()
        assert self._listens.wait(START_LIMIT_S), "the line doesn't listen"

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(START_LIMIT_S)

    def turn(self, weather: Weather) -> None:
        """From now on, also for what is connected already."""
        asyncio.run_coroutine_threadsafe(self._turn(weather), self._loop).result(START_LIMIT_S)

    async def _turn(self, weather: Weather) -> None:
        self._weather = weather
        if weather is Weather.CUT:
            self._hang_up()

    def _hang_up(self) -> None:
        for writer in list(self._open):
            self.done[Weather.CUT] += 1
            writer.transport.abort()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._connection, "127.0.0.1", 0, backlog=1024)
        self.port = server.sockets[0].getsockname()[1]
        self._listens.set()
        await self._stopping.wait()
        server.close()
        self._hang_up()

    async def _connection(self, client_in: asyncio.StreamReader, client_out: asyncio.StreamWriter) -> None:
        try:
            if self._weather is Weather.CUT:
                self.done[Weather.CUT] += 1
                return
            # A server that is away looks like one that hangs up at once.
            with contextlib.suppress(OSError):
                server_in, server_out = await asyncio.open_connection("127.0.0.1", self._upstream())
                await self._pass_on((client_in, client_out), (server_in, server_out))
        finally:
            client_out.close()

    async def _pass_on(
        self,
        client: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        server: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    ) -> None:
        """Until one of the two hangs up, and then for neither."""
        ends = {client[1], server[1]}
        self._open |= ends
        ways: list[Coroutine[Any, Any, None]] = [
            self._pieces(client[0], server[1], may_tear=False),
            self._pieces(server[0], client[1], may_tear=True),
        ]
        tasks = [asyncio.create_task(way) for way in ways]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._open -= ends
            server[1].close()

    async def _pieces(self, source: asyncio.StreamReader, target: asyncio.StreamWriter, *, may_tear: bool) -> None:
        while data := await source.read(CHUNK_BYTES):
            if self._weather is Weather.SLOW:
                self.done[Weather.SLOW] += 1
                await asyncio.sleep(HELD_S)
            is_torn = may_tear and self._weather is Weather.TORN
            target.write(data[: len(data) // 2] if is_torn else data)
            await target.drain()
            if is_torn:
                self.done[Weather.TORN] += 1
                return


@contextlib.contextmanager
def line_to(upstream: Callable[[], int]) -> Iterator[Line]:
    line = Line(upstream)
    line.start()
    try:
        yield line
    finally:
        line.close()
