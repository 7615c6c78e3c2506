"""A table as the objects on its store, and a store made of them anew for each case."""

from collections.abc import Mapping
from dataclasses import dataclass

from headgate_table.store.interface import Store
from support.ambient import FakeAmbient
from support.stores.memory import MemoryStore

LOG = "_transaction_log/"


@dataclass(frozen=True, slots=True)
class Held:
    data: bytes
    modified_ms: int


@dataclass(frozen=True, slots=True)
class Objects:
    """Everything on a store, and what its clock says."""

    held: Mapping[str, Held]
    time_ms: int

    def log_keys(self) -> list[str]:
        """The objects that say what the table is; data files say nothing of it. Sidecars and strangers are left out."""
        return [key for key in self.held if _is_told(key)]

    def data(self, key: str) -> bytes:
        return self.held[key].data

    def changed(self, changes: Mapping[str, bytes | None]) -> "Objects":
        """With other bytes in some objects, as old as before; None removes one."""
        held = dict(self.held)
        for key, data in changes.items():
            before = held.pop(key, None)
            if data is not None:
                held[key] = Held(data, self.time_ms - 1 if before is None else before.modified_ms)
        return Objects(held, self.time_ms)

    def store(self) -> tuple[MemoryStore, FakeAmbient]:
        """A store with these objects and these ages, and its clock, which stands at the objects' own now."""
        clock = FakeAmbient("damage", self.time_ms)
        store = MemoryStore(clock)
        for key, held in self.held.items():
            clock.time_ms = held.modified_ms
            store.put(key, held.data)
        clock.time_ms = self.time_ms
        return store, clock


def objects_of(store: Store, time_ms: int) -> Objects:
    return Objects({info.key: Held(store.get(info.key), info.modified_ms) for info in store.list()}, time_ms)


def _is_told(key: str) -> bool:
    name = key.rpartition("/")[2]
    if name.startswith(".") or "#" in name:
        return False
    return key.startswith((LOG, "_metadata/", "_headgate/commits/"))
