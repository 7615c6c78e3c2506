"""A column of 32-bit floats compares as the equal 64-bit numbers, and every literal for it is a 64-bit number, wherever a condition stands."""

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import headgate
from headgate_schemas.messages.operations import Committed, RejectCode, Rejected
from headgate_schemas.predicates.tree import Comparison, Op
from support.mirror_readers.here import by_delta_rs

NOT_DURABLE = {"local.durable": "false"}
LARGEST = 3.4028234663852886e38
SINGLES = [float(np.float32(each)) for each in (0.1, 0.3, 0.5, -0.1, 16777216, LARGEST, -LARGEST, 1e-45, 0.0, -0.0)]
LITERALS: list[int | float | Decimal] = [
    *(0.1, 0.3, 0.5, -0.1, 16777216, 16777217, 16777215.5, LARGEST, -LARGEST, 3.5e38, 1e-45, 1e-50, 0.0),
    *SINGLES,
    Decimal("0.1000000015"),
]
HOLDS: dict[Op, Callable[[float, float], bool]] = {
    Op.EQ: lambda value, literal: value == literal,
    Op.NE: lambda value, literal: value != literal,
    Op.LT: lambda value, literal: value < literal,
    Op.LE: lambda value, literal: value <= literal,
    Op.GT: lambda value, literal: value > literal,
    Op.GE: lambda value, literal: value >= literal,
}
LAYOUTS = ["flat", "a file each", "partitioned", "manifests"]


def made(place: Path, layout: str) -> headgate.Table:
    """The row `id` has the number `SINGLES[id]`."""
    rows = pa.table({"id": range(len(SINGLES)), "x": pa.array(SINGLES, pa.float32())})
    parts = [rows] if layout == "flat" else [rows.slice(number, 1) for number in range(rows.num_rows)]
    for part in parts:
        partition = ["x"] if layout in ("partitioned", "manifests") else None
        headgate.write(str(place), part, partition_by=partition, storage=NOT_DURABLE)
        if layout == "manifests":
            headgate.Table.open(str(place), NOT_DURABLE).checkpoint()
    return headgate.Table.open(str(place), NOT_DURABLE)


@pytest.fixture(scope="module", params=LAYOUTS)
def table(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> headgate.Table:
    return made(tmp_path_factory.mktemp("floats") / "t", request.param)


def found(table: headgate.Table, where: object) -> list[int]:
    return sorted(table.snapshot().scan(["id"], where).read_all().column("id").to_pylist())  # type: ignore[arg-type]


def test_every_operator_compares_with_the_64_bit_literal(table: headgate.Table) -> None:
    """Break: 0.1 finds the column's 0.1, which is 0.10000000149011612."""
    wanted, got = {}, {}
    for literal in LITERALS:
        for op, holds in HOLDS.items():
            wanted[op, literal] = [number for number, value in enumerate(SINGLES) if holds(value, float(literal))]
            got[op, literal] = found(table, Comparison("x", op, literal))
    assert got == wanted


@pytest.mark.parametrize(
    ("where", "ids"),
    [
        ("x = 0.1", []),
        ("x = 0.10000000149011612", [0]),
        ("x = '0.10000000149011612'", [0]),
        ("x = '0.1'", []),
        ("x IN (0.1, 0.5)", [2]),
        ("x NOT IN (0.10000000149011612, 0.3)", [1, 2, 3, 4, 5, 6, 7, 8, 9]),
        ("x BETWEEN 0.1 AND 0.2", [0]),
        ("x BETWEEN 0.05 AND 0.1", []),
        ("NOT (x <= 0.1)", [0, 1, 2, 4, 5]),
        ("x <=> 16777217", []),
        ("x > 0.3 AND x < 0.5", [1]),
    ],
)
def test_each_form_of_a_condition_does_so(table: headgate.Table, where: str, ids: list[int]) -> None:
    assert found(table, where) == ids
    assert found(table, f"({where}) OR id = -1") == ids
    paths = set(table.snapshot(where=where).paths())
    assert {path for each in ids for path in table.snapshot(where=f"id = {each}").paths()} <= paths | set(
        table.snapshot().paths() if len(table.snapshot().paths()) == 1 else ()
    )


def test_a_value_that_was_read_finds_its_row(table: headgate.Table) -> None:
    """Break: the value is printed with more digits than the log has."""
    rows = table.snapshot().scan().read_all().to_pylist()
    assert {row["id"]: row["id"] in found(table, f"x = {row['x']!r}") for row in rows} == dict.fromkeys(range(10), True)


def test_deletes_overwrites_and_changes_mean_the_same_rows(tmp_path: Path) -> None:
    table = made(tmp_path / "t", "partitioned")
    assert isinstance(table.delete(where="x = 0.1"), Committed | Rejected)
    assert found(table, "x > 0.09 AND x < 0.11") == [0]
    before = table.version
    assert isinstance(table.delete(where="x > 0.1 AND x < 0.2"), Committed)
    assert found(table, "x > 0.09 AND x < 0.11") == []
    assert [row["path"].split("/")[0] for row in table.changes(since=before).removed.to_pylist()] == ["x=0.1"]
    [file] = table.snapshot(where="x > 0.3 AND x < 0.4").files().to_pylist()
    assert file["path"].startswith("x=0.3/")


def test_a_conflict_is_seen_where_a_new_row_matches(tmp_path: Path) -> None:
    """Break: a file of the partition 0.1 doesn't conflict with somebody who has read what is above 0.1."""
    table = made(tmp_path / "t", "partitioned")
    based_on = table.version
    headgate.write(table.uri, pa.table({"id": [99], "x": pa.array([0.1], pa.float32())}), storage=NOT_DURABLE)
    bus = f"sqlite:{tmp_path / 'bus.db'}"
    with headgate.committing(bus, NOT_DURABLE), headgate.Producer(bus, table.uri, storage=NOT_DURABLE) as producer:

        def deleted(reads: str) -> headgate.Receipt:
            return producer.delete(where="x = 0.5", reads=reads, based_on=based_on, isolation="serializable").wait(60)

        refused = deleted("x > 0.1 AND x < 0.2")
        assert isinstance(refused, headgate.Rejected)
        assert refused.code is RejectCode.READ_CONFLICT
        assert isinstance(deleted("x = 0.1"), headgate.Committed)


@pytest.mark.parametrize("layout", ["a file each", "partitioned"])
def test_a_mirror_keeps_every_number_and_prunes_none(tmp_path: Path, layout: str) -> None:
    table = made(tmp_path / "t", layout)
    table.mirror()
    rows = by_delta_rs(table.uri, table.version)
    assert dict(zip(rows["id"].to_pylist(), map(str, rows["x"].to_pylist()), strict=True)) == dict(
        enumerate(map(str, SINGLES))
    )
