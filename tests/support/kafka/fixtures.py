"""Fixtures of the broker: one a session, started when a test first asks for it. Tests keep apart by their prefixes."""

import os
import uuid
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from headgate_schemas.ambient import SystemAmbient

if TYPE_CHECKING:
    from headgate_bus.kafka.bus import KafkaBus

SESSION_TIMEOUT_MS = 2_000
MAX_POLL_INTERVAL_MS = 6_000
"""So that a test needn't wait for minutes until a holder that doesn't poll loses its place."""
PATIENCE = {"session_timeout_ms": 8_000, "max_poll_interval_ms": 300_000}
"""So that a holder doesn't lose its place by being slow, on a machine that is busy with other tests."""


@pytest.fixture(scope="session")
def kafka_address() -> Iterator[str]:
    """The address of a broker, without a prefix."""
    # Every run of pytest loads this module, and only some need the Kafka client.
    from support.kafka.choice import broker_address
    from support.kafka.container_broker import engine_answers

    with broker_address(os.environ, engine_answers) as address:
        yield address


@pytest.fixture
def new_kafka_bus(kafka_address: str) -> Iterator["Callable[..., KafkaBus]"]:
    """Makes patient buses on fresh prefixes, not prepared yet; keyword arguments are settings of the address."""
    from headgate_bus.kafka.bus import KafkaBus

    made: list[KafkaBus] = []

    def new_bus(**settings: object) -> "KafkaBus":
        bus = KafkaBus(new_bus_address(kafka_address, **(PATIENCE | settings)), SystemAmbient())
        made.append(bus)
        return bus

    yield new_bus
    for bus in made:
        bus.close()


def new_bus_address(address: str, **settings: object) -> str:
    """A bus that nobody has used, with patience fit for tests."""
    from support.kafka.choice import with_prefix

    timeouts: dict[str, object] = {
        "session_timeout_ms": SESSION_TIMEOUT_MS,
        "max_poll_interval_ms": MAX_POLL_INTERVAL_MS,
    }
    return with_prefix(address, f"test-{uuid.uuid4().hex[:12]}", **(timeouts | settings))
