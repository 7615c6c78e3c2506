"""Ports of test servers: nobody else gets one, also while its server is away."""

import socket
import subprocess
import sys

from support.servers.processes import PORTS, free_port
from support.torture.stage.children import clean_environment


def test_a_port_is_given_once_and_can_be_listened_at() -> None:
    ports = [free_port() for _ in range(3)]
    assert len(set(ports)) == 3
    for port in ports:
        socket.create_server(("127.0.0.1", port)).close()


def test_a_port_that_somebody_listens_at_is_not_given() -> None:
    taken = free_port()
    listening = next(port for port in PORTS if port > taken and can_listen(port))
    with socket.create_server(("127.0.0.1", listening)):
        assert listening not in [free_port() for _ in range(listening - taken)]


def can_listen(port: int) -> bool:
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


def test_another_process_is_not_given_a_port_whose_server_is_away() -> None:
    """Break: the port isn't marked as given."""
    ports = {free_port() for _ in range(3)}
    program = "from support.servers.processes import free_port; print(*(free_port() for _ in range(3)))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
        env=clean_environment(),
    )
    assert ports.isdisjoint(map(int, done.stdout.split()))
