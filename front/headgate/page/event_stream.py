"""The endless answer: server-sent events to one browser, from its last message on."""

import asyncio
from contextlib import suppress

from starlette.types import Message, Receive, Scope, Send

from headgate.page.shared_model import Board
from headgate.page.stream import Stream

QUIET_S = 5.0
"""After so long without a message a sign of life is sent, by which the browser knows that the connection stands."""
SEND_WITHIN_S = 20.0
"""A browser that takes nothing for so long is let go of; it comes back by itself."""
RETRY_MS = 1_000
"""After how long a browser comes back."""


class EventStream:
    """An ASGI response. `last` is the last message that the browser has, if any."""

    def __init__(self, board: Board, last: str) -> None:
        self._board = board
        self._stream: Stream = board.stream
        self._last = last

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        telling = asyncio.ensure_future(self._tell(send))
        leaving = asyncio.ensure_future(_left(receive))
        try:
            await asyncio.wait({telling, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (telling, leaving):
                task.cancel()
            # Nobody is left to hear of the error.
            with suppress(asyncio.CancelledError, TimeoutError, OSError):
                await telling
            with suppress(asyncio.CancelledError):
                await leaving

    async def _tell(self, send: Send) -> None:
        headers = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"x-accel-buffering", b"no")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await _send(send, f"retry: {RETRY_MS}\n\n")
        waiter = self._stream.waiter()
        try:
            number = self._stream.number_of(self._last)
            while True:
                messages = None if number is None else self._stream.after(number)
                if messages is None:
                    number, picture = self._board.picture()
                    await _send(send, self._event("picture", number, picture))
                elif messages:
                    text = "".join(self._event("change", message.number, message.body) for message in messages)
                    number = messages[-1].number
                    await _send(send, text)
                elif not await waiter.wait(QUIET_S):
                    await _send(send, "event: alive\ndata: {}\n\n")
        finally:
            self._stream.leave(waiter)

    def _event(self, kind: str, number: int, body: str) -> str:
        return f"event: {kind}\nid: {self._stream.identity(number)}\ndata: {body}\n\n"


async def _send(send: Send, text: str) -> None:
    message: Message = {"type": "http.response.body", "body": text.encode(), "more_body": True}
    await asyncio.wait_for(send(message), SEND_WITHIN_S)


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
