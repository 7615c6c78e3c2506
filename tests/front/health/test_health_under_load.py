"""Health is told while others hold the server's connections: with requests that never end, and with ones that are long."""

import asyncio
import http.client
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, closing, contextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from headgate.health.measuring import PrometheusMeasures
from headgate.health.monitoring import Monitor
from headgate.health.operator_routes import VITAL, operator_routes
from headgate.settings.health_limits import HealthLimits
from headgate.settings.listen_address import ListenAddress
from headgate.web import server as web_server
from headgate.web.server import MAX_REQUESTS, MAX_WAITING, serving_web
from support.ambient import FakeAmbient
from support.processes.waiting import wait_until

DEADLINE_S = 30.0
HELD = 300
HALF_A_HEAD = b"GET /healthz HTTP/1.1\r\nHost: local"
HALF_A_BODY = b"POST /reads HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nhalf"


async def endless(_: Request) -> Response:
    async def ticks() -> AsyncIterator[str]:
        yield "data: first\n\n"
        await asyncio.Event().wait()

    return StreamingResponse(ticks(), media_type="text/event-stream")


async def reads(request: Request) -> Response:
    return PlainTextResponse(f"{len(await request.body())} bytes")


@contextmanager
def served(idle_s: float = 600.0) -> Iterator[ListenAddress]:
    """A server that lets connections wait for longer than a test takes."""
    ambient = FakeAmbient()
    measures = PrometheusMeasures(ambient)
    monitor = Monitor(ambient, measures, {"committer": HealthLimits()})
    routes = [
        *operator_routes(monitor, measures),
        Route("/endless", endless),
        Route("/reads", reads, methods=["POST"]),
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(web_server, "IDLE_S", idle_s)
        with serving_web(Starlette(routes=routes), ListenAddress("127.0.0.1", 0), vital=VITAL) as found:
            yield found


@pytest.fixture
def address() -> Iterator[ListenAddress]:
    with served() as found:
        yield found


def status(address: ListenAddress, path: str) -> int:
    with closing(http.client.HTTPConnection(address.host, address.port, timeout=DEADLINE_S)) as connection:
        connection.request("GET", path)
        return connection.getresponse().status


def open_to(held: ExitStack, address: ListenAddress) -> socket.socket:
    return held.enter_context(socket.create_connection((address.host, address.port), timeout=DEADLINE_S))


def closes(connection: socket.socket) -> Callable[[], bool]:
    def is_closed() -> bool:
        try:
            return connection.recv(4096) == b""
        except ConnectionError:
            return True

    return is_closed


@pytest.mark.parametrize(
    "sent", [b"", b"G", HALF_A_HEAD, HALF_A_BODY, b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /"]
)
def test_half_sent_requests_keep_nobody_from_asking_whether_the_process_is_alive(
    sent: bytes, address: ListenAddress
) -> None:
    with ExitStack() as held:
        connections = []
        for _ in range(HELD):
            connections.append(open_to(held, address))
            connections[-1].sendall(sent)
        for _ in range(3):
            assert status(address, "/healthz") == 200
            assert status(address, "/metrics") == 200
            connections.append(open_to(held, address))
            connections[-1].sendall(sent)


def test_of_connections_that_wait_the_oldest_are_closed_first(address: ListenAddress) -> None:
    with ExitStack() as held:
        first, *others = [open_to(held, address) for _ in range(MAX_WAITING + 1)]
        wait_until(closes(first), "the first one is closed")
        others[-1].sendall(HALF_A_HEAD + b"host\r\n\r\n")
        assert others[-1].recv(20).startswith(b"HTTP/1.1 200")


def test_long_requests_are_bounded_and_health_is_told_all_the_same(address: ListenAddress) -> None:
    with ExitStack() as held:
        for _ in range(MAX_REQUESTS):
            connection = open_to(held, address)
            connection.sendall(b"GET /endless HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert connection.recv(20).startswith(b"HTTP/1.1 200")
        assert status(address, "/healthz") == 200
        assert status(address, "/readyz") == 503  # there is no committer
        assert status(address, "/metrics") == 503
    wait_until(lambda: status(address, "/metrics") == 200, "those that left are forgotten")


def test_a_request_whose_body_does_not_come_is_let_go(address: ListenAddress, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_server, "IDLE_S", 0.5)
    with ExitStack() as held:
        connection = open_to(held, address)
        connection.sendall(HALF_A_BODY)
        wait_until(closes(connection), "the connection is closed")


WHOLE = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
LONG = b"GET /endless HTTP/1.1\r\nHost: localhost\r\n\r\n"
SENT = (b"", b"G", HALF_A_HEAD, HALF_A_BODY, WHOLE + HALF_A_HEAD, WHOLE, LONG, LONG)
CROWD = st.lists(st.tuples(st.sampled_from(SENT), st.sampled_from((1, 10, MAX_REQUESTS))), min_size=1, max_size=3)


@settings(max_examples=5, deadline=None)
@given(CROWD)
def test_whatever_a_crowd_sends_who_asks_is_told_that_the_process_is_alive(crowd: list[tuple[bytes, int]]) -> None:
    """And once the crowd has left, others than health are answered as well."""
    with served(idle_s=0.5) as address:
        with ExitStack() as held:
            for sent, count in crowd:
                for _ in range(count):
                    open_to(held, address).sendall(sent)
                assert status(address, "/healthz") == 200
            halves = [open_to(held, address) for _ in range(3)]
            for connection, sent in zip(halves, (b"", HALF_A_HEAD, HALF_A_BODY), strict=True):
                connection.sendall(sent)
            for connection in halves:
                wait_until(closes(connection), "who sends no more is let go")
            assert status(address, "/healthz") == 200
        wait_until(lambda: status(address, "/metrics") == 200, "those that left are forgotten")
