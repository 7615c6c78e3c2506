"""Whether what a serializable proposal has read still stands."""

import pytest

from headgate_schemas.actions.actions import Action, AddFile, Metadata, RemoveFile
from headgate_schemas.columns.table_schema import schema_string_of
from headgate_schemas.messages.operations import ReadSet
from headgate_table.indextables.rules.serializable import read_conflict
from support.tables import COLUMNS, START_MS, add_file

METADATA = Metadata("t", schema_string_of(COLUMNS), partition_columns=("region", "month"))


def added(region: str, *, data_change: bool = True) -> AddFile:
    return add_file("a", region=region, month=1, data_change=data_change)


def removed(region: str, *, data_change: bool = True) -> RemoveFile:
    return RemoveFile("a", START_MS, data_change, partition_values={"region": region, "month": "1"})


def conflict(reads: str | None, *actions: Action) -> str | None:
    return read_conflict(ReadSet(4, reads), [(5, list(actions))], METADATA)


@pytest.mark.parametrize("action", [added("eu"), removed("eu")])
def test_a_change_of_what_was_read_is_a_conflict(action: Action) -> None:
    found = conflict("region = 'eu'", action)
    assert found is not None
    assert "version 5" in found


@pytest.mark.parametrize("action", [added("us"), removed("us")])
def test_a_change_elsewhere_is_none(action: Action) -> None:
    assert conflict("region = 'eu'", action) is None


@pytest.mark.parametrize("action", [added("eu", data_change=False), removed("eu", data_change=False)])
def test_files_that_were_only_rewritten_are_none(action: Action) -> None:
    """Break: every merge under way refuses the jobs that read the table."""
    assert conflict("region = 'eu'", action) is None


def test_without_a_predicate_everything_was_read() -> None:
    assert conflict(None, added("us")) is not None


def test_a_file_that_only_its_rows_could_tell_apart_is_a_conflict() -> None:
    assert conflict("id = 7", added("us")) is not None


def test_the_partition_alone_can_rule_a_file_out() -> None:
    """Break: a predicate with a data column counts as one about data alone."""
    assert conflict("id = 7 AND region = 'eu'", added("us")) is None


def test_a_negated_condition_on_rows_may_match_too() -> None:
    assert conflict("NOT (id = 7) AND region = 'us'", added("us")) is not None


@pytest.mark.parametrize("values", [None, {}, {"region": "us"}])
def test_a_remove_that_does_not_tell_its_partition_is_a_conflict(values: dict[str, str] | None) -> None:
    """Break: a missing value is taken for a null, and a removed file for one of another partition."""
    assert conflict("region = 'eu'", RemoveFile("a", START_MS, partition_values=values)) is not None


def test_versions_that_cannot_be_read_are_a_conflict() -> None:
    assert read_conflict(ReadSet(4), None, METADATA) is not None


def test_a_predicate_that_the_table_cannot_answer_is_a_conflict_that_says_so() -> None:
    found = conflict("nosuch = 1", added("us"))
    assert found is not None
    assert "nosuch" in found
