"""MERGE SPLITS and `headgate table merge`: what is merged, what is answered, and the same through a bus."""

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headgate as library
from headgate.commits import Commits
from headgate.statements.arrow_columns import result_schema
from headgate.statements.columns import OUTPUT_COLUMNS
from headgate.statements.execute import Executor
from headgate.statements.merge_splits import merge_splits
from headgate.statements.statements import MergeSplits, StatementError, TablePath
from headgate.upkeep.merges import TableMerge
from headgate_schemas.actions.actions import AddFile
from headgate_schemas.ambient import SystemAmbient
from headgate_table.store.settings import StoreSettings
from headgate_table.table import Table
from headgate_worker.merge.plan import MIN_TARGET_BYTES
from support.merging import COLUMNS, append, append_small, data_files, put_file, rows_of, rows_table
from support.tables import fresh_resources, new_table

STATEMENT = MergeSplits(TablePath("memory://test"))


def reopened(place: Path | str) -> Table:
    return Table.open(str(place), resources=fresh_resources())


def rows_at(place: Path | str) -> Counter[str]:
    return rows_of(reopened(place))


def merged_row(statement: str, **options: Any) -> dict[str, Any]:
    (row,) = library.sql(statement, **options).to_pylist()
    return dict(row)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A table of six small Parquet files."""
    place = tmp_path / "small"
    append_small(Table.create(str(place), COLUMNS), 6)
    return place


@pytest.fixture
def by_day(tmp_path: Path) -> Path:
    """Two days, three small files each."""
    table = Table.create(str(tmp_path / "by_day"), COLUMNS, ["day"])
    for number in range(6):
        day = str(1 + number // 3)
        append(table, put_file(table, f"day={day}/{number}.parquet", rows_table(number * 10), {"day": day}))
    return tmp_path / "by_day"


def live_days(place: Path) -> list[str]:
    return sorted(path.split("/")[0] for path in reopened(place).snapshot().paths())


# --- the statement ------------------------------------------------------------------------------------------------


def test_small_files_become_one_with_the_same_rows(small: Path) -> None:
    before = rows_at(small)
    size = sum(file["size"] for file in reopened(small).snapshot().files(("size",)).to_pylist())
    row = merged_row(f"MERGE SPLITS '{small}'")
    (output,) = reopened(small).snapshot().files(("path", "size", "num_records")).to_pylist()
    assert row == {
        "table_path": str(small),
        "metrics": {
            "status": "success",
            "merged_files": 6,
            "merge_groups": 1,
            "original_size_bytes": size,
            "merged_size_bytes": output["size"],
            "message": "merged 6 files into 1",
        },
        "temp_directory_path": None,
        "heap_size_bytes": 64 << 20,
    }
    assert (rows_at(small), output["num_records"]) == (before, 60)


def test_the_answer_has_exactly_the_documented_columns(small: Path) -> None:
    result = library.sql(f"MERGE SPLITS '{small}'")
    assert result.schema == result_schema(MergeSplits)
    assert result.column_names == [column.name for column in OUTPUT_COLUMNS[MergeSplits]]


def test_nothing_to_merge_is_no_action(small: Path) -> None:
    library.sql(f"MERGE SPLITS '{small}'")
    version = reopened(small).version
    metrics = merged_row(f"MERGE SPLITS '{small}'")["metrics"]
    assert (metrics["status"], metrics["merged_files"], metrics["message"]) == ("no_action", 0, "nothing to merge")
    assert reopened(small).version == version


def test_only_partitions_that_match_are_merged(by_day: Path) -> None:
    row = merged_row(f"MERGE SPLITS '{by_day}' WHERE day = '2'")
    assert row["metrics"]["merged_files"] == 3
    assert live_days(by_day) == ["day=1"] * 3 + ["day=2"]


def test_partitions_are_never_mixed(by_day: Path) -> None:
    before = rows_at(by_day)
    assert merged_row(f"MERGE SPLITS '{by_day}'")["metrics"]["merge_groups"] == 2
    assert (live_days(by_day), rows_at(by_day)) == (["day=1", "day=2"], before)


def test_max_dest_splits_leaves_the_rest_for_the_next_merge(by_day: Path) -> None:
    metrics = merged_row(f"MERGE SPLITS '{by_day}' MAX DEST SPLITS 1")["metrics"]
    assert metrics["merge_groups"] == 1
    assert "1 more groups are left for the next merge" in metrics["message"]


def test_max_source_splits_bounds_each_merge(small: Path) -> None:
    metrics = merged_row(f"MERGE SPLITS '{small}' MAX SOURCE SPLITS PER MERGE 2")["metrics"]
    assert (metrics["merged_files"], metrics["merge_groups"]) == (6, 3)


def middling_files(place: Path) -> Path:
    """Three files of which one is small and two are too large together, for a target of a mebibyte."""
    table = Table.create(str(place), COLUMNS)
    for number in range(3):
        rows = pa.table({"id": range(8_000), "text": [f"{number:064}"] * 8_000})
        file = put_file(table, f"{number}.parquet", rows, compression="none", use_dictionary=False)
        assert MIN_TARGET_BYTES / 2 < file.size < MIN_TARGET_BYTES * 3 / 4
        append(table, file)
    return place


@pytest.mark.parametrize(("size", "groups"), [("1M", 0), ("2M", 1), ("1G", 1)])
def test_the_size_of_the_statement_is_aimed_at(tmp_path: Path, size: str, groups: int) -> None:
    place = middling_files(tmp_path / "t")
    statement = f"MERGE SPLITS '{place}' TARGET SIZE {size}"
    assert merged_row(statement, settings={"merge.targetSize": "512M"})["metrics"]["merge_groups"] == groups


def test_split_files_are_left_alone_with_one_note(small: Path) -> None:
    table = reopened(small)
    append(table, *(AddFile(f"{name}.split", {}, 10, 1) for name in "ab"))
    metrics = merged_row(f"MERGE SPLITS '{small}'")["metrics"]
    assert metrics["status"] == "success"
    assert metrics["message"].count("2 .split files are left alone") == 1
    assert {"a.split", "b.split"} < set(reopened(small).snapshot().paths())


def test_an_unreadable_file_is_left_alone_and_told(small: Path) -> None:
    (small / "small-2.parquet").write_bytes(b"PAR1 no longer PAR1")
    metrics = merged_row(f"MERGE SPLITS '{small}'")["metrics"]
    assert (metrics["status"], metrics["merged_files"]) == ("partial_success", 5)
    assert "small-2.parquet is left alone for a while" in metrics["message"]
    (skipped,) = reopened(small).describe().skipped
    assert (skipped.path, skipped.skip_count) == ("small-2.parquet", 1)


def test_a_file_in_its_cooldown_is_not_tried_again(small: Path) -> None:
    (small / "small-2.parquet").write_bytes(b"PAR1 no longer PAR1")
    library.sql(f"MERGE SPLITS '{small}'")
    metrics = merged_row(f"MERGE SPLITS '{small}'")["metrics"]
    assert metrics["status"] == "no_action"
    assert "1 files are left alone for now: they could not be read lately" in metrics["message"]


def test_a_merge_needs_a_table(tmp_path: Path) -> None:
    with pytest.raises(library.InvalidInput, match="MERGE SPLITS without a table has no meaning here"):
        library.sql("MERGE SPLITS TARGET SIZE 100M")


def test_precommit_is_refused_with_what_to_do_instead(small: Path) -> None:
    version = reopened(small).version
    with pytest.raises(library.InvalidInput, match=r"PRECOMMIT would merge .*mergeOnWrite\.enabled=true"):
        library.sql(f"MERGE SPLITS '{small}' PRECOMMIT")
    assert reopened(small).version == version


def test_a_table_that_is_not_there_is_an_error_row(tmp_path: Path) -> None:
    metrics = merged_row(f"MERGE SPLITS '{tmp_path}/none'")["metrics"]
    assert metrics["status"] == "error"
    assert "there is no table at" in metrics["message"]


def test_another_column_than_a_partitions_is_refused(by_day: Path) -> None:
    with pytest.raises(library.InvalidInput, match="'id' is no partition column"):
        library.sql(f"MERGE SPLITS '{by_day}' WHERE id = 3")


def test_a_wrong_predicate_is_pointed_at(by_day: Path) -> None:
    with pytest.raises(StatementError) as caught:
        library.sql(f"MERGE SPLITS '{by_day}' WHERE day = = '2' TARGET SIZE 1M")
    assert caught.value.text[caught.value.position :].startswith("= '2'")


def test_a_name_in_a_catalog_needs_spark() -> None:
    with pytest.raises(library.InvalidInput, match="name in a catalog"):
        library.sql("MERGE SPLITS lake.events")


# --- settings -----------------------------------------------------------------------------------------------------


def codec_of(place: Path) -> str:
    (path,) = reopened(place).snapshot().paths()
    return str(pq.ParquetFile(place / path).metadata.row_group(0).column(0).compression)


@pytest.mark.parametrize(("codec", "found"), [("gzip", "GZIP"), ("none", "UNCOMPRESSED")])
def test_the_tables_codec_is_that_of_merged_files(small: Path, codec: str, found: str) -> None:
    reopened(small).alter(configuration={"indextables.merge.codec": codec})
    library.sql(f"MERGE SPLITS '{small}'")
    assert codec_of(small) == found


def test_a_process_overrides_the_tables_settings(small: Path) -> None:
    library.sql(f"MERGE SPLITS '{small}'", settings={"merge.codec": "brotli"})
    assert codec_of(small) == "BROTLI"


def test_the_tables_bound_of_sources_holds_where_the_statement_has_none(small: Path) -> None:
    metrics = merged_row(f"MERGE SPLITS '{small}'", settings={"merge.maxSourceSplitsPerMerge": "3"})["metrics"]
    assert metrics["merge_groups"] == 2


@pytest.mark.parametrize(("configuration", "groups"), [({"merge.targetSize": "1M"}, 0), ({}, 1)])
def test_the_tables_target_holds_where_the_statement_has_none(
    tmp_path: Path, configuration: dict[str, str], groups: int
) -> None:
    place = middling_files(tmp_path / "t")
    reopened(place).alter(configuration=configuration)
    assert merged_row(f"MERGE SPLITS '{place}'")["metrics"]["merge_groups"] == groups


def test_memory_that_a_merge_may_take_is_the_tables_to_say(small: Path) -> None:
    assert merged_row(f"MERGE SPLITS '{small}'", settings={"merge.heapSize": "8M"})["heap_size_bytes"] == 8 << 20


@pytest.mark.parametrize(("given", "folder"), [("/scratch", "/scratch"), ("", tempfile.gettempdir())])
def test_the_folder_of_files_on_their_way_to_a_store_is_told(given: str, folder: str) -> None:
    assert TableMerge(new_table(), SystemAmbient(), given).scratch_folder == folder


def test_a_table_cannot_choose_a_folder_on_other_machines(tmp_path: Path) -> None:
    """Only what a process sets counts."""
    table = new_table(configuration={"merge.tempDirectoryPath": str(tmp_path / "gone")})
    for number in range(2):
        append(table, put_file(table, f"{number}.parquet", rows_table(number)))
    row = merge_splits(library.Table(table.store, SystemAmbient(), fresh_resources()), STATEMENT, SystemAmbient(), {})
    assert (row["metrics"]["status"], row["temp_directory_path"]) == ("success", tempfile.gettempdir())


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    table = new_table()
    for number in range(2):
        append(table, put_file(table, f"{number}.parquet", rows_table(number)))
    settings = {"merge.tempDirectoryPath": str(tmp_path / "gone")}
    metrics = merge_splits(table, STATEMENT, SystemAmbient(), settings)["metrics"]
    assert metrics["status"] == "error"
    assert "could not write the temporary file" in metrics["message"]


def test_files_are_merged_in_the_order_of_the_sort_columns(tmp_path: Path) -> None:
    table = Table.create(str(tmp_path / "t"), "id BIGINT", configuration={"merge.sortColumns": "id"})
    for first in (20, 0, 10):
        append(table, put_file(table, f"{first}.parquet", rows_table(first).select(["id"]).drop_null()))
    library.sql(f"MERGE SPLITS '{table.uri}'")
    found = reopened(table.uri).snapshot().scan().read_all().column("id").to_pylist()
    assert found == sorted(found)


def test_a_sort_column_that_the_table_does_not_have_is_refused(small: Path) -> None:
    with pytest.raises(library.InvalidInput, match=r"merge\.sortColumns names 'ghost'"):
        library.sql(f"MERGE SPLITS '{small}'", settings={"merge.sortColumns": "ghost"})


# --- the command --------------------------------------------------------------------------------------------------


def test_the_command_merges_and_prints_the_row(headgate: Any, small: Path) -> None:
    ran = headgate("table", "merge", small, "--format", "json")
    assert (ran.code, ran.json["status"], ran.json["merged_files"]) == (0, "success", 6)
    assert list(ran.json) == [
        *("table_path", "temp_directory_path", "heap_size_bytes", "status", "merged_files", "merge_groups"),
        *("original_size_bytes", "merged_size_bytes", "message"),
    ]


def test_a_dry_run_says_what_would_be_merged_and_changes_nothing(headgate: Any, small: Path) -> None:
    before, version = data_files(reopened(small).store), reopened(small).version
    ran = headgate("table", "merge", small, "--dry-run", "--format", "json")
    assert (ran.code, ran.json["status"], ran.json["message"]) == (0, "dry_run", "would merge 6 files into 1")
    assert (data_files(reopened(small).store), reopened(small).version) == (before, version)


def test_the_commands_options_are_the_statements_clauses(headgate: Any, by_day: Path) -> None:
    ran = headgate(
        *("table", "merge", by_day, "--where", "day = '1'", "--target-size", "1M"),
        *("--max-outputs", "1", "--max-sources", "2", "--format", "json"),
    )
    assert (ran.json["merged_files"], ran.json["merge_groups"]) == (2, 1)


@pytest.mark.parametrize("size", ["1023K", "much", "0", "1.5G", "-1M"])
def test_what_is_no_size_is_wrong_usage(headgate: Any, small: Path, size: str) -> None:
    ran = headgate("table", "merge", small, "--target-size", size)
    assert ran.code == 2
    assert "128M" in ran.err


def test_a_merge_that_left_something_out_fails_with_what_it_was(headgate: Any, small: Path) -> None:
    (small / "small-2.parquet").write_bytes(b"PAR1 no longer PAR1")
    ran = headgate("table", "merge", small, "--format", "json")
    assert (ran.code, ran.json["status"]) == (1, "partial_success")
    assert "small-2.parquet" in ran.err


def test_a_table_that_is_not_there_fails(headgate: Any, tmp_path: Path) -> None:
    ran = headgate("table", "merge", tmp_path / "none")
    assert (ran.code, ran.out) == (1, "")
    assert "there is no table at" in ran.err


def test_the_statement_on_the_command_line_fails_with_its_error(headgate: Any, tmp_path: Path) -> None:
    ran = headgate("sql", f"MERGE SPLITS '{tmp_path}/none'", "--format", "json")
    assert (ran.code, ran.json[0]["metrics"]["status"]) == (1, "error")


# --- through a bus ------------------------------------------------------------------------------------------------


def committed_by(place: Path) -> list[tuple[str, bool]]:
    """Operation of each version, newest first, and whether a committer wrote it."""
    table = reopened(place)
    found = []
    for version in range(table.version, -1, -1):
        [info] = [action.body for action in table.reader.actions(version) if hasattr(action, "body")]
        found.append((info["operation"], "committer" in info))
    return found


@pytest.mark.usefixtures("committing")
def test_a_merge_goes_through_the_bus(headgate: Any, by_day: Path) -> None:
    before = rows_at(by_day)
    ran = headgate("table", "merge", by_day, "--format", "json")
    assert (ran.code, ran.json["merged_files"], ran.json["merge_groups"]) == (0, 6, 2), ran.err
    assert committed_by(by_day)[0] in (("Rewrite", True), ("Group", True))
    assert rows_at(by_day) == before


@pytest.mark.usefixtures("committing")
def test_direct_goes_past_the_bus(headgate: Any, small: Path) -> None:
    assert headgate("table", "merge", small, "--direct").code == 0
    assert committed_by(small)[0] == ("Rewrite", False)


@pytest.mark.usefixtures("committing")
def test_the_statement_goes_through_the_bus(bus: str, small: Path) -> None:
    assert merged_row(f"MERGE SPLITS '{small}'", bus=bus)["metrics"]["status"] == "success"
    assert committed_by(small)[0] == ("Rewrite", True)


def test_without_a_receipt_the_outcome_is_pending_and_what_was_written_stays(bus: str, small: Path) -> None:
    """Nobody commits, and nobody knows: the proposal may be accepted yet."""
    ambient, stores = SystemAmbient(), StoreSettings()
    with Commits(bus, stores, ambient, receipt_within_s=0.05) as commits:
        statement = MergeSplits(TablePath(str(small)))
        (row,) = Executor(stores, {}, ambient, commits=commits).run(statement).to_pylist()
    assert row["metrics"]["status"] == "pending"
    (output,) = [key for key in data_files(reopened(small).store) if key.startswith("merged-")]
    assert f"the outcome of {output} is not known" in row["metrics"]["message"]


@pytest.mark.parametrize("spelling", ["table merge {}", "sql MERGE~SPLITS~'{}'"])
def test_the_command_ends_with_3_where_the_outcome_is_unknown(
    headgate: Any, bus: str, small: Path, monkeypatch: pytest.MonkeyPatch, spelling: str
) -> None:
    monkeypatch.setattr("headgate.commits.RECEIPT_WITHIN_S", 0.05)
    words = [word.replace("~", " ") for word in spelling.format(small).split()]
    ran = headgate(*words, "--format", "json")
    assert ran.code == 3
    assert '"status": "pending"' in ran.out
    assert "is not known" in ran.err
