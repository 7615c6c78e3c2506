"""`headgate.write`, `Table.write` and `Producer.write`: rows from Python into a table, directly and by a bus, and back again."""

from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headgate
from headgate_table.milvus import LATEST, ColumnGroup, ColumnGroupFile, Transaction
from headgate_table.rows import evolving

NOT_DURABLE = {"local.durable": "false"}
ROWS = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "day": ["mon", "tue", None]})
NAN = float("nan")


def rows_of(uri: str, version: int | None = None) -> list[Mapping[str, Any]]:
    found = headgate.Table.open(uri).snapshot(version=version).scan().read_all().to_pylist()
    return sorted(found, key=lambda row: (row["id"] is None, row["id"]))


def ids_of(uri: str) -> list[int]:
    return [row["id"] for row in rows_of(uri)]


def write(uri: str, rows: Any, **how: Any) -> headgate.Receipt:
    return headgate.write(uri, rows, storage=NOT_DURABLE, **how)


@pytest.fixture
def uri(tmp_path: Path) -> str:
    return str(tmp_path / "lake" / "events")


@pytest.fixture
def bus(tmp_path: Path) -> Iterator[str]:
    address = f"sqlite:{tmp_path}/bus.db"
    with headgate.committing(address, NOT_DURABLE):
        yield address


# ---- modes


def test_a_missing_table_is_made_with_the_columns_of_the_rows(uri: str) -> None:
    receipt = write(uri, ROWS, partition_by=["day"])
    assert isinstance(receipt, headgate.Committed)
    table = headgate.Table.open(uri)
    assert table.metadata.partition_columns == ("day",)
    assert rows_of(uri) == ROWS.to_pylist()
    assert {path.partition("/")[0] for path in table.snapshot().paths()} == {
        "day=mon",
        "day=tue",
        "day=__HIVE_DEFAULT_PARTITION__",
    }


def test_append_adds_and_overwrite_replaces_everything(uri: str) -> None:
    write(uri, ROWS)
    write(uri, ROWS.slice(0, 1))
    assert ids_of(uri) == [1, 1, 2, 3]
    write(uri, ROWS.slice(2), mode="overwrite")
    assert ids_of(uri) == [3]


def test_overwrite_where_replaces_the_partitions_that_match(uri: str) -> None:
    write(uri, ROWS, partition_by=["day"])
    write(uri, pa.table({"id": [9], "day": ["mon"]}), mode="overwrite", where="day = 'mon'")
    assert ids_of(uri) == [2, 3, 9]


def test_rows_outside_of_what_is_overwritten_are_refused_by_a_receipt(uri: str) -> None:
    write(uri, ROWS, partition_by=["day"])
    receipt = write(uri, pa.table({"id": [9], "day": ["fri"]}), mode="overwrite", where="day = 'mon'")
    assert isinstance(receipt, headgate.Rejected)
    assert receipt.code is headgate.RejectCode.OUTSIDE_WHERE
    assert ids_of(uri) == [1, 2, 3]


def test_overwrite_partitions_replaces_those_that_the_rows_have(uri: str) -> None:
    write(uri, ROWS, partition_by=["day"])
    write(uri, pa.table({"id": [8, 9], "day": ["tue", None]}), mode="overwrite_partitions")
    assert ids_of(uri) == [1, 8, 9]


def test_error_raises_where_there_is_a_table_and_ignore_leaves_it_alone(uri: str) -> None:
    assert isinstance(write(uri, ROWS, mode="error"), headgate.Committed)
    with pytest.raises(headgate.TableExists, match="write with mode append"):
        write(uri, ROWS, mode="error")
    receipt = write(uri, ROWS, mode="ignore")
    assert receipt == headgate.Duplicate(1, receipt.proposal_id)
    assert ids_of(uri) == [1, 2, 3]


@pytest.mark.parametrize("mode", ["append", "overwrite", "overwrite_partitions"])
def test_no_rows_are_a_version_too(uri: str, mode: str) -> None:
    """A job that found nothing to write still gets its receipt, and its writer's counter is remembered."""
    write(uri, ROWS, partition_by=["day"])
    receipt = write(uri, ROWS.slice(0, 0), mode=mode)
    assert isinstance(receipt, headgate.Committed)
    assert ids_of(uri) == ([] if mode == "overwrite" else [1, 2, 3])


# ---- what fits


def test_columns_are_found_by_name_and_missing_ones_are_null(uri: str) -> None:
    write(uri, ROWS)
    write(uri, pa.table({"ID": pa.array([4], pa.int32())}))
    assert rows_of(uri)[-1] == {"id": 4, "day": None}


def test_a_new_column_needs_schema_evolution(uri: str) -> None:
    write(uri, ROWS)
    more = pa.table({"id": [4], "colour": ["red"]})
    with pytest.raises(
        headgate.InvalidInput, match="no column 'colour'; leave it out, or set schema_evolution to true"
    ):
        write(uri, more)
    write(uri, more, schema_evolution=True)
    assert rows_of(uri)[0] == {"id": 1, "day": "mon", "colour": None}
    assert rows_of(uri)[-1] == {"id": 4, "day": None, "colour": "red"}


def test_a_column_of_nulls_fits_anywhere_but_makes_no_new_column(uri: str) -> None:
    write(uri, ROWS)
    write(uri, pa.table({"id": [4], "day": pa.nulls(1)}))
    assert rows_of(uri)[-1] == {"id": 4, "day": None}
    with pytest.raises(headgate.InvalidInput, match="column 'day' holds nothing but nulls"):
        write(f"{uri}2", pa.table({"id": [4], "day": pa.nulls(1)}))
    with pytest.raises(headgate.InvalidInput, match="column 'l' holds nothing but nulls, or empty lists"):
        write(uri, pa.table({"id": [4], "l": [[]]}), schema_evolution=True)


REFUSED: list[tuple[str, pa.Table, str]] = [
    (
        "id BIGINT, x FLOAT",
        pa.table({"id": [1], "x": [0.1]}),
        "column 'x' is double in the rows and float in the table",
    ),
    ("id INT", pa.table({"id": [1]}), "column 'id' is long in the rows and integer in the table; cast it"),
    ("id BIGINT NOT NULL", pa.table({"id": [1, None]}), "column 'id' has 1 nulls, but .* says NOT NULL"),
    ("id BIGINT, t VARCHAR(3)", pa.table({"id": [1], "t": ["long"]}), "texts of more than 3 characters"),
    ("id BIGINT", pa.table({"id": [1], "ID": [2]}), "'id' and 'ID', which are one column"),
    (
        "id BIGINT, t TIMESTAMP_NTZ",
        pa.table({"id": [1], "t": pa.array([1], pa.timestamp("ns"))}),
        "can't become the timestamp.us. of the table .* would lose data: 1",
    ),
    ("id BIGINT, t TIMESTAMP", pa.table({"id": [1], "t": pa.array([1], pa.timestamp("us"))}), "is timestamp_ntz"),
    ("id BIGINT, d DECIMAL(3,1)", pa.table({"id": [1], "d": [Decimal("1.25")]}), "cast it"),
    (
        "id BIGINT",
        pa.table({"id": [1], "x": pa.array([1], pa.duration("s"))}),
        "which tables can't hold; cast it first",
    ),
]


@pytest.mark.parametrize(("ddl", "rows", "told"), REFUSED, ids=lambda each: each[:24] if isinstance(each, str) else "")
def test_rows_that_a_table_can_not_hold_are_refused_and_nothing_is_written(
    uri: str, ddl: str, rows: pa.Table, told: str
) -> None:
    table = headgate.Table.create(uri, ddl, storage=NOT_DURABLE)
    with pytest.raises(headgate.InvalidInput, match=told):
        table.write(rows)
    assert (table.version, list(Path(uri).rglob("*.parquet"))) == (0, [])


def test_another_partitioning_than_the_tables_is_refused(uri: str) -> None:
    write(uri, ROWS, partition_by=["day"])
    assert isinstance(write(uri, ROWS, partition_by=["day"]), headgate.Committed)
    with pytest.raises(headgate.InvalidInput, match="partitioned by day, and partition_by says id"):
        write(uri, ROWS, partition_by=["id"])


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"mode": "upsert"}, "mode is 'upsert'; give one of append, overwrite"),
    ({"where": "day = 'mon'"}, "the mode is append: use mode overwrite"),
    ({"mode": "overwrite", "where": "id = 1"}, "where can't say what is overwritten"),
    ({"partition_by": "day"}, "partition_by is 'day'"),
    ({"target_file_size": "large"}, "target_file_size is 'large'; give bytes from 1"),
    ({"target_file_size": 0}, "target_file_size is 0"),
    ({"schema_evolution": 1}, "schema_evolution is 1"),
    ({"writer": headgate.Writer("job", 1)}, "kept by committers: give bus="),
]


@pytest.mark.parametrize(("how", "told"), WRONG, ids=lambda each: str(each)[:30])
def test_wrong_arguments_are_refused_by_name(uri: str, how: dict[str, Any], told: str) -> None:
    write(uri, ROWS, partition_by=["day"])
    with pytest.raises(headgate.InvalidInput, match=told):
        write(uri, ROWS, **how)
    assert headgate.Table.open(uri).version == 1


# ---- values


PARTITIONED = {
    "s": (pa.string(), st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)),
    "l": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "x": (pa.float64(), st.floats()),
    "f": (pa.float32(), st.floats(width=32)),
    "b": (pa.bool_(), st.booleans()),
    "d": (pa.date32(), st.dates()),
    "t": (pa.timestamp("us", "UTC"), st.datetimes(timezones=st.just(UTC))),
    "n": (pa.timestamp("us"), st.datetimes()),
    "c": (pa.decimal128(12, 3), st.decimals(-99999, 99999, places=3)),
}


def plain(value: Any) -> Any:
    """NaN equals itself, and a zero keeps its sign."""
    return repr(value) if isinstance(value, float) else value


@settings(max_examples=25, deadline=None)
@given(data=st.data(), column=st.sampled_from(sorted(PARTITIONED)))
def test_every_value_is_read_as_it_was_written_whether_in_a_file_or_in_a_partition(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, column: str
) -> None:
    """Break: a partition value is escaped twice, shortened, or loses its sign. The empty text is null in a partition, and only there."""
    type_, values = PARTITIONED[column]
    drawn = data.draw(st.lists(st.none() | values, min_size=1, max_size=8))
    rows = pa.table({"id": pa.array(range(len(drawn)), pa.int64()), "v": pa.array(drawn, type_)})
    for partition_by in ([], ["v"]):
        uri = str(tmp_path_factory.mktemp("t") / "t")
        write(uri, rows, partition_by=partition_by)
        found = [plain(row["v"]) for row in rows_of(uri)]
        given_rows = [plain(cell) for cell in rows.column("v").to_pylist()]
        assert found == ([None if cell == "" else cell for cell in given_rows] if partition_by else given_rows)


def test_nested_and_odd_types_come_back(uri: str) -> None:
    rows = pa.table(
        {
            "id": [1, 2],
            "l": [[1, None], None],
            "s": [{"a": "x", "b": [1.5]}, {"a": None, "b": []}],
            "m": pa.array([[("k", 1)], []], pa.map_(pa.string(), pa.int32())),
            "u": pa.array([2**64 - 1, 0], pa.uint64()),
            "h": pa.array([1.5, NAN], pa.float32()),
            "old": [date(1, 1, 1), date(9999, 12, 31)],
            "t": [datetime(1582, 10, 10, tzinfo=UTC), None],
            "a b%/=é": ["", " "],
        }
    )
    write(uri, rows)
    found = headgate.Table.open(uri).snapshot().scan().read_all()
    assert [[plain(cell) for cell in row.values()] for row in found.to_pylist()] == [
        [plain(cell) for cell in row.values()] for row in rows.to_pylist()
    ]


def test_a_table_can_be_copied_by_its_own_stream(uri: str) -> None:
    write(uri, ROWS)
    write(f"{uri}2", headgate.Table.open(uri).snapshot().scan(), partition_by=["day"])
    assert rows_of(f"{uri}2") == rows_of(uri)


# ---- commits


def test_by_a_bus_a_table_is_made_widened_and_written_by_its_committer(uri: str, bus: str) -> None:
    receipt = write(uri, ROWS, bus=bus, partition_by=["day"], writer=headgate.Writer("job", 1), timeout=60)
    assert isinstance(receipt, headgate.Committed)
    again = write(uri, ROWS, bus=bus, writer=headgate.Writer("job", 1), timeout=60)
    assert again == headgate.Duplicate(receipt.version, again.proposal_id)
    write(uri, pa.table({"id": [4], "day": ["mon"], "x": [1.5]}), bus=bus, schema_evolution=True, timeout=60)
    assert ids_of(uri) == [1, 2, 3, 4]


def test_a_producer_writes_rows_and_gives_a_ticket(uri: str, bus: str) -> None:
    with headgate.Producer(bus, uri, storage=NOT_DURABLE) as producer:
        ticket = producer.write(ROWS, partition_by=["day"], writer=headgate.Writer("job", 1))
        assert isinstance(ticket.wait(60), headgate.Committed)
        assert isinstance(producer.write(ROWS.slice(1), mode="overwrite").wait(60), headgate.Committed)
        ignored = producer.write(ROWS, mode="ignore")
        assert ignored.done
        assert isinstance(ignored.wait(0), headgate.Duplicate)
    assert ids_of(uri) == [2, 3]


WRONG_TERMS: dict[str, tuple[dict[str, Any], str]] = {
    "mode": ({"mode": "merge"}, "mode is 'merge'"),
    "where without overwrite": ({"where": "day = 'mon'"}, "where says what is overwritten"),
    "where on rows": ({"mode": "overwrite", "where": "id = 1"}, "where can't say what is overwritten"),
    "where without a meaning": ({"mode": "overwrite", "where": "day ="}, "where"),
    "partitions": ({"partition_by": ["id"]}, "partition_by"),
    "no such partition": ({"partition_by": ["nothing"]}, "nothing"),
    "isolation": ({"isolation": "strict"}, "isolation is 'strict'"),
    "writer": ({"writer": "nightly:1"}, "writer is 'nightly:1'"),
    "created": ({"created": 5}, "give proposal_id as well"),
    "based on": ({"based_on": "7"}, "based_on"),
    "unknown": ({"isolated": True}, "takes no isolated"),
}


@pytest.mark.parametrize("is_new", [False, True])
@pytest.mark.parametrize("wrong", WRONG_TERMS)
def test_wrong_terms_of_a_producers_write_are_refused_before_a_file_is_written(
    uri: str, bus: str, wrong: str, is_new: bool
) -> None:
    """Break: the files lie there, and nobody names them."""
    terms, told = WRONG_TERMS[wrong]
    if not is_new or wrong == "partitions":  # of a new table, any columns will do
        headgate.Table.create(uri, "id BIGINT, day STRING", ["day"], storage=NOT_DURABLE)
    with headgate.Producer(bus, uri, storage=NOT_DURABLE) as producer, pytest.raises(headgate.InvalidInput, match=told):
        producer.write(ROWS, **({"partition_by": ["day"]} | terms))
    assert list(Path(uri).rglob("*.parquet")) == []


def test_an_overwrite_by_partition_of_a_table_without_any_is_refused_before_a_file_is_written(uri: str) -> None:
    with pytest.raises(headgate.InvalidInput, match="has no partitions"):
        write(uri, ROWS, mode="overwrite_partitions")
    assert list(Path(uri).rglob("*.parquet")) == []


def test_without_a_committer_the_outcome_is_unknown_and_said_so(uri: str, tmp_path: Path) -> None:
    headgate.Table.create(uri, "id BIGINT, day STRING", storage=NOT_DURABLE)
    with pytest.raises(headgate.OutcomeUnknown):
        write(uri, ROWS, bus=f"sqlite:{tmp_path}/other.db", timeout=0.2)


def test_a_source_that_fails_half_way_leaves_only_orphans(uri: str) -> None:
    write(uri, ROWS)

    def failing() -> Iterator[pa.RecordBatch]:
        yield ROWS.to_batches()[0]
        raise ZeroDivisionError("theirs")

    with pytest.raises(ZeroDivisionError, match="theirs"):
        write(uri, failing())
    with pytest.raises(ZeroDivisionError, match="theirs"):
        write(f"{uri}2", failing())
    assert ids_of(uri) == [1, 2, 3]
    with pytest.raises(headgate.TableNotFound):
        headgate.Table.open(f"{uri}2")


def test_a_table_that_somebody_else_makes_meanwhile_takes_the_rows_where_they_fit(uri: str) -> None:
    def slow(other: pa.Table, **how: Any) -> Iterator[pa.RecordBatch]:
        write(uri, other, **how)
        yield from ROWS.to_batches()

    write(uri, slow(ROWS.slice(0, 1)))
    assert ids_of(uri) == [1, 1, 2, 3]


def test_a_table_made_meanwhile_with_other_partitions_is_left_as_it_is(uri: str) -> None:
    def slow() -> Iterator[pa.RecordBatch]:
        yield from ROWS.to_batches()
        write(uri, ROWS, partition_by=["day"])

    with pytest.raises(headgate.WriteRefused, match="partitioned by day, but the files were written by nothing"):
        write(uri, slow())
    with pytest.raises(headgate.TableExists):
        write(uri, ROWS, mode="error")
    assert ids_of(uri) == [1, 2, 3]


def test_columns_that_others_keep_changing_end_the_write_with_the_bound(
    uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(uri, ROWS)
    monkeypatch.setattr(evolving, "SCHEMA_TRIES", 0)
    with pytest.raises(headgate.WriteRefused, match="SCHEMA_TRIES"):
        write(uri, pa.table({"id": [4], "x": [1.5]}), schema_evolution=True)


def test_a_milvus_table_takes_no_rows(uri: str) -> None:
    transaction = Transaction.open(str(Path(uri).parent), "events", version=LATEST)
    transaction.append_files([ColumnGroup(("id",), (ColumnGroupFile("events/_data/a.parquet", 0, 10),), "parquet")])
    transaction.commit()
    with pytest.raises(headgate.InvalidInput, match="is a Milvus table"):
        write(uri, ROWS)
    with pytest.raises(headgate.InvalidInput, match="Transaction"):
        headgate.Table.open(uri).write(ROWS)
