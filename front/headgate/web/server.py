"""An HTTP server in a thread of a process with other work: it starts, reports its address, and stops quickly.

It serves an ASGI application. It leaves the process's signals and logging alone, and doesn't log requests.
"""

import asyncio
import socket
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import uvicorn
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from headgate.settings.listen_address import ListenAddress
from headgate_schemas.errors import HeadgateError
from headgate_schemas.logs import get_logger

MAX_REQUESTS = 200
"""Of those that are answered at the same time; others get 503. Those that ask how the process is are not counted."""
MAX_WAITING = 100
"""Connections on which no whole request has come. With each one more, the one that has waited longest is closed."""
MAX_HEAD_BYTES = 16 << 10
"""Of a request's line and headers."""
IDLE_S = 5.0
"""How long a connection may stay on which nothing is asked, or on which a request doesn't come to its end."""
START_WITHIN_S = 10.0
END_REQUESTS_WITHIN_S = 0.2
"""How long requests may still take once the server stops. Streams, which never end by themselves, are ended then."""
STOP_WITHIN_S = 5.0
_BACKLOG = 128
_BUSY = PlainTextResponse("Too many requests are being answered; ask again later.\n", 503, {"Connection": "close"})

_log = get_logger("headgate.web")


class CannotListen(HeadgateError):
    """This process can't listen at the address."""


@contextmanager
def serving_web(
    app: ASGIApp, listen: ListenAddress, name: str = "headgate-web", vital: Collection[str] = ()
) -> Iterator[ListenAddress]:
    """Serve `app` in a thread of that name; yields the address with its actual port. Raises `CannotListen`.

    Paths in `vital` are answered however many other requests are running. Their handlers must not wait.
    """
    listener = _listener(listen)
    address = replace(listen, port=listener.getsockname()[1])
    ending = _Ending(app, frozenset(vital))
    server = _Server(_config(ending), ending)

    def serve() -> None:
        try:
            asyncio.run(server.serve([listener]))
        except Exception as error:  # noqa: BLE001 - the outermost loop of this thread
            _log.warning("web_server_failed", address=str(address), reason=repr(error))
        finally:
            listener.close()
            server.settled.set()

    thread = threading.Thread(target=serve, name=name, daemon=True)
    thread.start()
    try:
        if not server.settled.wait(START_WITHIN_S) or not server.started:
            raise CannotListen(f"no server came up at {address} within {START_WITHIN_S:g} s; the log says why")
        yield address
    finally:
        server.should_exit = True
        thread.join(STOP_WITHIN_S)
        if thread.is_alive():
            _log.warning("web_server_left_behind", address=str(address), within_s=STOP_WITHIN_S)


def _listener(listen: ListenAddress) -> socket.socket:
    """Binds here and now, so that the caller gets errors of the address."""
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(
            listen.host, listen.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise CannotListen(f"can't listen at {listen}: {error.strerror or error}. Is {listen.host} right?") from None
    try:
        # A port may be taken again while the system still keeps old connections, but not while another process
        # listens.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(place)
    except OSError as error:
        listener.close()
        raise CannotListen(
            f"can't listen at {listen}: {error.strerror or error}. Stop what uses it, or choose another port; 0 takes a free"
            " one"
        ) from None
    return listener


def _config(app: ASGIApp) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=_ImpatientConnection,
        loop="asyncio",
        ws="none",
        lifespan="off",
        interface="asgi3",
        # Only a proxy's user knows whose headers to trust, and no rule here depends on the client's address.
        proxy_headers=False,
        server_header=False,
        log_config=None,
        h11_max_incomplete_event_size=MAX_HEAD_BYTES,
        timeout_keep_alive=int(IDLE_S),
        timeout_graceful_shutdown=1,
        backlog=_BACKLOG,
    )


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, ending: "_Ending") -> None:
        super().__init__(config)
        self._ending = ending
        self.settled = threading.Event()
        """It has started, or has failed to."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.settled.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._ending.end_soon()
        await super().shutdown(sockets)


class _ImpatientConnection(H11Protocol):
    """Closes connections on which no request is completed, because they would block others for ever."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.access_log = False
        self._waits_since_s = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as the class above has it
        super().connection_made(transport)
        self._waits_since_s = self.loop.time()
        self.loop.call_later(IDLE_S, self._look, None)
        self._make_room()

    def on_response_complete(self) -> None:
        self._waits_since_s = self.loop.time()
        super().on_response_complete()

    @property
    def is_waiting(self) -> bool:
        """Whether no request is unanswered except for an incomplete one."""
        cycle: RequestResponseCycle | None = getattr(self, "cycle", None)
        return cycle is None or cycle.response_complete or cycle.more_body

    def _make_room(self) -> None:
        """Close the connection that has waited longest; the newest one has waited for the shortest time."""
        waiting = [each for each in self.connections if isinstance(each, _ImpatientConnection) and each.is_waiting]
        for each in sorted(waiting, key=lambda each: each._waits_since_s)[: max(0, len(waiting) - MAX_WAITING)]:
            each.transport.abort()
            self.connections.discard(each)  # which the loop does only later

    def _look(self, before: RequestResponseCycle | None) -> None:
        """Close if no whole request came since the last look, when `before` was the newest."""
        if self.transport.is_closing():
            return
        newest: RequestResponseCycle | None = getattr(self, "cycle", None)
        if newest is before and self.is_waiting:
            self.transport.close()
        else:
            self.loop.call_later(IDLE_S, self._look, newest)


class _Ending:
    """Bounds the number of running requests, and ends them when the server stops."""

    def __init__(self, app: ASGIApp, vital: frozenset[str]) -> None:
        self._app = app
        self._vital = vital
        self._calls: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if len(self._calls) >= MAX_REQUESTS and scope["path"] not in self._vital:
            await _BUSY(scope, receive, send)
            return
        progress = _Progress(send)
        call = asyncio.ensure_future(_run(self._app, scope, receive, progress))
        self._calls.add(call)
        try:
            await call
        except asyncio.CancelledError:
            await progress.finish()
        finally:
            self._calls.discard(call)

    def end_soon(self) -> None:
        loop = asyncio.get_running_loop()
        for call in self._calls:
            loop.call_later(END_REQUESTS_WITHIN_S, call.cancel)


async def _run(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    await app(scope, receive, send)


class _Progress:
    """The progress of an answer, so that an interrupted one is still ended properly."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._began = False
        self._complete = False

    async def __call__(self, message: Message) -> None:
        self._began = True
        self._complete = message["type"] == "http.response.body" and not message.get("more_body", False)
        await self._send(message)

    async def finish(self) -> None:
        if not self._began:
            await self({"type": "http.response.start", "status": 503, "headers": [(b"content-length", b"0")]})
        if not self._complete:
            await self({"type": "http.response.body", "body": b"", "more_body": False})
