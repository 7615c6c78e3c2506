"""The numbered messages to browsers. The newest ones are kept for browsers that reconnect.

Threads push messages; each browser is a coroutine of the server's loop that waits for the next one. A browser that was
away for too long gets the whole picture instead.
"""

import asyncio
import threading
from collections import deque
from dataclasses import dataclass

MAX_MESSAGES = 600
"""Minutes of changes; beyond it a browser takes the whole picture."""
MAX_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class StreamMessage:
    number: int
    body: str


class Stream:
    def __init__(self, run: str) -> None:
        """`run` distinguishes messages of this process from those of an earlier one, whose numbers mean nothing any
        more.
        """
        self._run = run
        self._lock = threading.Lock()
        self._messages: deque[StreamMessage] = deque()
        self._bytes = 0
        self._newest = 0
        self._waiting: set[Waiter] = set()

    @property
    def newest(self) -> int:
        return self._newest

    def identity(self, number: int) -> str:
        """The id by which a browser names its last message."""
        return f"{self._run}-{number}"

    def push(self, body: str) -> None:
        with self._lock:
            self._newest += 1
            self._messages.append(StreamMessage(self._newest, body))
            self._bytes += len(body)
            while self._bytes > MAX_BYTES or len(self._messages) > MAX_MESSAGES:
                self._bytes -= len(self._messages.popleft().body)
            waiting = list(self._waiting)
        for waiter in waiting:
            waiter.wake()

    def number_of(self, identity: str) -> int | None:
        """The number of the browser's last message; None if it isn't from this run."""
        run, dash, number = identity.rpartition("-")
        if not dash or run != self._run or not (number.isascii() and number.isdigit() and len(number) < 16):
            return None
        return int(number)

    def after(self, number: int) -> list[StreamMessage] | None:
        """The messages after that one; None if some of them are no longer kept."""
        with self._lock:
            if number > self._newest:
                return None
            found = [message for message in self._messages if message.number > number]
            return found if len(found) == self._newest - number else None

    def waiter(self) -> "Waiter":
        """The waiter of the calling coroutine; leave it at the end."""
        waiter = Waiter(asyncio.get_running_loop())
        with self._lock:
            self._waiting.add(waiter)
        return waiter

    def leave(self, waiter: "Waiter") -> None:
        with self._lock:
            self._waiting.discard(waiter)


class Waiter:
    """One browser that waits for the next message."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._event = asyncio.Event()

    def wake(self) -> None:
        """Callable from any thread."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._event.set)

    async def wait(self, timeout_s: float) -> bool:
        """Whether a message came in time."""
        try:
            await asyncio.wait_for(self._event.wait(), timeout_s)
        except TimeoutError:
            return False
        self._event.clear()
        return True
