"""Which tables a query names, and what it asks of each: only where a text stands in the place of a table, and only what is safe to skip by."""

import pytest

from headgate.query.conditions import conditions_of
from headgate.query.table_names import NamedTable, parse_query
from headgate_schemas.columns.column_kinds import kinds_of
from headgate_schemas.columns.table_schema import column_kinds, schema_string_of
from headgate_schemas.errors import InvalidInput
from headgate_schemas.predicates.format import format_predicate

KINDS = kinds_of(
    column_kinds(
        schema_string_of("id BIGINT, x DOUBLE, name STRING, day DATE, at TIMESTAMP, ok BOOLEAN, c DECIMAL(9,2)")
    )
)

NAMED = [
    ("SELECT * FROM 'a/b'", "SELECT * FROM headgate_1", [("a/b", None, None)]),
    ("SELECT 'x' AS y, id FROM 'a' e WHERE name = 'it''s'", "SELECT 'x' AS y, id FROM headgate_1 e WHERE name = 'it''s'", [("a", None, None)]),
    ("SELECT * FROM 'a' VERSION AS OF 7 e", "SELECT * FROM headgate_1 e", [("a", 7, None)]),
    ("select * from 'a' for timestamp as of '2024-01-01' where id = 1", "select * from headgate_1 where id = 1", [("a", None, "2024-01-01")]),
    ("SELECT * FROM 'a' x, 'b' y JOIN 'c' z ON x.id = z.id", "SELECT * FROM headgate_1 x, headgate_2 y JOIN headgate_3 z ON x.id = z.id", [("a", None, None), ("b", None, None), ("c", None, None)]),
    ("SELECT * FROM ('a' x JOIN 'b' y USING (id))", "SELECT * FROM (headgate_1 x JOIN headgate_2 y USING (id))", [("a", None, None), ("b", None, None)]),
    ("WITH w AS (SELECT id FROM 'a') SELECT * FROM w, 'b'", "WITH w AS (SELECT id FROM headgate_1) SELECT * FROM w, headgate_2", [("a", None, None), ("b", None, None)]),
    ("SELECT extract(day FROM '2024-01-01'), trim(BOTH 'x' FROM 'xax') FROM 'a'", "SELECT extract(day FROM '2024-01-01'), trim(BOTH 'x' FROM 'xax') FROM headgate_1", [("a", None, None)]),
    ("SELECT id FROM 'a' WHERE name IN ('x', 'y') UNION ALL SELECT id FROM 'a'", "SELECT id FROM headgate_1 WHERE name IN ('x', 'y') UNION ALL SELECT id FROM headgate_2", [("a", None, None), ("a", None, None)]),
    ("SELECT id FROM 'a' ORDER BY 1, 'z'", "SELECT id FROM headgate_1 ORDER BY 1, 'z'", [("a", None, None)]),
    ("SELECT (SELECT max(id) FROM 'a') FROM 'b' -- 'c'", "SELECT (SELECT max(id) FROM headgate_1) FROM headgate_2 -- 'c'", [("a", None, None), ("b", None, None)]),
    ('SELECT * FROM "s3://lake/events";', "SELECT * FROM headgate_1", [("s3://lake/events", None, None)]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "rewritten", "tables"), NAMED, ids=lambda each: each[:40] if isinstance(each, str) else ""
)
def test_addresses_are_found_in_the_places_of_tables_and_nowhere_else(
    text: str, rewritten: str, tables: list[tuple[str, int | None, str | None]]
) -> None:
    query = parse_query(text)
    assert query.text == rewritten
    assert list(query.tables) == [NamedTable(f"headgate_{number}", *table) for number, table in enumerate(tables, 1)]


REFUSED = [
    ("", "begins with SELECT or WITH"),
    ("DELETE FROM 'a'", "begins with SELECT or WITH, and only reads"),
    ("SELECT 1", "names no table; write its address in quotes"),
    ("SELECT * FROM events", "names no table"),
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
        parse_query(text)


def asked(text: str) -> dict[str, str]:
    query = parse_query(text)
    found = conditions_of(query.text, {table.name: KINDS for table in query.tables})
    return {name.removeprefix("headgate_"): format_predicate(predicate) for name, predicate in found.items()}


TAKEN = [
    ("id = 1 AND name > 'a'", "id = 1 AND name > 'a'"),
    ("day = DATE '2024-01-01'", "day = '2024-01-01'"),
    ("day BETWEEN '2024-01-01' AND '2024-01-31'", "day >= '2024-01-01' AND day <= '2024-01-31'"),
    ("name IN ('a', 'b') OR id < -5", "name IN ('a', 'b') OR id < -5"),
    ("name LIKE 'ab%'", "name LIKE 'ab%'"),
    ("name IS NULL", "name IS NULL"),
    ("ok = true", "ok = TRUE"),
    ("c >= 1.25", "c >= 1.25BD"),
    ("NAME = 'a'", "name = 'a'"),
    ("(id = 1 AND upper(name) = 'A')", "id = 1"),
]


@pytest.mark.parametrize(("where", "predicate"), TAKEN, ids=lambda each: each[:30])
def test_conditions_that_each_row_has_to_meet_are_taken(where: str, predicate: str) -> None:
    found = asked(f"SELECT * FROM 'a' WHERE {where}")
    assert found == {"1": predicate}


@pytest.mark.parametrize(
    "where",
    [
        "id = '7'",  # whoever converts it decides what it means
        "name = 7",
        "id = x",
        "id + 1 = 2",
        "upper(name) = 'A' OR id = 1",
        "id IN (SELECT id FROM 'b')",
        "\"NAME\" = 'a'",
        "other = 1",
        "day = 19000",
        "name = at",
        "random() < 0.5",
    ],
)
def test_conditions_that_may_mean_something_else_to_the_engine_are_left_to_it(where: str) -> None:
    assert asked(f"SELECT * FROM 'a' WHERE {where}").get("1") is None


def test_each_table_of_an_inner_join_has_the_conditions_on_its_own_columns() -> None:
    found = asked(
        "SELECT * FROM 'a' x JOIN 'b' y ON x.id = y.id WHERE x.id = 1 AND y.name = 'b' AND x.id = y.id AND id = 5"
    )
    assert found == {"1": "id = 1", "2": "name = 'b'"}


@pytest.mark.parametrize("join", ["LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN"])
def test_outer_joins_have_none_since_a_row_that_is_missing_becomes_a_null(join: str) -> None:
    """Break: `WHERE y.id IS NULL` finds rows whose partner was skipped."""
    assert asked(f"SELECT * FROM 'a' x {join} 'b' y ON x.id = y.id WHERE y.id IS NULL AND x.id = 1") == {}


def test_a_condition_beside_a_subquery_belongs_to_its_own_select() -> None:
    found = asked("SELECT * FROM (SELECT * FROM 'a' WHERE id = 1) s WHERE name = 'x'")
    assert found == {"1": "id = 1"}
