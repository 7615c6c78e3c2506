"""Tests of how the suite is spread over processes."""

import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from support.processes.side_by_side import FIRST, pytest_xdist_auto_num_workers, rank, unit_of

ROOT = Path(__file__).parents[2]
NOTE = """
import os

def note(request):
    folder = request.config.rootpath
    (folder / f"{request.node.name}.ran").write_text(str(os.getpid()))
"""
SUITE = {
    "pytest.ini": "[pytest]",
    "conftest.py": """
import pytest
pytest_plugins = ["support.processes.side_by_side"]

@pytest.fixture
def kafka_address(): ...

@pytest.fixture
def spark(): ...
""",
    "test_one.py": NOTE
    + """
import pytest

@pytest.mark.parametrize("bus", ["memory", "kafka"])
def test_a(bus, request):
    note(request)

def test_b(request):
    note(request)

def test_c(request):
    note(request)
""",
    "test_two.py": NOTE
    + """
def test_d(kafka_address: str, request):
    note(request)
""",
    "test_three.py": NOTE
    + """
def test_e(spark: "SparkSession", request):
    note(request)
""",
}


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """The names of the tests of a small suite, by the process in which they ran."""
    folder = tmp_path_factory.mktemp("suite")
    for name, text in SUITE.items():
        (folder / name).write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "4", "--dist", "loadfile", "-p", "no:cacheprovider"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=folder,
        env={"PYTHONPATH": str(Path(__file__).parents[1])},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = defaultdict(set)
    for path in folder.glob("*.ran"):
        found[path.read_text()].add(path.stem)
    return dict(found)


def together(ran: dict[str, set[str]], *names: str) -> bool:
    return any(set(names) <= tests for tests in ran.values())


def test_whoever_needs_a_server_runs_in_the_same_process(ran: dict[str, set[str]]) -> None:
    """Break: `unit_of` looks at the texts of files only."""
    assert together(ran, "test_a[kafka]", "test_d")


def test_what_is_left_of_a_file_stays_together(ran: dict[str, set[str]]) -> None:
    assert together(ran, "test_a[memory]", "test_b", "test_c")


def test_different_servers_may_be_in_different_processes(ran: dict[str, set[str]]) -> None:
    assert len(ran) > 1


def test_every_test_ran_once(ran: dict[str, set[str]]) -> None:
    assert sorted(name for tests in ran.values() for name in tests) == [
        "test_a[kafka]",
        "test_a[memory]",
        "test_b",
        "test_c",
        "test_d",
        "test_e",
    ]


ASKS = {"spark": 'def test_c(spark: "SparkSession"): ...', "kafka": "def test_c(kafka_stage: Stage): ...", "none": ""}


@pytest.mark.parametrize(
    ("nodeid", "asks", "unit"),
    [
        ("tests/a/test_b.py::test_c[x]", "none", "tests/a/test_b.py"),
        ("tests/a/test_b.py::TestD::test_spark", "none", "tests/a/test_b.py"),
        ("tests/kafka/test_b.py::test_c", "none", "tests/kafka/test_b.py"),
        ("tests/a/test_b.py::test_c[spark-x]", "none", "spark"),
        ("tests/a/test_b.py::test_c", "spark", "spark"),
        ("tests/a/test_b.py::test_c", "kafka", "kafka"),
        ("tests/system/test_b.py::test_c", "kafka", "system"),
        ("tests/system/test_b.py::test_c", "spark", "spark"),
        ("tests/system/test_b.py::test_c", "none", "tests/system/test_b.py"),
        ("tests/simulation/test_b_runs.py::test_c[7]", "none", "tests/simulation/test_b_runs.py#3"),
        ("tests/simulation/test_b_runs.py::test_c[x]", "none", "tests/simulation/test_b_runs.py"),
    ],
)
def test_tests_are_known_by_what_they_ask_for(nodeid: str, asks: str, unit: str, tmp_path: Path) -> None:
    path = tmp_path / nodeid.partition("::")[0]
    path.parent.mkdir(parents=True)
    path.write_text(ASKS[asks])
    assert unit_of(nodeid, tmp_path) == unit


def test_what_takes_longest_comes_first() -> None:
    units = ["tests/table/test_a.py", "kafka", "tests/system/torture/test_torture.py", "system"]
    assert sorted(units, key=rank) == [
        "system",
        "kafka",
        "tests/system/torture/test_torture.py",
        "tests/table/test_a.py",
    ]


def test_every_folder_that_comes_first_is_there() -> None:
    assert [start for start in FIRST if start.endswith("/") and not (ROOT / start).is_dir()] == []


def test_the_fixtures_of_servers_are_known_by_their_names() -> None:
    """So that one that is renamed is renamed there as well."""
    assert unit_of("tests/producer/test_kafka_batch_job.py::test_a", ROOT) == "kafka"
    assert unit_of("tests/system/test_sigterm.py::test_a", ROOT) == "system"
    assert unit_of("tests/worker/merge/test_merge_spark.py::test_a", ROOT) == "spark"


def test_there_are_more_processes_than_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    assert pytest_xdist_auto_num_workers() == 3
