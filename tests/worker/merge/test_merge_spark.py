"""The Spark engine as a cluster of its own: attempts that die, merges side by side, jobs that are given up, other stores."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from headgate_schemas.ambient import SystemAmbient
from headgate_schemas.errors import HeadgateError
from headgate_table.settings.options import TableOptions
from headgate_table.store.local.store import LocalStore
from headgate_table.store.open import open_store
from headgate_table.store.settings import StoreSettings
from headgate_table.table import Table
from headgate_worker.merge.engines.spark import SparkEngine, SparkLimits
from headgate_worker.merge.engines.spark_errors import SparkFailed
from headgate_worker.merge.engines.spark_role import merge_on_spark
from headgate_worker.merge.merging import Merging
from headgate_worker.merge.orders import ArrowLimits
from headgate_worker.merge.plan import MergeLimits
from headgate_worker.merge.report import MergeStatus
from headgate_worker.roles.interface import RoleContext
from support.bus.memory import MemoryBus
from support.merging import (
    TARGET_BYTES,
    append,
    append_small,
    counted,
    data_files,
    merge_order,
    merged,
    new_parquet_table,
    put_file,
    rows_of,
    rows_table,
)
from support.processes.waiting import wait_until
from support.servers.versitygw import S3Server
from support.spark.attempts import LIMIT_S, DiesAlways, DiesFirst, MeetsAnother, NeverEnds, is_alive, signed
from support.tables import SteadyAmbient

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OUTPUT = "merged.parquet"
SETTINGS = StoreSettings(local_durable=False)
SMALL_GROUPS = SparkLimits(ArrowLimits(row_group_rows=10))


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return new_parquet_table(LocalStore(str(tmp_path / "table"), SystemAmbient(), durable=False))


def engine(spark: "SparkSession", **options: object) -> SparkEngine:
    return SparkEngine(spark, SETTINGS, SystemAmbient(), **options)  # type: ignore[arg-type]  # the engine's own options


def test_an_attempt_that_dies_half_way_is_made_again_under_a_name_of_its_own(
    spark: "SparkSession", table: Table
) -> None:
    """Break: every attempt writes to the order's output; the second then finds the first one's half file there."""
    files = append_small(table, 5)
    add = merged(
        engine(spark, limits=SMALL_GROUPS, attempt=DiesFirst(row_groups=3)).merge(
            merge_order(table, *files, output=OUTPUT)
        )
    )
    assert add.path == "merged-1.parquet"
    written = pq.read_table(table.store.local_path(add.path))
    assert counted(written.select(["id", "text"])) == counted(rows_table(0, 50))


def test_what_an_attempt_left_is_deleted_and_the_files_are_merged_once(spark: "SparkSession", table: Table) -> None:
    files = append_small(table, 5)
    before = rows_of(table)
    merging = Merging(
        table, engine(spark, limits=SMALL_GROUPS, attempt=DiesFirst(row_groups=3)), SteadyAmbient("worker")
    )
    with ThreadPoolExecutor(2) as executor:
        report = merging.merge(MergeLimits(target_bytes=TARGET_BYTES), executor)
    assert (report.status, rows_of(table)) == (MergeStatus.SUCCESS, before)
    assert set(data_files(table.store)) == {*table.snapshot().paths(), *(file.path for file in files)}


def test_a_merge_that_no_attempt_survives_has_failed(spark: "SparkSession", table: Table) -> None:
    files = append_small(table, 2)
    with pytest.raises(SparkFailed, match=r"2 files of .* were not merged"):
        engine(spark, attempt=DiesAlways()).merge(merge_order(table, *files, output=OUTPUT))


@pytest.mark.spec("testDistributedCompaction")
def test_groups_are_merged_side_by_side(spark: "SparkSession", tmp_path: Path) -> None:
    store = LocalStore(str(tmp_path / "table"), SystemAmbient(), durable=False)
    table = new_parquet_table(store, partition_by=["day"])
    for number in range(4):
        day = str(number % 2)
        append(table, put_file(table, f"day={day}/{number}.parquet", rows_table(number * 10), {"day": day}))
    before = rows_of(table)
    (meeting := tmp_path / "meeting").mkdir()
    merging = Merging(table, engine(spark, attempt=MeetsAnother(meeting)), SteadyAmbient("worker"))
    with ThreadPoolExecutor(2) as executor:
        report = merging.merge(MergeLimits(target_bytes=TARGET_BYTES), executor)
    assert (report.merge_groups, rows_of(table)) == (2, before)


def test_a_worker_merges_on_the_cluster(spark: "SparkSession", table: Table) -> None:
    append_small(table, TableOptions().merge_min_sources)
    before = rows_of(table)
    ambient = SystemAmbient()
    context = RoleContext(MemoryBus(ambient), ambient, lambda uri: table, "committers", lambda: False)
    role = merge_on_spark(spark, SETTINGS)(context)
    (task,) = role.look(table, ambient.now_ms()).tasks
    assert role.run(task).version == 2
    assert (table.snapshot().num_files, rows_of(table)) == (1, before)


class Stop(HeadgateError):
    pass


def test_a_merge_that_is_given_up_ends_on_the_executor_too(spark: "SparkSession", table: Table, tmp_path: Path) -> None:
    files = append_small(table, 2)
    (begun := tmp_path / "begun").mkdir()

    def give_up() -> None:
        if signed(begun):
            raise Stop("stopping")

    with pytest.raises(Stop):
        engine(spark, give_up=give_up, attempt=NeverEnds(begun)).merge(merge_order(table, *files, output=OUTPUT))
    wait_until(lambda: not any(map(is_alive, signed(begun))), "the attempt is ended", LIMIT_S)


def test_giving_up_one_merge_leaves_the_others_alone(spark: "SparkSession", table: Table, tmp_path: Path) -> None:
    """Break: the tags of jobs are all the same."""
    files = append_small(table, 2)
    (begun := tmp_path / "begun").mkdir()
    (meeting := tmp_path / "meeting").mkdir()
    stopped = threading.Event()

    def give_up() -> None:
        if stopped.is_set():
            raise Stop("stopping")

    with ThreadPoolExecutor(2) as executor:
        hanging = executor.submit(
            engine(spark, give_up=give_up, attempt=NeverEnds(begun)).merge,
            merge_order(table, *files, output="a.parquet"),
        )
        wait_until(lambda: bool(signed(begun)), "the first is at work", LIMIT_S)
        waiting = executor.submit(
            engine(spark, attempt=MeetsAnother(meeting)).merge, merge_order(table, *files, output="b.parquet")
        )
        wait_until(lambda: bool(signed(meeting)), "the second is at work", LIMIT_S)
        stopped.set()
        assert isinstance(hanging.exception(), Stop)
        (meeting / "0").touch()
        assert merged(waiting.result()).num_records == 20


def test_a_merge_that_takes_too_long_is_cancelled(spark: "SparkSession", table: Table, tmp_path: Path) -> None:
    files = append_small(table, 2)
    (begun := tmp_path / "begun").mkdir()
    limits = SparkLimits(job_s=0.0)
    with pytest.raises(SparkFailed, match="job_s"):
        engine(spark, limits=limits, attempt=NeverEnds(begun)).merge(merge_order(table, *files, output=OUTPUT))
    wait_until(lambda: not any(map(is_alive, signed(begun))), "the attempt is ended", LIMIT_S)


def test_a_table_in_a_bucket_is_merged_with_the_credentials_that_are_sent_along(
    spark: "SparkSession", versitygw: S3Server, s3_bucket: str
) -> None:
    """Nothing in the executors' environment says who may use the server."""
    store = open_store(f"s3://{s3_bucket}/lake/table", versitygw.settings(), SystemAmbient())
    table = new_parquet_table(store)
    files = append_small(table, 5, rows=2000)
    add = merged(
        SparkEngine(spark, versitygw.settings(), SystemAmbient()).merge(merge_order(table, *files, output=OUTPUT))
    )
    assert (add.path, add.num_records) == (OUTPUT, 10_000)
    assert add.size == len(store.get(OUTPUT))
