"""Consumers that a Kafka bus has lent: each is closed once, whoever lost sight of it."""

import gc
from collections.abc import Iterator
from typing import Any

import pytest

from headgate_bus.interface import Topic
from headgate_bus.kafka.bus import KafkaBus
from headgate_bus.kafka.clients import new_consumer
from headgate_bus.kafka.records import reader as kafka_reader
from headgate_schemas.ambient import SystemAmbient
from support.kafka.fixtures import new_bus_address


@pytest.fixture
def bus(kafka_address: str) -> Iterator[KafkaBus]:
    made = KafkaBus(new_bus_address(kafka_address), SystemAmbient())
    made.prepare()
    yield made
    made.close()


@pytest.fixture
def consumers(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Those that readers have made."""
    made: list[Any] = []

    def remembered(*args: Any) -> Any:
        made.append(new_consumer(*args))
        return made[-1]

    monkeypatch.setattr(kafka_reader, "new_consumer", remembered)
    return made


def test_a_reader_that_nobody_holds_any_more_is_closed_with_the_bus(bus: KafkaBus, consumers: list[Any]) -> None:
    """Break: know only those that somebody else holds, too."""
    bus.reader(Topic.PROPOSALS, {0: 0})
    gc.collect()
    bus.close()
    assert [consumer._closed for consumer in consumers] == [True]


def test_a_reader_that_was_closed_is_let_go_of(bus: KafkaBus, consumers: list[Any]) -> None:
    """Break: hold all that were ever lent."""
    for _ in range(3):
        bus.reader(Topic.PROPOSALS, {0: 0}).close()
    bus.reader(Topic.PROPOSALS, {0: 0})
    assert len(bus._lent) == 1


def test_a_reader_that_can_not_be_made_leaves_no_consumer_behind(
    bus: KafkaBus, consumers: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Break: leave open what could not be placed."""

    def seek(consumer: Any, *_: Any) -> None:
        raise ValueError("Unassigned partition")

    with monkeypatch.context() as patched:
        patched.setattr("kafka.KafkaConsumer.seek", seek)
        with pytest.raises(ValueError, match="Unassigned"):
            bus.reader(Topic.PROPOSALS, {0: 0})
    assert [consumer._closed for consumer in consumers] == [True]
