"""DESCRIBE STATE and DESCRIBE TRANSACTION LOG: the numbers of a table, and its actions as rows."""

import json
from pathlib import Path
from typing import Any

import pytest

from headgate.statements.columns import OUTPUT_COLUMNS, ScalarType
from headgate.statements.statements import DescribeLog, DescribeState
from headgate_schemas.actions.actions import SkipFile
from headgate_schemas.messages.operations import Skip
from headgate_table.errors import TableNotFound
from headgate_table.indextables.format.names import state_key, version_key
from headgate_table.indextables.history.describe import MAX_SKIPS_SHOWN, describe
from headgate_table.indextables.history.describe_log import LOG_COLUMNS, LOG_SCHEMA, describe_log
from headgate_table.indextables.log.newest import NewestVersion
from headgate_table.interface.answers import SkippedFile
from headgate_table.settings.options import table_options
from headgate_table.table import Table
from support.stores.faulty import FaultyStore
from support.stores.memory import MemoryStore
from support.tables import START_MS, add_file, files, new_table, opened
from support.writers.rust import RustTable
from support.writers.scala import ScalaTable
from support.writers.scala_json import ScalaJsonTable


def _rows(table: Table, *, include_all: bool = False) -> list[dict[str, Any]]:
    return list(describe_log(table.reader, include_all).to_pylist())


# --- the state ----------------------------------------------------------------------------------------------------


@pytest.mark.spec("testDescribeStateCommand")
def test_a_table_is_described_by_its_newest_version() -> None:
    table = new_table()
    table.append(files("p", 20))
    table.checkpoint()
    table.delete(paths=["p-00000.parquet"])
    table.checkpoint()
    table.append([add_file("late", 5)])
    created_ms = table.reader.state(2).created_at
    assert dict(table.describe()) == {
        "table_path": "memory://test",
        "format": "avro-state",
        "version": 3,
        "num_files": 20,
        "num_manifests": 1,
        "num_tombstones": 1,
        "tombstone_ratio": 0.05,
        "total_bytes": sum(1000 + number for number in range(1, 20)) + 5,
        "needs_compaction": False,
        "status": "OK",
        "created_at": created_ms,
        "protocol_version": 4,
        "num_skipped": 0,
        "skipped": (),
        "mirror_version": None,
        "mirror_problem": "",
    }


DAY_MS = 24 * 3_600_000


def _skip(path: str, *, made_ms: int = START_MS, retry_ms: int | None = START_MS + DAY_MS) -> Skip:
    return Skip((SkipFile(path, made_ms, "no footer", operation="merge", retry_after=retry_ms, skip_count=2),))


def test_the_files_that_merges_leave_alone_are_shown() -> None:
    table = new_table()
    table.append(files("p", 3))
    table.commit(_skip("p-00001.parquet"))
    shown = table.describe()
    assert shown.num_skipped == 1
    assert shown.skipped == (SkippedFile("p-00001.parquet", "no footer", 2, START_MS, START_MS + DAY_MS),)


def test_a_skip_whose_time_is_over_is_not_shown() -> None:
    table = new_table()
    table.append(files("p", 3))
    table.commit(_skip("p-00001.parquet", retry_ms=START_MS))
    assert table.describe().num_skipped == 0


def test_a_skip_of_a_file_that_was_removed_is_not_shown() -> None:
    table = new_table()
    table.append(files("p", 3))
    table.commit(_skip("p-00001.parquet"))
    table.delete(paths=["p-00001.parquet"])
    assert table.describe().num_skipped == 0


def test_only_the_first_skips_are_shown_and_all_are_counted() -> None:
    table = new_table()
    table.append(files("p", MAX_SKIPS_SHOWN + 1))
    for number in range(MAX_SKIPS_SHOWN + 1):
        table.commit(_skip(f"p-{number:05d}.parquet"))
    shown = table.describe()
    assert (shown.num_skipped, len(shown.skipped)) == (MAX_SKIPS_SHOWN + 1, MAX_SKIPS_SHOWN)
    assert shown.skipped[0].path == "p-00000.parquet"


def test_who_does_not_ask_for_skips_reads_no_version_files_for_them() -> None:
    table = new_table()
    table.append(files("p", 3))
    table.commit(_skip("p-00001.parquet"))
    assert table.describe(skips=False).num_skipped == 0


def test_a_damaged_version_below_the_state_changes_nothing() -> None:
    """Break: looking for skips, `describe` takes any damage for the table's."""
    table = new_table(MemoryStore())
    for number in range(3):
        table.append([add_file(f"f{number}")])
    table.checkpoint()
    before = dict(opened(table.store).describe())
    table.store.put(version_key(2), b"\x01\x01 damaged")
    assert dict(opened(table.store).describe()) == before


def test_the_description_begins_with_the_columns_of_the_statement_but_for_status() -> None:
    names = [column.name for column in OUTPUT_COLUMNS[DescribeState]]
    assert list(new_table().describe())[: len(names)] == names


def test_a_description_has_no_other_keys() -> None:
    description = new_table().describe()
    assert len(description) == len(list(description)) == 16
    with pytest.raises(KeyError):
        description["keys"]


@pytest.mark.parametrize(("removed", "due"), [(2, False), (3, True)])
def test_compaction_is_needed_above_a_tenth_of_tombstones(removed: int, due: bool) -> None:
    table = new_table()
    table.append(files("p", 24))
    table.checkpoint()
    table.delete(paths=[f"p-{number:05d}.parquet" for number in range(removed)])
    table.checkpoint()
    assert table.describe().needs_compaction is due


@pytest.mark.parametrize(("appends", "due"), [(20, False), (21, True)])
def test_compaction_is_needed_above_twenty_manifests(appends: int, due: bool) -> None:
    table = new_table(interval=1)
    for number in range(appends):
        table.append([add_file(f"f{number}")])
    found = table.describe()
    assert (found.num_manifests, found.needs_compaction) == (appends, due)


def test_a_table_without_a_state_says_so() -> None:
    table = new_table()
    table.append([add_file("a", 7)])
    found = table.describe()
    assert (found.format, found.status, found.num_files, found.total_bytes, found.created_at) == (
        "none",
        "No checkpoint found",
        1,
        7,
        None,
    )


def _until_checkpoint(root: Path, **layout: Any) -> ScalaJsonTable:
    made = ScalaJsonTable(root, **layout)
    while not list(made.log.path.glob("*.checkpoint.json")):
        made.append(2)
    return made


def test_a_json_checkpoint_is_a_format_of_its_own(tmp_path: Path) -> None:
    made = _until_checkpoint(tmp_path)
    found = Table.open(str(tmp_path)).describe()
    assert (found.format, found.status, found.num_files) == ("json", "OK", len(made.expected().paths))


def test_a_json_checkpoint_in_parts_is_another_format(tmp_path: Path) -> None:
    _until_checkpoint(tmp_path, actions_per_part=3)
    assert Table.open(str(tmp_path)).describe().format == "json-multipart"


def test_files_are_counted_where_a_state_only_estimates(tmp_path: Path) -> None:
    made = ScalaTable(tmp_path)
    first = made.append(30)
    made.commit((), [first[0]["path"], "never.split"])
    found = Table.open(str(tmp_path)).describe()
    assert made.base is not None
    assert made.base.num_files == 28
    assert (found.num_files, found.total_bytes) == (29, sum(file["size"] for file in first[1:]))


@pytest.mark.parametrize(("formats", "asked"), [("", 1), ("delta", 2)], ids=["alone", "with a mirror"])
def test_a_description_lists_the_log_once(formats: str, asked: int) -> None:
    """Break: the settings, or the mirror, look for the newest version again. The second listing is of the mirror's log."""
    store = FaultyStore(MemoryStore())
    table = new_table(store)
    table.alter(configuration={"mirror.formats": formats or None})
    if formats:
        table.mirror()
    fresh = opened(store)
    before = store.count("list", "list_folder")
    assert fresh.describe(skips=False).mirror_version == (1 if formats else None)
    assert store.count("list", "list_folder") - before == asked


def test_a_damaged_table_is_described_by_its_error() -> None:
    store = MemoryStore()
    table = new_table(store, interval=1)
    table.append([add_file("a")])
    manifest = next(info.key for info in store.list("_transaction_log/manifests/"))
    store.delete([manifest])
    found = describe(NewestVersion(opened(store).reader), table_options)
    assert (found.format, found.status.startswith(f"ERROR: manifest {manifest}")) == ("error", True)


def test_a_place_without_a_table_has_no_description() -> None:
    with pytest.raises(TableNotFound):
        describe(NewestVersion(opened(MemoryStore()).reader), table_options)


# --- the log ------------------------------------------------------------------------------------------------------


def test_the_columns_of_the_log_are_those_of_the_statement() -> None:
    wanted = [(c.name, c.type.value) for c in OUTPUT_COLUMNS[DescribeLog] if isinstance(c.type, ScalarType)]
    assert list(LOG_COLUMNS) == wanted
    assert len(wanted) == len(OUTPUT_COLUMNS[DescribeLog]) == 47


def test_the_log_shows_the_state_and_the_versions_after_it() -> None:
    store = MemoryStore()
    table = new_table(store, "date")
    table.append([add_file("a", date="2024-01-01"), add_file("b", date="2024-01-01")])
    table.delete(paths=["date=2024-01-01/a.parquet"])
    table.checkpoint()
    table.append([add_file("c", date="2024-01-02")])
    manifest = next(info.key for info in store.list("_transaction_log/manifests/"))
    found = [(row["version"], row["log_file_path"], row["action_type"], row["path"]) for row in _rows(table)]
    assert found == [
        (2, f"memory://test/{state_key(2)}", "protocol", None),
        (2, f"memory://test/{state_key(2)}", "metadata", None),
        (2, f"memory://test/{manifest}", "add", "date=2024-01-01/b.parquet"),
        (3, f"memory://test/{version_key(3)}", "add", "date=2024-01-02/c.parquet"),
        (3, f"memory://test/{version_key(3)}", "unknown", None),
    ]


def test_rows_of_a_state_are_marked_as_checkpoint() -> None:
    table = new_table()
    table.append([add_file("a")])
    table.checkpoint()
    table.append([add_file("b")])
    marked = {(row["version"], row["is_checkpoint"]) for row in _rows(table)}
    assert marked == {(1, True), (2, False)}


def test_the_whole_log_shows_every_version_file() -> None:
    table = new_table(interval=2)
    for name in "abc":
        table.append([add_file(name)])
    rows = _rows(table, include_all=True)
    assert [(row["version"], row["action_type"]) for row in rows] == [
        (0, "protocol"),
        (0, "metadata"),
        (0, "unknown"),
        *((version, kind) for version in (1, 2, 3) for kind in ("add", "unknown")),
    ]
    assert not any(row["is_checkpoint"] for row in rows)


def test_an_added_file_shows_the_same_from_a_version_as_from_a_state() -> None:
    table = new_table(None, "date")
    table.append([add_file("a", date="2024-01-01", min_values={"id": "1"}, max_values={"id": "9"}, split_tags=("x",))])
    before = next(row for row in _rows(table) if row["action_type"] == "add")
    table.checkpoint()
    after = next(row for row in _rows(table) if row["action_type"] == "add")
    differing = {name for name in LOG_SCHEMA.names if before[name] != after[name]}
    assert differing == {"log_file_path", "is_checkpoint"}
    texts = ("partition_values", "min_values", "split_tags")
    assert [json.loads(after[name]) for name in texts] == [{"date": "2024-01-01"}, {"id": "1"}, ["x"]]


def test_removes_and_skips_show_their_own_columns(tmp_path: Path) -> None:
    made = RustTable(tmp_path, checkpoint_every=0)
    first = made.append(1)[0]
    made.skip(first["path"])
    made.commit((), [first])
    _, skip, remove = (row for row in _rows(Table.open(str(tmp_path))) if row["path"] is not None)
    assert (skip["action_type"], skip["skip_reason"], skip["skip_operation"], skip["skip_count"]) == (
        "skip",
        "unreadable footer",
        "merge",
        1,
    )
    assert (remove["action_type"], remove["size"], remove["deletion_timestamp"] is not None) == (
        "remove",
        first["size"],
        True,
    )


def test_a_state_without_metadata_shows_that_of_the_version_file_that_has_it(tmp_path: Path) -> None:
    made = ScalaTable(tmp_path, partition_columns=("date",))
    made.append(1, date="2024-01-01")
    row = next(row for row in _rows(Table.open(str(tmp_path))) if row["action_type"] == "metadata")
    assert (row["log_file_path"], row["metadata_partition_columns"]) == (f"{tmp_path}/{version_key(0)}", '["date"]')


def test_tombstoned_files_are_not_shown(tmp_path: Path) -> None:
    made = ScalaTable(tmp_path)
    gone = made.append(20)[0]
    made.remove([gone])
    shown = [row["path"] for row in _rows(Table.open(str(tmp_path))) if row["action_type"] == "add"]
    assert sorted(shown) == sorted(made.per_version[2])


def test_rows_of_a_checkpoint_in_parts_name_their_part(tmp_path: Path) -> None:
    _until_checkpoint(tmp_path, actions_per_part=3)
    rows = _rows(Table.open(str(tmp_path)))
    names = {Path(row["log_file_path"]).name for row in rows if row["is_checkpoint"]}
    assert len(names) > 1
    assert all((tmp_path / "_transaction_log" / name).is_file() for name in names)


def test_fields_that_a_manifest_lacks_are_null_also_when_others_were_read_before(tmp_path: Path) -> None:
    ScalaTable(tmp_path).append(2)
    snapshot = Table.open(str(tmp_path)).snapshot()
    snapshot.files(["path", "size"])
    assert snapshot.files(["delete_opstamp"]).column(0).to_pylist() == [None, None]
