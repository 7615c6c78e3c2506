"""The answers of the page: its own files, the stream of changes, and reads of the tables that it shows."""

import asyncio
import json
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Any, TypeVar

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from headgate.page.assets import read_assets
from headgate.page.event_stream import EventStream
from headgate.page.login import log_in
from headgate.page.shared_model import Board
from headgate.page.table_reads import TableLooks
from headgate.page.table_views import Values
from headgate.settings.listen_address import ListenAddress
from headgate.settings.token import Token
from headgate.web.guard import LOGIN_PATH, Guarded
from headgate_schemas.errors import HeadgateError, InvalidInput
from headgate_table.errors import TableNotFound, VersionNotRetained

MAX_BROWSERS = 50
"""That follow the stream at the same time."""
MAX_READINGS = 16
"""Of tables, asked for by browsers and not answered yet."""
READ_WITHIN_S = 30.0

_T = TypeVar("_T")


class _NotShown(HeadgateError):
    """A table that isn't on the page: a request must not make the page open another store."""


class _TooMuch(HeadgateError):
    """A bound of the page is reached; ask again later."""


def page_app(
    board: Board,
    looks: TableLooks,
    readers: Executor,
    listen: ListenAddress,
    token: Token | None,
    open_routes: Sequence[Route] = (),
) -> ASGIApp:
    """The application behind the access rules; everybody who reaches the server may use `open_routes`."""
    pages = _Pages(board, looks, readers, token)
    app = Starlette(
        routes=[
            Route("/", pages.index, methods=["GET"]),
            Route(LOGIN_PATH, pages.login_form, methods=["GET"]),
            Route(LOGIN_PATH, pages.login, methods=["POST"]),
            Route("/assets/{name}", pages.asset, methods=["GET"]),
            Route("/api/stream", pages.stream, methods=["GET"]),
            Route("/api/history", pages.history, methods=["GET"]),
            Route("/api/version", pages.version, methods=["GET"]),
            *open_routes,
        ]
    )
    opened = [*(f"/assets/{name}" for name in pages.assets), *(route.path for route in open_routes)]
    return Guarded(app, listen, token, opened)


class _Pages:
    def __init__(self, board: Board, looks: TableLooks, readers: Executor, token: Token | None) -> None:
        self._board = board
        self._looks = looks
        self._readers = readers
        self._token = token
        self.assets = read_assets()
        self._browsers = 0
        self._readings = 0

    async def index(self, request: Request) -> Response:
        return self.assets["index.html"].answer(request)

    async def login_form(self, request: Request) -> Response:
        return self.assets["login.html"].answer(request)

    async def login(self, request: Request) -> Response:
        return await log_in(request, self._token)

    async def asset(self, request: Request) -> Response:
        found = self.assets.get(request.path_params["name"])
        return (
            PlainTextResponse("There is no such file.\n", status_code=404) if found is None else found.answer(request)
        )

    async def stream(self, request: Request) -> ASGIApp:
        if self._browsers >= MAX_BROWSERS:
            return _refused(
                503, f"{self._browsers} browsers follow this page already, as many as it serves (MAX_BROWSERS)"
            )
        # A browser that starts again can't set the header.
        last = request.headers.get("last-event-id") or request.query_params.get("last", "")
        events = EventStream(self._board, last)

        async def counted(scope: Scope, receive: Receive, send: Send) -> None:
            self._browsers += 1
            try:
                await events(scope, receive, send)
            finally:
                self._browsers -= 1

        return counted

    async def history(self, request: Request) -> Response:
        return await self._read(lambda: {"versions": self._looks.history(self._table(request))})

    async def version(self, request: Request) -> Response:
        def read() -> dict[str, Any]:
            offset = _whole(request, "offset", 0)
            partition = _partition(request.query_params.get("partition"))
            view = self._looks.version(self._table(request), _whole(request, "version"))
            if partition is not None and len(partition) != len(view.partition_columns):
                raise InvalidInput(f"this version has {len(view.partition_columns)} partition columns")
            return {**view.summary(), "partitions": view.partitions(), "page": view.page(offset, partition)}

        return await self._read(read)

    def _table(self, request: Request) -> str:
        uri = request.query_params.get("table", "")
        if not self._board.tell(lambda state, _: state.shows(uri)):
            raise _NotShown("this page shows no table at that address")
        return uri

    async def _read(self, work: Callable[[], dict[str, Any]]) -> Response:
        """Reads in one of the readers' threads, in bounded time; failures become answers."""
        try:
            return JSONResponse(await self._bounded(work))
        except InvalidInput as error:
            return _refused(400, str(error))
        except (TableNotFound, _NotShown) as error:
            return _refused(404, str(error))
        except VersionNotRetained as error:
            return _refused(410, str(error))
        except TimeoutError:
            return _refused(504, f"the table's store didn't answer within {READ_WITHIN_S:g} s (READ_WITHIN_S)")
        except HeadgateError as error:
            return _refused(503, str(error))

    async def _bounded(self, work: Callable[[], _T]) -> _T:
        if self._readings >= MAX_READINGS:
            raise _TooMuch(
                f"{self._readings} readings are under way, as many as this page does (MAX_READINGS); try again"
            )
        self._readings += 1
        reading = asyncio.get_running_loop().run_in_executor(self._readers, work)
        reading.add_done_callback(self._ended)  # an abandoned read still counts
        return await asyncio.wait_for(asyncio.shield(reading), READ_WITHIN_S)

    def _ended(self, reading: "asyncio.Future[Any]") -> None:
        self._readings -= 1
        if not reading.cancelled():
            reading.exception()  # reported to the caller, if it still waits


def _refused(status: int, reason: str) -> Response:
    return JSONResponse({"error": reason}, status_code=status)


def _whole(request: Request, name: str, default: int | None = None) -> int:
    text = request.query_params.get(name)
    if text is None and default is not None:
        return default
    if text is None or not (text.isascii() and text.isdigit() and len(text) < 16):
        raise InvalidInput(f"{name} must be a whole number")
    return int(text)


def _partition(text: str | None) -> Values | None:
    """Values as JSON: an array of texts and nulls."""
    if text is None:
        return None
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, list) or not all(value is None or isinstance(value, str) for value in values):
        raise InvalidInput("partition must be an array of texts and nulls")
    return tuple(values)
