"""Writes of Spark that others overtake between planning and committing: told, or carried on with, and never half done."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from headgate_producer.errors import WriteRefused
from headgate_schemas.columns.table_schema import column_kinds, schema_string_of
from headgate_schemas.errors import InvalidInput
from headgate_schemas.messages.operations import Alter, Operation, Receipt, Writer
from headgate_table.data_file import DataFile
from headgate_table.errors import TableExists
from headgate_table.table import Table
from pyspark_headgate.executor.parquet_parts import write_parts
from pyspark_headgate.options import SourceOptions
from pyspark_headgate.write.commit_files import data_files, put_into_table
from pyspark_headgate.write.plan import WritePlan, plan_write
from pyspark_headgate.write.table_target import TableTarget
from support.ambient import FakeAmbient

ROWS = schema_string_of("id BIGINT, k STRING")


class Overtaken(TableTarget):
    """Lets somebody else act before each commit of ours."""

    before: Callable[[Operation], None] = staticmethod(lambda operation: None)
    made: list[tuple[str, int]]
    """The operations that were committed, and from when on they may have been proposed."""

    def commit(
        self, operation: Operation, proposal_id: str, writer: Writer | None = None, *, created_ms: int | None = None
    ) -> Receipt:
        self.before(operation)
        self.made.append((type(operation).__name__, created_ms or 0))
        return super().commit(operation, proposal_id, writer, created_ms=created_ms)


class Race:
    def __init__(self, uri: str, **options: str) -> None:
        self.uri = uri
        self._given = SourceOptions.of({"path": uri, "local.durable": "false", **options})
        self.target = Overtaken(self._given, FakeAmbient())
        self.target.made = []
        self.plan: WritePlan = plan_write(
            self.target, self._given, ROWS, self.target.look(), overwrite=False, streaming=False, job="job"
        )

    def finish(self, *, only_if_new: bool = False) -> Receipt | None:
        return put_into_table(self.target, replace(self.plan.change, only_if_new=only_if_new), self.files(), "job")

    def files(self) -> list[DataFile]:
        batch = pa.record_batch({"id": [1], "k": ["a"]})
        return data_files(write_parts(self.plan.parts, iter([batch]), 0, 0), self.plan.change.partition_columns)

    def rows(self) -> list[dict[str, object]]:
        found: list[dict[str, object]] = Table.open(self.uri).snapshot().scan().read_all().to_pylist()
        return found


@pytest.fixture
def uri(tmp_path: Path) -> str:
    return str(tmp_path / "table")


def test_a_table_that_somebody_else_has_just_made_alike_is_written_to(uri: str) -> None:
    race = Race(uri, partitionBy="k")
    Table.create(uri, "id BIGINT, k STRING, more INT", ["k"])
    race.finish()
    assert race.rows() == [{"id": 1, "k": "a", "more": None}]


def test_a_table_that_somebody_else_has_just_made_otherwise_is_not(uri: str) -> None:
    race = Race(uri, partitionBy="k")
    Table.create(uri, "id BIGINT, k STRING")
    with pytest.raises(WriteRefused, match="is partitioned by nothing, but the files were written by k"):
        race.finish()
    assert race.rows() == []


@pytest.mark.parametrize("exists", [False, True], ids=["it made the table", "it added the column"])
def test_a_column_that_somebody_else_has_just_added_in_another_spelling_is_not_written_as_null(
    uri: str, exists: bool
) -> None:
    """Break: the files hold `k` and the table has `K`, and nobody compares them any more."""
    if exists:
        Table.create(uri, "id BIGINT")
    race = Race(uri, mergeSchema="true")
    if exists:
        Table.open(uri).alter(schema="id BIGINT, K STRING")
    else:
        Table.create(uri, "id BIGINT, K STRING")
    with pytest.raises(WriteRefused, match="spells the table's column 'K' as 'k'"):
        race.finish()
    assert race.rows() == []


def test_files_that_the_table_refuses_are_not_told_as_written(uri: str) -> None:
    race = Race(uri, partitionBy="k")
    files = race.files()
    put_into_table(race.target, race.plan.change, files, "first")
    with pytest.raises(WriteRefused, match=r"path_in_use.*nothing was written"):
        put_into_table(race.target, race.plan.change, files, "second")
    assert len(race.rows()) == 1


def test_who_wanted_a_new_table_is_told_that_there_is_one(uri: str) -> None:
    race = Race(uri)
    Table.create(uri, "id BIGINT, k STRING")
    with pytest.raises(TableExists, match="somebody else has just made a table"):
        race.finish(only_if_new=True)
    assert race.rows() == []


def test_a_column_that_somebody_else_adds_first_is_not_added_twice(uri: str) -> None:
    table = Table.create(uri, "id BIGINT")
    race = Race(uri, mergeSchema="true")
    table.alter(schema="id BIGINT, k STRING")
    race.finish()
    assert list(column_kinds(table.metadata.schema_string)) == ["id", "k"]
    assert race.rows() == [{"id": 1, "k": "a"}]


def test_a_column_is_added_after_all_when_others_change_the_table_meanwhile(uri: str) -> None:
    table = Table.create(uri, "id BIGINT")
    race = Race(uri, mergeSchema="true")
    others = iter(["id BIGINT, first INT", "id BIGINT, first INT, second INT"])

    def overtake(operation: Operation) -> None:
        schema = next(others, None) if isinstance(operation, Alter) else None
        if schema is not None:
            table.alter(schema=schema)

    race.target.before = overtake
    race.finish()
    assert list(column_kinds(table.metadata.schema_string)) == ["id", "first", "second", "k"]
    assert race.rows() == [{"id": 1, "first": None, "second": None, "k": "a"}]


def test_a_column_that_somebody_else_adds_in_another_type_is_told(uri: str) -> None:
    table = Table.create(uri, "id BIGINT")
    race = Race(uri, mergeSchema="true")
    table.alter(schema="id BIGINT, k BIGINT")
    with pytest.raises(InvalidInput, match="column 'k' is string in the rows and long in the table"):
        race.finish()
    assert race.rows() == []


@pytest.mark.parametrize("exists", [False, True], ids=["it makes the table", "it adds a column"])
def test_a_driver_whose_clock_is_behind_dates_all_that_it_proposes_by_its_files(uri: str, exists: bool) -> None:
    """Break: date it by the driver's clock. A table that has forgotten ids since takes every try for an old repetition."""
    if exists:
        Table.create(uri, "id BIGINT")
    race = Race(uri, mergeSchema="true")
    files = race.files()
    assert race.target.ambient.now_ms() < files[0].modification_time
    put_into_table(race.target, race.plan.change, files, "job")
    expected = ["Alter", "Append"] if exists else ["Create", "Append"]
    assert race.target.made == [(kind, files[0].modification_time) for kind in expected]
