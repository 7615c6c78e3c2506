"""Files whose columns are not the table's are refused, as far as anybody has read their footers; what is taken can be read."""

import json
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from headgate_schemas.columns.table_schema import schema_string_of
from headgate_schemas.errors import InvalidInput
from headgate_schemas.messages.operations import (
    Append,
    Committed,
    Create,
    Operation,
    Overwrite,
    Receipt,
    RejectCode,
    Rejected,
    Rewrite,
)
from headgate_schemas.messages.proposals import decode_proposal, encode_proposal
from headgate_table.data_file import DataFile
from headgate_table.errors import CorruptTable
from headgate_table.indextables.log.reader import LogReader
from headgate_table.indextables.write.create import create_table
from headgate_table.parquet.file_schema import told_columns
from headgate_table.store.interface import Store
from headgate_table.table import Table
from support.committing.rig import TABLE, Rig
from support.logs.strangers_adds import added_elsewhere
from support.parquet import parquet
from support.stores.memory import MemoryStore
from support.tables import SteadyAmbient, add_file, fresh_resources, opened

Way = Callable[[str], tuple[Callable[[Operation], Receipt], Callable[[], Table], Store]]

SCHEMA = "id BIGINT NOT NULL, text STRING, small INT, day DATE, p STRING"


def _directly(schema: str) -> tuple[Callable[[Operation], Receipt], Callable[[], Table], Store]:
    store = MemoryStore(uri=TABLE)
    create_table(LogReader(store, fresh_resources()), SteadyAmbient(), Create(schema, ("p",)))
    return opened(store).commit, lambda: opened(store), store


def _coordinated(schema: str) -> tuple[Callable[[Operation], Receipt], Callable[[], Table], Store]:
    rig = Rig(create=False)
    rig.propose(Create(schema, ("p",)))
    committer = rig.committer()
    rig.settle(committer)

    def commit(operation: Operation) -> Receipt:
        proposal = rig.propose(operation)
        rig.settle(committer)
        return rig.receipts()[proposal]

    return commit, rig.table, rig.stores[TABLE]


WAYS = pytest.mark.parametrize("way", [_directly, _coordinated], ids=["directly", "coordinated"])


def _file(store: Store, rows: pa.Table, name: str = "a.parquet") -> DataFile:
    store.put(name, parquet(rows))
    return DataFile.of_parquet(name, store=store, partition_values={"p": "x"})


def _append(files: Sequence[DataFile]) -> Operation:
    return Append(tuple(files), told_columns(files))


def _overwrite(files: Sequence[DataFile]) -> Operation:
    return Overwrite(tuple(files), None, told_columns(files))


MISFITS = {
    "another type": (pa.table({"id": [1], "text": [1.5]}), "'text' is double"),
    "a wider type": (pa.table({"id": [1], "small": [1]}), "'small' is long"),
    "a text for a date": (pa.table({"id": [1], "day": ["2024-01-01"]}), "'day' is string"),
    "a column of its own": (pa.table({"id": [1], "more": [1]}), "'more'"),
    "another spelling": (pa.table({"id": [1], "TEXT": ["a"]}), "spells the table's column 'text' as 'TEXT'"),
    "two spellings": (pa.table({"id": [1], "text": ["a"], "TEXT": ["b"]}), "'text' and 'TEXT'"),
    "no column that is NOT NULL": (pa.table({"text": ["a"]}), "no column 'id'"),
    "nulls where the table has none": (pa.table({"id": [1, None]}), "'id' holds nulls"),
    "a time of day": (pa.table({"id": [1], "text": pa.array([1], pa.time64("us"))}), "'text' is of a type"),
}


@WAYS
@pytest.mark.parametrize("make", [_append, _overwrite])
@pytest.mark.parametrize("misfit", MISFITS)
def test_a_file_that_does_not_fit_the_table_is_refused_by_name(
    way: Way, make: Callable[[Sequence[DataFile]], Operation], misfit: str
) -> None:
    """Break: its footer was read for bounds, and nobody compares its columns; then every scan fails, or shows nulls."""
    rows, said = MISFITS[misfit]
    commit, table, store = way(schema_string_of(SCHEMA))
    receipt = commit(make([_file(store, rows)]))
    assert isinstance(receipt, Rejected), receipt
    assert receipt.code is RejectCode.SCHEMA_MISMATCH
    assert receipt.reason.startswith("a.parquet: ")
    assert said in receipt.reason
    assert table().snapshot().scan().read_all().num_rows == 0


@WAYS
def test_an_output_of_a_rewrite_must_fit_as_well(way: Way) -> None:
    commit, _, store = way(schema_string_of(SCHEMA))
    sources = [_file(store, pa.table({"id": [1]}), name) for name in ("a.parquet", "b.parquet")]
    commit(_append(sources))
    output = _file(store, pa.table({"id": [1, 2], "text": [1.5, 2.5]}), "ab.parquet")
    receipt = commit(Rewrite(("a.parquet", "b.parquet"), (output,), told_columns([output])))
    assert isinstance(receipt, Rejected), receipt
    assert receipt.code is RejectCode.SCHEMA_MISMATCH


@WAYS
def test_columns_that_may_be_null_may_be_missing_and_narrower_ones_are_read(way: Way) -> None:
    commit, table, store = way(schema_string_of(SCHEMA))
    rows = pa.table({"p": ["held"], "id": pa.array([7], pa.int16()), "text": pa.array(["a"]).dictionary_encode()})
    assert isinstance(commit(_append([_file(store, rows)])), Committed)
    expected = {"id": 7, "text": "a", "small": None, "day": None, "p": "x"}
    assert table().snapshot().scan().read_all().to_pylist() == [expected]


@pytest.mark.parametrize("misfit", MISFITS)
def test_whoever_reads_a_footer_with_the_schema_at_hand_is_told_at_once(tmp_path: Path, misfit: str) -> None:
    rows, said = MISFITS[misfit]
    (tmp_path / "a.parquet").write_bytes(parquet(rows))
    with pytest.raises(InvalidInput, match=said):
        DataFile.of_parquet("a.parquet", root=tmp_path, schema=SCHEMA, partition_columns=["p"])


@pytest.mark.parametrize("misfit", MISFITS)
def test_tables_and_producers_tell_what_footers_said(tmp_path: Path, misfit: str) -> None:
    """Break: the columns are read and left behind where an operation is made."""
    rows, _ = MISFITS[misfit]
    _, table, store = _directly(schema_string_of(SCHEMA))
    file = _file(store, rows)
    for receipt in (table().append([file]), table().overwrite([file])):
        assert isinstance(receipt, Rejected)
        assert receipt.code is RejectCode.SCHEMA_MISMATCH


def test_files_of_the_same_columns_are_told_of_once() -> None:
    store = MemoryStore()
    same = [_file(store, pa.table({"id": [number]}), f"{number}.parquet") for number in range(5)]
    with_nulls = _file(store, pa.table({"id": pa.array([None], pa.int64())}), "null.parquet")
    by_hand = add_file("by-hand")
    (told,) = told_columns([*same, by_hand, with_nulls])
    assert (told.path, json.loads(told.types), told.nulls) == ("0.parquet", [["id", "long"]], ("id",))
    assert told_columns([by_hand]) == ()


def test_columns_travel_with_a_proposal_and_old_proposals_have_none() -> None:
    store = MemoryStore()
    nested = pa.table({"id": [1], "s": [{"a": [1], "m": None}], "t": pa.array([1], pa.time64("us"))})
    for operation in (_append([_file(store, nested)]), _overwrite([_file(store, nested)])):
        proposal = Rig(create=False).proposal(operation)
        body = decode_proposal(encode_proposal(proposal)).operation
        assert body == proposal.operation
    plain = Rig(create=False).proposal(Append((add_file("a"),)))
    assert b"columns" not in encode_proposal(plain)


@WAYS
def test_columns_that_are_no_columns_are_invalid_and_stop_nothing(way: Way) -> None:
    from headgate_schemas.columns.file_columns import FileColumns

    commit, _, store = way(schema_string_of(SCHEMA))
    file = _file(store, pa.table({"id": [1]}))
    for text in ("", "{}", "[1]", '[["a"]]', '[["a","long",1]]', '[["a",{"type":"nosuch"}]]', "[" * 5_000):
        receipt = commit(Append((file,), (FileColumns("a.parquet", text),)))
        assert isinstance(receipt, Rejected), text
        assert receipt.code is RejectCode.INVALID
    assert isinstance(commit(_append([file])), Committed)


# ---- whatever is taken can be read

_VALUES: dict[pa.DataType, Sequence[Any]] = {
    pa.int8(): (-128, 127),
    pa.int16(): (-(2**15), 2**15 - 1),
    pa.int32(): (-(2**31), 2**31 - 1),
    pa.int64(): (-(2**63), 2**63 - 1, 2**53 + 1),
    pa.uint8(): (255,),
    pa.uint16(): (2**16 - 1,),
    pa.uint32(): (2**32 - 1,),
    pa.uint64(): (2**64 - 1,),
    pa.float32(): (3.4028234663852886e38, 0.5),
    pa.float64(): (1e308, 0.1),
    pa.bool_(): (True, False),
    pa.string(): ("a", "é", ""),
    pa.large_string(): ("a",),
    pa.binary(): (b"ascii",),
    pa.binary(3): (b"abc",),
    pa.date32(): (date(1, 1, 1), date(9999, 12, 31)),
    pa.date64(): (date(2024, 1, 1),),
    pa.timestamp("ms"): (datetime(2024, 1, 1, tzinfo=UTC),),
    pa.timestamp("us", "UTC"): (datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC)),
    pa.decimal128(5, 2): (Decimal("-999.99"), Decimal("0.01")),
    pa.decimal128(38, 10): (Decimal("9" * 28 + "." + "9" * 10),),
    pa.duration("us"): (1,),
    pa.null(): (None,),
}
_ATOMS = st.sampled_from(sorted(_VALUES, key=str))


@st.composite
def _types_with_values(drawn: st.DrawFn, depth: int = 2) -> tuple[pa.DataType, Any]:
    kind = drawn(st.sampled_from(("atom", "atom", "list", "struct", "map") if depth else ("atom",)))
    if kind == "atom":
        type_ = drawn(_ATOMS)
        return type_, drawn(st.sampled_from((*_VALUES[type_], None)))
    inner, value = drawn(_types_with_values(depth - 1))
    if kind == "list":
        return pa.list_(inner), drawn(st.sampled_from([[value], [], None]))
    if kind == "map":
        return pa.map_(pa.string(), inner), drawn(st.sampled_from([[("k", value)], None]))
    names = drawn(st.lists(st.sampled_from(("a", "b", "A")), min_size=1, max_size=2, unique_by=str.lower))
    return pa.struct([pa.field(name, inner) for name in names]), dict.fromkeys(names, value)


@given(_types_with_values(), _types_with_values())
@settings(max_examples=500)
def test_whatever_file_is_taken_can_be_read(stored: tuple[pa.DataType, Any], wanted: tuple[pa.DataType, Any]) -> None:
    """The largest and the smallest of each type, in tables of every other type: taken and read, or refused."""
    try:
        schema = schema_string_of(pa.schema([("id", pa.int64()), ("c", wanted[0]), ("p", pa.string())]))
        rows = pa.table({"id": [1], "c": pa.array([stored[1]], stored[0])})
        data = parquet(rows)
    except (InvalidInput, pa.ArrowNotImplementedError):
        assume(False)  # no table can have such a column, or no Parquet file such a value: there is nothing to take
    _, table, store = _directly(schema)
    store.put("a.parquet", data)
    file = DataFile.of_parquet("a.parquet", store=store, partition_values={"p": "x"})
    receipt = table().append([file])
    if isinstance(receipt, Committed):
        (row,) = table().snapshot().scan().read_all().to_pylist()
        assert (row["c"] is None) == (stored[1] is None)
        return
    assert isinstance(receipt, Rejected)
    assert receipt.code is RejectCode.SCHEMA_MISMATCH
    assert stored[0] != wanted[0]


def test_what_another_program_added_is_an_error_that_names_it() -> None:
    """Nobody asked it, so nobody could refuse; the rows of others stay readable, file by file."""
    _, table, store = _directly(schema_string_of(SCHEMA))
    store.put("a.parquet", parquet(pa.table({"id": [1], "text": [1.5]})))
    info = store.head("a.parquet")
    assert info is not None
    added_elsewhere(store, 1, "a.parquet", info.size, {"p": "x"})
    with pytest.raises(CorruptTable, match=r"a\.parquet"):
        table().snapshot().scan().read_all()


@pytest.mark.parametrize("misfit", MISFITS)
def test_verify_names_every_file_whose_columns_are_not_the_tables(misfit: str) -> None:
    """Break: it looks for the file and its size, and is content."""
    rows, said = MISFITS[misfit]
    _, table, store = _directly(schema_string_of(SCHEMA))
    for version, (name, held) in enumerate({"good.parquet": pa.table({"id": [1]}), "bad.parquet": rows}.items(), 1):
        data = parquet(held)
        store.put(name, data)
        added_elsewhere(store, version, name, len(data), {"p": "x"})
    report = table().verify()
    assert [finding.object for finding in report.findings] == ["bad.parquet"]
    assert said in report.findings[0].what
    assert report.errors == 1
    assert table().verify(data_files=False).errors == 0


def test_verify_names_a_partition_value_that_nobody_can_read() -> None:
    _, table, store = _directly(schema_string_of("id BIGINT, p INT"))
    data = parquet(pa.table({"id": [1]}))
    store.put("a.parquet", data)
    added_elsewhere(store, 1, "a.parquet", len(data), {"p": "1.0"})
    (finding,) = table().verify().findings
    assert finding.object == "a.parquet"
    assert "'1.0' for 'p' is no integer" in finding.what


def test_a_duration_is_read_as_the_whole_number_that_its_footer_says() -> None:
    """Break: a rebuilt table has the column, and no scan gets past its files."""
    _, table, store = _directly(schema_string_of("id BIGINT, took BIGINT, p STRING"))
    rows = pa.table({"id": [1], "took": pa.array([7], pa.duration("us"))})
    assert isinstance(table().append([_file(store, rows)]), Committed)
    assert table().snapshot().scan(["took"]).read_all().to_pylist() == [{"took": 7}]
