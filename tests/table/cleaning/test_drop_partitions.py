"""DROP PARTITIONS: what it removes and reports, and what it refuses."""

import pytest

from headgate_schemas.actions.actions import RemoveFile
from headgate_schemas.errors import InvalidInput, PredicateError
from headgate_schemas.messages.operations import RejectCode, Rejected
from headgate_table.indextables.cleaning.drop_partitions import drop_partitions
from support.cleaning import World


@pytest.fixture
def world() -> World:
    """Two files of May in Europe, one in America, one of June in Europe."""
    world = World("region", "month")
    for region, month in (("eu", 5), ("eu", 5), ("us", 5), ("eu", 6)):
        world.append(region=region, month=month)
    return world


def test_the_files_of_the_partitions_that_match_are_removed(world: World) -> None:
    world.table.drop_partitions("month = 5")
    assert world.table.snapshot().paths() == ["region=eu/month=6/file-0004.parquet"]


def test_the_report_counts_partitions_files_and_bytes(world: World) -> None:
    report = world.table.drop_partitions("month = 5")
    assert (report.status, report.partitions_dropped, report.splits_removed) == ("success", 2, 3)
    assert report.total_size_bytes == 11 + 12 + 13


def test_the_partitions_go_in_one_version(world: World) -> None:
    before = world.table.version
    world.table.drop_partitions("region = 'eu' OR month = 5")
    assert world.table.version == before + 1


def test_removes_carry_what_other_implementations_write(world: World) -> None:
    world.table.drop_partitions("month = 6")
    removes = [action for action in world.table.reader.actions(5) if isinstance(action, RemoveFile)]
    assert [(item.data_change, item.extended_file_metadata, item.size, item.partition_values) for item in removes] == [
        (True, True, 14, {"region": "eu", "month": "6"})
    ]


def test_without_a_match_nothing_is_committed(world: World) -> None:
    before = world.table.version
    report = world.table.drop_partitions("month = 7")
    assert (report.status, report.splits_removed, world.table.version) == ("no_action", 0, before)


def test_a_column_that_is_no_partition_column_is_refused_with_those_that_are(world: World) -> None:
    with pytest.raises(InvalidInput, match=r"'id' is no partition column.*region, month"):
        world.table.drop_partitions("id = 5")


def test_a_table_without_partitions_is_refused() -> None:
    with pytest.raises(InvalidInput, match="not partitioned"):
        World().table.drop_partitions("month = 5")


def test_a_predicate_that_makes_no_sense_is_refused(world: World) -> None:
    with pytest.raises(PredicateError):
        world.table.drop_partitions("month = = 5")


def test_files_that_are_gone_by_the_time_of_the_commit_are_not_counted(world: World) -> None:
    table = world.table

    def racing(operation: object) -> object:
        table.delete(paths=[path for path in table.snapshot().paths() if "us" in path])
        return table.commit(operation)  # type: ignore[arg-type]  # handed through

    report = drop_partitions(
        table.reader,
        table.metadata,
        "month = 5",
        lambda where: table.snapshot(where=where).num_files,
        racing,  # type: ignore[arg-type]  # as above
    )
    assert (report.status, report.partitions_dropped, report.splits_removed) == ("success", 1, 2)


def test_a_refused_commit_is_an_error_with_its_reason(world: World) -> None:
    report = drop_partitions(
        world.table.reader,
        world.table.metadata,
        "month = 5",
        lambda where: 1,
        lambda operation: Rejected(RejectCode.INVALID, "because", "id"),
    )
    assert (report.status, report.message) == ("error", "because")
