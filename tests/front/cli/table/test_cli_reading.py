"""`headgate table files|describe|log|history|changes`: what they print, in every format."""

import json
from pathlib import Path
from typing import Any

import pytest

from headgate_schemas.actions.actions import AddFile
from headgate_table.table import Table


def test_files_lists_live_files_sorted_by_path(headgate: Any, sales: Path) -> None:
    ran = headgate("table", "files", sales, "--format", "json")
    assert (ran.code, ran.err) == (0, "")
    assert [row["path"] for row in ran.json] == ["a.parquet", "c.parquet", "d.parquet"]


def test_files_as_json_keeps_numbers_nulls_and_maps(headgate: Any, sales: Path) -> None:
    first = headgate("table", "files", sales, "--format", "json").json[0]
    names = ("partition_values", "size", "num_records", "added_at_version", "modification_time", "data_change")
    assert {name: first[name] for name in names} == {
        "partition_values": {"date": "2024-03-02", "region": "us"},
        "size": 2_500_000,
        "num_records": None,
        "added_at_version": 1,
        "modification_time": 1_700_000_000_000,
        "data_change": True,
    }


def test_files_as_csv_has_a_header_empty_nulls_and_maps_as_json(headgate: Any, sales: Path) -> None:
    ran = headgate("table", "files", sales, "--format", "csv")
    assert ran.out.startswith("path,partition_values,size,num_records,added_at_version,modification_time,")
    first = ran.csv[0]
    assert (first["path"], first["size"], first["num_records"]) == ("a.parquet", "2500000", "")
    assert json.loads(first["partition_values"]) == {"date": "2024-03-02", "region": "us"}


def test_files_as_a_table_is_aligned_and_readable(headgate: Any, sales: Path) -> None:
    ran = headgate("table", "files", sales)
    header, first, *_ = ran.out.splitlines()
    columns = ["path", "partition_values", "size", "num_records", "added_at_version", "modification_time"]
    assert header.split() == columns
    assert first.split("  ")[0] == "a.parquet"
    assert "2.5 MB" in first
    assert header.index("partition_values") == first.index("date=2024-03-02, region=us")
    assert ran.err == "3 files at version 3.\n"


def test_files_of_an_earlier_version(headgate: Any, sales: Path) -> None:
    rows = headgate("table", "files", sales, "--version", "1", "--format", "json").json
    assert [row["path"] for row in rows] == ["a.parquet", "b.parquet"]


def test_files_as_of_the_time_that_history_shows(headgate: Any, sales: Path) -> None:
    times = {line[0]: f"{line[1]} {line[2]}" for line in headgate("table", "history", sales).lines[1:]}
    rows = headgate("table", "files", sales, "--timestamp", times["3"], "--format", "json").json
    assert [row["path"] for row in rows] == ["a.parquet", "c.parquet", "d.parquet"]


def test_files_as_of_epoch_milliseconds(headgate: Any, sales: Path) -> None:
    newest = headgate("table", "history", sales, "--format", "json").json[0]
    rows = headgate("table", "files", sales, "--timestamp", str(newest["time"]), "--format", "json").json
    assert len(rows) == 3


def test_files_where_a_predicate_matches(headgate: Any, sales: Path) -> None:
    rows = headgate("table", "files", sales, "--where", "region = 'us'", "--format", "json").json
    assert [row["path"] for row in rows] == ["a.parquet"]


def test_a_predicate_that_nothing_matches_is_not_an_empty_table(headgate: Any, sales: Path) -> None:
    ran = headgate("table", "files", sales, "--where", "date = '1999-01-01'")
    assert (ran.code, ran.out, ran.err) == (0, "", "No live file matches at version 3.\n")


def test_a_list_of_columns_without_a_name_is_wrong_usage(headgate: Any, sales: Path) -> None:
    ran = headgate("table", "files", sales, "--columns", ",")
    assert ran.code == 2
    assert "',' names no column" in ran.err


def test_files_with_chosen_columns_has_these_in_that_order(headgate: Any, sales: Path) -> None:
    ran = headgate("table", "files", sales, "--columns", "size,path", "--format", "csv")
    assert ran.out == "size,path\n2500000,a.parquet\n500,c.parquet\n1000,d.parquet\n"


def test_files_can_be_chosen_without_their_path_and_stay_sorted_by_it(headgate: Any, sales: Path) -> None:
    ran = headgate("table", "files", sales, "--columns", "size", "--format", "csv")
    assert ran.out == "size\n2500000\n500\n1000\n"


def test_all_columns_can_be_asked_for(headgate: Any, sales: Path) -> None:
    usual = headgate("table", "files", sales, "--format", "json").json[0].keys()
    every = headgate("table", "files", sales, "--columns", "all", "--format", "json").json[0].keys()
    assert "doc_mapping_json" in every - usual


@pytest.mark.parametrize(("form", "nothing"), [("json", "[]\n"), ("table", "")])
def test_no_files_is_an_empty_list(headgate: Any, sales: Path, form: str, nothing: str) -> None:
    ran = headgate("table", "files", sales, "--version", "0", "--format", form)
    assert (ran.code, ran.out) == (0, nothing)


def test_no_files_as_csv_is_the_header_alone(headgate: Any, sales: Path) -> None:
    ran = headgate("table", "files", sales, "--version", "0", "--columns", "path,size", "--format", "csv")
    assert ran.out == "path,size\n"


def test_names_beyond_ascii_and_csv_signs_arrive_unharmed(headgate: Any, tmp_path: Path) -> None:
    path = 'stadt=Köln,"東京"/ein\u00a0teil.parquet'
    table = Table.create(str(tmp_path / "t"), "id bigint, stadt string", ["stadt"])
    table.append([AddFile(path, {"stadt": 'Köln,"東京"'}, 1, 1)])
    assert headgate("table", "files", table.uri, "--format", "json").json[0]["path"] == path
    assert headgate("table", "files", table.uri, "--format", "csv").csv[0]["path"] == path
    assert "東京" in headgate("table", "files", table.uri, "--format", "json").out


def test_a_table_shows_no_control_characters(headgate: Any, tmp_path: Path) -> None:
    table = Table.create(str(tmp_path / "t"), "id bigint, p string", ["p"])
    table.append([AddFile("a.parquet", {"p": "\x1b[31mred\nline"}, 1, 1)])
    out = headgate("table", "files", table.uri).out
    assert "\x1b" not in out
    assert len(out.splitlines()) == 2
    assert r"\x1b[31mred\nline" in out


def test_long_lists_are_cut_for_people_only(headgate: Any, tmp_path: Path) -> None:
    table = Table.create(str(tmp_path / "t"), "id bigint")
    table.append([AddFile(f"{number:05}.parquet", {}, 1, 1) for number in range(1200)])
    shown = headgate("table", "files", table.uri, "--columns", "path")
    assert len(shown.out.splitlines()) == 1 + 1000
    assert "first 1,000 rows" in shown.err
    assert len(headgate("table", "files", table.uri, "--columns", "path", "--format", "csv").csv) == 1200


def test_describe_is_one_object_with_the_documented_keys(headgate: Any, sales: Path) -> None:
    found = headgate("table", "describe", sales, "--format", "json").json
    assert list(found) == [
        "table_path",
        "format",
        "version",
        "num_files",
        "num_manifests",
        "num_tombstones",
        "tombstone_ratio",
        "total_bytes",
        "needs_compaction",
        "status",
        "created_at",
        "protocol_version",
        "num_skipped",
        "skipped",
        "mirror_version",
        "mirror_problem",
    ]
    assert (found["table_path"], found["version"], found["num_files"]) == (str(sales), 3, 3)
    assert (found["format"], found["status"], found["created_at"]) == ("none", "No checkpoint found", None)


def test_describe_as_csv_is_one_row(headgate: Any, sales: Path) -> None:
    (row,) = headgate("table", "describe", sales, "--format", "csv").csv
    assert (row["total_bytes"], row["needs_compaction"], row["created_at"]) == ("2501500", "false", "")


def test_describe_as_a_table_has_a_line_for_each_key(headgate: Any, sales: Path) -> None:
    lines = headgate("table", "describe", sales).out.splitlines()
    assert len(lines) == 16
    assert lines[7].split(maxsplit=1) == ["total_bytes", "2.5 MB"]


def test_log_as_json_has_the_47_columns(headgate: Any, sales: Path) -> None:
    rows = headgate("table", "log", sales, "--all", "--format", "json").json
    assert {len(row) for row in rows} == {47}
    assert [row["path"] for row in rows if row["action_type"] == "remove"] == ["b.parquet"]


def test_times_of_the_log_are_iso_8601(headgate: Any, sales: Path) -> None:
    added = next(
        row for row in headgate("table", "log", sales, "--all", "--format", "json").json if row["action_type"] == "add"
    )
    assert added["modification_time"] == "2023-11-14T22:13:20.000Z"


def test_log_as_a_table_shows_what_matters(headgate: Any, sales: Path) -> None:
    header = headgate("table", "log", sales, "--all").lines[0]
    assert header == ["version", "action_type", "path", "partition_values", "size", "num_records", "is_checkpoint"]


def test_log_starts_at_the_newest_state_unless_all_is_asked_for(headgate: Any, sales: Path) -> None:
    headgate("table", "checkpoint", sales)
    short = headgate("table", "log", sales, "--format", "json").json
    long = headgate("table", "log", sales, "--all", "--format", "json").json
    assert {row["is_checkpoint"] for row in short} == {True}
    assert {row["version"] for row in long} == {0, 1, 2, 3}


def test_history_is_newest_first(headgate: Any, sales: Path) -> None:
    rows = headgate("table", "history", sales, "--format", "json").json
    assert [(row["version"], row["operation"], row["adds"], row["removes"]) for row in rows] == [
        (3, "Append", 1, 0),
        (2, "Overwrite", 1, 1),
        (1, "Append", 2, 0),
        (0, "Create", 0, 0),
    ]
    assert all(len(row["proposals"]) == 1 for row in rows[:3])


def test_history_can_be_limited(headgate: Any, sales: Path) -> None:
    rows = headgate("table", "history", sales, "--limit", "2", "--format", "csv").csv
    assert [row["version"] for row in rows] == ["3", "2"]


def test_changes_as_json_is_an_object_like_that_of_the_library(headgate: Any, sales: Path) -> None:
    found = headgate("table", "changes", sales, "--since", "1", "--format", "json").json
    assert (found["since"], found["version"]) == (1, 3)
    assert sorted(row["path"] for row in found["added"]) == ["c.parquet", "d.parquet"]
    assert [(row["path"], row["removed_at_version"]) for row in found["removed"]] == [("b.parquet", 2)]


def test_changes_as_csv_says_of_each_file_whether_it_came_or_went(headgate: Any, sales: Path) -> None:
    rows = headgate("table", "changes", sales, "--since", "1", "--until", "2", "--format", "csv").csv
    assert [(row["change"], row["path"], row["version"]) for row in rows] == [
        ("removed", "b.parquet", "2"),
        ("added", "c.parquet", "2"),
    ]


def test_no_changes_are_said_in_words(headgate: Any, sales: Path) -> None:
    ran = headgate("table", "changes", sales, "--since", "3")
    assert (ran.code, ran.out, ran.err) == (0, "", "Nothing changed from version 3 to 3.\n")


def test_changes_since_before_the_beginning(headgate: Any, sales: Path) -> None:
    found = headgate("table", "changes", sales, "--since", "-1", "--until", "1", "--format", "json").json
    assert sorted(row["path"] for row in found["added"]) == ["a.parquet", "b.parquet"]
