"""NaN, infinities and both zeros, in partitions and in rows: every way to use a predicate gives the same answer."""

from pathlib import Path

import pyarrow as pa
import pytest

from headgate_schemas.messages.operations import Committed
from headgate_table.data_file import DataFile
from headgate_table.table import Table
from support.parquet import parquet

STORED = ["NaN", "Infinity", "-Infinity", "0.0", "-0.0", "5E-324", "1.7976931348623157E308", "1e39", "0.1", "-2.5", "3"]
"""Each is one file's partition value, and the value of its one row."""
LITERALS = ["NaN", "Infinity", "-Infinity", "-0.0", "0", "5E-324", "1.7976931348623157E308", "1E39", "0.1", "3", "2"]
WHERES = [
    *(f"{{c}} {op} '{literal}'" for op in ("=", "<>", "<", "<=", ">", ">=") for literal in LITERALS),
    *(f"NOT {{c}} {op} '{literal}'" for op in ("=", "<") for literal in ("NaN", "0")),
    "{c} IN ('NaN')",
    "{c} IN ('NaN', 0, 3)",
    "{c} IN (3, 4)",
    "{c} NOT IN ('NaN')",
    "{c} NOT IN (0, 3)",
    "{c} BETWEEN 1 AND 'NaN'",
    "{c} BETWEEN '-Infinity' AND 0",
    "NOT {c} BETWEEN 1 AND 'Infinity'",
    "{c} IS NULL",
    "{c} IS NOT NULL",
    "{c} < 0 OR {c} = 'NaN'",
    "{c} > 0 AND NOT {c} = 'NaN'",
]


def _key(text: str) -> tuple[bool, float]:
    """Spark's order: NaN equals itself and is above everything, and both zeros are equal."""
    number = float(text)
    return (True, 0.0) if number != number else (False, number)


def _truth(where: str, value: tuple[bool, float] | None) -> bool:
    """A reading of `WHERES` that knows no more than those."""
    if where.endswith("IS NULL"):
        return value is None
    if value is None:
        return False
    if where.endswith("IS NOT NULL"):
        return True
    if " OR " in where:
        return any(_truth(part, value) for part in where.split(" OR "))
    if where == "{c} > 0 AND NOT {c} = 'NaN'":
        return value > (False, 0.0) and not value[0]
    words = where.replace("'", "").replace("NOT {c}", "{c}").split()
    match words[1]:
        case "IN" | "NOT":
            members = {_key(text) for text in where.partition("(")[2].rstrip(")").replace("'", "").split(", ")}
            return (value in members) is (words[1] == "IN")
        case "BETWEEN":
            holds = _key(words[2]) <= value <= _key(words[4])
        case op:
            other = _key(words[2])
            holds = {
                "=": value == other,
                "<>": value != other,
                "<": value < other,
                "<=": value <= other,
                ">": value > other,
                ">=": value >= other,
            }[op]
    return holds is not where.startswith("NOT")


def _table(folder: Path) -> Table:
    """A file for each value and one of nulls, twenty of the older ones in manifests of their own."""
    schema = "id BIGINT, x DOUBLE, p DOUBLE"
    table = Table.create(str(folder / "t"), schema, ["p"])
    for number, text in enumerate([*STORED, None]):
        data = parquet(pa.table({"id": [number], "x": pa.array([None if text is None else float(text)], pa.float64())}))
        table.store.put(f"{number}.parquet", data)
        file = DataFile.of_parquet(f"{number}.parquet", store=table.store, partition_values={"p": text})
        assert isinstance(table.append([file]), Committed)
        if number % 3 == 0:
            table.checkpoint()
    return table


def _expected(where: str) -> list[int]:
    values = [*map(_key, STORED), None]
    return [number for number, value in enumerate(values) if _truth(where, value)]


def _ids(table: Table, where: str | None, version: int | None = None) -> list[int]:
    found: list[int] = table.snapshot(version).scan(["id"], where).read_all().column("id").to_pylist()
    return sorted(found)


def test_partitions_and_rows_are_found_alike_whatever_the_predicate(tmp_path: Path) -> None:
    table = _table(tmp_path)
    for where in WHERES:
        for column in ("p", "x"):
            assert _ids(table, where.format(c=column)) == _expected(where), where.format(c=column)
    table.compact()
    for where in WHERES:
        for column in ("p", "x"):
            assert _ids(table, where.format(c=column)) == _expected(where), where.format(c=column)


@pytest.mark.parametrize("compacted", [False, True])
def test_a_delete_takes_the_files_that_a_scan_finds(tmp_path: Path, compacted: bool) -> None:
    table = _table(tmp_path)
    if compacted:
        table.compact()
    whole, everything = table.version, set(range(len(STORED) + 1))
    for where in WHERES[:: 1 if compacted else 5]:
        table.delete(where.format(c="p"))
        assert set(_ids(table, None)) == everything - set(_expected(where)), where
        table.restore(whole)
