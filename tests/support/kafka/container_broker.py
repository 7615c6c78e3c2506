"""A broker in a container, where an engine answers."""

import contextlib
import gc
import time
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

from support.kafka.broker_settings import broker_settings
from support.kafka.jars import VERSION
from support.kafka.local_broker import START_LIMIT_S, answers
from support.servers.processes import BROKER_PORTS, ServerFailure, free_port

IMAGE = f"apache/kafka:{VERSION}"
INTERNAL_PORT, CONTROLLER_PORT = 19092, 19093
"""Inside of the container, where nobody else has ports."""
ENGINE_TIMEOUT_S = 5


def engine_answers() -> bool:
    """A client program or a socket proves nothing: only an answer does."""
    # Without an engine the client leaves a socket open, which is closed here and now, and not in somebody's test.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        answered = _ping()
        gc.collect()
    return answered


def _ping() -> bool:
    import docker
    from docker.errors import DockerException

    try:
        client = docker.from_env(timeout=ENGINE_TIMEOUT_S)
    except DockerException:
        return False
    try:
        return bool(client.ping())
    except (DockerException, OSError):
        return False
    finally:
        client.close()


def container_environment(settings: Mapping[str, str]) -> dict[str, str]:
    """As the image wants settings: log.dirs becomes KAFKA_LOG_DIRS."""
    return {f"KAFKA_{name.upper().replace('.', '_')}": value for name, value in settings.items()}


@contextlib.contextmanager
def container_broker() -> Iterator[str]:
    """The address of a broker that listens on this machine's loopback only."""
    from testcontainers.core.container import DockerContainer

    port = free_port(BROKER_PORTS)
    settings = broker_settings(
        port=port,
        internal_port=INTERNAL_PORT,
        controller_port=CONTROLLER_PORT,
        data="/var/lib/kafka/data",
        host="0.0.0.0",
    )
    address = f"kafka://127.0.0.1:{port}"
    container = DockerContainer(IMAGE)
    # The engine's client takes an address with the port, which this method's types don't know.
    ports: Any = container.ports
    ports[f"{port}/tcp"] = ("127.0.0.1", port)
    for name, value in container_environment(settings).items():
        container.with_env(name, value)
    with container:
        deadline = time.monotonic() + START_LIMIT_S
        while not answers(address):
            if time.monotonic() > deadline:
                output = b"\n".join(container.get_logs()).decode(errors="replace")
                raise ServerFailure(f"Kafka in a container didn't answer within {START_LIMIT_S} s:\n{output[-2000:]}")
            time.sleep(0.1)
        yield address
