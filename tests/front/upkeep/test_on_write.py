"""Merging and cleaning by whoever commits directly: what each setting does, and that a commit never suffers from it."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import headgate
from headgate_schemas.actions.actions import SkipFile
from headgate_schemas.ambient import SystemAmbient
from headgate_schemas.messages.operations import Committed, Skip
from headgate_table.errors import StoreError
from headgate_table.table import Table as StoredTable
from support.merging import COLUMNS, put_file, rows_of, rows_table
from support.parquet import parquet
from support.tables import fresh_resources

MERGES = {"mergeOnWrite.enabled": "true", "mergeOnWrite.async.enabled": "false", "merge.minSources": "3"}
PURGES = {
    "purgeOnWrite.enabled": "true",
    "purgeOnWrite.async.enabled": "false",
    "purge.clockSkewMinutes": "0",
}
DAY_S = 24 * 3600


def a_table(place: Path, *configurations: Mapping[str, str], partition_by: tuple[str, ...] = ()) -> headgate.Table:
    configuration = {f"indextables.{key}": text for one in configurations for key, text in one.items()}
    return headgate.Table.create(str(place), COLUMNS, partition_by, configuration)


def write(table: headgate.Table, *numbers: int, day: str | None = None) -> None:
    """One small file a number, each in a version of its own."""
    for number in numbers:
        folder, values = ("", None) if day is None else (f"day={day}/", {"day": day})
        file = put_file(table, f"{folder}{number}.parquet", rows_table(number * 10), values)
        assert isinstance(table.append([file]), Committed)


def operations(table: headgate.Table) -> list[str]:
    """Oldest first, without the creation."""
    again = headgate.Table.open(table.uri, resources=fresh_resources())
    return [entry.operation or "" for entry in again.history()][::-1][1:]


def old_orphan(table: headgate.Table, *, days: int = 30, name: str = "orphan.parquet") -> Path:
    """A file that nobody names, as old as that."""
    path = Path(table.uri) / name
    path.write_bytes(parquet(rows_table(0)))
    then = path.stat().st_mtime - days * DAY_S
    os.utime(path, (then, then))
    return path


# --- merging ------------------------------------------------------------------------------------------------------


def test_enough_small_files_are_merged_before_the_commit_returns(tmp_path: Path) -> None:
    table = a_table(tmp_path / "t", MERGES)
    write(table, 0, 1)
    assert operations(table) == ["Append", "Append"]
    write(table, 2)
    assert operations(table) == ["Append", "Append", "Append", "Rewrite"]
    assert (table.snapshot().num_files, sum(rows_of(table).values())) == (1, 30)


@pytest.mark.parametrize("change", [{"mergeOnWrite.enabled": "false"}, {"mergeOnWrite.async.enabled": "true"}])
def test_nothing_is_merged_unless_it_is_asked_for_here(tmp_path: Path, change: dict[str, str]) -> None:
    table = a_table(tmp_path / "t", MERGES, change)
    write(table, 0, 1, 2, 3)
    assert set(operations(table)) == {"Append"}


def test_merging_on_write_is_off_and_asynchronous_unless_set(tmp_path: Path) -> None:
    options = a_table(tmp_path / "t").options
    assert (options.merge_on_write, options.merge_on_write_async) == (False, True)


def test_how_many_files_are_worth_a_merge_on_write_has_a_setting_of_its_own(tmp_path: Path) -> None:
    table = a_table(tmp_path / "t", MERGES, {"mergeOnWrite.minSplitsToMerge": "2"})
    write(table, 0, 1)
    assert operations(table)[-1] == "Rewrite"


def test_it_waits_until_there_are_enough_groups(tmp_path: Path) -> None:
    table = a_table(tmp_path / "t", MERGES, {"mergeOnWrite.minBatchesToTrigger": "2"}, partition_by=("day",))
    write(table, 0, 1, 2, day="1")
    write(table, 3, 4, day="2")
    assert "Rewrite" not in operations(table)
    write(table, 5, day="2")
    assert operations(table)[-2:] == ["Rewrite", "Rewrite"]


@pytest.mark.parametrize(
    ("sizes", "merged"),
    [
        ({"mergeOnWrite.targetSize": "1M"}, False),
        ({"merge.targetSize": "1M"}, False),
        ({"mergeOnWrite.targetSize": "64M", "merge.targetSize": "1M"}, True),
    ],
)
def test_the_target_of_merges_on_write(tmp_path: Path, sizes: dict[str, str], merged: bool) -> None:
    table = a_table(tmp_path / "t", MERGES, {"mergeOnWrite.minSplitsToMerge": "2"}, sizes)
    for number in range(2):
        rows = pa.table({"id": range(8_000), "text": [f"{number:064}"] * 8_000})
        file = put_file(table, f"{number}.parquet", rows, compression="none", use_dictionary=False)
        assert (1 << 20) / 2 < file.size < (1 << 20) * 3 / 4
        table.append([file])
    assert ("Rewrite" in operations(table)) is merged


def test_a_process_may_ask_for_it_for_a_table_that_doesnt(tmp_path: Path) -> None:
    made = a_table(tmp_path / "t")
    table = headgate.Table.open(made.uri, settings=MERGES)
    write(table, 0, 1, 2)
    assert operations(table)[-1] == "Rewrite"


def test_a_table_whose_changes_are_proposed_leaves_it_to_the_workers(tmp_path: Path) -> None:
    made = a_table(tmp_path / "t", MERGES)
    table = headgate.Table.open(made.uri, commit=StoredTable.open(made.uri).commit)
    write(table, 0, 1, 2, 3)
    assert set(operations(table)) == {"Append"}


def test_a_merge_itself_is_no_write(tmp_path: Path) -> None:
    table = a_table(tmp_path / "t", MERGES)
    write(table, 0, 1, 2)
    assert operations(table).count("Rewrite") == 1


def test_skips_of_the_table_are_honoured(tmp_path: Path) -> None:
    table = a_table(tmp_path / "t", MERGES)
    write(table, 0, 1)
    table.commit(Skip((SkipFile("0.parquet", SystemAmbient().now_ms(), "by hand", operation="merge", skip_count=1),)))
    write(table, 2)
    assert "Rewrite" not in operations(table)


# --- cleaning -----------------------------------------------------------------------------------------------------


def test_a_table_is_cleaned_after_a_merge(tmp_path: Path) -> None:
    table = a_table(tmp_path / "t", MERGES, PURGES)
    orphan = old_orphan(table)
    write(table, 0, 1)
    assert orphan.exists()
    write(table, 2)
    assert not orphan.exists()


def test_it_is_not_cleaned_after_a_merge_where_that_is_no_reason(tmp_path: Path) -> None:
    change = {"purgeOnWrite.triggerAfterMerge": "false", "purgeOnWrite.triggerAfterWrites": "100"}
    table = a_table(tmp_path / "t", MERGES, PURGES, change)
    orphan = old_orphan(table)
    write(table, 0, 1, 2)
    assert operations(table)[-1] == "Rewrite"
    assert orphan.exists()


def test_it_is_cleaned_after_so_many_writes(tmp_path: Path) -> None:
    table = a_table(tmp_path / "t", PURGES, {"purgeOnWrite.triggerAfterWrites": "3"})
    orphan = old_orphan(table)
    write(table, 0, 1)
    assert orphan.exists()
    write(headgate.Table.open(table.uri), 2)
    assert not orphan.exists()


@pytest.mark.parametrize("change", [{"purgeOnWrite.enabled": "false"}, {"purgeOnWrite.async.enabled": "true"}])
def test_nothing_is_cleaned_unless_it_is_asked_for_here(tmp_path: Path, change: dict[str, str]) -> None:
    table = a_table(tmp_path / "t", PURGES, {"purgeOnWrite.triggerAfterWrites": "1"}, change)
    orphan = old_orphan(table)
    write(table, 0, 1)
    assert orphan.exists()


@pytest.mark.parametrize(
    ("ages", "gone"),
    [
        ({"purgeOnWrite.splitRetentionHours": "48"}, True),
        ({"purgeOnWrite.splitRetentionHours": "96"}, False),
        ({"purge.defaultRetentionHours": "96"}, False),
        ({"purge.defaultRetentionHours": "96", "purgeOnWrite.splitRetentionHours": "48"}, True),
    ],
)
def test_the_age_of_files_that_cleaning_on_write_keeps(tmp_path: Path, ages: dict[str, str], gone: bool) -> None:
    table = a_table(tmp_path / "t", PURGES, {"purgeOnWrite.triggerAfterWrites": "1"}, ages)
    orphan = old_orphan(table, days=3)
    write(table, 0)
    assert orphan.exists() is not gone


@pytest.mark.parametrize(
    ("ages", "gone"),
    [
        ({"purgeOnWrite.txLogRetentionHours": "48"}, True),
        ({"purgeOnWrite.txLogRetentionHours": "96"}, False),
        ({"purge.txLogRetentionHours": "48"}, True),
    ],
)
def test_the_age_of_version_files_that_cleaning_on_write_keeps(
    tmp_path: Path, ages: dict[str, str], gone: bool
) -> None:
    asked = {"checkpoint.interval": "1", "state.retention.hours": "48", "purgeOnWrite.triggerAfterWrites": "8"}
    table = a_table(tmp_path / "t", PURGES, asked, ages)
    write(table, *range(7))
    for path in sorted((Path(table.uri) / "_transaction_log").rglob("*")):
        then = path.stat().st_mtime - 3 * DAY_S
        os.utime(path, (then, then))
    write(headgate.Table.open(table.uri, resources=fresh_resources()), 7)
    first = Path(table.uri) / "_transaction_log" / f"{1:020}.json"
    assert first.exists() is not gone


# --- what goes wrong ----------------------------------------------------------------------------------------------


def test_a_commit_stands_though_cleaning_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = a_table(tmp_path / "t", PURGES, {"purgeOnWrite.triggerAfterWrites": "1"})

    def fails(*_: Any, **__: Any) -> None:
        raise StoreError("the store is on fire")

    monkeypatch.setattr(headgate.Table, "purge", fails)
    write(table, 0, 1)
    assert operations(table) == ["Append", "Append"]


def test_a_commit_stands_though_merging_has_a_defect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = a_table(tmp_path / "t", MERGES)

    def fails(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("headgate.upkeep.merges.TableMerge.plan", fails)
    write(table, 0, 1, 2)
    assert set(operations(table)) == {"Append"}


def test_settings_that_contradict_each_other_change_nothing_but_the_log_of_the_process(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    made = a_table(tmp_path / "t", MERGES)
    table = headgate.Table.open(made.uri, settings={"merge.maxSourceSplitsPerMerge": "2"})
    write(table, 0, 1, 2, 3)
    assert set(operations(table)) == {"Append"}
    assert "merge.minSources is 3" in caplog.text


def test_dropped_partitions_count_as_a_write_on_the_command_line(tmp_path: Path) -> None:
    table = a_table(
        tmp_path / "t", {**PURGES, "purgeOnWrite.triggerAfterWrites": "2", "owner": "me"}, partition_by=("day",)
    )
    write(table, 0, day="1")
    orphan = old_orphan(table, name="lost.parquet")
    headgate.sql(f"DROP HEADGATE PARTITIONS FROM '{table.uri}' WHERE day = '1'")
    assert not orphan.exists()
