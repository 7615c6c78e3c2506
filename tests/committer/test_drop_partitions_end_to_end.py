"""DROP PARTITIONS from end to end, committed directly and decided by a committer: what goes, what stays, what is told."""

from collections.abc import Callable

import pytest

from headgate_schemas.actions.actions import NULL_PARTITION, AddFile
from headgate_schemas.errors import InvalidInput, PredicateError
from headgate_schemas.messages.operations import Append, Delete, Operation, Receipt, Rewrite
from headgate_table.indextables.cleaning.drop_partitions import DropReport
from headgate_table.table import Table
from support.committing.rig import TABLE, Rig
from support.tables import START_MS


def file(name: str, **values: str | None) -> AddFile:
    """A file of ten bytes; its partition values are stored as given, a null as its marker."""
    partition = {column: NULL_PARTITION if text is None else text for column, text in values.items()}
    return AddFile(f"{name}.parquet", partition, 10, START_MS, num_records=1)


class Way:
    """A table, and how its changes are committed. `meanwhile` happens between the look at it and the decision."""

    def __init__(self, *partition_by: str, through_bus: bool) -> None:
        self.rig = Rig(partition_by=partition_by)
        self.committer = self.rig.committer()
        self.rig.settle(self.committer)
        self.through_bus = through_bus
        self.meanwhile: list[Operation] = []

    def _commit(self, operation: Operation) -> Receipt:
        """As a user's process does: the others are faster. On the bus all of them are decided together."""
        while self.meanwhile:
            self._proposed(self.meanwhile.pop(0))
        if not self.through_bus:
            return self.rig.table().commit(operation)
        identity = self.rig.propose(operation)
        self.rig.settle(self.committer)
        return self.rig.receipts()[identity]

    def _proposed(self, operation: Operation) -> None:
        if self.through_bus:
            self.rig.propose(operation)
        else:
            self.rig.table().commit(operation)

    def appended(self, *files: AddFile) -> None:
        for file in files:
            self.rig.stores[TABLE].put(file.path, bytes(file.size))
        self._proposed(Append(files))
        self.rig.settle(self.committer)

    def drop(self, where: str) -> DropReport:
        return self.table.drop_partitions(where)

    @property
    def table(self) -> Table:
        return self.rig.table(commit=self._commit)

    def names(self) -> str:
        """The live files, by their one-letter names."""
        return "".join(sorted(path.removesuffix(".parquet") for path in self.rig.table().snapshot().paths()))


MakeWay = Callable[..., Way]


@pytest.fixture(params=[False, True], ids=["directly", "through the bus"])
def way(request: pytest.FixtureRequest) -> MakeWay:
    return lambda *partition_by: Way(*partition_by, through_bus=request.param)


@pytest.mark.parametrize(
    ("where", "left"),
    [
        ("month = 5", "cde"),
        ("month = '5'", "cde"),
        ("month > 9", "abde"),
        ("month < 10", "ce"),
        ("month BETWEEN 5 AND 10", "de"),
        ("month IN (5, 11)", "cde"),
        ("month = -3", "abce"),
        ("month IS NULL", "abcd"),
        ("month IS NOT NULL", "e"),
        ("NOT month = 5", "abe"),
    ],
)
def test_numbers_are_compared_as_numbers_whatever_their_spelling(way: MakeWay, where: str, left: str) -> None:
    table = way("month")
    months = {"a": "5", "b": "05", "c": "10", "d": "-3", "e": None}
    table.appended(*(file(name, month=month) for name, month in months.items()))
    table.drop(where)
    assert table.names() == left


@pytest.mark.parametrize(
    ("where", "left"),
    [
        ("date = '2024-02-29'", "acd"),
        ("date = DATE '2024-02-29'", "acd"),
        ("date < '2024-03-01'", "cd"),
        ("date >= '2024-02-29' AND date < '2024-12-31'", "acd"),
        ("date IS NULL", "abc"),
        ("date LIKE '2024-%'", "cd"),
    ],
)
def test_dates_are_compared_as_dates(way: MakeWay, where: str, left: str) -> None:
    table = way("date")
    days = {"a": "2024-01-31", "b": "2024-02-29", "c": "2025-01-01", "d": None}
    table.appended(*(file(name, date=day) for name, day in days.items()))
    table.drop(where)
    assert table.names() == left


@pytest.mark.parametrize(
    ("where", "left"),
    [
        ("region = 'a:b'", "cde"),
        ("region = 'x/y z'", "abde"),
        ("region LIKE 'a:%'", "cde"),
        ("region = '100%'", "abce"),
        ("region = 'ü'", "abcd"),
        ("region IN ('ü', 'a:b')", "cd"),
        ("region = 'a%3Ab'", "abcde"),
    ],
)
def test_escaped_values_are_found_by_what_they_mean(way: MakeWay, where: str, left: str) -> None:
    table = way("region")
    regions = {"a": "a:b", "b": "a%3Ab", "c": "x%2Fy z", "d": "100%25", "e": "ü"}
    table.appended(*(file(name, region=region) for name, region in regions.items()))
    table.drop(where)
    assert table.names() == left


def test_a_null_and_the_text_that_looks_like_one_are_the_same_null(way: MakeWay) -> None:
    table = way("region")
    table.appended(file("a", region=None), file("b", region=""), file("c", region="null"))
    report = table.drop("region IS NULL")
    assert (table.names(), report.splits_removed) == ("c", 2)


def test_the_report_tells_partitions_files_and_bytes(way: MakeWay) -> None:
    table = way("region", "month")
    table.appended(
        *(file(name, region=region, month="5") for name, region in zip("abc", ("eu", "eu", "us"), strict=True))
    )
    report = table.drop("month = 5")
    assert (report.status, report.partitions_dropped, report.splits_removed, report.total_size_bytes) == (
        *("success", 2, 3),
        30,
    )


def test_all_that_matches_goes_in_one_version(way: MakeWay) -> None:
    table = way("month")
    table.appended(*(file(name, month=str(number)) for number, name in enumerate("abcdef")))
    before = table.rig.table().version
    table.drop("month >= 0")
    assert (table.rig.table().version, table.names()) == (before + 1, "")


def test_without_a_match_nothing_is_proposed(way: MakeWay) -> None:
    table = way("month")
    table.appended(file("a", month="5"))
    before = table.rig.table().version
    report = table.drop("month = 6")
    assert (report.status, table.rig.table().version) == ("no_action", before)


def test_a_table_without_partitions_is_refused(way: MakeWay) -> None:
    with pytest.raises(InvalidInput, match="not partitioned"):
        way().drop("month = 5")


def test_a_column_that_is_no_partition_column_is_refused(way: MakeWay) -> None:
    with pytest.raises(InvalidInput, match=r"'id' is no partition column.*month"):
        way("month").drop("month = 5 AND id = 7")


def test_a_literal_that_does_not_fit_the_column_is_refused(way: MakeWay) -> None:
    table = way("month")
    table.appended(file("a", month="5"))
    with pytest.raises(PredicateError, match="an integer"):
        table.drop("month = 'May'")


def test_a_file_that_comes_to_the_partition_before_the_decision_goes_too(way: MakeWay) -> None:
    table = way("month")
    table.appended(file("a", month="5"), file("z", month="6"))
    table.meanwhile = [Append((file("b", month="5"),)), Append((file("y", month="6"),))]
    report = table.drop("month = 5")
    assert (table.names(), report.splits_removed) == ("yz", 2)


def test_a_file_that_comes_after_the_decision_stays(way: MakeWay) -> None:
    table = way("month")
    table.appended(file("a", month="5"))
    table.drop("month = 5")
    table.appended(file("b", month="5"))
    assert table.names() == "b"


def test_a_file_that_goes_before_the_decision_is_not_counted(way: MakeWay) -> None:
    table = way("month")
    table.appended(file("a", month="5"), file("b", month="5"))
    table.meanwhile = [Delete(paths=("a.parquet",))]
    report = table.drop("month = 5")
    assert table.names() == ""
    # On the bus both may be decided in one version, whose removes don't say who asked for them.
    assert report.splits_removed == (2 if table.through_bus else 1)


def test_what_others_do_in_the_same_version_is_not_counted(way: MakeWay) -> None:
    table = way("month")
    table.appended(file("a", month="5"), file("x", month="6"), file("y", month="7"), file("z", month="7"))
    table.meanwhile = [
        Delete(where="month = 6"),
        Rewrite(("y.parquet", "z.parquet"), (AddFile("w.parquet", {"month": "7"}, 20, START_MS, num_records=2),)),
    ]
    report = table.drop("month = 5")
    assert (table.names(), report.splits_removed, report.partitions_dropped) == ("w", 1, 1)


def test_a_partition_that_is_empty_by_the_time_of_the_decision_is_no_action(way: MakeWay) -> None:
    table = way("month")
    table.appended(file("a", month="5"))
    table.meanwhile = [Delete(where="month = 5"), Append((file("b", month="6"),))]
    report = table.drop("month = 5")
    assert table.names() == "b"
    # As above: in one version with the other delete it can't be told whose removes these are.
    assert report.status == ("success" if table.through_bus else "no_action")


def test_dropped_files_can_be_brought_back_by_a_restore(way: MakeWay) -> None:
    table = way("month")
    table.appended(file("a", month="5"), file("b", month="6"))
    before = table.rig.table().version
    table.drop("month = 5")
    table.table.restore(before)
    assert table.names() == "ab"


def test_the_paths_of_dropped_files_are_not_used_again(way: MakeWay) -> None:
    table = way("month")
    table.appended(file("a", month="5"))
    table.drop("month = 5")
    table.appended(file("a", month="5"))
    assert table.names() == ""
