"""REPAIR where nothing of a log is left: nothing is overwritten, and nothing is left half done."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headgate_schemas.errors import InvalidInput
from headgate_table.errors import CorruptTable, StoreError, TableExists, TableNotFound
from headgate_table.indextables.format.names import LOG, POINTER, checkpoint_key, state_key, version_key
from headgate_table.indextables.log.reader import LogReader
from headgate_table.indextables.repair.rebuild import Wishes, rebuild_into
from headgate_table.store.local.store import LocalStore
from support.ambient import FakeAmbient
from support.cleaning import one_thread
from support.logs.rebuilding import InLog, rebuilt, rows, stored, table_of
from support.stores.faulty import Fault, FaultyStore, on
from support.stores.kills import deaths
from support.stores.memory import MemoryStore
from support.tables import new_table
from support.writers.handmade import HandMade


def test_the_first_thing_it_says_is_that_removed_files_come_back() -> None:
    note = rebuilt(stored({"a.parquet": rows()})).notes[0]
    assert "don't say whether they were removed" in note
    assert "never committed" in note


def test_files_that_merges_wrote_are_pointed_out() -> None:
    result = rebuilt(stored({f"merged-{'0' * 32}.parquet": rows(), "a.parquet": rows()}))
    assert any("1 of the files were written by merges" in note for note in result.notes)


@pytest.mark.parametrize("piece", ["version", "state", "checkpoint"])
def test_a_log_that_still_says_something_is_refused(tmp_path: Path, piece: str) -> None:
    made = HandMade(tmp_path)
    made.start()
    if piece != "version":
        made.log.delete(f"{0:020d}.json")
    if piece == "state":
        made.state(3, [])
    if piece == "checkpoint":
        made.log.put(f"{3:020d}.checkpoint.json", b'{"metaData":{"id":"a","schemaString":"","partitionColumns":[]}}')
    store = stored({"a.parquet": rows()}, LocalStore(str(tmp_path), FakeAmbient(), durable=False))
    with pytest.raises(InvalidInput, match="still says something"):
        rebuild_into(LogReader(store, one_thread()), MemoryStore(), Wishes(), FakeAmbient())


def test_a_state_of_a_newer_format_still_says_something_to_somebody(tmp_path: Path) -> None:
    HandMade(tmp_path).state(3, [], formatVersion=99)
    store = stored({"a.parquet": rows()}, LocalStore(str(tmp_path), FakeAmbient(), durable=False))
    with pytest.raises(InvalidInput, match="still says something"):
        rebuild_into(LogReader(store, one_thread()), MemoryStore(), Wishes(), FakeAmbient())


def test_a_log_of_which_nothing_can_be_read_may_be_rebuilt_elsewhere() -> None:
    damaged = {version_key(0): b"{", version_key(1): b"", state_key(1): b"Obj", checkpoint_key(1): b"x", POINTER: b"?"}
    store = stored({"a.parquet": rows(), **damaged})
    target = MemoryStore()
    result = rebuild_into(LogReader(store, one_thread()), target, Wishes(), FakeAmbient())
    assert (result.valid_splits, result.ignored["log"]) == (1, 5)
    assert [info.key for info in target.list()] == [f"{0:020d}.json", f"{1:020d}.json"]


def test_a_target_that_is_not_empty_is_refused() -> None:
    store = stored({"a.parquet": rows(), POINTER: b"?"})
    with pytest.raises(TableExists, match="_last_checkpoint"):
        rebuilt(store)


def test_a_store_that_doesn_t_answer_counts_as_no_damage() -> None:
    table = new_table()
    store = FaultyStore(table.store, on("get", Fault.REFUSED, key=version_key(0)))
    with pytest.raises(StoreError):
        rebuild_into(LogReader(store, one_thread()), MemoryStore(), Wishes(), FakeAmbient())


def test_without_a_file_there_is_nothing_to_rebuild() -> None:
    with pytest.raises(TableNotFound, match="no Parquet file"):
        rebuilt(stored({"readme.txt": b"hello"}))


def test_a_dry_run_tells_the_same_and_writes_nothing() -> None:
    files = {"day=1/a.parquet": rows(), "day=2/b.parquet": rows(), "notes.txt": b"-", "bad.parquet": b"-"}
    store = stored(files)
    before = {info.key for info in store.list()}
    dry = rebuilt(store, dry_run=True)
    assert {info.key for info in store.list()} == before
    real = rebuilt(store)
    assert (dry.status, real.status) == ("DRY_RUN", "PARTIAL_SUCCESS")
    assert (dry.schema_string, dry.partition_columns, dry.ignored, dry.damage, dry.valid_splits) == (
        real.schema_string,
        real.partition_columns,
        real.ignored,
        real.damage,
        real.valid_splits,
    )


def test_files_that_don_t_go_together_leave_nothing_behind() -> None:
    store = stored({"a.parquet": rows(), "b.parquet": rows(id=pa.array(["text"]))})
    with pytest.raises(InvalidInput, match=r"long in a\.parquet and string in b\.parquet"):
        rebuilt(store)
    assert [info.key for info in store.list()] == ["a.parquet", "b.parquet"]


def test_a_death_at_any_step_leaves_the_whole_table_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headgate_table.indextables.repair.new_log.ADDS_PER_VERSION", 2)
    files = {f"{name}.parquet": rows() for name in "abcde"}
    finished = 0
    for death in deaths(lambda: stored(files), rebuilt):
        try:
            paths = table_of(death.store).snapshot().paths()
        except (TableNotFound, CorruptTable):
            continue
        finished += 1
        assert paths == list(files), death.step
    assert finished == 1  # after the effect of the last step, and no earlier


def test_nothing_is_written_before_every_file_was_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headgate_table.indextables.repair.new_log.ADDS_PER_VERSION", 1)
    store = FaultyStore(stored({f"{name}.parquet": rows() for name in "abcde"}))
    rebuilt(store)
    order = [step.operation for step in store.steps if step.operation in ("get_range", "create")]
    assert order == ["get_range"] * 5 + ["create"] * 6


def test_of_two_at_the_same_place_one_gives_up_before_it_has_written(monkeypatch: pytest.MonkeyPatch) -> None:
    store = stored({"a.parquet": rows(), "b.parquet": rows()})

    class Meanwhile(InLog):
        def create(self, key: str, data: bytes) -> Any:
            if not list(store.list(f"{LOG}/")):
                rebuild_into(LogReader(store, one_thread()), InLog(store), Wishes(), FakeAmbient("other"))
            return super().create(key, data)

    with pytest.raises(TableExists, match="another program"):
        rebuild_into(LogReader(store, one_thread()), Meanwhile(store), Wishes(), FakeAmbient("this"))
    assert table_of(store).snapshot().paths() == ["a.parquet", "b.parquet"]


def test_a_lost_answer_is_asked_for_again() -> None:
    store = FaultyStore(stored({"a.parquet": rows()}), on("create", Fault.LOST_ANSWER, times=2))
    rebuilt(store)
    assert table_of(store).snapshot().paths() == ["a.parquet"]
