"""`headgate table repair --from-files`, and skips as an operator sees them: proposed, shown, honoured."""

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import headgate as package
from headgate_table.data_file import DataFile
from headgate_table.table import Table
from support.parquet import parquet

LOG = "_transaction_log"


def rows_file(place: Path, path: str, *ids: int) -> str:
    """Write a Parquet file with these rows; returns its path in the table."""
    (place / path).parent.mkdir(parents=True, exist_ok=True)
    (place / path).write_bytes(parquet(pa.table({"id": pa.array(ids, pa.int64())})))
    return path


@pytest.fixture
def lost(tmp_path: Path) -> Path:
    """Two days of files; their log is gone."""
    place = tmp_path / "events"
    table = Table.create(str(place), "id bigint, day date", ["day"])
    paths = [rows_file(place, f"day=2024-03-0{day}/a.parquet", day, day + 10) for day in (1, 2)]
    table.append([DataFile.of_parquet(path, root=place) for path in paths])
    shutil.rmtree(place / LOG)
    return place


def test_a_lost_log_is_rebuilt_in_its_place(headgate: Any, lost: Path) -> None:
    ran = headgate("table", "repair", lost / LOG, "--from-files", "--format", "json")
    assert (ran.code, ran.json["status"], ran.json["valid_splits"], ran.json["num_records"]) == (0, "SUCCESS", 2, 4)
    files = headgate("table", "files", lost, "--where", "day = '2024-03-02'", "--format", "json").json
    assert [file["path"] for file in files] == ["day=2024-03-02/a.parquet"]


def test_it_says_on_standard_error_that_removed_files_come_back_whatever_the_format(headgate: Any, lost: Path) -> None:
    ran = headgate("table", "repair", lost / LOG, "--from-files", "--dry-run", "--format", "json")
    assert "don't say whether they were removed" in ran.err
    assert "don't say whether they were removed" in ran.json["notes"][0]


def test_people_are_told_it_once_a_line(headgate: Any, lost: Path) -> None:
    """Break: the table of what was done has the notes once more, as one cell."""
    ran = headgate("table", "repair", lost / LOG, "--from-files", "--dry-run")
    assert "don't say whether they were removed" not in ran.out
    assert sum(line.startswith("Note: files don't say whether they were removed") for line in ran.err.splitlines()) == 1


def test_the_address_of_the_table_instead_of_its_log_is_answered_with_the_log(headgate: Any, lost: Path) -> None:
    ran = headgate("table", "repair", lost, "--from-files")
    assert (ran.code, f"such as {lost}/{LOG}" in ran.err) == (1, True)


def test_a_dry_run_writes_nothing(headgate: Any, lost: Path) -> None:
    ran = headgate("table", "repair", lost / LOG, "--from-files", "--dry-run", "--format", "json")
    assert (ran.code, ran.json["status"], (lost / LOG).exists()) == (0, "DRY_RUN", False)


def test_it_never_happens_without_the_switch(headgate: Any, lost: Path, tmp_path: Path) -> None:
    ran = headgate("table", "repair", lost / LOG, tmp_path / "new" / LOG)
    assert (ran.code, (tmp_path / "new").exists()) == (1, False)
    assert "--from-files" in ran.err


def test_a_log_that_can_be_read_is_not_rebuilt(headgate: Any, sales: Path, tmp_path: Path) -> None:
    ran = headgate("table", "repair", sales / LOG, tmp_path / "new" / LOG, "--from-files")
    assert (ran.code, (tmp_path / "new").exists()) == (1, False)
    assert "still says something" in ran.err


def test_schema_and_partition_columns_can_be_given(headgate: Any, lost: Path, tmp_path: Path) -> None:
    ran = headgate(
        *("table", "repair", lost / LOG, tmp_path / "new" / LOG, "--from-files", "--format", "json"),
        *("--schema", "day string, id decimal(20,0)", "--partition-by", "day"),
    )
    fields = json.loads(ran.json["schema_string"])["fields"]
    assert [(field["name"], field["type"]) for field in fields] == [("day", "string"), ("id", "decimal(20,0)")]


def test_types_of_partition_columns_can_be_given(headgate: Any, lost: Path) -> None:
    ran = headgate(
        *("table", "repair", lost / LOG, "--from-files", "--format", "json", "--dry-run"),
        *("--partition-types", "day string"),
    )
    assert json.loads(ran.json["schema_string"])["fields"][-1]["type"] == "string"


@pytest.mark.parametrize(
    "options",
    [("--schema", "id bigint"), ("--partition-by", "day"), ("--partition-types", "day date"), ("--dry-run",)],
    ids=lambda options: options[0],
)
def test_what_is_for_a_rebuild_needs_its_switch(headgate: Any, lost: Path, options: tuple[str, ...]) -> None:
    ran = headgate("table", "repair", lost / LOG, lost / "new", *options)
    assert ran.code == 2
    assert "--from-files" in ran.err


def test_without_the_switch_a_target_is_needed(headgate: Any, sales: Path) -> None:
    ran = headgate("table", "repair", sales / LOG)
    assert ran.code == 2
    assert "TARGET_LOG" in ran.err


def test_files_that_contradict_each_other_end_with_one_message(headgate: Any, lost: Path) -> None:
    (lost / "day=2024-03-02/b.parquet").write_bytes(parquet(pa.table({"id": ["text"]})))
    ran = headgate("table", "repair", lost / LOG, "--from-files")
    assert (ran.code, ran.err.count("Error: ")) == (1, 1)
    assert "day=2024-03-01/a.parquet" in ran.err
    assert "day=2024-03-02/b.parquet" in ran.err


def test_the_python_name_does_the_same(lost: Path) -> None:
    result = package.rebuild_log(f"{lost}/{LOG}")
    assert (result.valid_splits, package.Table.open(str(lost)).snapshot().num_files) == (2, 2)


# --- skips ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Three small files that a merge would make one of."""
    place = tmp_path / "small"
    table = Table.create(str(place), "id bigint")
    paths = [rows_file(place, f"{name}.parquet", number) for number, name in enumerate("abc")]
    table.append([DataFile.of_parquet(path, root=place) for path in paths])
    return place


def live(place: Path) -> list[str]:
    return sorted(Table.open(str(place)).snapshot().paths())


@pytest.mark.usefixtures("committing")
def test_a_proposed_skip_is_shown_and_honoured(headgate: Any, small: Path) -> None:
    proposed = headgate("propose", small, "skip", "--path", "a.parquet", "--reason", "torn", "--format", "json")
    assert (proposed.code, proposed.json["outcome"]) == (0, "committed")
    shown = headgate("table", "describe", small, "--format", "json").json
    assert [(file["path"], file["reason"]) for file in shown["skipped"]] == [("a.parquet", "torn")]
    merged = headgate("table", "merge", small, "--format", "json")
    assert (merged.code, merged.json["merged_files"]) == (0, 2)
    assert live(small)[0] == "a.parquet"


@pytest.mark.parametrize("through_bus", [False, True], ids=["directly", "through the bus"])
def test_a_damaged_file_is_left_recorded_and_shown(
    headgate: Any, small: Path, through_bus: bool, request: pytest.FixtureRequest
) -> None:
    if through_bus:
        request.getfixturevalue("committing")
    data = (small / "b.parquet").read_bytes()
    (small / "b.parquet").write_bytes(data[: len(data) // 2])
    merged = headgate("table", "merge", small, "--format", "json")
    assert (merged.code, merged.json["status"], merged.json["merged_files"]) == (1, "partial_success", 2)
    assert "b.parquet" in merged.err
    shown = headgate("table", "describe", small, "--format", "json").json
    (skipped,) = shown["skipped"]
    assert (skipped["path"], skipped["skip_count"], shown["num_skipped"]) == ("b.parquet", 1, 1)
    (small / "b.parquet").write_bytes(data)
    again = headgate("table", "merge", small, "--format", "json")
    assert (again.code, again.json["status"]) == (0, "no_action")  # mended, and its cooldown is not over


@pytest.mark.usefixtures("committing")
def test_the_log_tells_of_a_skip(headgate: Any, small: Path) -> None:
    headgate("propose", small, "skip", "--path", "a.parquet", "--reason", "torn")
    rows = headgate("table", "log", small, "--format", "json").json
    assert [(row["path"], row["skip_reason"]) for row in rows if row["action_type"] == "skip"] == [
        ("a.parquet", "torn")
    ]
