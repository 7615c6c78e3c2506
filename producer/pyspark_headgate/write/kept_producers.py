"""Producers that are kept after a write, so that micro-batches don't connect again. Importing opens nothing.

Spark runs commits in a Python process of the driver that it reuses; each process keeps its own producers.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from headgate_producer.producer import Producer
from headgate_schemas.ambient import Ambient
from headgate_schemas.version import __version__
from headgate_table.store.settings import StoreSettings

MAX_KEPT = 8
"""Tables that one process writes to side by side; the one that was used least recently makes room."""
IDLE_LIMIT_S = 60.0
"""A producer that rested longer is opened anew: it would have to read everything that was announced meanwhile."""
CLOSE_WITHIN_S = 0.0
"""Whoever waited has an answer by then, or has given up."""


@dataclass(frozen=True, slots=True)
class ProducerPlace:
    """The bus and the table of a producer."""

    bus: str
    table: str
    storage: StoreSettings


def open_producer(place: ProducerPlace, ambient: Ambient) -> Producer:
    """Raises the errors of opening a bus."""
    return Producer(
        place.bus,
        place.table,
        author=f"headgate-spark/{__version__}",
        storage=place.storage,
        ambient=ambient,
        threads=False,
    )


OpenProducer = Callable[[ProducerPlace, Ambient], Producer]


class Lent:
    """A producer for the time of one write."""

    def __init__(self, opened: Callable[[], Producer], producer: Producer | None) -> None:
        self._opened = opened
        self._producer = producer

    def producer(self) -> Producer:
        """The producer, opened if necessary. Raises the errors of opening a bus."""
        if self._producer is None:
            self._producer = self._opened()
        return self._producer

    def drop(self) -> None:
        """Close this producer; the next call opens another."""
        if self._producer is not None:
            self._producer.close(CLOSE_WITHIN_S)
            self._producer = None

    def given_back(self) -> Producer | None:
        producer, self._producer = self._producer, None
        return producer


class KeptProducers:
    """Each producer serves one thread at a time, which sends its messages while it waits."""

    def __init__(self, opens: OpenProducer = open_producer) -> None:
        self._opens = opens
        self._lock = threading.Lock()
        self._kept: dict[ProducerPlace, tuple[Producer, float]] = {}
        """With the moment of last use, in that order."""

    @contextmanager
    def lent(self, bus: str, table: str, storage: StoreSettings, ambient: Ambient) -> Iterator[Lent]:
        """An idle producer, else a new one. It is kept afterwards, unless the block fails."""
        place = ProducerPlace(bus, table, storage)
        with self._lock:
            producer, used_s = self._kept.pop(place, (None, 0.0))
        lent = Lent(lambda: self._opens(place, ambient), producer)
        try:
            if ambient.monotonic_s() - used_s > IDLE_LIMIT_S:
                lent.drop()
            yield lent
        except BaseException:
            lent.drop()
            raise
        given_back = lent.given_back()
        if given_back is not None:
            self._keep(place, given_back, ambient.monotonic_s())

    def close(self) -> None:
        with self._lock:
            kept, self._kept = list(self._kept.values()), {}
        for producer, _ in kept:
            producer.close(CLOSE_WITHIN_S)

    def _keep(self, place: ProducerPlace, producer: Producer, now_s: float) -> None:
        with self._lock:
            surplus = [self._kept.pop(place)] if place in self._kept else []  # of another thread
            self._kept[place] = (producer, now_s)
            while len(self._kept) > MAX_KEPT:
                surplus.append(self._kept.pop(next(iter(self._kept))))
        for left, _ in surplus:
            left.close(CLOSE_WITHIN_S)


KEPT = KeptProducers()
"""Those of this process."""
