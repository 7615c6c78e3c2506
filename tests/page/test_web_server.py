"""The HTTP server in a thread: starting, stopping, what it can't listen at, and connections that bring no request."""

import asyncio
import http.client
import logging
import re
import signal
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager, suppress

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from headgate.settings.listen_address import ListenAddress, listen_address
from headgate.web import server as web_server
from headgate.web.server import CannotListen, serving_web
from headgate_schemas.errors import InvalidInput
from support.servers.processes import free_port

FREE = ListenAddress("127.0.0.1", 0)
DEADLINE_S = 20.0


async def hello(_: Request) -> Response:
    return PlainTextResponse("hello")


async def endless(_: Request) -> Response:
    async def ticks() -> AsyncIterator[str]:
        yield "data: first\n\n"
        await asyncio.Event().wait()

    return StreamingResponse(ticks(), media_type="text/event-stream")


async def fails(_: Request) -> Response:
    raise RuntimeError("on purpose")


APP = Starlette(routes=[Route("/", hello), Route("/endless", endless), Route("/fails", fails)])


@contextmanager
def asked(address: ListenAddress, path: str = "/") -> Iterator[http.client.HTTPResponse]:
    with closing(http.client.HTTPConnection(address.host, address.port, timeout=DEADLINE_S)) as connection:
        connection.request("GET", path)
        yield connection.getresponse()


def test_it_answers_at_a_free_port_and_says_which() -> None:
    with serving_web(APP, FREE) as address, asked(address) as answer:
        assert address.port > 0
        assert (answer.status, answer.read()) == (200, b"hello")


def test_after_it_stopped_nobody_listens_and_the_same_port_may_be_taken_again() -> None:
    with serving_web(APP, ListenAddress("127.0.0.1", free_port())) as address, asked(address) as answer:
        answer.read()
    with pytest.raises(OSError, match="refused"):
        socket.create_connection((address.host, address.port), timeout=DEADLINE_S).close()
    with serving_web(APP, address) as again, asked(again) as answer:
        assert again == address
        assert answer.read() == b"hello"


def test_it_stops_at_once_though_a_stream_is_open_and_the_stream_comes_to_its_end() -> None:
    with serving_web(APP, FREE) as address:
        connection = http.client.HTTPConnection(address.host, address.port, timeout=DEADLINE_S)
        connection.request("GET", "/endless")
        answer = connection.getresponse()
        assert answer.readline() == b"data: first\n"
    assert answer.read() == b"\n"
    connection.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "headgate-web"]


def test_a_used_port_is_said_so_with_its_number() -> None:
    with serving_web(APP, FREE) as address, pytest.raises(CannotListen) as refused, serving_web(APP, address):
        pytest.fail("two servers at one port")
    assert f"can't listen at {address}: Address already in use" in str(refused.value)
    assert "choose another port" in str(refused.value)


def test_an_address_that_is_not_this_machines_is_said_so() -> None:
    expected = re.escape("can't listen at 192.0.2.1:0: Cannot assign requested address")
    with pytest.raises(CannotListen, match=expected), serving_web(APP, ListenAddress("192.0.2.1", 0)):
        pytest.fail("listening at an address of documentation")


def test_neither_signal_handlers_nor_loggers_of_the_process_are_touched() -> None:
    def state() -> object:
        loggers = [logging.getLogger(name) for name in ("", "uvicorn", "uvicorn.access", "uvicorn.error")]
        return (
            [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)],
            [(logger.level, logger.propagate, list(logger.handlers), logger.disabled) for logger in loggers],
        )

    before = state()
    with serving_web(APP, FREE) as address, asked(address) as answer:
        answer.read()
        assert state() == before
    assert state() == before


def test_requests_are_not_logged_and_failures_are(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with serving_web(APP, FREE) as address:
        with asked(address) as answer:
            assert answer.read() == b"hello"
        with asked(address, "/fails") as answer:
            assert answer.status == 500
    said = [record for record in caplog.records if record.name.startswith("uvicorn")]
    assert not [record for record in said if record.name == "uvicorn.access"]
    assert [str(record.exc_info[1]) for record in said if record.exc_info] == ["on purpose"]


@pytest.mark.parametrize(
    ("sent", "answers"),
    [
        (b"", 0),
        (b"GET / HTTP/1.1\r\nHost: local", 0),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\nGET /", 1),
    ],
)
def test_a_connection_on_which_no_request_comes_to_its_end_is_closed(
    sent: bytes, answers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web_server, "IDLE_S", 2.0)
    answered = b""
    with (
        serving_web(APP, FREE) as address,
        socket.create_connection((address.host, address.port), timeout=DEADLINE_S) as connection,
        suppress(ConnectionError),  # closed while something is on its way is closed as well
    ):
        connection.sendall(sent)
        while received := connection.recv(4096):
            answered += received
    assert answered.count(b"HTTP/1.1 200") == answers


def test_a_head_without_an_end_is_refused() -> None:
    with (
        serving_web(APP, FREE) as address,
        socket.create_connection((address.host, address.port), timeout=DEADLINE_S) as connection,
    ):
        connection.sendall(b"GET / HTTP/1.1\r\nX: " + b"x" * (web_server.MAX_HEAD_BYTES + 1))
        assert connection.recv(4096).startswith(b"HTTP/1.1 400")


@pytest.mark.parametrize(
    ("text", "address", "loopback", "url"),
    [
        ("127.0.0.1:8080", ListenAddress("127.0.0.1", 8080), True, "http://127.0.0.1:8080"),
        ("localhost:0", ListenAddress("127.0.0.1", 0), True, "http://127.0.0.1:0"),
        ("8080", ListenAddress("127.0.0.1", 8080), True, "http://127.0.0.1:8080"),
        ("[::1]:80", ListenAddress("::1", 80), True, "http://[::1]:80"),
        ("0.0.0.0:8080", ListenAddress("0.0.0.0", 8080), False, "http://127.0.0.1:8080"),
        ("[::]:8080", ListenAddress("::", 8080), False, "http://[::1]:8080"),
        ("lake.example:443", ListenAddress("lake.example", 443), False, "http://lake.example:443"),
    ],
)
def test_an_address_to_listen_at_is_understood(text: str, address: ListenAddress, loopback: bool, url: str) -> None:
    found = listen_address(text)
    assert (found, found.is_loopback, found.url) == (address, loopback, url)


@pytest.mark.parametrize(
    "text", ["", "host", ":8080", "::1:80", "[::1]", "[x]:1", "h:65536", "h:-1", "h:1x", "a b:1", "/x:1"]
)
def test_what_is_no_address_to_listen_at_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape("write host:port, such as 127.0.0.1:8080")):
        listen_address(text)
