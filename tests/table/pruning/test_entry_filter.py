"""Masks over tables of entries, the columns they need, and texts to look for in undecoded blocks."""

from collections.abc import Mapping

import pyarrow as pa
import pytest

from headgate_schemas.columns.column_kinds import ColumnKind
from headgate_schemas.errors import PredicateError
from headgate_schemas.predicates.text import parse_predicate
from headgate_table.indextables.read.entry_filter import candidate_texts, columns_needed, entry_mask

K = ColumnKind
KINDS = {"day": K.DATE, "region": K.STRING, "hour": K.INTEGER, "id": K.INTEGER, "name": K.STRING, "tags": K.OTHER}
PARTITIONED_BY = ["day", "region", "hour"]


MAP = pa.map_(pa.string(), pa.string())
Row = Mapping[str, Mapping[str, str] | None]


def entries(*rows: Row) -> pa.Table:
    def column(name: str) -> pa.Array:
        maps = [row.get(name) for row in rows]
        return pa.array([None if each is None else list(each.items()) for each in maps], MAP)

    return pa.table({name: column(name) for name in ("partition_values", "min_values", "max_values")})


def mask(where: str, table: pa.Table) -> list[bool]:
    found: list[bool] = entry_mask(parse_predicate(where), table, KINDS, PARTITIONED_BY).to_pylist()
    return found


def partitions(*rows: dict[str, str]) -> pa.Table:
    return entries(*({"partition_values": row} for row in rows))


def statistics(low: str | None, high: str | None, column: str = "id") -> pa.Table:
    return entries(
        {
            "partition_values": {},
            "min_values": None if low is None else {column: low},
            "max_values": None if high is None else {column: high},
        }
    )


def test_a_partition_column_decides_exactly() -> None:
    table = partitions({"day": "2024-01-01"}, {"day": "2024-01-02"}, {})
    assert mask("day = '2024-01-02'", table) == [False, True, False]


def test_partition_columns_of_several_chunks_are_one_column() -> None:
    table = pa.concat_tables(
        [partitions({"region": "eu"}), partitions(), partitions({"region": "us"}, {"region": "eu"})]
    )
    assert mask("region = 'eu'", table) == [True, False, True]


def test_and_or_and_not_combine_partition_columns() -> None:
    table = partitions({"region": "eu", "hour": "01"}, {"region": "us", "hour": "1"}, {"region": "ap", "hour": "2"})
    assert mask("hour = 1 AND NOT region = 'us' OR region = 'ap'", table) == [True, False, True]


def test_a_data_column_keeps_what_may_match() -> None:
    assert mask("id = 5", statistics("1", "9")) == [True]
    assert mask("id = 10", statistics("1", "9")) == [False]


@pytest.mark.parametrize(("low", "high"), [(None, "9"), ("1", None), (None, None)])
def test_a_missing_statistic_keeps_the_entry(low: str | None, high: str | None) -> None:
    assert mask("id = 100", statistics(low, high)) == [True]


def test_a_data_column_and_a_partition_column_work_together() -> None:
    table = entries(
        {"partition_values": {"region": "eu"}, "min_values": {"id": "1"}, "max_values": {"id": "5"}},
        {"partition_values": {"region": "eu"}, "min_values": {"id": "6"}, "max_values": {"id": "9"}},
        {"partition_values": {"region": "us"}, "min_values": {"id": "6"}, "max_values": {"id": "9"}},
    )
    assert mask("region = 'eu' AND id > 5", table) == [False, True, False]


def test_statistics_of_a_partition_column_are_ignored() -> None:
    row = {"partition_values": {"hour": "5"}, "min_values": {"hour": "1"}, "max_values": {"hour": "2"}}
    assert mask("hour = 5", entries(row)) == [True]


def test_a_data_column_of_a_nested_type_keeps_everything() -> None:
    assert mask("tags = 'x'", statistics("a", "b", column="tags")) == [True]


def test_constants_fill_the_mask() -> None:
    table = partitions({}, {})
    assert mask("TRUE", table) == [True, True]
    assert mask("FALSE", table) == [False, False]


def test_an_empty_table_has_an_empty_mask() -> None:
    assert mask("region = 'eu' AND id = 1", entries()) == []


def test_an_unknown_column_is_refused() -> None:
    with pytest.raises(PredicateError, match="no column 'nope'"):
        mask("nope = 1", partitions({}))


@pytest.mark.parametrize(
    ("where", "needed"),
    [
        ("region = 'eu'", {"partition_values"}),
        ("id = 1", {"min_values", "max_values"}),
        ("region = 'eu' OR id = 1", {"partition_values", "min_values", "max_values"}),
        ("TRUE", set()),
    ],
)
def test_only_the_columns_that_a_predicate_reads_are_needed(where: str, needed: set[str]) -> None:
    assert columns_needed(parse_predicate(where), PARTITIONED_BY) == needed


@pytest.mark.parametrize(
    ("where", "texts"),
    [
        ("region = 'eu'", (b"eu",)),
        ("region = 'a:b c'", (b"a%3Ab c", b"a%3Ab%20c", b"a:b c")),
        ("day IN ('2024-01-01', '2024-01-02')", (b"2024-01-01", b"2024-01-02")),
        ("region = 'eu' AND hour > 5 AND id = 1", (b"eu",)),
        ("region IN ('eu', 'us') AND day = '2024-01-01'", (b"2024-01-01",)),
        ("region = 'eu' OR day = '2024-01-01'", (b"2024-01-01", b"eu")),
        ("NOT region <> 'eu'", (b"eu",)),
        ("region = '\u00e9'", ("\u00e9".encode(),)),
        ("region = ''", ()),
        ("FALSE", ()),
        ("region = 'eu' OR hour = 5", None),
        ("hour = 5", None),
        ("name = 'x'", None),
        ("region > 'eu'", None),
        ("region <> 'eu'", None),
        ("region LIKE 'eu%'", None),
        ("region IS NULL", None),
        ("TRUE", None),
    ],
)
def test_the_texts_that_a_match_must_hold(where: str, texts: tuple[bytes, ...] | None) -> None:
    assert candidate_texts(parse_predicate(where), KINDS, PARTITIONED_BY) == texts


def test_too_many_texts_are_not_worth_looking_for() -> None:
    many = ", ".join(f"'{number}'" for number in range(1000))
    assert candidate_texts(parse_predicate(f"region IN ({many})"), KINDS, PARTITIONED_BY) is None
