"""Merge-on-write and purge-on-write by workers: what roles say of the next look, and workers that come at once."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headgate_bus.interface import Topic
from headgate_schemas.ambient import SystemAmbient
from headgate_table.interface.snapshot import Snapshot
from headgate_table.table import Table
from headgate_worker.limits import RoleTerms, WorkerLimits
from headgate_worker.loop.worker import COMMITTER_GROUP
from headgate_worker.merge.engines.arrow import ArrowEngine
from headgate_worker.merge.role import MergeFailed, MergeRole
from headgate_worker.merge.table_settings import (
    UNASKED_TARGET_BYTES,
    arrow_limits,
    asked_limits,
    codec_of,
    files_until_due,
    on_write_limits,
    unasked_limits,
)
from headgate_worker.roles.clean import CleanRole
from headgate_worker.roles.interface import CleanTask, MergeTask, Role, RoleContext, Trigger
from headgate_worker.serving import ROLES
from support.ambient import FakeAmbient
from support.bus.memory import MemoryBus
from support.merging import COLUMNS, append, put_file, rows_table
from support.parquet import parquet
from support.stores.memory import MemoryStore
from support.tables import SteadyAmbient, fresh_resources, new_table
from support.working import NotingRole, OpenedTables, a_worker, announce, rounds

NOW_MS = 1_780_000_000_000
T = "memory://t0"
MERGES = {"mergeOnWrite.enabled": "true"}
PURGES = {"purgeOnWrite.enabled": "true"}
HOUR_S = 3600


def merge_role(table: Table) -> MergeRole:
    return MergeRole(lambda uri: table, lambda one: ArrowEngine(one.store, one.reader.resources), SteadyAmbient("role"))


def clean_role(table: Table) -> CleanRole:
    bus = MemoryBus(FakeAmbient())
    bus.prepare()
    return CleanRole(lambda uri: table, bus, SteadyAmbient("role"), COMMITTER_GROUP)


def days_table(settings: Mapping[str, str], **days: int) -> Table:
    """A table with so many small files of each day."""
    table = new_table(None, "region", settings=settings)
    for day, count in days.items():
        for number in range(count):
            append(table, put_file(table, f"region={day}/{number}.parquet", rows_table(number), {"region": day}))
    return table


# --- what a look says of the next ---------------------------------------------------------------------------------


def test_a_table_without_merge_on_write_waits_for_nothing() -> None:
    table = new_table()
    assert merge_role(table).look(table, NOW_MS).trigger is None


@pytest.mark.parametrize(
    ("settings", "days", "missing"),
    [
        ({}, {}, 5),
        ({}, {"a": 3}, 2),
        ({}, {"a": 3, "b": 4}, 1),
        ({"merge.minSources": "3"}, {"a": 1}, 2),
        ({"mergeOnWrite.minSplitsToMerge": "9"}, {"a": 4}, 5),
        ({"mergeOnWrite.minBatchesToTrigger": "2"}, {"a": 3, "b": 4}, 3),
        ({"mergeOnWrite.minBatchesToTrigger": "3"}, {"a": 3, "b": 4}, 8),
    ],
)
def test_a_look_waits_for_as_many_files_as_are_missing(
    settings: dict[str, str], days: dict[str, int], missing: int
) -> None:
    table = days_table(MERGES | settings, **days)
    assert merge_role(table).look(table, NOW_MS).trigger == Trigger(added_files=missing)


def test_files_that_are_about_to_be_merged_are_not_counted_again() -> None:
    table = days_table(MERGES, a=5, b=2)
    role = merge_role(table)
    (task,) = role.plan(table, NOW_MS)
    assert isinstance(task, MergeTask)
    assert role.look(table, NOW_MS).trigger == Trigger(added_files=3)


def test_files_that_wait_are_never_more_than_enough() -> None:
    assert files_until_due((9, 1), min_sources=5, groups=1) == 1


@pytest.mark.parametrize(
    ("settings", "trigger"),
    [
        ({}, None),
        (PURGES, Trigger(after_merge=True)),
        (PURGES | {"purgeOnWrite.triggerAfterWrites": "7"}, Trigger(writes=7, after_merge=True)),
        (
            PURGES | {"purgeOnWrite.triggerAfterWrites": "7", "purgeOnWrite.triggerAfterMerge": "false"},
            Trigger(writes=7),
        ),
    ],
)
def test_what_a_cleaning_waits_for(settings: dict[str, str], trigger: Trigger | None) -> None:
    table = new_table(settings=settings)
    assert clean_role(table).look(table, NOW_MS).trigger == trigger


def test_settings_that_contradict_each_other_leave_a_table_to_the_normal_terms(
    caplog: pytest.LogCaptureFixture,
) -> None:
    table = new_table(settings=PURGES | {"purgeOnWrite.triggerAfterMerge": "false"})
    assert clean_role(table).look(table, NOW_MS).trigger is None
    assert "it would never clean" in caplog.text


def test_the_tasks_and_what_is_waited_for_are_of_one_version() -> None:
    """Else a file that came in between would be in neither, and be waited for until the next cooldown has passed."""
    table = days_table(MERGES | {"mergeOnWrite.minSplitsToMerge": "3"}, a=2)
    calls = 0

    class Interrupted(Table):
        def snapshot(self, *args: Any, **kwargs: Any) -> Snapshot:
            nonlocal calls
            calls += 1
            if calls > 1:
                append(table, put_file(table, "region=a/late.parquet", rows_table(90), {"region": "a"}))
            return super().snapshot(*args, **kwargs)

    seen = Interrupted(
        table.store, SteadyAmbient("seen"), fresh_resources(), MERGES | {"mergeOnWrite.minSplitsToMerge": "3"}
    )
    outlook = merge_role(table).look(seen, NOW_MS)
    assert (list(outlook.tasks), outlook.trigger) == ([], Trigger(added_files=1))


# --- what the settings mean ---------------------------------------------------------------------------------------


def limits_of(settings: Mapping[str, str], which: Any = unasked_limits, **more: Any) -> Any:
    table = new_table(settings=settings)
    return which(table.options, table.metadata, **more)


def test_workers_aim_at_a_size_that_is_not_written_too_often() -> None:
    limits = limits_of({})
    assert (limits.target_bytes, limits.min_sources, limits.max_sources) == (UNASKED_TARGET_BYTES, 5, 1_000)


def test_workers_merge_by_the_tables_settings() -> None:
    settings = {"merge.targetSize": "64M", "merge.minSources": "3", "merge.maxSourceSplitsPerMerge": "20"}
    limits = limits_of(settings)
    assert (limits.target_bytes, limits.min_sources, limits.max_sources) == (64 << 20, 3, 20)


def test_the_bound_of_sources_holds_for_what_is_waited_for_too() -> None:
    limits = limits_of({"merge.maxSourceSplitsPerMerge": "2"})
    assert (limits.min_sources, limits.max_sources) == (2, 2)


def test_merges_on_write_have_a_target_and_a_threshold_of_their_own() -> None:
    settings = {"mergeOnWrite.targetSize": "32M", "mergeOnWrite.minSplitsToMerge": "2", "merge.targetSize": "64M"}
    limits = limits_of(settings, on_write_limits)
    assert (limits.target_bytes, limits.min_sources) == (32 << 20, 2)


def test_who_asks_for_a_merge_may_say_what_the_settings_do_not() -> None:
    limits = limits_of({"merge.targetSize": "64M"}, asked_limits, target_bytes=2 << 20, max_outputs=3, max_sources=4)
    assert (limits.target_bytes, limits.max_outputs, limits.max_sources, limits.min_sources) == (2 << 20, 3, 4, 2)


@pytest.mark.parametrize(("column", "is_text"), [("text", True), ("id", False), ("date", False)])
def test_a_sort_column_compares_by_its_type(column: str, is_text: bool) -> None:
    order = limits_of({"merge.sortColumns": f"{column},month"}).sort_order
    assert (order.columns, order.is_text) == ((column, "month"), is_text)


def test_the_codec_and_the_memory_of_a_merge_are_the_tables_and_the_folder_is_the_processes() -> None:
    options = new_table(settings={"merge.codec": "gzip", "merge.heapSize": "16M"}).options
    limits = arrow_limits(options, "/scratch")
    assert (codec_of(options), limits.row_group_bytes, limits.scratch_folder) == ("gzip", 8 << 20, "/scratch")


def test_the_codec_is_that_of_the_source_unless_set() -> None:
    assert codec_of(new_table().options) is None


def test_a_role_plans_by_the_tables_settings() -> None:
    table = days_table({"merge.minSources": "2"}, a=2)
    assert len(merge_role(table).plan(table, NOW_MS)) == 1


def test_a_role_merges_with_the_tables_codec() -> None:
    table = days_table({"merge.minSources": "2", "merge.codec": "gzip"}, a=2)
    role = merge_role(table)
    (task,) = role.plan(table, NOW_MS)
    assert role.run(task).version is not None
    (path,) = table.snapshot().paths()
    assert pq.ParquetFile(pa.BufferReader(table.store.get(path))).metadata.row_group(0).column(0).compression == "GZIP"


def test_a_process_writes_what_is_not_whole_into_the_folder_it_was_given(bus: MemoryBus, tmp_path: Path) -> None:
    table = days_table({"merge.minSources": "2"}, a=2)
    gone = str(tmp_path / "gone")
    context = RoleContext(bus, SteadyAmbient("role"), lambda uri: table, COMMITTER_GROUP, lambda: False, gone)
    role = ROLES["merge"](context)
    (task,) = role.look(table, NOW_MS).tasks
    with pytest.raises(MergeFailed, match="could not write the temporary file"):
        role.run(task)


# --- workers ------------------------------------------------------------------------------------------------------


def slow(role: str) -> WorkerLimits:
    return WorkerLimits(terms={role: RoleTerms(cooldown_ms=3_600_000, eager_cooldown_ms=5_000)})


@pytest.fixture
def ambient() -> FakeAmbient:
    return FakeAmbient()


@pytest.fixture
def bus(ambient: FakeAmbient) -> MemoryBus:
    made = MemoryBus(ambient, {Topic.EVENTS: 1})
    made.prepare()
    return made


def test_a_worker_comes_at_once_when_a_commit_crosses_what_the_look_waits_for(
    bus: MemoryBus, ambient: FakeAmbient
) -> None:
    role = NotingRole(plans=False)
    role.urgent = Trigger(added_files=2)
    worker = a_worker(bus, ambient, role, limits=slow("note"))
    announce(bus, T)
    rounds(worker)
    ambient.sleep(10)
    announce(bus, T, 2)
    rounds(worker)
    assert role.looked == [T]
    announce(bus, T, 3)
    rounds(worker)
    assert role.looked == [T, T]


def test_a_table_without_such_settings_waits_for_its_cooldown(bus: MemoryBus, ambient: FakeAmbient) -> None:
    role = NotingRole(plans=False)
    worker = a_worker(bus, ambient, role, limits=slow("note"))
    for version in range(1, 9):
        announce(bus, T, version)
        rounds(worker)
        ambient.sleep(10)
    assert role.looked == [T]


def merged_by_a_worker(bus: MemoryBus, ambient: FakeAmbient, settings: Mapping[str, str]) -> list[int]:
    """How many files are live after each of eight commits of one file."""
    table = new_table(MemoryStore(ambient, uri=T), settings=settings, ambient=ambient)
    tables = OpenedTables({T: table.store}, lambda uri: table.commit, settings, ambient)

    def engine(one: Table) -> ArrowEngine:
        return ArrowEngine(one.store, one.reader.resources)

    role: Role = MergeRole(tables.open, engine, ambient)
    worker = a_worker(bus, ambient, role, tables=tables, limits=slow("merge"))
    live = []
    for number in range(8):
        append(table, put_file(table, f"{number}.parquet", rows_table(number * 10)))
        announce(bus, T, number + 1)
        rounds(worker)
        ambient.sleep(10)
        live.append(table.snapshot().num_files)
    return live


def test_merge_on_write_merges_as_soon_as_there_are_enough_files(bus: MemoryBus, ambient: FakeAmbient) -> None:
    settings = MERGES | {"mergeOnWrite.minSplitsToMerge": "3"}
    assert merged_by_a_worker(bus, ambient, settings) == [1, 2, 1, 2, 1, 2, 1, 2]


def test_without_merge_on_write_files_wait_for_the_next_look(bus: MemoryBus, ambient: FakeAmbient) -> None:
    assert merged_by_a_worker(bus, ambient, {}) == [1, 2, 3, 4, 5, 6, 7, 8]


@pytest.mark.parametrize(("hours", "gone"), [("48", True), ("96", False)])
def test_a_worker_cleans_by_the_ages_of_purge_on_write(tmp_path: Path, hours: str, gone: bool) -> None:
    settings = PURGES | {"purgeOnWrite.splitRetentionHours": hours}
    table = Table.create(str(tmp_path / "t"), COLUMNS, settings=settings)
    orphan = tmp_path / "t" / "orphan.parquet"
    orphan.write_bytes(parquet(rows_table(0)))
    then = orphan.stat().st_mtime - 72 * HOUR_S
    os.utime(orphan, (then, then))
    bus = MemoryBus(FakeAmbient())
    bus.prepare()
    CleanRole(lambda uri: table, bus, SystemAmbient(), COMMITTER_GROUP).run(CleanTask(table.uri))
    assert orphan.exists() is not gone
