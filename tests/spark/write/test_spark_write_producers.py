"""Producers that a process keeps between writes."""

from collections.abc import Callable

import pytest

from headgate_producer.producer import Producer
from headgate_schemas.ambient import Ambient
from headgate_table.store.settings import StoreSettings
from pyspark_headgate.write.kept_producers import IDLE_LIMIT_S, MAX_KEPT, KeptProducers, ProducerPlace
from support.ambient import FakeAmbient
from support.bus.memory import MemoryBus


class Opened:
    """Opens producers on a bus in memory, and remembers them."""

    def __init__(self) -> None:
        self.ambient = FakeAmbient()
        self.producers: list[Producer] = []
        self.kept = KeptProducers(self._open)

    def _open(self, place: ProducerPlace, ambient: Ambient) -> Producer:
        producer = Producer(MemoryBus(self.ambient), place.table, ambient=ambient, threads=False)
        self.producers.append(producer)
        return producer

    def use(self, table: str = "/lake/t", act: Callable[[], object] = lambda: None) -> Producer:
        with self.kept.lent("bus", table, StoreSettings(), self.ambient) as lent:
            act()
            return lent.producer()


@pytest.fixture
def opened() -> Opened:
    return Opened()


def test_the_next_write_to_the_same_table_has_the_same_producer(opened: Opened) -> None:
    assert opened.use() is opened.use()


def test_two_writes_at_the_same_time_have_producers_of_their_own(opened: Opened) -> None:
    inner: list[Producer] = []
    outer = opened.use(act=lambda: inner.append(opened.use()))
    assert inner != [outer]


def test_a_producer_that_rested_long_is_opened_anew(opened: Opened) -> None:
    first = opened.use()
    opened.ambient.advance(seconds=IDLE_LIMIT_S + 1)
    assert opened.use() is not first


def test_a_producer_of_a_write_that_failed_is_not_used_again(opened: Opened) -> None:
    first = opened.use()

    def fail() -> None:
        raise ConnectionError("the bus is gone")

    with pytest.raises(ConnectionError):
        opened.use(act=fail)
    assert opened.use() is not first


def test_of_many_tables_those_used_least_recently_make_room(opened: Opened) -> None:
    first = opened.use("/lake/0")
    for number in range(1, MAX_KEPT + 1):
        opened.use(f"/lake/{number}")
    assert opened.use("/lake/0") is not first
    assert opened.use(f"/lake/{MAX_KEPT}") is opened.producers[MAX_KEPT]
