"""The probe finds stores that ignore conditions, and says which."""

import pytest

from headgate_schemas.ambient import SystemAmbient
from headgate_table.errors import StoreError
from headgate_table.store.interface import AlreadyExists, Created, CreateOutcome
from headgate_table.store.probe import probe_conditional_writes
from support.stores.faulty import Fault, FaultyStore, on
from support.stores.memory import MemoryStore

AMBIENT = SystemAmbient()


class IgnoresAbsence(MemoryStore):
    def create(self, key: str, data: bytes) -> CreateOutcome:
        self.put(key, data)
        return Created(self.get_with_etag(key)[1])


class OverwritesAndDenies(MemoryStore):
    """Says that the object was there, and has overwritten it nevertheless."""

    def create(self, key: str, data: bytes) -> CreateOutcome:
        there = self.head(key) is not None
        self.put(key, data)
        return AlreadyExists() if there else Created(self.get_with_etag(key)[1])


class IgnoresEtags(MemoryStore):
    def swap(self, key: str, data: bytes, etag: str) -> CreateOutcome:
        self.put(key, data)
        return Created(self.get_with_etag(key)[1])


class RefusesAll(MemoryStore):
    def create(self, key: str, data: bytes) -> CreateOutcome:
        return AlreadyExists()

    def swap(self, key: str, data: bytes, etag: str) -> CreateOutcome:
        return AlreadyExists()


@pytest.mark.parametrize("store", [IgnoresAbsence(), OverwritesAndDenies()], ids=["ignores", "denies"])
def test_a_store_that_overwrites_on_create_is_found_out(store: MemoryStore) -> None:
    report = probe_conditional_writes(store, AMBIENT)
    assert (report.trusted, report.create_is_conditional, report.swap_is_conditional) == (False, False, True)
    assert "ignores If-None-Match" in report.problems[0]


def test_a_store_that_ignores_etags_is_found_out() -> None:
    report = probe_conditional_writes(IgnoresEtags(), AMBIENT)
    assert (report.trusted, report.create_is_conditional, report.swap_is_conditional) == (False, True, False)
    assert "ignores If-Match" in report.problems[0]


def test_a_store_that_never_writes_is_found_out() -> None:
    report = probe_conditional_writes(RefusesAll(), AMBIENT)
    assert (report.create_is_conditional, report.swap_is_conditional, len(report.problems)) == (False, False, 2)


@pytest.mark.parametrize("operation", ["create", "swap"])
def test_a_store_without_an_answer_is_an_error_and_no_verdict(operation: str) -> None:
    inner = MemoryStore()
    with pytest.raises(StoreError, match="could not be probed"):
        probe_conditional_writes(FaultyStore(inner, on(operation, Fault.LOST_ANSWER)), AMBIENT)
    assert list(inner.list()) == []


def test_a_bad_store_is_left_clean_as_well() -> None:
    store = IgnoresAbsence()
    probe_conditional_writes(store, AMBIENT)
    assert list(store.list()) == []
