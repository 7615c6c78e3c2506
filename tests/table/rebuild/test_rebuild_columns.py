"""REPAIR where nothing of a log is left: the columns of the table."""

import pyarrow as pa
import pytest

from headgate_schemas.columns.spark_types import Atomic
from headgate_schemas.errors import InvalidInput
from headgate_table.indextables.repair.rebuild import Wishes
from support.logs.rebuilding import rebuilt, rows, stored, table_of, types_of


def test_a_column_that_came_later_is_nullable_and_reads_as_null() -> None:
    required = pa.schema([pa.field("id", pa.int64(), nullable=False)])
    later = pa.schema([*required, pa.field("text", pa.string(), nullable=False)])
    store = stored(
        {
            "a.parquet": pa.table({"id": [1]}, schema=required),
            "b.parquet": pa.table({"id": [2], "text": ["x"]}, schema=later),
        }
    )
    rebuilt(store)
    table = table_of(store)
    assert [row["text"] for row in table.snapshot().scan().read_all().to_pylist()] == [None, "x"]
    assert ['"nullable":false' in part for part in table.metadata.schema_string.split("},{")] == [True, False]


def test_types_are_widened_so_that_every_file_still_reads() -> None:
    wide = pa.table(
        {
            "whole": pa.array([2**40]),
            "real": pa.array([0.1], pa.float64()),
            "price": pa.array([None], pa.decimal128(12, 4)),
            "place": pa.array([{"x": 2**40, "y": 1}]),
            "tags": pa.array([[2**40]]),
            "nothing": pa.array(["text"]),
        }
    )
    narrow = pa.table(
        {
            "whole": pa.array([1], pa.int8()),
            "real": pa.array([3], pa.int32()),
            "price": pa.array([5], pa.int32()),
            "place": pa.array([{"x": 7}], pa.struct([pa.field("x", pa.int32())])),
            "tags": pa.array([[8]], pa.list_(pa.int16())),
            "nothing": pa.nulls(1),
        }
    )
    store = stored({"a.parquet": narrow, "b.parquet": wide})
    rebuilt(store)
    table = table_of(store)
    assert dict(types_of(table)) == {
        "whole": "long",
        "real": "double",
        "price": "decimal(14,4)",
        "place": "struct",
        "tags": "array",
        "nothing": "string",
    }
    first, second = table.snapshot().scan().read_all().to_pylist()
    assert (first["whole"], first["real"], int(first["price"]), first["place"], first["tags"], first["nothing"]) == (
        *(1, 3.0, 5, {"x": 7, "y": None}, [8]),
        None,
    )
    assert (second["whole"], second["place"], second["tags"]) == (2**40, {"x": 2**40, "y": 1}, [2**40])


def test_bounds_of_a_narrower_file_still_find_its_rows() -> None:
    store = stored(
        {"a.parquet": rows(x=pa.array([5, 7], pa.int32())), "b.parquet": rows(x=pa.array([8.5, 9.5], pa.float64()))}
    )
    rebuilt(store)
    snapshot = table_of(store).snapshot(where="x = 7")
    assert snapshot.paths() == ["a.parquet"]


def test_a_given_schema_decides_where_files_contradict_each_other() -> None:
    store = stored({"a.parquet": rows(x=pa.array([1])), "b.parquet": rows(x=pa.array([2.5]))})
    rebuilt(
        store,
        Wishes(schema_string='{"type":"struct","fields":[{"name":"x","type":"double","nullable":true,"metadata":{}}]}'),
    )
    assert [row["x"] for row in table_of(store).snapshot().scan().read_all().to_pylist()] == [1.0, 2.5]


def test_a_column_that_no_table_holds_may_be_left_out_of_a_given_schema() -> None:
    store = stored({"a.parquet": rows(id=pa.array([1]), at=pa.array([0], pa.time64("us")))})
    with pytest.raises(InvalidInput, match="time of day"):
        rebuilt(store)
    given = '{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}}]}'
    result = rebuilt(store, Wishes(schema_string=given))
    assert table_of(store).snapshot().scan().read_all().to_pylist() == [{"id": 1}]
    assert any("'at' (a.parquet)" in note for note in result.notes)


def test_a_schema_and_types_beside_it_are_one_too_many() -> None:
    with pytest.raises(InvalidInput, match="one of the two"):
        Wishes(schema_string="{}", partition_types={"a": Atomic("long")})
