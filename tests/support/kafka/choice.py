"""Which broker the tests get: one that was given, else one in a container, else a local one."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from typing import assert_never

from headgate_bus.errors import BusError
from headgate_bus.kafka.address import parse_kafka_address
from support.kafka.container_broker import container_broker
from support.kafka.local_broker import running_broker

SETTING = "HEADGATE_TEST_KAFKA"


class Way(Enum):
    GIVEN = "given"
    CONTAINER = "in a container"
    LOCAL = "local"


def choose(environment: Mapping[str, str], engine_answers: Callable[[], bool]) -> Way:
    """The engine is asked only where no broker is given."""
    if environment.get(SETTING, "").strip():
        return Way.GIVEN
    return Way.CONTAINER if engine_answers() else Way.LOCAL


def given_address(environment: Mapping[str, str]) -> str:
    """`host:port`, or a whole address without a prefix."""
    value = environment[SETTING].strip()
    address = value if "://" in value else f"kafka://{value}"
    try:
        parsed = parse_kafka_address(address)
    except BusError as error:
        raise ValueError(f"{SETTING} is no address of a Kafka broker: {error}") from error
    if address.partition("?")[0] != f"kafka://{','.join(parsed.servers)}":
        raise ValueError(f"{SETTING} must be kafka://host:port without a prefix: each test takes its own")
    return address


@contextlib.contextmanager
def broker_address(environment: Mapping[str, str], engine_answers: Callable[[], bool]) -> Iterator[str]:
    way = choose(environment, engine_answers)
    match way:
        case Way.GIVEN:
            yield given_address(environment)
        case Way.CONTAINER:
            with container_broker() as address:
                yield address
        case Way.LOCAL:
            with running_broker() as broker:
                yield broker.address
        case _:
            assert_never(way)


def with_prefix(address: str, prefix: str, **settings: object) -> str:
    """The address of a bus of its own on that broker."""
    servers, _, query = address.partition("?")
    pairs = [*([query] if query else []), *(f"{name}={value}" for name, value in settings.items())]
    return f"{servers}/{prefix}" + (f"?{'&'.join(pairs)}" if pairs else "")
