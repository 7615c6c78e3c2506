"""What is asked of a table after a step: its rows by every way to read them, at any version, held against the model's."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random
from typing import Any

import pyarrow as pa

import headgate
from headgate_schemas.errors import HeadgateError
from headgate_table.errors import VersionNotRetained
from support.oracle.commands import run
from support.oracle.engines import counts_by_duckdb
from support.oracle.failure import Disagreement
from support.oracle.model import Rows, Version, counted
from support.oracle.values.cells import Cell, cells_of, key_of
from support.oracle.values.columns import Column
from support.oracle.values.conditions import Condition, draw_condition
from support.oracle.world import World


def judge(random: Random, world: World) -> None:
    """The newest version as a whole, and a few of the questions that could be asked."""
    table = headgate.Table.open(world.uri) if random.random() < 0.5 else world.table
    model = world.model
    newest = _or_damage("the newest version", table.snapshot)
    if newest.version != model.newest:
        raise Disagreement("version", f"the newest version is {newest.version}, expected {model.newest}")
    look_at(world, newest, model.versions[model.newest])
    for version in random.sample(sorted(model.versions), min(2, len(model.versions))):
        travel(world, table, version)
    for _ in range(3):
        ask(random, world, table, random.choice([model.newest, model.newest, *model.versions]))
    change(random, world, table)
    if random.random() < 0.2:
        _count_by_duckdb(world, newest)


def judge_at_the_end(random: Random, world: World) -> None:
    """Every version, and what verify says."""
    table = headgate.Table.open(world.uri)
    for version in sorted(world.model.versions):
        travel(world, table, version)
    report = table.verify()
    world.count("verify")
    if report.errors:
        raise Disagreement("verify", f"{report.findings}")


def travel(world: World, table: headgate.Table, version: int) -> None:
    """A version by its number; one that may be gone is right or is said to be gone."""
    world.count("version read")
    try:
        snapshot = table.snapshot(version=version)
    except VersionNotRetained as error:
        if version >= world.model.floor:
            raise Disagreement("retained", f"version {version} is said to be gone: {error}") from error
        world.count("version gone")
        return
    except HeadgateError as error:
        raise Disagreement("damage", f"version {version}: {error}") from error
    look_at(world, snapshot, world.model.versions[version])


def look_at(world: World, snapshot: Any, expected: Version) -> None:
    where = f"at version {snapshot.version}"
    if set(snapshot.paths()) != expected.live:
        raise Disagreement("paths", f"{where} live are {snapshot.paths()}, expected {sorted(expected.live)}")
    rows = world.model.rows(snapshot.version)
    if snapshot.num_records not in (None, len(rows)):
        raise Disagreement("row count", f"{where} there are {snapshot.num_records} rows, expected {len(rows)}")
    same_rows(where, _scanned(where, snapshot.scan), rows, expected.columns)
    world.count("rows compared", len(rows))


def ask(random: Random, world: World, table: headgate.Table, version: int) -> None:
    """One predicate: by brute force, by a scan, and by the files that pruning leaves."""
    expected = world.model.versions[version]
    rows = world.model.rows(version)
    near = {column.name: [row[column.name] for row in rows] for column in expected.columns}
    partition_only = bool(world.model.partition) and random.random() < 0.3
    chosen = [c for c in expected.columns if c.name in world.model.partition] if partition_only else expected.columns
    condition = draw_condition(random, chosen, near)
    place = f"at version {version} where {condition.text}"
    world.count("predicate")
    try:
        snapshot = table.snapshot(version=version)
        pruned = table.snapshot(version=version, where=condition.text)
    except VersionNotRetained as error:
        if version >= world.model.floor:
            raise Disagreement("retained", f"version {version} is said to be gone: {error}") from error
        return
    except HeadgateError as error:
        raise Disagreement("predicate", f"{place}: {type(error).__name__}: {error}") from error
    wanted = [row for row in rows if condition.holds(row)]
    same_rows(
        f"{place}, scanned", _scanned(place, lambda: snapshot.scan(where=condition.text)), wanted, expected.columns
    )
    _keeps(world, place, set(_or_damage(place, pruned.paths)), condition, expected, partition_only)
    if random.random() < 0.5:
        same_rows(f"{place}, pruned and scanned", _scanned(place, pruned.scan), wanted, expected.columns)
    if random.random() < 0.02:
        _by_command(world, place, version, condition, set(pruned.paths()))


def _keeps(
    world: World, place: str, kept: set[str], condition: Condition, expected: Version, partition_only: bool
) -> None:
    for path in sorted(expected.live):
        file = world.model.files[path]
        if path not in kept and any(condition.holds(row) for row in file.rows(expected.columns)):
            raise Disagreement("pruning", f"{place}: {path}, which holds a row that matches, is left out")
        if partition_only and path in kept and not condition.holds(file.partition):
            raise Disagreement("partition", f"{place}: {path} of partition {dict(file.partition)} is kept")
    world.count("files pruned", len(expected.live - kept))


def _by_command(world: World, place: str, version: int, condition: Condition, kept: set[str]) -> None:
    world.count("command")
    ended = run("table", "files", world.uri, "--version", str(version), "--where", condition.text, "--format", "json")
    if ended.code:
        raise Disagreement("command", f"{place}: the command ended with {ended.code}: {ended.err}")
    found = {row["path"] for row in json.loads(ended.out)}
    if found != kept:
        raise Disagreement("command", f"{place}: the command lists {sorted(found)}, the library {sorted(kept)}")


def change(random: Random, world: World, table: headgate.Table) -> None:
    """What came and went between two versions makes the rows of one from those of the other."""
    numbers = sorted(world.model.versions)
    since, until = sorted(random.choices(numbers, k=2))
    if since == until:
        return
    world.count("change")
    columns = world.model.versions[since].columns
    held = counted(world.model.rows(since), columns)
    try:
        whole = table.changes(since, until)
        one_by_one = list(table.changes_by_version(since, until))
    except VersionNotRetained as error:
        if since >= world.model.floor:
            raise Disagreement("retained", f"changes from {since} to {until}: {error}") from error
        return
    except HeadgateError as error:
        raise Disagreement("damage", f"changes from {since} to {until}: {error}") from error
    wanted = counted(world.model.rows(until), columns)
    _adds_up(world, f"changes from {since} to {until}", held, [whole], wanted, columns, data_only=False)
    _adds_up(world, f"changes from {since} to {until}, by version", held, one_by_one, wanted, columns, data_only=True)


def _adds_up(
    world: World,
    place: str,
    held: Rows,
    parts: Iterable[Any],
    wanted: Rows,
    columns: Sequence[Column],
    *,
    data_only: bool,
) -> None:
    balance = Counter(held)
    told = []
    for part in parts:
        for sign, files in ((1, part.added), (-1, part.removed)):
            for row in files.select(["path", "data_change"]).to_pylist():
                told.append((part.version, sign, row["path"], row["data_change"]))
                if data_only and not row["data_change"]:
                    continue
                for key, count in counted(world.model.files[row["path"]].rows(columns), columns).items():
                    balance[key] += sign * count
    if {key: count for key, count in balance.items() if count} != dict(wanted):
        raise Disagreement("changes", f"{place}{', of data' if data_only else ''} don't add up: {told}")


def _count_by_duckdb(world: World, snapshot: Any) -> None:
    """DuckDB over the listed files, as the documentation shows it."""
    world.count("read by DuckDB")
    listed = {row["path"]: row["num_records"] for row in snapshot.files(["path", "num_records"]).to_pylist()}
    counts = counts_by_duckdb([world.root / path for path in listed])
    for path, told in listed.items():
        found = counts.get(str(world.root / path), 0)
        if told is not None and told != found:
            raise Disagreement("row count", f"{path} has {found} rows, and the log says {told}")


def same_rows(
    place: str, found: Sequence[Mapping[str, Cell]], wanted: Sequence[Mapping[str, Cell]], columns: Sequence[Column]
) -> None:
    held, expected = counted(found, columns), counted(wanted, columns)
    if held == expected:
        return
    extra, missing = held - expected, expected - held
    shown = ", ".join(f"{column.name}:{column.kind.value}" for column in columns)
    raise Disagreement("rows", f"{place}: of ({shown}) too many {_shown(extra)}, missing {_shown(missing)}")


def _shown(rows: Rows) -> str:
    return str([[cell[1] for cell in row] for row in rows])


def _scanned(place: str, scan: Callable[[], pa.RecordBatchReader]) -> list[dict[str, Cell]]:
    return rows_of(_or_damage(place, lambda: scan().read_all()))


def rows_of(table: pa.Table) -> list[dict[str, Cell]]:
    names = table.column_names
    columns = [cells_of(table.column(name)) for name in names]
    return [dict(zip(names, cells, strict=True)) for cells in zip(*columns, strict=True)]


def _or_damage(place: str, ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except HeadgateError as error:
        raise Disagreement("damage", f"{place}: {type(error).__name__}: {error}") from error


__all__ = ["ask", "change", "judge", "judge_at_the_end", "key_of", "look_at", "rows_of", "same_rows", "travel"]
