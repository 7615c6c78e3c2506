"""A partition value that its column's type can't hold is refused by everybody who adds files; what is taken can be read."""

import json
import math
from collections.abc import Callable
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate_schemas.actions.actions import AddFile
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
from headgate_table.errors import CorruptTable
from headgate_table.indextables.log.reader import LogReader
from headgate_table.indextables.write.create import create_table
from headgate_table.table import Table
from support.committing.rig import TABLE, Rig
from support.drawn.wicked_partitions import PARTITION_TYPES, WICKED_TEXTS
from support.logs.strangers_adds import added_elsewhere
from support.stores.memory import MemoryStore
from support.tables import SteadyAmbient, fresh_resources, opened

Way = Callable[[str, bool], tuple[Callable[[Operation], Receipt], Callable[[], Table], MemoryStore]]


def _schema(type_name: str, nullable: bool) -> str:
    fields = [
        {"name": "id", "type": "long", "nullable": True, "metadata": {}},
        {"name": "p", "type": type_name, "nullable": nullable, "metadata": {}},
    ]
    return json.dumps({"type": "struct", "fields": fields})


def _directly(
    type_name: str, nullable: bool
) -> tuple[Callable[[Operation], Receipt], Callable[[], Table], MemoryStore]:
    store = MemoryStore(uri=TABLE)
    create_table(
        LogReader(store, fresh_resources()),
        SteadyAmbient(),
        Create(_schema(type_name, nullable), partition_columns=("p",)),
    )
    return opened(store).commit, lambda: opened(store), store


def _coordinated(
    type_name: str, nullable: bool
) -> tuple[Callable[[Operation], Receipt], Callable[[], Table], MemoryStore]:
    rig = Rig(create=False)
    rig.propose(Create(_schema(type_name, nullable), ("p",)))
    committer = rig.committer()
    rig.settle(committer)

    def commit(operation: Operation) -> Receipt:
        proposal = rig.propose(operation)
        rig.settle(committer)
        return rig.receipts()[proposal]

    return commit, rig.table, rig.stores[TABLE]


WAYS = pytest.mark.parametrize("way", [_directly, _coordinated], ids=["directly", "coordinated"])


def _written(store: MemoryStore, name: str, text: str) -> AddFile:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"id": [1]}), sink)
    data = sink.getvalue().to_pybytes()
    store.put(name, data)
    return AddFile(path=name, partition_values={"p": text}, size=len(data), modification_time=0, num_records=1)


@WAYS
@pytest.mark.parametrize(
    "make", [lambda file: Append((file,)), lambda file: Overwrite((file,))], ids=["append", "overwrite"]
)
@pytest.mark.parametrize(
    ("type_name", "text"),
    [
        ("integer", "2147483648"),
        ("integer", " 1"),
        ("integer", "1.0"),
        ("integer", "١"),
        ("byte", "128"),
        ("date", "2024-1-1"),
        ("date", "2024-02-30"),
        ("boolean", "yes"),
        ("decimal(5,2)", "1.555"),
        ("decimal(5,2)", "1000"),
        ("timestamp", "noon"),
        ("decimal(5,2)", "1e999999999"),
        ("decimal(5,2)", "-1e-999999999"),
        ("float", "1e39"),
        ("double", "1e309"),
    ],
)
def test_a_value_that_its_column_can_not_hold_is_refused(
    way: Way, make: Callable[[AddFile], Operation], type_name: str, text: str
) -> None:
    """Break: it is accepted, and every scan of the table fails, or shows an infinity."""
    commit, table, store = way(type_name, True)
    receipt = commit(make(_written(store, "a.parquet", text)))
    assert isinstance(receipt, Rejected), receipt
    assert receipt.code is RejectCode.PARTITION_MISMATCH
    assert repr(text) in receipt.reason
    assert "a.parquet" in receipt.reason
    assert table().snapshot().scan().read_all().num_rows == 0


@WAYS
@pytest.mark.parametrize("text", ["", "__HIVE_DEFAULT_PARTITION__"])
def test_a_null_in_a_partition_column_that_is_not_null_is_refused(way: Way, text: str) -> None:
    commit, table, store = way("string", False)
    receipt = commit(Append((_written(store, "a.parquet", text),)))
    assert isinstance(receipt, Rejected), receipt
    assert receipt.code is RejectCode.PARTITION_MISMATCH
    assert table().snapshot().scan().read_all().num_rows == 0


@given(st.sampled_from(PARTITION_TYPES), st.sampled_from(WICKED_TEXTS) | st.text(max_size=8), st.booleans())
@settings(max_examples=400)
def test_what_is_taken_can_be_read_and_what_is_refused_could_not(type_name: str, text: str, nullable: bool) -> None:
    """The same file gets into the table anyway, by another program, to see that the refusal was right."""
    commit, table, store = _directly(type_name, nullable)
    add = _written(store, "a.parquet", text)
    match commit(Append((add,))):
        case Committed():
            assert table().snapshot().scan().read_all().num_rows == 1
        case Rejected(code, reason):
            assert code is RejectCode.PARTITION_MISMATCH, reason
            added_elsewhere(store, 1, add.path, add.size, {"p": text})
            try:
                (shown,) = table().snapshot().scan().read_all().column("p").to_pylist()
            except CorruptTable:
                return
            is_another = math.isinf(shown) or (type_name == "float" and Decimal(shown) != Decimal(text))
            assert is_another, f"{text!r} is read as {shown!r}"
        case other:
            raise AssertionError(other)


@pytest.mark.parametrize(
    ("text", "is_taken"),
    [
        *(
            (text, True)
            for text in ("0.1", "16777216", "-0.0", "1.17549435E-38", "1.4E-45", "3.4028235E38", "NaN", "0.002")
        ),
        *((text, False) for text in ("16777217", "1e-50", "0.30000000000000004", "16777216.5")),
    ],
)
def test_a_number_that_no_float_is_makes_no_partition_of_floats(text: str, is_taken: bool) -> None:
    """Break: a predicate compares the number as it is written, and a read shows another one."""
    commit, _, store = _directly("float", True)
    receipt = commit(Append((_written(store, "a.parquet", text),)))
    assert isinstance(receipt, Committed) is is_taken, receipt
    commit, _, store = _directly("double", True)
    assert isinstance(commit(Append((_written(store, "a.parquet", text),))), Committed)


@WAYS
def test_files_that_lie_in_a_strange_partition_already_can_be_merged_there(way: Way) -> None:
    """Another program may have stored a value that is none: whoever merges its files makes nothing worse."""
    commit, table, store = way("date", True)
    for number, name in enumerate(("a.parquet", "b.parquet"), 1):
        add = _written(store, name, "2024-1-1")
        added_elsewhere(store, number, add.path, add.size, add.partition_values)
    receipt = commit(Rewrite(("a.parquet", "b.parquet"), (_written(store, "ab.parquet", "2024-1-1"),)))
    assert isinstance(receipt, Committed), receipt
    assert table().snapshot().paths() == ["ab.parquet"]
