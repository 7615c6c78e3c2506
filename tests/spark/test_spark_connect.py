"""Spark Connect: reading, writing, streams, statements and table functions, found out by one program in its own process."""

import json
from pathlib import Path
from typing import Any

import pytest

from support.processes.isolated import run_isolated

PROGRAM = "import runpy, sys; runpy.run_module('support.spark.connect_program', run_name='__main__')"


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder: Path = tmp_path_factory.mktemp("connect")
    result: dict[str, Any] = json.loads(run_isolated(PROGRAM, str(folder), timeout_s=300).splitlines()[-1])
    assert "connect" in result["session"]
    return result


def test_rows_are_written_and_read_on_connect(found: dict[str, Any]) -> None:
    assert found["written"] == [1, 2, 3, 11, 12, 13]


def test_statements_run_on_connect(found: dict[str, Any]) -> None:
    assert found["statement"] == [["checkpoint_version", "bigint"], "SUCCESS"]


def test_paths_and_table_functions_are_known_to_an_enabled_session_on_connect(found: dict[str, Any]) -> None:
    assert (found["path"], found["function"]) == ([2], [3, 2, 1, 0])


def test_a_table_is_changed_on_connect(found: dict[str, Any]) -> None:
    assert found["table"] == 4


def test_changes_are_streamed_on_connect(found: dict[str, Any]) -> None:
    inserts = [(number, "insert") for number in (1, 2, 3, 11, 12, 13)]
    assert [tuple(change) for change in found["stream"]] == sorted([*inserts, (3, "delete"), (13, "delete")])


def test_names_are_refused_on_connect_where_nobody_says_what_they_stand_for(found: dict[str, Any]) -> None:
    assert "Spark Connect doesn't say" in found["name"]


def test_errors_of_spark_stay_its_own_on_connect(found: dict[str, Any]) -> None:
    assert found["parse error"] == "PARSE_SYNTAX_ERROR"
