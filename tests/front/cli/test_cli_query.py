"""`headgate query`: SQL on rows, with time travel and joins, pruned, in every format, and reading only."""

import json
import math
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import headgate as product
from headgate.query.running import run_query
from headgate_table.table import Table
from support.processes.command_line import Headgate

NOT_DURABLE = {"local.durable": "false"}


@pytest.fixture
def events(tmp_path: Path) -> str:
    """Two versions: four days with ten rows each, then one row more. Some x are NaN."""
    uri = str(tmp_path / "events")
    rows = pa.table(
        {
            "id": pa.array(range(40), pa.int64()),
            "x": [math.nan if number % 10 == 0 else number / 4 for number in range(40)],
            "day": [f"d{number % 4}" for number in range(40)],
        }
    )
    product.write(uri, rows, partition_by=["day"], storage=NOT_DURABLE)
    product.write(uri, pa.table({"id": [100], "x": [1.5], "day": ["d0"]}), storage=NOT_DURABLE)
    return uri


def test_rows_are_counted_joined_and_read_at_versions(headgate: Headgate, events: str) -> None:
    ran = headgate("query", f"SELECT count(*) AS n FROM '{events}'", "--format", "json")
    assert ran.json == [{"n": 41}]
    ran = headgate("query", f"SELECT count(*) AS n FROM '{events}' VERSION AS OF 1", "--format", "json")
    assert ran.json == [{"n": 40}]
    joined = f"SELECT a.id FROM '{events}' a LEFT JOIN '{events}' VERSION AS OF 1 b ON a.id = b.id WHERE b.id IS NULL"
    assert headgate("query", joined, "--format", "csv").csv == [{"id": "100"}]


def test_the_column_of_an_expression_is_headed_by_the_words_of_the_query(headgate: Headgate, events: str) -> None:
    """Break: show the names that stand for tables in the plan."""
    ran = headgate(
        "query", f"SELECT count(DISTINCT id), max(e.x) FROM '{events}' AS e WHERE e.id < 0", "--format", "json"
    )
    assert list(ran.json[0]) == ["count(DISTINCT e.id)", "max(e.x)"]
    ran = headgate("query", f"SELECT count(DISTINCT id) FROM '{events}'", "--format", "json")
    assert ran.json == [{"count(DISTINCT id)": 41}]
    twice = f"SELECT max(a.id), max(b.id) FROM '{events}' a, '{events}' b"
    assert headgate("query", twice, "--format", "json").json == [{"max(a.id)": 100, "max(b.id)": 100}]


def test_a_table_for_people_is_the_default(headgate: Headgate, events: str) -> None:
    ran = headgate("query", f"SELECT id, day FROM '{events}' WHERE id IN (1, 100) ORDER BY id")
    assert (ran.code, ran.lines) == (0, [["id", "day"], ["1", "d1"], ["100", "d0"]])


def test_nan_is_above_all_numbers_as_everywhere(headgate: Headgate, events: str) -> None:
    """Break: conditions are handed on to PyArrow, to which NaN is no match."""
    ran = headgate("query", f"SELECT count(*) AS n FROM '{events}' WHERE x > 1000", "--format", "json")
    assert ran.json == [{"n": 4}]


def test_values_that_json_has_no_word_for_are_texts(headgate: Headgate, events: str) -> None:
    text = f"SELECT x, x / 0.0 AS y, [x] AS l, interval '1 day' AS i, DATE '2024-01-01' AS d FROM '{events}' WHERE id IN (0, 1) ORDER BY id"
    nan, one = json.loads(headgate("query", text, "--format", "json").out, parse_constant=pytest.fail)
    assert (nan["x"], nan["l"], one["x"], one["y"], one["d"]) == ("NaN", ["NaN"], 0.25, "Infinity", "2024-01-01")


def test_explain_shows_what_is_skipped_and_reads_no_row(headgate: Headgate, events: str) -> None:
    text = f"SELECT sum(id) FROM '{events}' WHERE day = 'd1' AND id > 5"
    ran = headgate("query", text, "--explain", "--format", "json")
    assert ran.json == [
        {
            "table": events,
            "version": 2,
            "where": "day = 'd1' AND id > 5",
            "files": 1,
            "files_skipped": 4,
            "manifests": 0,
            "manifests_skipped": 0,
        }
    ]
    assert "DatasetExec: number_of_fragments=1" in headgate("query", text, "--explain").err


def test_manifests_that_hold_no_match_are_not_read(headgate: Headgate, events: str) -> None:
    table = product.Table.open(events)
    table.checkpoint()
    product.write(events, pa.table({"id": [7], "x": [1.0], "day": ["e7"]}), storage=NOT_DURABLE)
    table.checkpoint()
    [told] = headgate("query", f"SELECT id FROM '{events}' WHERE day = 'e7'", "--explain", "--format", "json").json
    assert (told["manifests"], told["manifests_skipped"], told["files"]) == (2, 1, 1)


@pytest.mark.parametrize("form", ["parquet", "csv", "json"])
def test_a_result_goes_into_a_file_whose_name_says_its_format(
    headgate: Headgate, events: str, tmp_path: Path, form: str
) -> None:
    place = tmp_path / f"result.{form}"
    assert headgate("query", f"SELECT id, day FROM '{events}' ORDER BY id LIMIT 2", "--output", place).code == 0
    if form == "parquet":
        assert pq.read_table(place).to_pylist() == [{"id": 0, "day": "d0"}, {"id": 1, "day": "d1"}]
    elif form == "csv":
        assert place.read_text() == "id,day\n0,d0\n1,d1\n"
    else:
        assert json.loads(place.read_text()) == [{"id": 0, "day": "d0"}, {"id": 1, "day": "d1"}]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["events", place.name]


def test_a_result_that_fails_half_way_leaves_no_file(headgate: Headgate, events: str, tmp_path: Path) -> None:
    ran = headgate("query", f"SELECT 1 / (id - 20) AS n FROM '{events}'", "--output", tmp_path / "r.csv")
    assert ran.code == 1
    assert "Divide by zero" in ran.err
    assert [path.name for path in tmp_path.iterdir()] == ["events"]


REFUSED = [
    ("DROP TABLE 'x'", "only reads"),
    ("SELECT nope FROM '{}'", "No field named nope"),
    ("SELECT a.id, b.id FROM '{0}' a, '{0}' b", "two columns 'id'; give one of them another name by AS"),
    ("SELECT * FROM '{}/nowhere'", "there is no table"),
    ("SELECT * FROM '{}' VERSION AS OF 99", "no version 99"),
    ("SELECT * FROM '{}' WHERE", "the query failed"),
]


@pytest.mark.parametrize(("text", "told"), REFUSED, ids=lambda each: each[:30])
def test_what_goes_wrong_is_one_line_and_exit_code_1(headgate: Headgate, events: str, text: str, told: str) -> None:
    ran = headgate("query", text.format(events))
    assert (ran.code, ran.out) == (1, "")
    assert told in ran.err
    assert "headgate_1" not in ran.err
    assert product.Table.open(events).version == 2


def test_a_file_that_no_dataset_reads_rightly_is_read_all_the_same(headgate: Headgate, events: str) -> None:
    """Break: a column in another case is read as nulls."""
    table = product.Table.open(events)
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"ID": pa.array([500], pa.int64()), "x": [2.0]}), sink)
    table.store.put("odd.parquet", sink.getvalue().to_pybytes())
    table.append([product.DataFile(path="odd.parquet", size=10, modification_time=0, partition_values={"day": "d9"})])
    ran = headgate("query", f"SELECT id FROM '{events}' WHERE id > 99 ORDER BY id", "--format", "csv")
    assert ran.csv == [{"id": "100"}, {"id": "500"}]


CONDITIONS = st.sampled_from(
    ["id = {n}", "id <> {n}", "id < {n}", "id >= {n}", "x > {n}", "x <= {n}", "x = 0.25", "day = 'd{m}'", "day > 'd{m}'",
     "day IN ('d1', 'd{m}')", "day IS NULL", "id BETWEEN 3 AND {n}", "day LIKE 'd%'", "NOT (id = {n})", "id + 0 = {n}"]
)  # fmt: skip


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    parts=st.lists(CONDITIONS, min_size=1, max_size=3), glue=st.sampled_from([" AND ", " OR "]), n=st.integers(-1, 101)
)
def test_a_pruned_query_equals_one_that_skips_nothing(events: str, parts: list[str], glue: str, n: int) -> None:
    """Break: a condition is understood otherwise by those who skip files than by those who filter rows."""
    where = glue.join(f"({part.format(n=n, m=n % 5)})" for part in parts)
    found = _ids(f"SELECT id FROM '{events}' WHERE {where}")
    # Nothing is skipped by the condition of a query around another one.
    whole = _ids(f"SELECT id FROM (SELECT * FROM '{events}' LIMIT 1000) WHERE {where}")
    assert found == whole


def _ids(text: str) -> list[int]:
    result = run_query(text, Table.open)
    return sorted(row for batch in result.batches() for row in batch.column("id").to_pylist())
