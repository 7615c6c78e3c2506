"""Cleaning while others write to the same store and delete from it, with names that people would not choose."""

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from headgate_table.indextables.format.names import POINTER
from headgate_table.interface.findings import Severity
from headgate_table.store.interface import CreateOutcome, Store
from headgate_table.store.local.store import LocalStore
from headgate_table.store.open import open_store
from headgate_table.table import Table
from support.ambient import FakeAmbient
from support.cleaning import one_thread
from support.stores.faulty import FaultyStore
from support.stores.memory import MemoryStore
from support.tables import add_file, new_table

ODD = ["a b.parquet", "date=2024-01-01T00%3A00/ü.parquet", "%2e%2e%2fx.parquet", "*", "~", "-rf", "$(x);'\"&.parquet"]
PLAIN = [f"many/orphan-{number:02d}.parquet" for number in range(12)]
DAYS_60_MS = 60 * 24 * 3_600_000


@pytest.fixture(params=["memory", "local", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if request.param == "memory":
        return MemoryStore(FakeAmbient())
    if request.param == "local":
        return LocalStore(str(tmp_path / "table"), FakeAmbient(), durable=False)
    server = request.getfixturevalue("versitygw")
    return open_store(f"s3://{request.getfixturevalue('s3_bucket')}/table", server.settings(), FakeAmbient())


class Changing(FaultyStore):
    """Somebody else is at work right before the first delete of a data file, and right before the purge is committed."""

    def __init__(self, inner: Store, change: Callable[[Store], None], moment: str) -> None:
        super().__init__(inner)
        self._change = change
        self._moment = moment

    def create(self, key: str, data: bytes) -> CreateOutcome:
        self._now("purge", key.endswith(".json"))
        return super().create(key, data)

    def delete(self, keys: Iterable[str]) -> None:
        found = list(keys)
        self._now("delete", any(key.endswith(".parquet") for key in found))
        super().delete(found)

    def _now(self, moment: str, is_it: bool) -> None:
        if is_it and moment == self._moment:
            self._moment = ""
            self._change(self.inner)


def vanish(store: Store) -> None:
    store.delete(PLAIN[::2])


def appear(store: Store) -> None:
    for number in range(3):
        store.put(f"many/late-{number}.parquet", b"rows")


def both(store: Store) -> None:
    vanish(store)
    appear(store)


def another_cleaner(store: Store) -> None:
    cleaned(store, "another")


def cleaned(store: Store, name: str) -> str:
    """60 days later by the store's clock, whichever that is."""
    pointer = store.head(POINTER)
    assert pointer is not None
    ambient = FakeAmbient(name, pointer.modified_ms + DAYS_60_MS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "clock_ms", ambient.now_ms)
        return Table(store, ambient, one_thread(), {"checkpoint.interval": "3"}).purge().status


@pytest.mark.parametrize("moment", ["purge", "delete"])
@pytest.mark.parametrize("change", [vanish, appear, both, another_cleaner])
def test_what_vanishes_or_appears_during_a_cleaning_does_no_harm(
    store: Store, change: Callable[[Store], None], moment: str
) -> None:
    live = [add_file(f"live-{number}", 4) for number in range(7)]
    table = new_table(store, interval=3, ambient=FakeAmbient("writer"))
    for file in live:
        store.put(file.path, b"rows")
        table.append([file])
    for key in [*ODD, *PLAIN]:
        store.put(key, b"rows")
    assert cleaned(Changing(store, change, moment), "cleaner") == "SUCCESS"
    after = Table(store, FakeAmbient("after"), one_thread())
    left = {info.key for info in store.list() if not info.key.startswith("_")}
    late = {key for key in left if key.startswith("many/late-")}
    assert left - late == {file.path for file in live} == set(after.snapshot().paths())
    assert after.verify().of(Severity.ERROR) == []
