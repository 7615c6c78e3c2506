"""What a table answers, as plain values that can be compared: every version that it retains, by several readings."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from headgate_schemas.errors import HeadgateError
from headgate_table.indextables.format.entries import ALL_COLUMNS
from headgate_table.table import Table
from support.ambient import FakeAmbient
from support.cleaning import one_thread
from support.damage.objects import Objects
from support.stores.memory import MemoryStore

WHERE = "date = '2024-01-02'"

Rows = tuple[tuple[Any, ...], ...]


@dataclass(frozen=True, slots=True)
class Named:
    """A refusal that says why."""

    message: str


@dataclass(frozen=True, slots=True)
class Answer:
    """One version as one reading shows it."""

    version: int
    rows: Rows
    table: tuple[Any, ...]


Answers = dict[str, Answer | Named]


def table_on(store: MemoryStore, clock: FakeAmbient, **settings: str) -> Table:
    return Table(store, clock, one_thread(), {key.replace("__", "."): text for key, text in settings.items()})


def answers(objects: Objects, versions: tuple[int, ...]) -> Answers:
    """The newest version, each of these, those of one partition, and what changed since the first."""
    store, clock = objects.store()
    found: Answers = {}
    table = table_on(store, clock)
    found["newest"] = _tried(lambda: _snapshot(table, None, None))
    # A table of its own, whose cache holds nothing that was read whole.
    found["where"] = _tried(lambda: _snapshot(table_on(store, clock), None, WHERE))
    for version in versions:
        found[f"version {version}"] = _tried(partial(_snapshot, table, version, None))
    if len(versions) > 1:
        found["changes"] = _tried(lambda: _changes(table_on(store, clock), versions[0], versions[-1]))
    return found


def retained_versions(objects: Objects) -> tuple[int, ...]:
    store, clock = objects.store()
    reader = table_on(store, clock).reader
    ranges = reader.retained(reader.full_listing())
    return tuple(version for low, high in ranges for version in range(low, high + 1))


def _tried(work: Callable[[], Answer]) -> Answer | Named:
    try:
        return work()
    except HeadgateError as error:
        return Named(f"{type(error).__name__}: {error}")


def _snapshot(table: Table, version: int | None, where: str | None) -> Answer:
    snapshot = table.snapshot(version=version, where=where)
    metadata = snapshot.metadata
    told = (
        metadata.id,
        metadata.schema_string,
        tuple(metadata.partition_columns),
        tuple(sorted(metadata.configuration.items())),
        metadata.name,
        metadata.description,
        metadata.format_provider,
        snapshot.protocol.min_reader_version,
    )
    return Answer(snapshot.version, _rows(snapshot.files(ALL_COLUMNS).to_pylist()), told)


def _changes(table: Table, since: int, until: int) -> Answer:
    """Which files came and went. When exactly is told by version files alone, without which states stand in."""
    changes = table.changes(since=since, until=until)
    added = _rows(changes.added.select(["path", "size"]).to_pylist())
    return Answer(changes.version, (*added, ("removed",), *_rows(changes.removed.select(["path"]).to_pylist())), ())


def undated(answer: Answer) -> Answer:
    """Without what JSON checkpoints don't tell as other parts of the log do: when files were added, and the protocol."""
    rows = tuple(tuple(pair for pair in row if not str(pair[0]).startswith("added_at_")) for row in answer.rows)
    return replace(answer, rows=tuple(sorted(rows, key=repr)), table=answer.table[:-1])


def _rows(rows: list[dict[str, Any]]) -> Rows:
    return tuple(sorted((tuple((name, _plain(value)) for name, value in row.items()) for row in rows), key=repr))


def _plain(value: Any) -> Any:
    return tuple(sorted(map(repr, value))) if isinstance(value, list) else value
