"""What the Spark engine is made of, without Spark: how orders and outcomes travel, and how attempts stay apart."""

import json
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from headgate_schemas.actions.actions import AddFile
from headgate_schemas.ambient import SystemAmbient
from headgate_schemas.errors import HeadgateError, InvalidInput
from headgate_table.data_file import DataFile
from headgate_table.errors import CommitConflict, CorruptTable, ObjectMissing, StoreError
from headgate_table.store.local.store import LocalStore
from headgate_table.store.paths import MAX_KEY_BYTES, is_key
from headgate_table.store.settings import StoreSettings
from headgate_table.table import Table
from headgate_worker.merge.engines.spark_errors import SparkFailed, spark_failed
from headgate_worker.merge.engines.spark_session import spark_session
from headgate_worker.merge.engines.spark_task import attempted, merge_attempt
from headgate_worker.merge.orders import ArrowLimits, Gone, Merged, MergeOrder, NotMerged, Unreadable
from headgate_worker.merge.parcels import pack_order, pack_outcome, unpack_order, unpack_outcome
from support.merging import append_small, counted, merge_order, merged, new_parquet_table, rows_table
from support.processes.isolated import run_isolated

SETTINGS = StoreSettings(local_durable=False)
ORDER = MergeOrder(
    table="s3://lake/table",
    sources=(
        AddFile("a.parquet", {"day": "1"}, 10, 20, min_values={"id": "1"}, tags={"k": "v"}, split_tags=("x", "y")),
        DataFile(path="b.parquet", partition_values={"day": "ü\ud7ff"}, size=1, modification_time=2, num_records=3),
    ),
    output="day=1/merged.parquet",
    schema_string='{"type":"struct","fields":[]}',
    partition_columns=("day",),
    partition_values={"day": "1"},
    codec="zstd",
    indexed_columns=3,
    max_text_length=7,
)


def test_an_order_arrives_as_it_was_sent() -> None:
    settings = StoreSettings(s3_endpoint="http://127.0.0.1:1", s3_secret_key="secret", local_durable=False)
    limits = ArrowLimits(row_group_bytes=1, row_group_rows=2, scratch_folder="scratch")
    assert unpack_order(pack_order(ORDER, settings, limits)) == (ORDER, settings, limits)


def test_an_order_of_another_version_is_refused() -> None:
    packed = json.loads(pack_order(ORDER, SETTINGS, ArrowLimits())) | {"version": "0.0.0"}
    with pytest.raises(InvalidInput, match=r"0\.0\.0"):
        unpack_order(json.dumps(packed))


@pytest.mark.parametrize(
    "outcome",
    [
        Merged(AddFile("merged.parquet", {}, 1, 2, data_change=False, num_records=3, num_merge_ops=4)),
        NotMerged((Gone("a.parquet"), Unreadable("b.parquet", "its rows can't be read: “…”"))),
    ],
    ids=["merged", "not-merged"],
)
def test_an_outcome_arrives_as_it_was_sent(outcome: Merged | NotMerged) -> None:
    assert unpack_outcome(pack_outcome(outcome)) == outcome


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (StoreError("it doesn't answer"), StoreError),
        (ObjectMissing("it isn't there", "key"), StoreError),
        (CorruptTable("it is damaged"), CorruptTable),
        (InvalidInput("no such codec"), InvalidInput),
        (CommitConflict("others won"), HeadgateError),
    ],
)
def test_an_error_arrives_as_the_nearest_that_callers_know(error: HeadgateError, kind: type[HeadgateError]) -> None:
    with pytest.raises(HeadgateError) as raised:
        unpack_outcome(pack_outcome(error))
    assert (type(raised.value), str(raised.value)) == (kind, str(error))


def test_the_first_attempt_has_the_name_that_was_asked_for() -> None:
    assert attempted(ORDER, 0) == ORDER


@pytest.mark.parametrize(
    ("output", "second"),
    [
        ("merged.parquet", "merged-1.parquet"),
        ("day=1.5/merged.parquet", "day=1.5/merged-1.parquet"),
        ("day=1.5/merged", "day=1.5/merged-1"),
    ],
)
def test_a_further_attempt_has_a_name_beside_it(output: str, second: str) -> None:
    assert attempted(_with_output(output), 1).output == second


def test_a_further_attempt_whose_name_would_be_too_long_lies_in_the_root() -> None:
    folder = "/".join(["f" * 200] * 5)
    name = "m" * (MAX_KEY_BYTES - len(folder) - 10) + ".parquet"
    assert is_key(f"{folder}/{name}")
    second = attempted(_with_output(f"{folder}/{name}"), 1).output
    assert is_key(second)
    assert "/" not in second


def _with_output(output: str) -> MergeOrder:
    return MergeOrder("t", (), output, "", (), {})


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return new_parquet_table(LocalStore(str(tmp_path / "table"), SystemAmbient(), durable=False))


def test_two_attempts_at_one_merge_do_not_touch_each_other(table: Table) -> None:
    """As when Spark begins a second one beside a slow first one, and takes the outcome of either."""
    files = append_small(table, 2)
    parcel = pack_order(merge_order(table, *files, output="merged.parquet"), SETTINGS, ArrowLimits())
    adds = [merged(unpack_outcome(merge_attempt(parcel, attempt))) for attempt in (1, 0)]
    assert [add.path for add in adds] == ["merged-1.parquet", "merged.parquet"]
    for add in adds:
        written = pq.read_table(table.store.local_path(add.path))
        assert counted(written.select(["id", "text"])) == counted(rows_table(0, 20))


def test_spark_is_told_of_no_error_that_headgate_names(table: Table) -> None:
    """Break: errors are raised in the task. Spark would run it again and again."""
    files = append_small(table, 2)
    order = merge_order(table, *files, output="merged.parquet", codec="rar")
    packed = merge_attempt(pack_order(order, SETTINGS, ArrowLimits()), 0)
    with pytest.raises(InvalidInput, match="rar"):
        unpack_outcome(packed)


def test_what_spark_says_is_told_without_its_stack_traces() -> None:
    error = spark_failed("2 files were not merged", RuntimeError("Job aborted\n" + "  at org.apache\n" * 1000))
    assert str(error).startswith("2 files were not merged: Job aborted at org.apache")
    assert len(str(error)) < 1_000


def test_an_executor_without_headgate_is_recognised() -> None:
    error = spark_failed(
        "2 files were not merged", RuntimeError("ModuleNotFoundError: No module named 'headgate_worker'")
    )
    assert "install headgate[spark]" in str(error)


def test_a_machine_without_java_is_recognised() -> None:
    error = spark_failed("no session", RuntimeError("[JAVA_GATEWAY_EXITED] Java gateway process exited"))
    assert "`headgate doctor` tells" in str(error)


def test_without_the_library_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(SparkFailed, match=r"headgate\[spark\]"), spark_session("local[1]"):
        pass


IMPORTS = """
import sys
before = set(sys.modules)
import headgate_worker.merge.engines.spark_task
from headgate_worker.merge.parcels import unpack_order
loaded = {name.partition(".")[0] for name in set(sys.modules) - before}
print(*sorted(loaded & {"pydantic", "pydantic_core", "datafusion", "fastavro", "kafka", "pyspark", "sqlglot", "typer"}))
"""


def test_executors_need_no_more_than_arrow() -> None:
    """Libraries with parts in machine code can't be shipped with a job, and are slow to load in every executor."""
    assert run_isolated(IMPORTS).strip() == ""
