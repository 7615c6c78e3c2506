"""The line of the torture: good until it is told otherwise, and good again afterwards."""

import socket
import threading
from collections.abc import Iterator

import pytest

from headgate_schemas.ambient import SystemAmbient
from support.servers.processes import free_port
from support.torture.stage.line import CHUNK_BYTES, HELD_S, Line, Weather, line_to

ANSWER = b"0123456789"
LIMIT_S = 60.0
AMBIENT = SystemAmbient()


@pytest.fixture
def line() -> Iterator[Line]:
    """To a server that answers each piece with the same ten bytes."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=_serve, args=(listener,), name="answering")
        thread.start()
        with line_to(lambda: listener.getsockname()[1]) as line:
            yield line
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(LIMIT_S)


def _serve(listener: socket.socket) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        threading.Thread(target=_answer, args=(connection,), name="answer").start()


def _answer(connection: socket.socket) -> None:
    with connection:
        while connection.recv(CHUNK_BYTES):
            connection.sendall(ANSWER)


def connected(line: Line) -> socket.socket:
    return socket.create_connection(("127.0.0.1", line.port), LIMIT_S)


def asked(client: socket.socket) -> bytes:
    """All that comes until an answer is whole, or the connection ends."""
    client.sendall(b"?")
    got = b""
    while len(got) < len(ANSWER) and (piece := client.recv(CHUNK_BYTES)):
        got += piece
    return got


def is_cut(client: socket.socket) -> bool:
    try:
        return client.recv(1) == b""
    except ConnectionResetError:
        return True


def test_a_good_line_passes_everything_on(line: Line) -> None:
    with connected(line) as client:
        assert [asked(client) for _ in range(3)] == [ANSWER] * 3


def test_a_line_that_is_cut_ends_connections_and_takes_no_others_until_it_is_good_again(line: Line) -> None:
    with connected(line) as client:
        assert asked(client) == ANSWER
        line.turn(Weather.CUT)
        assert is_cut(client)
    with connected(line) as late:
        assert is_cut(late)
    line.turn(Weather.GOOD)
    with connected(line) as client:
        assert asked(client) == ANSWER
    assert line.done[Weather.CUT] >= 2


def test_a_slow_line_holds_every_piece(line: Line) -> None:
    with connected(line) as client:
        line.turn(Weather.SLOW)
        begun_s = AMBIENT.monotonic_s()
        assert asked(client) == ANSWER
        took_s = AMBIENT.monotonic_s() - begun_s
    assert took_s >= 2 * HELD_S  # on its way there, and back
    assert line.done[Weather.SLOW] == 2


def test_a_torn_answer_comes_half_and_then_the_connection_ends(line: Line) -> None:
    with connected(line) as client:
        line.turn(Weather.TORN)
        assert asked(client) == ANSWER[:5]
    assert line.done[Weather.TORN] == 1


def test_a_server_that_is_away_looks_like_one_that_hangs_up(line: Line) -> None:
    port = free_port()
    with line_to(lambda: port) as line_to_nobody, connected(line_to_nobody) as client:
        assert is_cut(client)
