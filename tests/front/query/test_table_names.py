"""Which tables a query names, and what it asks of each: as DataFusion understands it, and only what is safe to skip by."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from datafusion import SessionContext

import headgate
from headgate.query.catalog import empty_table, with_tables
from headgate.query.conditions import QueriedColumns, conditions_of
from headgate.query.running import run_query
from headgate.query.table_names import NamedTable, parse_query
from headgate_schemas.columns.table_schema import arrow_schema, schema_string_of
from headgate_schemas.errors import InvalidInput
from headgate_schemas.predicates.format import format_predicate

SCHEMA = arrow_schema(
    schema_string_of(
        "id BIGINT, x DOUBLE, f FLOAT, p FLOAT, name STRING, day DATE, at TIMESTAMP, local TIMESTAMP_NTZ, ok BOOLEAN, c DECIMAL(9,2)"
    )
)
A, B, C = (NamedTable(name) for name in "abc")

NAMED: list[tuple[str, list[NamedTable]]] = [
    ("SELECT * FROM 'a/b'", [NamedTable("a/b")]),
    ("SELECT 'x' AS y, id FROM 'a' e WHERE name = 'it''s'", [A]),
    ("SELECT * FROM 'a' VERSION AS OF 7 e", [NamedTable("a", 7)]),
    ("select * from 'a' for timestamp as of '2024-01-01' where id = 1", [NamedTable("a", None, "2024-01-01")]),
    ("SELECT x.id FROM 'a' VERSION AS OF 1 x, 'a' VERSION AS OF 2 y", [NamedTable("a", 1), NamedTable("a", 2)]),
    ("SELECT x.id FROM 'a' x, 'b' y JOIN 'c' z ON y.id = z.id", [A, B, C]),
    ("SELECT x.id FROM 'a' x, 'b' y, LATERAL (SELECT id FROM 'c') z", [A, B, C]),
    ("SELECT id FROM ('a' x JOIN 'b' y USING (id))", [A, B]),
    ("WITH w AS (SELECT id FROM 'a') SELECT w.id FROM w, 'b'", [A, B]),
    ("WITH \"a\" AS (SELECT id FROM 'b') SELECT id FROM \"a\"", [B]),
    ("WITH a AS (SELECT id FROM 'b') SELECT id FROM 'a'", [B]),
    ("SELECT extract(day FROM DATE '2024-01-01'), trim(BOTH 'x' FROM 'xax') FROM 'a'", [A]),
    ("SELECT id FROM 'a' WHERE substring('abc' FROM 2) = 'c' AND overlay('b' PLACING 'c' FROM 1) = 'c'", [A]),
    ("SELECT id FROM 'a' WHERE (name IS DISTINCT FROM 'b') AND (name IS NOT DISTINCT FROM 'c')", [A]),
    ("SELECT id FROM 'a' WHERE position('b' IN name) = 1 AND name IN ('b', 'c')", [A]),
    ("SELECT id FROM 'a' WHERE name IN ('b', 'c') UNION ALL SELECT id FROM 'a'", [A]),
    ("SELECT id FROM 'a' ORDER BY 1, 'b'", [A]),
    ("SELECT (SELECT max(id) FROM 'a') FROM 'b' -- FROM 'c'", [B, A]),
    ("SELECT id /* FROM 'b' */ FROM 'a' WHERE EXISTS (SELECT 1 FROM 'c')", [A, C]),
    ('SELECT "a/b".id FROM "a/b";', [NamedTable("a/b")]),
    ("SELECT id FROM 'it''s'", [NamedTable("it's")]),
]  # fmt: skip


def planned(text: str, schema: pa.Schema = SCHEMA) -> tuple[Any, list[NamedTable]]:
    query, found, context = parse_query(text), [], SessionContext()
    context.remove_optimizer_rule("common_sub_expression_eliminate")

    def find(name: str) -> Any:
        found.append(query.tables[name])
        return empty_table(schema)

    return with_tables(context, find, lambda: context.sql(query.text).optimized_logical_plan()), found


@pytest.mark.parametrize(("text", "tables"), NAMED, ids=lambda each: each[:50] if isinstance(each, str) else "")
def test_addresses_are_found_in_the_places_of_tables_and_nowhere_else(text: str, tables: list[NamedTable]) -> None:
    assert sorted(map(str, planned(text)[1])) == sorted(map(str, tables))


REFUSED = [
    ("", "begins with SELECT or WITH"),
    ("DELETE FROM 'a'", "begins with SELECT or WITH, and only reads"),
    ("SELECT 1", "names no table; write its address in quotes"),
    ("SELECT * FROM events", "names the table events without quotes"),
    ("SELECT * FROM 'a'; SELECT * FROM 'b'", "more than one query"),
    ("SELECT * FROM 'a' VERSION AS OF", "behind VERSION AS OF the query ends"),
    ("SELECT * FROM 'a' VERSION AS OF 1.5", "VERSION AS OF 1.5 is no version"),
    ("SELECT * FROM 'a' TIMESTAMP AS OF now", "TIMESTAMP AS OF now is no time"),
    ("SELECT * FROM 'a", "the query can't be read"),
    ("SELECT " + "1," * 600_000 + "1", "longer than 1000000"),
]


@pytest.mark.parametrize(("text", "told"), REFUSED, ids=lambda each: each[:30])
def test_what_is_no_query_is_refused_in_words(text: str, told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        run_query(text, headgate.Table.open)


def asked(text: str) -> dict[str, str]:
    columns = QueriedColumns(SCHEMA, ("p",))
    plan, tables = planned(text)
    found = conditions_of(plan, {each.uri: columns for each in tables})
    return {name: format_predicate(predicate) for name, predicate in found.items()}


TAKEN = [
    ("id = 1 AND name > 'a'", "id = 1 AND name > 'a'"),
    ("day = DATE '2024-01-01'", "day = DATE '2024-01-01'"),
    ("day = '2024-2-29'", "day = DATE '2024-02-29'"),
    ("day = '1969-12-31 12:00:00'", "day = DATE '1969-12-31'"),
    ("day BETWEEN '2024-01-01' AND '2024-01-31'", "day >= DATE '2024-01-01' AND day <= DATE '2024-01-31'"),
    ("name IN ('a', 'b', 'c', 'd') OR id < -5", "name IN ('a', 'b', 'c', 'd') OR id < -5"),
    ("name NOT IN ('a', 'b', 'c', 'd')", "name NOT IN ('a', 'b', 'c', 'd')"),
    ("name LIKE 'ab%'", "name LIKE 'ab%'"),
    ("name IS NULL", "name IS NULL"),
    ("ok = true", "ok = TRUE"),
    ("NOT ok", "ok = FALSE"),
    ("c >= 1.25", "c >= 1.25BD"),
    ("NAME = 'a'", "name = 'a'"),
    ("7 < id", "id > 7"),
    ("id = '7'", "id = 7"),
    ("(id = 1 AND upper(name) = 'A')", "id = 1"),
    ("at = '2024-01-01'", "at = TIMESTAMP '2024-01-01 00:00:00+00:00'"),
    ("x = 0.1", "x = 0.1D"),
    ("f = 0.1", "f = 0.1D"),
    ("f = CAST(0.1 AS FLOAT)", "f = 0.10000000149011612D"),
    ("f = 16777217", "f = 16777216.0D"),
    ("p > 0.1 AND p < 0.2", "p > 0.1D AND p < 0.2D"),
]


@pytest.mark.parametrize(("where", "predicate"), TAKEN, ids=lambda each: each[:30])
def test_conditions_that_each_row_has_to_meet_are_taken(where: str, predicate: str) -> None:
    assert asked(f"SELECT id FROM 'a' WHERE {where}") == {"a": predicate}
    assert asked(f"WITH w AS (SELECT *, 1 AS one FROM 'a') SELECT id FROM w WHERE one = 1 AND ({where})") == {
        "a": predicate
    }


@pytest.mark.parametrize(
    "where",
    [
        "name = day",
        "id = x",
        "id + 1 = 2",
        "upper(name) = 'A' OR id = 1",
        "id IN (1, NULL, 2, 3, 4)",
        "name LIKE 'a%b'",
        "name LIKE 'a_'",
        "x < 5",  # NaN has a sign, and DataFusion orders by it
        "x > 'NaN'",
        "f <> 0.1",
        "at = local",
        "1 = 1",
        "random() < 0.5",
    ],
)
def test_conditions_that_may_mean_something_else_to_the_engine_are_left_to_it(where: str) -> None:
    assert asked(f"SELECT id FROM 'a' WHERE {where}") == {}


def test_each_table_of_a_join_has_the_conditions_on_its_own_columns() -> None:
    found = asked("SELECT x.id FROM 'a' x JOIN 'b' y ON x.id = y.id WHERE x.name = 'a' AND y.name = 'b'")
    assert found == {"a": "name = 'a'", "b": "name = 'b'"}


@pytest.mark.parametrize("join", ["LEFT JOIN", "FULL JOIN", "LEFT ANTI JOIN"])
def test_a_missing_partner_is_no_reason_to_skip(join: str) -> None:
    """Break: `y.id IS NULL` finds rows whose partner was skipped."""
    columns = "x.name" if "ANTI" in join else "y.id"
    assert "b" not in asked(f"SELECT x.id FROM 'a' x {join} 'b' y ON x.id = y.id WHERE {columns} IS NULL")


def test_a_table_that_is_read_twice_has_either_condition() -> None:
    text = "SELECT id FROM 'a' WHERE id = 1 UNION ALL SELECT id FROM 'a' WHERE name = 'x'"
    assert asked(text) == {"a": "id = 1 OR name = 'x'"}
    assert asked("SELECT id FROM 'a' WHERE id = 1 UNION ALL SELECT id FROM 'a'") == {}
    assert asked("SELECT id FROM 'a' WHERE id = 1 AND id < (SELECT max(id) FROM 'a')") == {}


@pytest.fixture
def rows(tmp_path: Path) -> str:
    number = [0.1, 0.5, 16777216.0, 3.4028234663852886e38, float("nan"), 0.0, -0.0, None]
    rows = pa.table(
        {
            "id": range(8),
            "f": pa.array(number, pa.float32()),
            "p": pa.array(number, pa.float32()),
            "k": pa.array([1, 2, None, 4, 5, 6, 7, 8], pa.int64()),
            "day": pa.array([0, 1, 19782, 3, None, -1, 6, 7], pa.int32()).cast(pa.date32()),
        }
    )
    headgate.write(str(tmp_path / "t"), rows, partition_by=["p"], storage={"local.durable": "false"})
    return str(tmp_path / "t")


@pytest.mark.parametrize(
    ("where", "found"),
    [
        ("{f} > 0.1 AND {f} < 0.2", [0]),
        ("{f} <> 0.1 AND {f} < 1 AND {f} > 0", [0, 1]),
        ("{f} >= 0.10000000149011612 AND {f} < 0.4", [0]),
        ("{f} = 3.4028234663852886e38", [3]),
        ("{f} = 16777217", [2]),
        ("{f} IN (0.10000000149011612, 7)", [0]),
        ("{f} BETWEEN 0.1 AND 0.5", [0, 1]),
        ("{f} IN (0.1, 0.2, 0.3, 0.4, 0.5)", [1]),
        ("{f} = 0.0", [5, 6]),
        ("{f} > 1e38", [3, 4]),
        ("k NOT IN (1, 2, 4, 5, 6)", [6, 7]),
        ("NOT (k IN (1, 2, 4, 5, 6))", [6, 7]),
        ("day = '2024-2-29'", [2]),
        ("day = '1969-12-31 12:00:00'", [5]),
        ("(k IS DISTINCT FROM 1) AND ('x' IS NOT DISTINCT FROM 'x') AND k < 4", [1]),
        ("1 = 1 AND k = 1", [0]),
        ("NULL", []),
    ],
)
def test_rows_are_those_of_datafusion(rows: str, where: str, found: list[int]) -> None:
    """Break: a table skips by what literals mean elsewhere, or PyArrow filters rows in its own way."""
    for column in ("f", "p"):
        for text in (
            f"SELECT id FROM '{rows}' WHERE {where.format(f=column)}",
            f"SELECT id FROM (SELECT *, 1 AS one, 'tue' AS two FROM '{rows}') q WHERE one = 1 AND two = 'tue' AND ({where.format(f=column)})",
        ):
            batches = run_query(text, headgate.Table.open).batches()
            assert sorted(number for batch in batches for number in batch.column(0).to_pylist()) == found, text


def test_a_row_group_without_a_match_is_not_read(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    place = str(tmp_path / "t")
    table = headgate.Table.create(place, "id BIGINT", storage={"local.durable": "false"})
    pq.write_table(pa.table({"id": range(100)}), tmp_path / "t" / "a.parquet", row_group_size=10)
    table.append([headgate.DataFile.of_parquet("a.parquet", root=place)])
    [batch] = run_query(f"SELECT id FROM '{place}' WHERE id = 15", headgate.Table.open).batches()
    assert batch.column(0).to_pylist() == [15]
