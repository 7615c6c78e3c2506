"""The role of a worker: what it plans for a table, and how its tasks end."""

from typing import Any

import pytest

from headgate_schemas.messages.operations import Operation, Receipt, RejectCode, Rejected, Rewrite
from headgate_table.errors import OutcomeUnknown
from headgate_table.settings.options import TableOptions
from headgate_table.table import Table
from headgate_worker.merge.engines.arrow import ArrowEngine
from headgate_worker.merge.plan import MergeLimits
from headgate_worker.merge.role import MergeFailed, MergeRole
from headgate_worker.roles.interface import Abandoned, MergeTask
from support.merging import append, append_small, data_files, new_parquet_table, put_file, rows_of, rows_table
from support.tables import SteadyAmbient, fresh_resources

NOW_MS = 1_780_000_000_000
UNASKED_MIN_SOURCES = TableOptions().merge_min_sources


def role(table: Table, answer: Receipt | Exception | None = None, **options: Any) -> MergeRole:
    """A role for this table; with an answer, that is what every rewrite gets."""

    def commit(operation: Operation) -> Receipt:
        if isinstance(operation, Rewrite) and answer is not None:
            if isinstance(answer, Exception):
                raise answer
            return answer
        return table.commit(operation)

    def open_table(uri: str) -> Table:
        assert uri == table.uri
        return Table(table.store, SteadyAmbient("opened"), fresh_resources(), None, commit)

    def engine_for(one: Table) -> ArrowEngine:
        return ArrowEngine(one.store, one.reader.resources)

    return MergeRole(open_table, engine_for, SteadyAmbient("role"), **options)


def only_task(merger: MergeRole, table: Table) -> MergeTask:
    (task,) = merger.plan(table, NOW_MS)
    assert isinstance(task, MergeTask)
    return task


def test_a_task_names_its_sources_and_their_weight() -> None:
    table = new_parquet_table()
    files = append_small(table, UNASKED_MIN_SOURCES)
    task = only_task(role(table), table)
    assert (task.table, [source.path for source in task.sources]) == (table.uri, [file.path for file in files])
    assert task.weight_bytes == sum(file.size for file in files)


def test_few_small_files_wait_for_more() -> None:
    table = new_parquet_table()
    append_small(table, UNASKED_MIN_SOURCES - 1)
    assert role(table).plan(table, NOW_MS) == []


def test_the_limits_may_depend_on_the_table() -> None:
    table = new_parquet_table()
    append_small(table, 2)
    assert len(role(table, limits=lambda one: MergeLimits()).plan(table, NOW_MS)) == 1


def test_a_task_that_is_done_tells_its_version() -> None:
    table = new_parquet_table()
    append_small(table, UNASKED_MIN_SOURCES)
    before = rows_of(table)
    merger = role(table)
    report = merger.run(only_task(merger, table))
    assert (report.version, report.problems, report.more) == (table.version, (), False)
    assert (rows_of(table), table.snapshot().num_files) == (before, 1)


def test_a_lost_race_is_told_as_one() -> None:
    table = new_parquet_table()
    append_small(table, UNASKED_MIN_SOURCES)
    merger = role(table, Rejected(RejectCode.SOURCE_GONE, "gone", "p"))
    report = merger.run(only_task(merger, table))
    assert (report.version, report.lost) == (None, True)


@pytest.mark.parametrize("code", [RejectCode.OVER_BOUND, RejectCode.EXPIRED])
def test_a_refusal_that_the_next_merge_would_get_as_well_is_an_error(code: RejectCode) -> None:
    """Break: a merge that expired is planned again at once, by the same clock, and each leaves its output behind."""
    table = new_parquet_table()
    append_small(table, UNASKED_MIN_SOURCES)
    merger = role(table, Rejected(code, "as ever", "p"))
    with pytest.raises(MergeFailed, match="as ever"):
        merger.run(only_task(merger, table))


def test_an_outcome_that_nobody_knows_is_a_problem_that_names_the_output() -> None:
    table = new_parquet_table()
    append_small(table, UNASKED_MIN_SOURCES)
    merger = role(table, OutcomeUnknown("nobody knows", "p"))
    report = merger.run(only_task(merger, table))
    assert report.version is None
    assert "merged-" in report.problems[0]


def test_an_unreadable_source_is_a_problem_of_a_task_that_is_done() -> None:
    table = new_parquet_table()
    append_small(table, UNASKED_MIN_SOURCES)
    append(table, put_file(table, "bad.parquet", rows_table(900)))
    table.store.put("bad.parquet", b"PAR1 this is no Parquet file PAR1")
    merger = role(table)
    report = merger.run(only_task(merger, table))
    assert report.version is not None
    assert report.problems[0].startswith("bad.parquet")


def test_a_merge_that_a_stopping_worker_gives_up_is_no_failure() -> None:
    """Break: `Merging` takes `Abandoned` for what an engine couldn't do."""
    table = new_parquet_table()
    append_small(table, UNASKED_MIN_SOURCES)
    before = data_files(table.store)

    def stop() -> None:
        raise Abandoned("the worker is stopping")

    merger = MergeRole(
        lambda uri: table,
        lambda one: ArrowEngine(one.store, one.reader.resources, give_up=stop),
        SteadyAmbient("role"),
    )
    with pytest.raises(Abandoned):
        merger.run(only_task(merger, table))
    assert data_files(table.store) == before
