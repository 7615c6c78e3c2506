"""The benchmark of tables: what each work does for us is what it says, and targets are judged by what was measured."""

import importlib
from pathlib import Path
from typing import Any

import pytest

from headgate_table.table import Table

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
FILES = 2_000


@pytest.fixture(autouse=True)
def on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """The parts are found where the program would find them."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))


def part(name: str) -> Any:
    return importlib.import_module(name)


@pytest.fixture
def table(tmp_path: Path, on_the_path: None) -> str:
    folder = str(tmp_path / "table")
    part("parts.tables").make_headgate(folder, FILES)
    return folder


def result(work: str, folder: str, files: int = FILES) -> str:
    """What our part of a work says that it has done, in one run after the one that warms up."""
    measured = (
        part("table_works.registry").WORKS[work].engines["headgate"](part("table_works.work").Task(folder, files, 1))
    )
    assert len(measured.seconds) == len(measured.processor_seconds) == 1
    assert measured.seconds[0] > 0
    return str(measured.result)


@pytest.mark.parametrize(
    ("work", "said"),
    [
        ("load", "2,000 files"),
        ("partition", "1,000 files; 1 of 1 manifests"),
        ("append", "version 4"),
        ("append-cold", "version 4"),
        ("decide", "version 2 of 100 proposals"),
        ("compact", "version 3: 1,960 files in 1 manifests"),
        ("changes", "1,000 added, 0 removed"),
        ("travel", "2,500 files"),
    ],
)
def test_a_work_does_for_us_what_it_says(work: str, said: str, table: str) -> None:
    assert result(work, table) == said


def test_a_measurement_leaves_the_table_as_it_was(table: str) -> None:
    before = Table.open(table).version
    for work in ("append", "changes", "travel", "decide", "compact"):
        result(work, table)
    assert Table.open(table).version == before


def test_ten_manifests_are_read(tmp_path: Path) -> None:
    folder = str(tmp_path / "table")
    part("table_works.manifests").make_ten_manifests(folder, FILES)
    assert result("manifests", folder) == "2,000 files in 10 manifests"


def test_cleaning_finds_the_orphans_deletes_them_and_can_be_run_again(tmp_path: Path) -> None:
    folder = str(tmp_path / "table")
    part("table_works.clean").make_headgate_with_orphans(folder, FILES)
    assert result("clean-dry", folder).startswith("200 files; requests: ")
    assert result("clean", folder).startswith("200 files; requests: ")
    assert len(list(Path(folder).glob("date=*/*"))) == FILES - FILES // 10
    assert result("clean-dry", folder).startswith("200 files; requests: ")
    assert result("clean", folder).startswith("200 files; requests: ")


def test_every_work_says_what_each_peer_does_or_has_none_of() -> None:
    works, kinds = part("table_works.registry").WORKS, part("table_works.work")
    for name, work in works.items():
        assert "headgate" in work.engines, name
        for engine, measure in work.engines.items():
            assert callable(measure) or isinstance(measure, kinds.HasNone), (name, engine)


@pytest.fixture
def figures(tmp_path: Path) -> Any:
    return part("parts.figures").Figures(tmp_path / "figures")


def targets(figures: Any) -> dict[str, tuple[str, str]]:
    """What was measured, and whether it meets the target."""
    return {row[0]: (row[2], row[3]) for row in part("parts.targets").measured_targets(figures)}


def test_a_target_is_met_by_what_stays_within_its_limit(figures: Any) -> None:
    figure = part("parts.figures").Figure
    figures.add(figure("load", "headgate", 70_000, median=60.0))
    figures.add(figure("load", "delta-rs", 70_000, median=120.0))
    figures.add(figure("partition", "headgate", 1_000_000, median=25.1, peak_mb=49.9))
    judged = targets(figures)
    assert judged["70,000 files to Arrow"] == ("60.0 ms", "yes")
    assert judged["70,000 files to Arrow, beside delta-rs"] == ("0.50 of delta-rs", "yes")
    assert judged["One partition of 1,000,000"] == ("25.1 ms", "no")
    assert judged["Memory of one partition of 1,000,000"] == ("49.9 MB", "yes")


def test_a_target_whose_work_was_not_run_is_neither_met_nor_missed(figures: Any) -> None:
    assert set(targets(figures).values()) == {("not run", "-")}


def test_figures_of_earlier_pieces_of_a_run_are_kept_and_the_newest_of_each_counts(tmp_path: Path) -> None:
    kinds, path = part("parts.figures"), tmp_path / "figures"
    first = kinds.Figures(path)
    first.add(kinds.Figure("load", "headgate", 1_000, 5.0))
    first.add(kinds.Figure("load", "headgate", 1_000, 4.0))
    assert [figure.median for figure in kinds.Figures(path).of("load")] == [4.0]
