"""The benchmark of rows: what it runs of ours does what it says; times mean nothing here."""

import importlib
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("rows")


@pytest.mark.parametrize("partitions", [1, 7])
def test_what_is_timed_of_ours_writes_and_reads_the_same_rows(program: Any, tmp_path: Path, partitions: int) -> None:
    given = program.rows(2000, partitions)
    ways = program.headgate_ways(tmp_path, ["region"] if partitions > 1 else None, durable=False)
    assert ways["write"](given).version == 1
    wanted = given.column("customer").to_pylist().count(program.WHERE_CUSTOMER)
    assert [ways[task](None) for task in program.TASKS[1:]] == [2000, 2000, wanted]
    assert program.files_of(tmp_path)[0] == partitions


def test_a_task_tells_its_time_and_its_memory(program: Any, tmp_path: Path) -> None:
    for task in ("write", "read all"):
        told = program.run_one("headgate", task, 5000, 3, tmp_path, durable=False)
        assert told["seconds"] > 0 <= told["bytes"]
