"""`headgate worker` with the setting `spark`: the process starts a session of its own, merges there, and ends it."""

import signal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headgate.spark.java_home import local_environment
from headgate_producer.producer import Producer
from headgate_schemas.messages.operations import Committed
from headgate_table.data_file import DataFile
from headgate_table.settings.options import TableOptions
from headgate_table.store.settings import StoreSettings
from headgate_table.table import Table
from support.processes.cli_processes import a_process, heard, rest_of
from support.processes.isolated import module_path
from support.spark.session import LOOPBACK, spark_settings

STORES = StoreSettings(local_durable=False)
PATIENCE_S = 60.0
SOURCES = TableOptions().merge_min_sources


@pytest.fixture
def session_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a session of the worker writes down what it did. It is small, and has nothing to fetch."""
    place = tmp_path / "events"
    place.mkdir()
    settings = spark_settings(tmp_path / "spark")
    del settings["spark.jars"]
    settings |= {"spark.eventLog.enabled": "true", "spark.eventLog.dir": place.as_uri()}
    settings |= {"spark.eventLog.compress": "false", "spark.eventLog.rolling.enabled": "false"}
    for name, text in local_environment().items():
        monkeypatch.setenv(name, text)
    monkeypatch.setenv("SPARK_LOCAL_IP", LOOPBACK)
    monkeypatch.setenv("PYTHONPATH", module_path())
    monkeypatch.setenv("HEADGATE_WORKER_SPARK", "local[1]")
    monkeypatch.setenv("HEADGATE_WORKER_SPARK_SETTINGS", ",".join(f"{key}={text}" for key, text in settings.items()))
    return place


@pytest.fixture
def scattered(bus: str, committing: None, tmp_path: Path) -> Path:
    """A table of as many small files as a worker merges unasked, of one row each."""
    place = tmp_path / "scattered"
    with Producer(bus, str(place), storage=STORES) as producer:
        producer.create("id BIGINT").wait(PATIENCE_S)
        for number in range(SOURCES):
            pq.write_table(pa.table({"id": pa.array([number], pa.int64())}), place / f"{number:03}.parquet")
        files = [DataFile.of_parquet(f"{number:03}.parquet", root=place) for number in range(SOURCES)]
        assert isinstance(producer.append(files).wait(PATIENCE_S), Committed)
    return place


def test_a_worker_merges_on_a_session_of_its_own_and_ends_it(bus: str, scattered: Path, session_log: Path) -> None:
    """Break: `serve_worker` doesn't hand the makers on; or the session isn't stopped, and leaves its log unfinished."""
    with a_process("worker", "--bus", bus, "--roles", "merge", "--log", "json") as process:
        done = heard(process, "task_done", role="merge")
        process.send_signal(signal.SIGTERM)
        _, errors = rest_of(process)
    assert (process.returncode, done["table"]) == (0, str(scattered)), errors
    (log,) = [path for path in session_log.iterdir() if not path.name.startswith(".")]
    assert not log.name.endswith(".inprogress")
    assert "headgate-merge-" in log.read_text()
    snapshot = Table.open(str(scattered), STORES).snapshot()
    assert snapshot.num_files == 1
    assert sorted(snapshot.scan().read_all().column("id").to_pylist()) == list(range(SOURCES))
