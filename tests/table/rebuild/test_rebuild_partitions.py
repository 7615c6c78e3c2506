"""REPAIR where nothing of a log is left: partition columns, by the names of folders."""

import pyarrow as pa
import pytest

from headgate_schemas.columns.spark_types import Atomic
from headgate_schemas.errors import InvalidInput
from headgate_table.indextables.repair.rebuild import Wishes
from support.logs.rebuilding import partitions, rebuilt, rows, stored, table_of, types_of

NULL = "__HIVE_DEFAULT_PARTITION__"


def test_values_come_from_folders_unescaped() -> None:
    store = stored(
        {
            "name=a%3Ab/part%20one=x%2Fy/a.parquet": rows(),
            f"name={NULL}/part%20one=%C3%BC/b.parquet": rows(),
            "name=/part%20one=100%25/c.parquet": rows(),
        }
    )
    result = rebuilt(store)
    assert result.partition_columns == ("name", "part one")
    assert partitions(table_of(store)) == [
        {"name": NULL, "part one": "100%"},
        {"name": NULL, "part one": "ü"},
        {"name": "a:b", "part one": "x/y"},
    ]


def test_a_null_partition_reads_as_null_and_is_found_as_null() -> None:
    store = stored({f"day={NULL}/a.parquet": rows(), "day=2024-01-01/b.parquet": rows()})
    rebuilt(store)
    assert table_of(store).snapshot(where="day IS NULL").paths() == [f"day={NULL}/a.parquet"]


@pytest.mark.parametrize(
    ("values", "type_"),
    [
        (("1", "20", "-3"), "long"),
        (("1", NULL), "long"),
        (("0",), "long"),
        (("1", "01"), "string"),
        (("007",), "string"),
        (("99999999999999999999",), "string"),
        (("1.5",), "string"),
        (("true", "false"), "string"),
        (("2024-01-01", "2024-12-31"), "date"),
        (("2024-01-01", NULL), "date"),
        (("2024-01-01", "2024-13-01"), "string"),
        (("2024-01-01 00:00:00",), "string"),
        (("1", "2024-01-01"), "string"),
        ((NULL,), "string"),
    ],
)
def test_types_of_partition_columns_are_guessed_only_where_nothing_is_lost(values: tuple[str, ...], type_: str) -> None:
    store = stored({f"p={value}/{number}.parquet": rows() for number, value in enumerate(values)})
    rebuilt(store)
    assert types_of(table_of(store))["p"] == type_


def test_the_type_that_files_have_for_their_partition_column_is_taken_if_the_values_fit() -> None:
    held = {f"p={value}/a.parquet": rows(id=pa.array([1]), p=pa.array([value], pa.int16())) for value in (1, 2)}
    store = stored(held)
    rebuilt(store)
    assert dict(types_of(table_of(store))) == {"id": "long", "p": "short"}


def test_the_type_that_files_have_is_not_taken_if_a_value_doesn_t_fit() -> None:
    store = stored({"p=x/a.parquet": rows(id=pa.array([1]), p=pa.array([1]))})
    rebuilt(store)
    assert types_of(table_of(store))["p"] == "string"


def test_what_files_say_of_partition_columns_may_contradict_itself() -> None:
    store = stored(
        {
            "p=1/a.parquet": rows(id=pa.array([1]), p=pa.array([1])),
            "p=2/a.parquet": rows(id=pa.array([1]), p=pa.array(["2"])),
        }
    )
    rebuilt(store)
    assert types_of(table_of(store))["p"] == "long"


def test_a_given_type_is_taken_for_what_it_fits() -> None:
    store = stored({"month=05/a.parquet": rows(), "month=6/b.parquet": rows()})
    rebuilt(store, Wishes(partition_types={"month": Atomic("integer")}))
    assert table_of(store).snapshot(where="month = 5").paths() == ["month=05/a.parquet"]


@pytest.mark.parametrize(
    ("value", "type_"), [("x", "long"), ("300", "byte"), ("-200", "byte"), ("x", "date"), ("2", "boolean")]
)
def test_a_value_that_doesn_t_fit_a_given_type_is_refused_with_its_file(value: str, type_: str) -> None:
    store = stored({f"p={NULL}/a.parquet": rows(), f"p={value}/b.parquet": rows()})
    with pytest.raises(InvalidInput, match=rf"'{value}' for 'p' of p={value}/b\.parquet is no {type_}"):
        rebuilt(store, Wishes(partition_types={"p": Atomic(type_)}))


def test_a_type_for_what_is_no_partition_column_is_refused() -> None:
    with pytest.raises(InvalidInput, match="'q', which is no partition column; they are p"):
        rebuilt(stored({"p=1/a.parquet": rows()}), Wishes(partition_types={"q": Atomic("long")}))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("a=1/x.parquet", "b=1/x.parquet"),
        ("a=1/b=1/x.parquet", "a=2/x.parquet"),
        ("a=1/b=1/x.parquet", "b=1/a=1/x.parquet"),
        ("a=1/x.parquet", "x.parquet"),
        ("A=1/x.parquet", "a=1/x.parquet"),
    ],
)
def test_folders_that_disagree_are_refused_with_both(first: str, second: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        rebuilt(stored({first: rows(), second: rows()}))
    assert first in str(refused.value)
    assert second in str(refused.value)


def test_a_folder_that_says_a_column_twice_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"a=1/a=2/x\.parquet name the partition column 'a' twice"):
        rebuilt(stored({"a=1/a=2/x.parquet": rows()}))


def test_given_partition_columns_decide_what_a_folder_means() -> None:
    store = stored({"a=1/run=7/x.parquet": rows(), "run=8/a=2/x.parquet": rows()})
    rebuilt(store, Wishes(partition_columns=("a",)))
    table = table_of(store)
    assert (table.metadata.partition_columns, partitions(table)) == (("a",), [{"a": "1"}, {"a": "2"}])


def test_no_partition_columns_at_all_may_be_given() -> None:
    store = stored({"a=1/x.parquet": rows()})
    rebuilt(store, Wishes(partition_columns=()))
    assert (table_of(store).metadata.partition_columns, partitions(table_of(store))) == ((), [{}])


def test_a_file_without_a_value_for_a_given_partition_column_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"no folder of x\.parquet says the value of the partition column 'a'"):
        rebuilt(stored({"x.parquet": rows()}), Wishes(partition_columns=("a",)))


def test_a_partition_column_that_a_given_schema_lacks_is_refused() -> None:
    given = '{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}}]}'
    with pytest.raises(InvalidInput, match="can't be partitioned by 'a'"):
        rebuilt(stored({"a=1/x.parquet": rows()}), Wishes(schema_string=given))


def test_a_partition_column_that_files_hold_has_the_folder_s_value_and_no_bounds() -> None:
    store = stored({"p=1/a.parquet": rows(id=pa.array([5]), p=pa.array([9]))})
    rebuilt(store)
    (row,) = table_of(store).snapshot().files(("min_values",)).to_pylist()
    assert dict(row["min_values"]) == {"id": "5"}
    assert table_of(store).snapshot().scan().read_all().to_pylist() == [{"id": 5, "p": 1}]
