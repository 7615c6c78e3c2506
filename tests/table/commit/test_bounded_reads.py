"""What a writer looks up may be another program's, and of any size: it is read up to the bound of its kind."""

import pytest

from headgate_schemas.columns.table_schema import schema_string_of
from headgate_schemas.messages.operations import Create
from headgate_table.errors import StoreError, TableExists
from headgate_table.indextables.format.names import LOG, POINTER, version_key
from headgate_table.indextables.log.reader import LogReader
from headgate_table.indextables.repair.new_log import write_new_log
from headgate_table.indextables.write import state_writer, version_writer
from headgate_table.indextables.write.create import create_table
from headgate_table.store.interface import AlreadyExists, CreateOutcome
from support.logs.raw_log import RawLog
from support.stores.faulty import Fault, FaultyStore, Step, on
from support.stores.memory import MemoryStore
from support.tables import SteadyAmbient, add_file, fresh_resources, new_table, opened

LARGE = b" " * 100_000


class BoundedStore(MemoryStore):
    """Takes it amiss when a file of the log is read whatever its size."""

    def get(self, key: str, *, max_bytes: int | None = None) -> bytes:
        assert max_bytes is not None or not key.startswith(LOG), f"{key} is read without a bound"
        return super().get(key, max_bytes=max_bytes)

    def get_with_etag(self, key: str, *, max_bytes: int | None = None) -> tuple[bytes, str]:
        assert max_bytes is not None or not key.startswith(LOG), f"{key} is read without a bound"
        return super().get_with_etag(key, max_bytes=max_bytes)


def test_nothing_of_a_log_is_read_without_a_bound_while_answers_are_lost() -> None:
    """Break: `_nonce_at`, `create_table` or `advance_pointer` asks for an object without `max_bytes`."""
    store = BoundedStore()
    new_table(FaultyStore(store, on("create", Fault.LOST_ANSWER, times=1)))
    table = opened(FaultyStore(store, on("create", Fault.LOST_ANSWER, times=100)), interval=1)
    for name in "ab":
        table.append([add_file(name)])
    table.compact()
    assert table.snapshot().num_files == 2
    assert table.verify(data_files=False).ok


def test_a_large_object_that_takes_the_number_meanwhile_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Break: `_nonce_at` asks for the object without `max_bytes`."""
    monkeypatch.setattr(version_writer, "MAX_VERSION_FILE_BYTES", 50_000)
    store = MemoryStore()
    new_table(store)

    def interfere(step: Step) -> Fault | None:
        if step.operation == "create" and step.key == version_key(1):
            store.put(version_key(1), LARGE)
        return None

    table = opened(FaultyStore(store, interfere))
    with pytest.raises(StoreError, match="is larger than the 50000 bytes it may have"):
        table.append([add_file("a")])


def test_a_large_object_in_the_place_of_the_pointer_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Break: `advance_pointer` asks for the object without `max_bytes`."""
    monkeypatch.setattr(state_writer, "MAX_POINTER_BYTES", 50_000)
    store = MemoryStore()
    table = new_table(store, interval=1)

    def interfere(step: Step) -> Fault | None:
        if step.operation == "create" and "state-v" in step.key:
            store.put(POINTER, LARGE)
        return None

    opened(FaultyStore(store, interfere), interval=1).append([add_file("a")])
    assert store.get(POINTER) == LARGE
    store.delete([POINTER])
    table.append([add_file("b")])
    assert RawLog(store).pointer()["version"] == 2


def test_a_large_object_in_the_place_of_a_new_table_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Break: whoever finds its number taken asks for what is there without `max_bytes`."""
    monkeypatch.setattr(version_writer, "MAX_VERSION_FILE_BYTES", 50_000)

    class Meanwhile(MemoryStore):
        def create(self, key: str, data: bytes) -> CreateOutcome:
            self.put(key, LARGE)
            return AlreadyExists()

    with pytest.raises(StoreError, match="is larger than the 50000 bytes it may have"):
        create_table(LogReader(Meanwhile(), fresh_resources()), SteadyAmbient(), Create(schema_string_of("id BIGINT")))


def test_a_large_object_in_the_place_of_a_new_log_is_another_programs_and_not_read() -> None:
    """Break: `_is_there` reads what can't be ours by its size."""
    store = FaultyStore(MemoryStore())
    store.inner.put("00000000000000000000.json", LARGE)
    with pytest.raises(TableExists, match="another program"):
        write_new_log(store, b"first", [])
    assert store.count("get") == 0
