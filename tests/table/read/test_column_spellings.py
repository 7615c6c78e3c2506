"""Columns that differ in case, or in how a letter is composed, are one column: no table gets both, and no file is read wrong."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate_schemas.columns.column_names import name_key
from headgate_schemas.messages.operations import Alter, Committed, Create, RejectCode, Rejected
from headgate_table.errors import CorruptTable
from headgate_table.indextables.log.reader import LogReader
from headgate_table.indextables.write.create import create_table
from headgate_table.store.local.store import LocalStore
from headgate_table.table import Table
from pyspark_headgate.executor import stored_names as on_executors
from pyspark_headgate.executor.arrow_store import StorePlace
from pyspark_headgate.executor.file_rows import FileRows, UnreadableFile
from support.committing.rig import TABLE, Rig
from support.logs.strangers_adds import added_elsewhere
from support.parquet import parquet
from support.tables import SteadyAmbient, fresh_resources, opened

E_ACUTE, E_AND_ACUTE = "caf\u00e9", "cafe\u0301"
TWINS = [
    ("x", "X"),
    (E_ACUTE, E_ACUTE.upper()),
    (E_ACUTE, E_AND_ACUTE),
    ("stra\u00dfe", "STRASSE"),
    ("\u03c3", "\u03c2"),
]

Schema = list[dict[str, Any]]
Rows = Sequence[Mapping[str, Any]]


def _field(name: str, type_: object = "long") -> dict[str, Any]:
    return {"name": name, "type": type_, "nullable": True, "metadata": {}}


def _struct(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "struct", "fields": list(fields)}


def _text(*fields: dict[str, Any]) -> str:
    return json.dumps(_struct(*fields))


@pytest.mark.parametrize(("one", "other"), TWINS)
@pytest.mark.parametrize("inside", [False, True], ids=["at the top", "inside"])
def test_a_proposed_table_with_both_is_refused(one: str, other: str, inside: bool) -> None:
    """Break: only `Table.create` and the producer look at the names; whoever writes the message himself is believed."""
    both = (_field(one), _field(other))
    schema = _text(_field("id"), _field("s", _struct(*both))) if inside else _text(*both)
    rig = Rig(create=False)
    proposal = rig.propose(Create(schema))
    committer = rig.committer()
    rig.settle(committer)
    receipt = rig.receipts().get(proposal)
    assert receipt is None or isinstance(receipt, Rejected)
    (letter,) = rig.dead_letters()
    assert repr(other) in letter.reason
    assert not list(rig.stores[TABLE].list())


@pytest.mark.parametrize(("one", "other"), TWINS)
@pytest.mark.parametrize("inside", [False, True], ids=["at the top", "inside"])
def test_an_alter_that_would_give_a_table_both_is_refused(one: str, other: str, inside: bool) -> None:
    rig = Rig(create=False)
    rig.propose(Create(_text(_field("id"), _field(one))))
    committer = rig.committer()
    rig.settle(committer)
    rig.receipts()
    new = _field("s", _struct(_field(one), _field(other))) if inside else _field(other)
    alter = Alter(0, schema_string=_text(_field("id"), _field(one), new))
    proposal = rig.propose(alter)
    rig.settle(committer)
    directly = rig.table().commit(alter)
    for receipt in (rig.receipts()[proposal], directly):
        assert isinstance(receipt, Rejected), receipt
        assert receipt.code is RejectCode.SCHEMA_CHANGE
        assert repr(other) in receipt.reason


def test_of_two_that_add_one_column_in_two_spellings_at_once_one_is_refused() -> None:
    rig = Rig(create=False)
    rig.propose(Create(_text(_field("id"))))
    committer = rig.committer()
    rig.settle(committer)
    rig.receipts()
    first = rig.propose(Alter(0, schema_string=_text(_field("id"), _field("x"))))
    second = rig.propose(Alter(0, schema_string=_text(_field("id"), _field("X"))))
    rig.settle(committer)
    again = rig.propose(Alter(1, schema_string=_text(_field("id"), _field("x"), _field("X"))))
    rig.settle(committer)
    receipts = rig.receipts()
    assert isinstance(receipts[first], Committed)
    assert [getattr(receipts[each], "code", None) for each in (second, again)] == [
        RejectCode.METADATA_CHANGED,
        RejectCode.SCHEMA_CHANGE,
    ]


# ---- files of others


def _table(folder: Path, columns: Schema, *files: pa.Table) -> Table:
    """A table into which another program has put these files."""
    store = LocalStore(str(folder), SteadyAmbient())
    create_table(LogReader(store, fresh_resources()), SteadyAmbient(), Create(_text(_field("id"))))
    body = {"id": "other", "format": {"provider": "parquet", "options": {}}, "schemaString": _text(*columns)}
    meta = {"metaData": {**body, "partitionColumns": [], "configuration": {}}}
    store.put("_transaction_log/00000000000000000001.json", json.dumps(meta).encode())
    for number, rows in enumerate(files):
        data = parquet(rows)
        store.put(f"{number}.parquet", data)
        added_elsewhere(store, number + 2, f"{number}.parquet", len(data))
    return opened(store)


def _scanned(table: Table, where: str | None = None) -> Rows:
    rows: Rows = table.snapshot().scan(None, where).read_all().to_pylist()
    return rows


def _on_executors(table: Table, where: str | None = None) -> Rows:
    snapshot = table.snapshot()
    schema = snapshot.scan().schema
    store = table.store
    assert isinstance(store, LocalStore)
    slices = pa.table(
        {"path": snapshot.paths(), "start": [0] * snapshot.num_files, "end": [2**62] * snapshot.num_files}
    )
    reader = FileRows(table.uri, StorePlace("local", store.uri), schema, tuple(schema.names))
    rows: Rows = pa.Table.from_batches(reader.read(slices), schema).to_pylist()
    return rows


READERS = pytest.mark.parametrize("read", [_scanned, _on_executors], ids=["scan", "executors"])
Read = Callable[[Table], Rows]


@READERS
@pytest.mark.parametrize(("one", "other"), TWINS)
def test_a_file_that_spells_a_column_otherwise_is_read_by_it(tmp_path: Path, read: Read, one: str, other: str) -> None:
    """Break: names are compared letter by letter, and the column is null in silence."""
    columns = [_field("id"), _field(one)]
    table = _table(tmp_path, columns, pa.table({"id": [1], other: [10]}), pa.table({"id": [2], one: [20]}))
    assert read(table) == [{"id": 1, one: 10}, {"id": 2, one: 20}]


def test_a_condition_finds_the_rows_of_a_file_that_spells_its_column_otherwise(tmp_path: Path) -> None:
    table = _table(tmp_path, [_field("id"), _field("x")], pa.table({"id": [1, 2], "X": [10, 20]}))
    assert _scanned(table, "x = 20") == [{"id": 2, "x": 20}]
    assert _scanned(table, "x IS NULL") == []


@READERS
def test_a_file_with_two_spellings_of_a_column_is_refused_by_name(tmp_path: Path, read: Read) -> None:
    table = _table(tmp_path, [_field("id"), _field("colour")], pa.table({"id": [1], "Colour": [1], "COLOUR": [2]}))
    with pytest.raises((CorruptTable, UnreadableFile), match=r"0\.parquet .*'Colour' and 'COLOUR'"):
        read(table)


@READERS
def test_a_field_inside_that_is_spelled_otherwise_is_refused_by_name(tmp_path: Path, read: Read) -> None:
    """Break: Arrow's cast makes it null."""
    columns = [_field("id"), _field("s", _struct(_field("a"), _field("b")))]
    table = _table(tmp_path, columns, pa.table({"id": [1], "s": [{"A": 1, "b": 2}]}))
    with pytest.raises((CorruptTable, UnreadableFile), match=r"0\.parquet .*spells the field 'a' as 'A'"):
        read(table)


@READERS
def test_tables_of_others_that_have_both_are_read_by_their_letters(tmp_path: Path, read: Read) -> None:
    columns = [_field("x"), _field("X")]
    table = _table(tmp_path, columns, pa.table({"x": [1], "X": [2]}), pa.table({"x": [3]}))
    assert read(table) == [{"x": 1, "X": 2}, {"x": 3, "X": None}]


@given(st.text(max_size=6), st.text(max_size=6))
def test_executors_know_names_as_everybody_does(one: str, other: str) -> None:
    assert on_executors.name_key(one) == name_key(one)
    assert (on_executors.name_key(one) == on_executors.name_key(other)) == (name_key(one) == name_key(other))


@given(st.text(max_size=6))
def test_a_name_is_the_same_in_every_case_and_composition(name: str) -> None:
    assert name_key(name.casefold()) == name_key(name)
    assert name_key(name_key(name)) == name_key(name)
