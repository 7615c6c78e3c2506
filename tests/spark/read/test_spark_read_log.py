"""A table's log on executors: entries and snapshots that travel, and manifests that are decoded there."""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark import cloudpickle
from pyspark.errors import PySparkException

import headgate
import headgate.spark
from headgate.spark.reads.manifest_reading import ManifestsOnSpark
from headgate_schemas.actions.actions import AddFile
from headgate_table.indextables.read.entry_reader import read_here
from headgate_table.indextables.read.snapshot import LogSnapshot
from headgate_table.interface.snapshot import Snapshot
from headgate_table.store.settings import StoreSettings
from support.logs.raw_log import RawLog
from support.spark.reading import column, frame, table_of, written

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ENTRY = AddFile(
    path="day=2024-01-01/a.parquet",
    partition_values={"day": "2024-01-01", "region": ""},
    size=10,
    modification_time=20,
    num_records=3,
    min_values={"id": "1"},
    max_values={"id": "9"},
    footer_start_offset=1,
    footer_end_offset=2,
    has_footer_offsets=True,
    split_tags=("a", "b"),
    doc_mapping_json='[{"name":"id"}]',
)


def by_pickle(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))  # noqa: S301  # our own


def by_cloudpickle(value: Any) -> Any:
    packed: Any = cloudpickle
    return packed.loads(packed.dumps(value))


@pytest.fixture
def table(tmp_path: Path) -> headgate.Table:
    """Several manifests, tombstones, and versions after the state."""
    table = table_of(tmp_path / "t", "id BIGINT, part STRING", ["part"], settings={"checkpoint.interval": "2"})
    for number in range(6):
        part = "pq"[number % 2]
        table.append([written(table, f"{part}/{number}.parquet", {"id": [number, number + 100]}, {"part": part})])
    table.delete(paths=["q/1.parquet"])
    table.append([written(table, "p/6.parquet", {"id": [6]}, {"part": "p"})])
    table.delete(paths=["p/0.parquet"])
    return table


# Entries and snapshots travel as Python objects: what Kryo is to Spark's JVM, cloudpickle is to its Python, and plain pickle
# is what Java's own serialization is there.


@pytest.mark.spec("testFileEntryKryoSerialization")
def test_an_entry_survives_cloudpickle() -> None:
    assert by_cloudpickle(ENTRY) == ENTRY


@pytest.mark.spec("testFileEntryJavaSerialization")
def test_an_entry_survives_pickle() -> None:
    assert by_pickle(ENTRY) == ENTRY


@pytest.mark.parametrize("travelled", [by_pickle, by_cloudpickle])
def test_entries_in_bulk_survive(table: headgate.Table, travelled: Callable[[Any], Any]) -> None:
    files = table.snapshot().files()
    assert travelled(files).equals(files)


@pytest.mark.spec("testStateSnapshotSerialization")
@pytest.mark.parametrize("travelled", [by_pickle, by_cloudpickle])
def test_a_snapshot_survives_whole(table: headgate.Table, travelled: Callable[[Any], Any]) -> None:
    snapshot = table.snapshot()
    found: Snapshot = travelled(snapshot)
    assert (found.version, found.metadata, found.protocol) == (snapshot.version, snapshot.metadata, snapshot.protocol)
    assert found.files().equals(snapshot.files())
    assert found.scan().read_all().equals(snapshot.scan().read_all())


def test_a_snapshot_that_travelled_stays_at_its_version(table: headgate.Table) -> None:
    snapshot = table.snapshot()
    before = snapshot.paths()
    packed = pickle.dumps(table.snapshot())
    table.append([written(table, "p/7.parquet", {"id": [7]}, {"part": "p"})])
    table.delete(paths=["p/6.parquet"])
    table.checkpoint()
    found: Snapshot = pickle.loads(packed)  # noqa: S301  # our own
    assert (found.version, found.paths()) == (snapshot.version, before)


def test_a_snapshot_that_travelled_keeps_its_predicate(table: headgate.Table) -> None:
    assert by_pickle(table.snapshot(where="part = 'q'")).paths() == ["q/3.parquet", "q/5.parquet"]


def test_a_snapshot_travels_without_the_entries_that_it_has_read(table: headgate.Table) -> None:
    snapshot = table.snapshot()
    before = len(pickle.dumps(snapshot))
    snapshot.files()
    assert len(pickle.dumps(snapshot)) == before


def test_a_store_that_travelled_has_the_same_settings(tmp_path: Path) -> None:
    from headgate_schemas.ambient import SystemAmbient
    from headgate_table.store.open import open_store

    settings = StoreSettings(s3_endpoint="http://127.0.0.1:9", s3_access_key="key", s3_secret_key="hush", s3_region="r")
    for uri in ("s3://bucket/table", f"file://{tmp_path}/t", str(tmp_path / "t")):
        store = open_store(uri, settings, SystemAmbient())
        found = by_pickle(store)
        assert (type(found), found.uri) == (type(store), uri)
        assert "hush" not in repr(store)


WHERES = ["part = 'p' AND id > 102", "id < 3 OR id > 5"]


@pytest.mark.spec("testDistributedStateRead")
def test_manifests_that_executors_decode_give_the_same_files(spark: "SparkSession", table: headgate.Table) -> None:
    log = table.snapshot().log
    assert log.state is not None
    assert len(log.state.manifests) > 1
    assert log.state.tombstones
    assert log.version > log.state.version
    reading = ManifestsOnSpark(spark, least_entries=0, everything=True)
    for where in (*WHERES, None):
        local = LogSnapshot(table.reader, log, where, read_here)
        assert LogSnapshot(table.reader, log, where, reading).files().equals(local.files())


def test_executors_send_back_only_entries_that_may_match(spark: "SparkSession", table: headgate.Table) -> None:
    snapshot = LogSnapshot(table.reader, table.snapshot().log, "id = 105", ManifestsOnSpark(spark, least_entries=0))
    assert snapshot.paths() == ["q/5.parquet"]
    assert snapshot.statistics.entries_decoded == 1


def test_a_table_of_usual_size_is_read_by_the_driver(table: headgate.Table) -> None:
    nobody: Any = None  # asking it for anything would fail
    snapshot = LogSnapshot(table.reader, table.snapshot().log, "part = 'q'", ManifestsOnSpark(nobody))
    assert snapshot.paths() == ["q/3.parquet", "q/5.parquet"]


def test_where_executors_fail_the_driver_reads(table: headgate.Table) -> None:
    class WithoutHeadgate:
        def range(self, *_: int) -> Any:
            raise PySparkException("ModuleNotFoundError: No module named 'headgate'")

    session: Any = WithoutHeadgate()
    snapshot = LogSnapshot(table.reader, table.snapshot().log, "part = 'q'", ManifestsOnSpark(session, least_entries=0))
    assert snapshot.paths() == ["q/3.parquet", "q/5.parquet"]


@pytest.mark.spec("testWriteWithSparkDataSource")
def test_what_spark_writes_is_in_the_next_avro_state(spark: "SparkSession", tmp_path: Path) -> None:
    table = table_of(tmp_path / "t", "id BIGINT, part STRING", ["part"], configuration={"checkpoint.interval": "2"})
    for low in (0, 10):
        rows = spark.range(low, low + 4, 1, 1).selectExpr("id", "CAST(id % 2 AS STRING) AS part")
        rows.write.format("headgate").mode("append").save(table.uri)
    raw = RawLog(table.store)
    assert raw.states()[-1] == 2
    entries = raw.live(2).values()
    assert sorted(entry["partitionValues"]["part"] for entry in entries) == ["0", "0", "1", "1"]
    assert sum(entry["numRecords"] for entry in entries) == 8


def test_a_read_may_decode_its_manifests_on_executors(spark: "SparkSession", table: headgate.Table) -> None:
    read = headgate.spark.read(spark, table.uri, "id > 4", distributed=True)
    assert column(read, "id") == column(frame(spark, table, "native", where="id > 4"), "id")
