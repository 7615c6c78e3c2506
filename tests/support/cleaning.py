"""Builders for tests of cleaning: tables whose data files exist, with a clock that the test moves."""

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

from headgate_schemas.actions.actions import AddFile
from headgate_schemas.messages.operations import Committed, Receipt
from headgate_table.caching.cache import ObjectCache
from headgate_table.caching.resources import ReadResources
from headgate_table.store.interface import Store
from headgate_table.table import Table
from support.ambient import FakeAmbient
from support.stores.memory import MemoryStore
from support.tables import add_file, new_table


class AtOnce(Executor):
    """Runs everything in the calling thread, so that the order of steps is the same every time."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


def one_thread() -> ReadResources:
    return ReadResources(ObjectCache(lambda: 0.0), AtOnce(), AtOnce())


class World:
    """A table with its store and its clock. Every commit takes a day, unless told otherwise."""

    def __init__(self, *partition_by: str, interval: int = 3, store: Store | None = None, **settings: str) -> None:
        self.clock = FakeAmbient()
        self.store: Store = store if store is not None else MemoryStore(self.clock)
        self.interval = interval
        self.settings = {key.replace("__", "."): text for key, text in settings.items()}
        self.table: Table = new_table(
            self.store, *partition_by, interval=interval, settings=self.settings, ambient=self.clock
        )
        self._made = 0

    def write(self, **partition: Any) -> AddFile:
        """A new data file on the store, known to nobody."""
        self._made += 1
        file = add_file(f"file-{self._made:04d}", 10 + self._made, **partition)
        self.store.put(file.path, bytes(file.size))
        return file

    def append(self, *, hours: float = 24, **partition: Any) -> AddFile:
        file = self.write(**partition)
        self.accepted(self.table.append([file]))
        self.clock.advance(hours=hours)
        return file

    def appends(self, count: int, *, hours: float = 24) -> list[AddFile]:
        return [self.append(hours=hours) for _ in range(count)]

    def accepted(self, receipt: Receipt) -> int:
        assert isinstance(receipt, Committed), receipt
        return receipt.version

    def reopened(self, store: Store | None = None, *, seed: str = "reopened") -> Table:
        """The table as another process sees it."""
        ambient = FakeAmbient(seed, self.clock.time_ms)
        settings = {"checkpoint.interval": str(self.interval), **self.settings}
        return Table(store if store is not None else self.store, ambient, one_thread(), settings)

    def names(self, prefix: str = "_transaction_log/", store: Store | None = None) -> list[str]:
        return [info.key.removeprefix(prefix) for info in (store or self.store).list(prefix)]

    def versions(self) -> list[int]:
        return [int(name[:20]) for name in self.names() if len(name) == 25 and name.endswith(".json")]

    def states(self) -> list[int]:
        return [int(name[7:27]) for name in self.names() if name.endswith("/_manifest.avro")]


def copied(store: Store, clock: FakeAmbient) -> MemoryStore:
    """The same objects with the same ages on a store of their own."""
    made = FakeAmbient("copy")
    copy = MemoryStore(made)
    for info in store.list():
        made.time_ms = info.modified_ms
        copy.put(info.key, store.get(info.key))
    made.time_ms = clock.time_ms
    return copy
