"""What `make engines` leans on: programs of another environment answer or are said to have failed, and limits are the engines' own."""

import datetime as dt
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.mirror_readers import clickhouse, delta_spark
from support.mirror_readers.apart import EngineFailure, EngineProcess
from support.mirror_readers.reader import MirrorReader
from support.servers.maven_jars import locked_jars

PROGRAM = """
import os
import pyarrow as pa
from support.mirror_readers.answering import serve

def read(uri, version, columns):
    os.write(1, b"an engine's chatter\\n")
    if uri == "dies":
        os.write(2, b"out of breath")
        os._exit(3)
    if uri == "fails":
        raise ValueError("no such table")
    return pa.table({name: [version, os.getpid()] for name in columns})

serve(lambda: read)
"""


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[EngineProcess]:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    process = EngineProcess(lambda: (sys.executable, program), {}, tmp_path / "log")
    yield process
    process.close()


def test_an_engine_answers_each_request_and_its_chatter_is_no_answer(engine: EngineProcess) -> None:
    first, second = engine.read("t", 1, ["a", "naïve"]), engine.read("t", 2, ["b"])
    assert (first.column_names, first["naïve"][0].as_py()) == (["a", "naïve"], 1)
    assert (second["b"][0].as_py(), second["b"][1]) == (2, first["a"][1])


def test_an_engines_error_is_told_and_the_next_request_answered(engine: EngineProcess) -> None:
    with pytest.raises(EngineFailure, match="ValueError: no such table"):
        engine.read("fails", 1, ["a"])
    assert engine.read("t", 1, ["a"]).num_rows == 2


def test_an_engine_that_died_is_told_with_its_last_words_and_started_anew(engine: EngineProcess) -> None:
    before = engine.read("t", 1, ["a"])["a"][1]
    with pytest.raises(EngineFailure, match="out of breath"):
        engine.read("dies", 1, ["a"])
    assert engine.read("t", 1, ["a"])["a"][1] != before


def test_an_engine_that_answers_too_late_is_ended(engine: EngineProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("support.mirror_readers.apart.ANSWER_LIMIT_S", 0.0)
    with pytest.raises(EngineFailure, match="ended in the middle"):
        engine.read("t", 1, ["a"])


LOCAL = pa.timestamp("us")


@pytest.mark.parametrize(
    ("cells", "type_", "holds"),
    [
        ([1, None], pa.int64(), True),
        ([Decimal("1.5"), None], pa.decimal128(38, 10), True),
        ([-719_528, 2_932_896, None], pa.date32(), True),
        ([-719_529], pa.date32(), False),
        ([2_932_897], pa.date32(), False),
        ([], pa.date32(), True),
        ([dt.datetime(1, 1, 1, tzinfo=dt.UTC).replace(tzinfo=None)], LOCAL, True),
        ([{"a": 1}, {"a": None}], pa.struct([("a", pa.int64())]), True),
        ([{"a": 1}, None], pa.struct([("a", pa.int64())]), False),
        ([{"a": [1]}, {"a": None}], pa.struct([("a", pa.list_(pa.int64()))]), False),
        ([[1, None], []], pa.list_(pa.int64()), True),
        ([[1], None], pa.list_(pa.int64()), False),
        ([[[1], None]], pa.list_(pa.list_(pa.int64())), False),
        ([[("k", None)]], pa.map_(pa.string(), pa.int64()), True),
        ([[("k", None)]], pa.map_(pa.string(), pa.list_(pa.int64())), False),
        ([None], pa.map_(pa.string(), pa.int64()), False),
    ],
)
def test_clickhouse_holds_what_it_has_values_for(cells: list[Any], type_: Any, holds: bool) -> None:
    array = pa.array(cells, pa.int32()).cast(type_) if type_ == pa.date32() else pa.array(cells, type_)
    assert clickhouse.holds(pa.chunked_array([array]), False) is holds


def test_clickhouse_reads_partitions_of_short_decimals_alone() -> None:
    rows = pa.table({"p": pa.array([1], pa.decimal128(18, 2)), "q": pa.array([1], pa.decimal128(19, 2))})
    reader = MirrorReader(lambda uri, version, columns: rows, holds=clickhouse.holds)
    assert reader.columns(rows) == ["p", "q"]
    assert reader.columns(rows, ["p", "q"]) == ["p"]


@pytest.mark.parametrize(
    ("type_", "old", "opens"),
    [
        (pa.timestamp("us"), False, True),
        (pa.timestamp("ms", "UTC"), False, True),
        (pa.timestamp("ns"), False, False),
        (pa.list_(pa.timestamp("ns", "UTC")), False, False),
        (pa.timestamp("ns"), True, True),
        (pa.string(), False, True),
    ],
)
def test_spark_opens_files_without_nanoseconds(tmp_path: Path, type_: Any, old: bool, opens: bool) -> None:
    place = tmp_path / "f.parquet"
    pq.write_table(pa.table({"id": [1], "t": pa.array([None], type_)}), place, use_deprecated_int96_timestamps=old)
    assert delta_spark.opens(place) is opens


def test_the_lock_names_the_connector_and_its_store() -> None:
    names = {jar.file_name for jar in locked_jars(delta_spark.LOCK.read_text())}
    assert names == {f"delta-spark_4.2_2.13-{delta_spark.VERSION}.jar", f"delta-storage-{delta_spark.VERSION}.jar"}
