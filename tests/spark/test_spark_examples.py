"""The Spark programs in `examples/`, and what docs/spark.md shows: they run, with a real broker and a committer."""

import os
import re
import runpy
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headgate.spark
from headgate_bus.open import open_bus
from headgate_schemas.ambient import SystemAmbient
from pyspark_headgate.options import OPTIONS
from support.ambient import FakeAmbient
from support.docs.page_blocks import DOCS, blocks_of
from support.kafka.fixtures import new_bus_address
from support.kafka.topics import fill, new_topic
from support.processes.cli_processes import a_process
from support.processes.waiting import wait_until
from support.torture.stage.children import Child, committer_command

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
README = (ROOT / "README.md").read_text(encoding="utf-8")
GUIDE = (ROOT / "docs" / "spark.md").read_text(encoding="utf-8")
COUNTRIES = ("de", "fr", "it")
RECORDS = 30
START_LIMIT_S = 120.0

Program = Callable[..., None]


@pytest.fixture
def bus(kafka_address: str, tmp_path: Path) -> Iterator[str]:
    """One of its own, with a committer in a process of its own."""
    address = new_bus_address(kafka_address, partitions=1)
    with closing(open_bus(address, SystemAmbient())) as opened:
        opened.prepare()
    committer = Child("committer", committer_command(address, str(tmp_path)), tmp_path)
    try:
        committer.start()
        wait_until(
            lambda: committer.has_said("committer_started") or not committer.is_running, "a committer", START_LIMIT_S
        )
        assert committer.is_running, committer.said()
        yield address
    finally:
        committer.end()


@pytest.fixture
def clicks(kafka_address: str) -> str:
    """A topic with some in it."""
    topic = new_topic(kafka_address, 2)
    put(kafka_address, topic, range(RECORDS))
    return topic


def put(address: str, topic: str, numbers: range) -> None:
    countries = len(COUNTRIES)
    fill(address, topic, [b'{"id": %d, "country": "%s"}' % (n, COUNTRIES[n % countries].encode()) for n in numbers])


def program(name: str) -> Program:
    """Its `main`, which takes the session that is there."""
    main: Program = runpy.run_path(str(EXAMPLES / name))["main"]
    return main


@pytest.mark.usefixtures("spark")
def test_the_streaming_sink_takes_every_record_once_and_goes_on_where_it_was(
    bus: str, clicks: str, kafka_address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = (bus, clicks, str(tmp_path / "clicks"), str(tmp_path / "checkpoint"))
    program("streaming_sink.py")(*given)
    assert capsys.readouterr().out == "30 records taken; the table holds 30\n"
    put(kafka_address, clicks, range(RECORDS, RECORDS + 3))
    program("streaming_sink.py")(*given)
    assert capsys.readouterr().out == "3 records taken; the table holds 33\n"


def blocks(language: str) -> list[str]:
    """Of the guide; those that need a cluster say so."""
    return re.findall(rf"^```{language}\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)


def test_what_the_guide_shows_prints_what_it_says(
    spark: "SparkSession", bus: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", "")  # what the guide sets is taken back with it
    monkeypatch.setenv("PYSPARK_PYTHON", "")
    incoming = spark.createDataFrame([(7, "eu", 1.0), (8, "us", 2.0)], "id BIGINT, region STRING, amount DOUBLE")
    incoming.write.parquet(str(tmp_path / "incoming"))
    shown = "".join(blocks("python")).replace("s3://lake", str(tmp_path)).replace("kafka://broker:9092", bus)
    (tmp_path / "guide.py").write_text(shown)
    runpy.run_path(str(tmp_path / "guide.py"))
    assert capsys.readouterr().out == "".join(blocks("text"))


def test_the_guide_to_streams_goes_as_it_says(
    spark: "SparkSession", tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", "")
    monkeypatch.setenv("PYSPARK_PYTHON", "")
    monkeypatch.chdir(tmp_path)
    page = blocks_of(DOCS / "guide-spark-stream.md")
    [program] = [block for block in page if block.kind == "python"]
    # Spark's own paths are those of its process, which began elsewhere.
    here = program.body
    for name in ("incoming", "checkpoints/clicks", "lake/clicks"):
        here = here.replace(f'"{name}"', f'"{tmp_path / name}"')
    (tmp_path / "stream.py").write_text(here.replace("sqlite:bus.db", f"sqlite:///{tmp_path}/bus.db"))
    [feeding] = [block.body for block in page if block.kind == "sh" and "incoming" in block.body]
    lines = [line for line in feeding.splitlines() if "incoming" in line]
    subprocess.run(["bash", "-ec", "\n".join(lines)], cwd=tmp_path, check=True)
    [committer] = [block.body for block in page if block.kind == "sh" and "headgate committer" in block.body]
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    itself = committer.replace("headgate committer", "exec headgate committer")
    with a_process(program=["bash", "-ec", itself], folder=tmp_path):
        for _ in range(2):
            runpy.run_path(str(tmp_path / "stream.py"))
    assert capsys.readouterr().out == "2 rows\n" * 2
    assert [entry.operation for entry in headgate.Table.open(str(tmp_path / "lake/clicks")).history()].count(
        "Append"
    ) == 1


def test_what_the_page_of_changes_and_sql_shows_runs(
    spark: "SparkSession", bus: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A table with the versions, partitions and columns that the page speaks of, begun two days ago."""
    uri = str(tmp_path / "events")
    days_ago = FakeAmbient(time_ms=SystemAmbient().now_ms() - 2 * 86_400_000)
    table = headgate.Table.create(uri, "id BIGINT, day STRING", partition_by=["day"], ambient=days_ago)
    for number in range(17):
        path = f"day={('2023-12-31', '2024-01-31')[number % 2]}/{number}.parquet"
        rows = pa.BufferOutputStream()
        pq.write_table(pa.table({"id": [number * 100]}), rows)
        table.store.put(path, rows.getvalue().to_pybytes())
        table.append([headgate.DataFile.of_parquet(path, store=table.store)])
    shown = "".join(block.body for block in blocks_of(DOCS / "spark-changes-and-sql.md") if block.kind == "python")
    program = shown.replace("s3://lake", str(tmp_path)).replace("kafka://broker:9092", bus)
    (tmp_path / "page.py").write_text(program)
    try:
        runpy.run_path(str(tmp_path / "page.py"), {"spark": spark, "headgate": headgate})
    finally:
        headgate.spark.disable(spark)
    capsys.readouterr()
    after = headgate.Table.open(uri)
    assert [entry.operation for entry in after.history()][:2] == ["Restore", "Delete"]
    assert after.snapshot().num_records == 17


def test_what_the_readme_shows_of_spark_runs(
    spark: "SparkSession", bus: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    day = spark.createDataFrame([(1, "2024-01-01")], "id BIGINT, date STRING")
    day.write.format("headgate").mode("append").option("bus", bus).save(str(tmp_path / "events"))
    day.write.parquet(str(tmp_path / "incoming"))
    incoming = spark.readStream.schema(day.schema).parquet(str(tmp_path / "incoming"))
    [shown] = re.findall(r"^```python spark\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    program = shown.replace("s3://lake", str(tmp_path)).replace("kafka://broker:9092", bus)
    given = {"spark": spark, "events": incoming, "checkpoint": str(tmp_path / "checkpoint")}
    (tmp_path / "readme.py").write_text(program)
    try:
        stream = runpy.run_path(str(tmp_path / "readme.py"), given)["stream"]
        stream.processAllAvailable()
        stream.stop()
    finally:
        headgate.spark.disable(spark)
    assert "2024-01-01" in capsys.readouterr().out
    assert headgate.Table.open(str(tmp_path / "events")).snapshot().scan().read_all().num_rows == 2


def test_the_guide_tells_of_every_option() -> None:
    rows = [f"| `{option.name}` | {option.takes} | {option.means} | {option.used_in} |" for option in OPTIONS]
    table = GUIDE.partition("| option | takes | means | used in |\n")[2].partition("\n\n")[0]
    assert table.splitlines()[1:] == rows


def test_the_batch_job_replaces_what_it_counted(
    spark: "SparkSession", bus: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, totals = str(tmp_path / "clicks"), str(tmp_path / "totals")
    rows = spark.range(5).selectExpr("id", "if(id < 3, 'DE', 'FR') AS country", "DATE '2024-03-01' AS day")
    rows.write.format("headgate").mode("append").option("partitionBy", "country").save(source)
    program("batch_job.py")(bus, source, totals)
    first = capsys.readouterr().out
    rows.where("id = 4").write.format("headgate").mode("append").save(source)
    program("batch_job.py")(bus, source, totals)
    assert (first, capsys.readouterr().out) == (
        "committed as version 1\nDE: 3 clicks, last on 2024-03-01\nFR: 2 clicks, last on 2024-03-01\n",
        "committed as version 2\nDE: 3 clicks, last on 2024-03-01\nFR: 3 clicks, last on 2024-03-01\n",
    )


@pytest.mark.parametrize("name", ["streaming_sink.py", "batch_job.py"])
def test_an_example_without_arguments_says_how_it_is_used(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", [name])
    with pytest.raises(SystemExit) as raised:
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    assert re.match(rf"usage: .*{name} BUS \w+ \w+", str(raised.value.code))
