"""The predicate that matches exactly the partitions of some files. Pure."""

from collections.abc import Iterable, Mapping, Sequence

from headgate_schemas.actions.actions import NULL_PARTITION
from headgate_schemas.errors import InvalidInput
from headgate_schemas.predicates.format import format_predicate
from headgate_schemas.predicates.partition_text import meaning
from headgate_schemas.predicates.tree import And, Comparison, In, IsNull, Op, Or, Predicate

MAX_WHERE_CHARS = 100_000
"""What a proposal takes; about two thousand partitions."""


def where_of(columns: Sequence[str], values: Iterable[Mapping[str, str]], table: str) -> str:
    """Raises `InvalidInput` for a table without partitions, or too many of them."""
    check_partitioned(columns, table)
    keys = sorted({tuple(_text(each.get(column)) for column in columns) for each in values}, key=_order)
    where = format_predicate(_matching(columns, keys))
    if len(where) > MAX_WHERE_CHARS:
        raise InvalidInput(
            f"{len(keys)} partitions of {table} can't be replaced at once: naming them takes {len(where)} characters, more than "
            f"{MAX_WHERE_CHARS} (MAX_WHERE_CHARS). Write them by parts, or say by a predicate what is overwritten"
        )
    return where


def check_partitioned(columns: Sequence[str], table: str) -> None:
    """Raises `InvalidInput` for a table without partitions."""
    if not columns:
        raise InvalidInput(
            f"the table at {table} has no partitions, so it can't be overwritten by partition; overwrite everything, or partition the table"
        )


def _text(stored: str | None) -> str | None:
    return None if stored in (None, "", NULL_PARTITION) else meaning(stored or "")


def _order(key: tuple[str | None, ...]) -> tuple[tuple[bool, str], ...]:
    return tuple((text is not None, text or "") for text in key)


def _matching(columns: Sequence[str], keys: Sequence[tuple[str | None, ...]]) -> Predicate:
    """By the first column's values, and below each by the others'. Every kind of column takes its values as texts."""
    if len(columns) == 1:
        return _among(columns[0], [key[0] for key in keys])
    below: dict[str | None, list[tuple[str | None, ...]]] = {}
    for key in keys:
        below.setdefault(key[0], []).append(key[1:])
    branches = [And((_among(columns[0], [text]), _matching(columns[1:], rest))) for text, rest in below.items()]
    return branches[0] if len(branches) == 1 else Or(tuple(branches))


def _among(column: str, texts: Sequence[str | None]) -> Predicate:
    named = [text for text in texts if text is not None]
    found: list[Predicate] = []
    if len(named) == 1:
        found.append(Comparison(column, Op.EQ, named[0]))
    elif named:
        found.append(In(column, tuple(named)))
    if len(named) < len(texts):
        found.append(IsNull(column))
    return found[0] if len(found) == 1 else Or(tuple(found))
