"""The tables that a worker serves, and how it opens them: below its roots, under one spelling, proposing by the bus."""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Protocol

from headgate_bus.interface import Bus
from headgate_producer.producer import Producer
from headgate_schemas.ambient import Ambient
from headgate_schemas.errors import InvalidInput
from headgate_schemas.measures import SILENT, Measures
from headgate_schemas.messages.operations import Operation, Receipt
from headgate_schemas.version import __version__
from headgate_table.caching.resources import ReadResources
from headgate_table.store.addresses import lies_below, table_address
from headgate_table.store.interface import Store
from headgate_table.store.measured import MeasuredStore
from headgate_table.store.open import open_store
from headgate_table.store.settings import StoreSettings
from headgate_table.table import Table

OPEN_STORES = 64
"""Connections to tables that are kept for the next look."""

Commit = Callable[[Operation], Receipt]


class WorkerTables(Protocol):
    """The worker's access to tables. Threads share it."""

    def serves(self, uri: str) -> bool:
        """Whether this worker may maintain the table at this address, by its settings."""
        ...

    def open(self, uri: str) -> Table:
        """A table for the caller's own use, whose changes are proposed. Raises the errors of opening its store."""
        ...

    def close(self) -> None: ...


class ProposedTables:
    """Tables of the configured stores below the roots. Without roots, all of them."""

    def __init__(
        self,
        settings: StoreSettings,
        resources: ReadResources,
        ambient: Ambient,
        proposing: "Proposing",
        roots: Sequence[str] = (),
        overrides: Mapping[str, str] | None = None,
        measures: Measures = SILENT,
    ) -> None:
        self._settings = settings
        self._resources = resources
        self._ambient = ambient
        self._proposing = proposing
        self._overrides = dict(overrides or {})
        self._measures = measures
        self._roots = tuple(table_address(root) for root in roots)
        self._stores: OrderedDict[str, Store] = OrderedDict()
        """The one that was asked for longest ago first."""
        self._lock = Lock()

    def serves(self, uri: str) -> bool:
        try:
            if table_address(uri) != uri:
                return False  # the committer takes proposals under the one spelling only
        except InvalidInput:
            return False
        return not self._roots or lies_below(uri, self._roots)

    def open(self, uri: str) -> Table:
        return Table(self._store(uri), self._ambient, self._resources, self._overrides, self._proposing.to(uri))

    def close(self) -> None:
        self._proposing.close()
        with self._lock:
            stores = list(self._stores.values())
            self._stores.clear()
        for store in stores:
            store.close()

    def _store(self, uri: str) -> Store:
        with self._lock:
            store = self._stores.pop(uri, None) or self._opened(uri)
            self._stores[uri] = store
            while len(self._stores) > OPEN_STORES:
                # Not closed: a task may be using it. Its connections close with it.
                self._stores.popitem(last=False)
            return store

    def _opened(self, uri: str) -> Store:
        store = open_store(uri, self._settings, self._ambient)
        return MeasuredStore(store, self._measures, self._ambient.monotonic_s)


class Proposing:
    """At most so many producers, one for each table and thread at a time. Threads share this."""

    def __init__(
        self, bus: Bus, settings: StoreSettings, ambient: Ambient, author: str, open_producers: int, receipt_s: float
    ) -> None:
        self._bus = bus
        self._settings = settings
        self._ambient = ambient
        self._author = f"{author} headgate-worker/{__version__}"
        self._open_producers = open_producers
        self._receipt_s = receipt_s
        self._idle: OrderedDict[str, Producer] = OrderedDict()
        """The one that was idle longest first."""
        self._lock = Lock()
        self._is_closed = False

    def to(self, uri: str) -> Commit:
        """A committer for the table that proposes to the bus. It raises `OutcomeUnknown` if no receipt comes in time."""

        def commit(operation: Operation) -> Receipt:
            with self._lent(uri) as producer:
                return producer.propose(operation).wait(timeout=self._receipt_s)

        return commit

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            idle = list(self._idle.values())
            self._idle.clear()
        for producer in idle:
            producer.close(0.0)

    @contextmanager
    def _lent(self, uri: str) -> Iterator[Producer]:
        with self._lock:
            producer = self._idle.pop(uri, None)
        if producer is None:
            producer = Producer(
                self._bus, uri, author=self._author, storage=self._settings, ambient=self._ambient, threads=False
            )
        try:
            yield producer
        finally:
            for surplus in self._returned(uri, producer):
                surplus.close(0.0)  # every waiting thread has an answer, or has given up waiting

    def _returned(self, uri: str, producer: Producer) -> list[Producer]:
        """Keep the producer for the next proposal; returns the producers that are to be closed instead."""
        with self._lock:
            if self._is_closed or uri in self._idle:
                return [producer]
            self._idle[uri] = producer
            over = len(self._idle) - self._open_producers
            return [self._idle.popitem(last=False)[1] for _ in range(max(0, over))]
