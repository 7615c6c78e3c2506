"""Starting a server on a free port, waiting until it answers, and ending it by its own process id."""

import contextlib
import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

START_ATTEMPTS = 3
START_LIMIT_S = 60.0
STOP_LIMIT_S = 10.0
PORTS = range(20_000, 32_000)
"""Below those that the system hands out to whoever doesn't mind which: so a port stays free while its server is away."""
BROKER_PORTS = range(19_000, 20_000)
"""Those of Kafka brokers, by which pyproject.toml knows connections of the Kafka client."""

_marks: list[socket.socket] = []


class ServerFailure(Exception):
    """A server didn't start; the message ends with what it said."""


def free_port(ports: range = PORTS) -> int:
    """One that nobody listens at, and that no other process of tests is given as long as this one lives."""
    for port in ports:
        # A datagram socket doesn't keep a server from its port: it is a mark that the system takes away with this process.
        mark = socket.socket(type=socket.SOCK_DGRAM)
        try:
            mark.bind(("127.0.0.1", port))
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", port))
        except OSError:
            mark.close()
        else:
            _marks.append(mark)
            return port
    raise ServerFailure(f"no port of {ports} is free")


@contextlib.contextmanager
def scratch_folder(name: str) -> Iterator[Path]:
    """A folder in memory where the system has one (it has user attributes as well), else among temporary files."""
    memory = Path("/dev/shm")
    place = memory if memory.is_dir() and os.access(memory, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix=f"headgate-{name}-", dir=place, ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@contextlib.contextmanager
def running(
    name: str,
    command: Callable[[int], Sequence[str | Path]],
    answers: Callable[[int], bool],
    *,
    log: Path,
    environment: Mapping[str, str] | None = None,
) -> Iterator[int]:
    """The server's port. Another process may take a port between our look and the start: then another is tried."""
    for _ in range(START_ATTEMPTS):
        port = free_port()
        with log.open("ab") as output:
            process = subprocess.Popen(
                command(port),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=os.environ | dict(environment or {}),
                cwd=log.parent,
            )
        try:
            if _answers_in_time(process, lambda port=port: answers(port)):  # type: ignore[misc]  # bound per turn
                yield port
                return
        finally:
            end(process)
    said = log.read_text(errors="replace")[-2000:]
    raise ServerFailure(f"{name} didn't answer in {START_ATTEMPTS} attempts. It said:\n{said}")


def end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(STOP_LIMIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(STOP_LIMIT_S)


def _answers_in_time(process: "subprocess.Popen[bytes]", answers: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + START_LIMIT_S
    while process.poll() is None and time.monotonic() < deadline:
        if answers():
            return True
        time.sleep(0.05)
    return False
