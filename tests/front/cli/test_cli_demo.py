"""`headgate demo`: nothing is lost or doubled by its crash or by its workers, and it says so."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headgate.cli.demo.demo import _Demo
from headgate.cli.demo.processes import DemoProcess, running
from headgate.cli.demo.upkeep import RowCheck
from headgate.cli.terminal.output import Format
from headgate.cli.terminal.session import Session
from headgate_schemas.errors import HeadgateError
from headgate_table.data_file import DataFile
from headgate_table.table import Table


@pytest.fixture
def rows(tmp_path: Path) -> Table:
    """A table of one file with the rows 0, 1 and 2."""
    return with_rows(Table.create(str(tmp_path / "rows"), "id bigint"), "a", [0, 1, 2])


def with_rows(table: Table, name: str, ids: list[int]) -> Table:
    pq.write_table(pa.table({"id": ids}), Path(table.uri) / f"{name}.parquet")
    table.append([DataFile.of_parquet(f"{name}.parquet", root=table.uri)])
    return table


def test_the_demo_survives_its_crash_and_its_workers_and_leaves_everything_when_asked(
    headgate: Any, tmp_path: Path
) -> None:
    ran = headgate("demo", "--keep", tmp_path)
    assert (ran.code, ran.err) == (0, "")
    assert "the committer is killed here" in ran.out
    assert "200 files, 200,000 rows" in ran.out
    assert "lost: 0   doubled: 0   gaps: 0" in ran.out
    assert "again: duplicate" in ran.out
    assert "not_live" in ran.out
    assert len(re.findall(r"   merge   version \d+: merged 3[34] files", ran.out)) == 6
    assert re.search(r"   compact version \d+: \d+ manifests became 1, without \d+ tombstones", ran.out)
    assert "because a writer that builds on it may be about to name its manifests" in ran.out
    assert re.search(r"   clean   deleted .*\d data file", ran.out)
    assert ran.out.count("rows lost: 0   rows doubled: 0") == 2
    assert ["live", "files", "200", "5"] in ran.lines
    assert "\x1b" not in ran.out
    assert headgate("table", "verify", tmp_path / "sales", "--format", "json").json["ok"]
    logs = [path.name for path in sorted(tmp_path.glob("*.log"))]
    assert logs == ["cleaner-1.log", "committer-1.log", "committer-2.log", "merger-1.log"]


def test_a_second_demo_in_the_same_folder_is_refused(headgate: Any, tmp_path: Path) -> None:
    (tmp_path / "sales").mkdir()
    ran = headgate("demo", "--keep", tmp_path)
    assert ran.code == 1
    assert "holds a demo already" in ran.err


def lose(table: Table) -> None:
    table.delete(paths=["a.parquet"])


def double(table: Table) -> None:
    with_rows(table, "b", [1, 2])


def swap(table: Table) -> None:
    lose(table)
    with_rows(table, "b", [0, 1, 7])


@pytest.mark.parametrize(
    ("change", "found"),
    [(lose, (3, 0)), (double, (0, 2)), (swap, (1, 1))],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_rows_that_are_lost_or_doubled_are_counted(
    rows: Table, change: Callable[[Table], None], found: tuple[int, int]
) -> None:
    check = RowCheck(rows)
    assert check.compare(rows) == (0, 0)
    change(rows)
    assert check.compare(rows) == found


@pytest.mark.parametrize("change", [lose, double], ids=lambda change: change.__name__)
def test_the_demo_fails_when_rows_are_lost_or_doubled(
    rows: Table, change: Callable[[Table], None], tmp_path: Path
) -> None:
    demo = _Demo(Session(Format.TABLE, (), (), None, debug=False), tmp_path)
    check = RowCheck(rows)
    change(rows)
    with pytest.raises(HeadgateError, match="should never happen"):
        demo._check_rows(rows, check)


def test_a_process_of_the_demo_that_ends_by_itself_is_told_of_with_its_last_words(tmp_path: Path) -> None:
    process = DemoProcess(tmp_path, f"sqlite://{tmp_path}/bus.db", "worker", "merger", "--roles", "sweep")
    with running(process):
        assert process._process is not None
        assert process._process.wait(60) == 1
        with pytest.raises(HeadgateError, match=r"the demo's merger ended by itself:\n(.*\n)*.*which is no role"):
            process.check()
