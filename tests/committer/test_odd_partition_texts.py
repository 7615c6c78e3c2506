"""Partition values of every spelling, from the user's value to the row that is read: none changes, and none is another one."""

from collections.abc import Callable, Mapping
from urllib.parse import quote

import pyarrow as pa
import pytest

from headgate_schemas.actions.actions import Metadata
from headgate_schemas.columns.table_schema import schema_string_of
from headgate_schemas.messages.operations import Append, Committed, Create, Delete, Operation, Overwrite, Receipt
from headgate_schemas.predicates.partition_text import escape_partition_text
from headgate_table.data_file import DataFile
from headgate_table.rows.file_writer import FileLimits
from headgate_table.rows.writing import table_files
from headgate_table.store.interface import Store
from headgate_table.table import Table
from support.committing.rig import TABLE, Rig
from support.merging import merge
from support.parquet import parquet

TEXTS = [
    "a b",
    "a%20b",
    "a%2520b",
    "a/b",
    "a%2Fb",
    "a%2fb",
    "a%252Fb",
    "a:b",
    "a%3Ab",
    "k=v",
    "k%3Dv",
    "100%",
    "100%25",
    "%",
    "%%",
    "%2",
    "%ZZ",
    "%e9",
    "%C3%A9",
    "\u00e9",
    "e\u0301",
    "\U0001f600",
    "\ue000",
    " ",
    "%20",
    " a",
    "..",
    "NULL",
    "null",
    "a+b",
    "tab\there",
    "'quoted'",
    '"',
    "#",
    "A",
    "a",
]
"""Each is the value of one file."""


def _by_value(store: Store, number: int, text: str | None) -> DataFile:
    store.put(path := f"{number}.parquet", _rows(number))
    return DataFile.of_parquet(path, store=store, partition_values={"p": text})


def _by_folder_of_hive(store: Store, number: int, text: str | None) -> DataFile:
    folder = "__HIVE_DEFAULT_PARTITION__" if text is None else escape_partition_text(text)
    store.put(path := f"p={folder}/{number}.parquet", _rows(number))
    return DataFile.of_parquet(path, store=store)


def _by_folder_of_arrow(store: Store, number: int, text: str | None) -> DataFile:
    folder = "__HIVE_DEFAULT_PARTITION__" if text is None else quote(text, safe="")
    store.put(path := f"p={folder}/{number}.parquet", _rows(number))
    return DataFile.of_parquet(path, store=store)


def _by_batch(store: Store, number: int, text: str | None) -> DataFile:
    rows = pa.table({"id": pa.array([number], pa.int64()), "p": pa.array([text], pa.string())})
    (file,) = table_files(store, Metadata("", schema_string_of(rows.schema), ("p",)), rows, f"{number}", FileLimits())
    return file


def _of_a_file(store: Store, number: int, text: str | None) -> DataFile:
    """The values of a file that is there already, given to another one."""
    other = _by_value(store, number + 1_000, text)
    store.put(path := f"{number}.parquet", _rows(number))
    return DataFile.of_parquet(path, store=store, partition_values=other.partition_values)


Make = Callable[[Store, int, str | None], DataFile]
WAYS: Mapping[str, Make] = {
    "values": _by_value,
    "folders of Hive": _by_folder_of_hive,
    "folders of Arrow": _by_folder_of_arrow,
    "batches": _by_batch,
    "another file": _of_a_file,
}


def _rows(number: int) -> bytes:
    return parquet(pa.table({"id": pa.array([number], pa.int64())}))


def _sql(text: str) -> str:
    return "'" + text.replace("'", r"\'") + "'"


class Place:
    """A table partitioned by a text, changed directly or by a committer."""

    def __init__(self, through_bus: bool) -> None:
        self.rig = Rig(create=False)
        self.rig.propose(Create(schema_string_of("id BIGINT, p STRING"), ("p",)))
        self.committer = self.rig.committer()
        self.rig.settle(self.committer)
        self.through_bus = through_bus
        self.store = self.rig.stores[TABLE]

    def commit(self, operation: Operation) -> Receipt:
        if not self.through_bus:
            return self.rig.table().commit(operation)
        identity = self.rig.propose(operation)
        self.rig.settle(self.committer)
        return self.rig.receipts()[identity]

    def done(self, operation: Operation) -> None:
        receipt = self.commit(operation)
        assert isinstance(receipt, Committed), receipt

    @property
    def table(self) -> Table:
        return self.rig.table(commit=self.commit)

    def values(self, where: str | None = None) -> dict[int, str | None]:
        rows = self.rig.table().snapshot().scan(where=where).read_all().to_pylist()
        assert len({row["id"] for row in rows}) == len(rows)
        return {row["id"]: row["p"] for row in rows}


@pytest.fixture(params=[False, True], ids=["directly", "through the bus"])
def place(request: pytest.FixtureRequest) -> Place:
    return Place(request.param)


@pytest.mark.parametrize(("through_bus", "way"), [*((False, way) for way in WAYS), (True, "values")])
def test_a_text_is_read_as_it_was_given_and_found_by_no_other(through_bus: bool, way: str) -> None:
    place = Place(through_bus)
    make, expected = WAYS[way], dict(enumerate([*TEXTS, None]))
    place.done(Append(tuple(make(place.store, number, text) for number, text in expected.items())))
    for compacted in (False, True):
        if compacted:
            place.table.compact()
        assert place.values() == expected
        for number, text in expected.items():
            where = "p IS NULL" if text is None else f"p = {_sql(text)}"
            assert place.values(where) == {number: text}, where
            others = {other: kept for other, kept in expected.items() if kept not in (text, None)}
            if text is not None:
                assert place.values(f"p <> {_sql(text)}") == others
    assert place.values("p LIKE 'a%'") == {n: text for n, text in expected.items() if (text or "").startswith("a")}
    assert place.values("p < 'a5'") == {n: text for n, text in expected.items() if text is not None and text < "a5"}


def test_a_delete_and_an_overwrite_take_exactly_the_value_that_they_name(place: Place) -> None:
    left: dict[int, str | None] = dict(enumerate([*TEXTS, None]))
    place.done(Append(tuple(_by_value(place.store, number, text) for number, text in left.items())))
    for number, text in sorted(left.items(), key=lambda item: item[0] * 7 % 37):
        where = "p IS NULL" if text is None else f"p = {_sql(text)}"
        del left[number]
        if number % 2:
            place.done(Delete(where=where))
        else:
            left[number + 100] = text
            place.done(Overwrite((_by_value(place.store, number + 100, text),), where))
        assert place.values() == left


def test_a_merge_keeps_every_value_and_mixes_none() -> None:
    place = Place(through_bus=False)
    expected = {10 * number + part: text for number, text in enumerate([*TEXTS, None]) for part in range(2)}
    ways = list(WAYS.values())
    files = [ways[number % len(ways)](place.store, number, text) for number, text in expected.items()]
    place.done(Append(tuple(files)))
    report = merge(place.table)
    assert report.merge_groups == len(TEXTS) + 1
    assert place.values() == expected
    for number, text in expected.items():
        found = place.values("p IS NULL" if text is None else f"p = {_sql(text)}")
        assert found == dict.fromkeys((number - number % 10, number - number % 10 + 1), text)


@pytest.mark.parametrize("text", ["", "__HIVE_DEFAULT_PARTITION__"])
def test_the_two_texts_that_stand_for_null_are_null(place: Place, text: str) -> None:
    place.done(Append((_by_value(place.store, 1, text),)))
    assert (place.values(), place.values("p IS NULL"), place.values(f"p = '{text}'")) == ({1: None}, {1: None}, {})
