"""The decisions of `column_statistics` for whole Arrow arrays, if texts are plain integers or strings.

Statistics hardly repeat between files, so deciding once per distinct text, as for partition values, saves nothing.
`column_statistics` handles all other conditions and rows; both agree where both decide.
"""

from collections.abc import Callable
from decimal import Decimal
from typing import assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headgate_schemas.columns.column_kinds import ColumnKind, literal_value
from headgate_schemas.predicates.tree import Comparison, In, Leaf, Op
from headgate_table.indextables.read.column_statistics import (
    MICROS,
    MICROS_BY_UNIT,
    MICROS_PER_DAY,
    UNCLEAR_ENDS,
    sorts_unclearly,
)

Mask = np.ndarray[tuple[int], np.dtype[np.bool_]]
Integers = np.ndarray[tuple[int], np.dtype[np.int64]]

_PLAIN_INTEGER = r"^(0|-?[1-9][0-9]{0,17})$"
_MAX_MEMBERS = 64
"""Each value of an IN is one more pass over the arrays."""


def decide(leaf: Leaf, kind: ColumnKind, lows: pa.ChunkedArray, highs: pa.ChunkedArray) -> tuple[Mask, Mask] | None:
    """(which rows are decided here, which of these may match), or None for other conditions."""
    match leaf:
        case Comparison(column, op, literal):
            wanted = [(op, literal_value(column, kind, literal))]
        case In(column, values) if len(values) <= _MAX_MEMBERS:
            wanted = [(Op.EQ, literal_value(column, kind, each)) for each in values]
        case _:
            return None
    if kind is ColumnKind.STRING:
        return _decide_strings([(op, str(value)) for op, value in wanted], lows, highs)
    if kind not in (ColumnKind.INTEGER, ColumnKind.TIMESTAMP):
        return None
    targets: list[tuple[Op, int]] = []
    for op, value in wanted:
        whole = int(value) if isinstance(value, int | Decimal) else None
        if whole is None or whole != value or abs(whole) >= 2**62:
            return None
        targets.append((op, whole))
    return _decide_integers(kind, targets, lows, highs)


def _any(masks: list[Mask]) -> Mask:
    found: Mask = np.logical_or.reduce(masks)
    return found


def _decide_integers(
    kind: ColumnKind, wanted: list[tuple[Op, int]], lows: pa.ChunkedArray, highs: pa.ChunkedArray
) -> tuple[Mask, Mask]:
    (low, low_is_plain), (high, high_is_plain) = _integers(lows), _integers(highs)
    decided = low_is_plain & high_is_plain & (low <= high)
    if kind is ColumnKind.INTEGER:
        return decided, _any([_may_hold(op, low, high, target) for op, target in wanted])
    may_match = []
    any_unit_fits = np.zeros(len(low), dtype=np.bool_)
    for unit in MICROS_BY_UNIT:
        fits = (low >= -(-MICROS[0] // unit)) & (high < MICROS[1] // unit)
        from_time, to_time = (
            np.where(fits, low, 0) * unit - MICROS_PER_DAY,
            np.where(fits, high, 0) * unit + MICROS_PER_DAY,
        )
        may_match += [fits & _may_hold_loosely(op, from_time, to_time, target) for op, target in wanted]
        any_unit_fits |= fits
    return decided & any_unit_fits, _any(may_match)


def _integers(texts: pa.ChunkedArray) -> tuple[Integers, Mask]:
    """The values of plain integers, 0 elsewhere, and their rows."""
    is_plain = pc.fill_null(pc.match_substring_regex(texts, _PLAIN_INTEGER), False)
    values = pc.if_else(is_plain, texts, "0").cast(pa.int64()).to_numpy()
    return values, is_plain.to_numpy()


def _may_hold(op: Op, low: Integers, high: Integers, target: int) -> Mask:
    match op:
        case Op.EQ:
            within: Mask = (low <= target) & (target <= high)
            return within
        case Op.NE:
            differs: Mask = (low != target) | (high != target)
            return differs
        case Op.LT:
            return low < target
        case Op.LE:
            return low <= target
        case Op.GT:
            return high > target
        case Op.GE:
            return high >= target
        case _:
            assert_never(op)


def _may_hold_loosely(op: Op, low: Integers, high: Integers, target: int) -> Mask:
    """The same for bounds that are not exact to the last digit."""
    match op:
        case Op.NE:
            return np.ones(len(low), dtype=np.bool_)
        case Op.LT:
            return _may_hold(Op.LE, low, high, target)
        case Op.GT:
            return _may_hold(Op.GE, low, high, target)
        case _:
            return _may_hold(op, low, high, target)


def _decide_strings(wanted: list[tuple[Op, str]], lows: pa.ChunkedArray, highs: pa.ChunkedArray) -> tuple[Mask, Mask]:
    valid = pc.fill_null(pc.less_equal(lows, highs), False).to_numpy()
    return valid, _any([_strings_may_hold(op, value, lows, highs) for op, value in wanted])


def _strings_may_hold(op: Op, value: str, lows: pa.ChunkedArray, highs: pa.ChunkedArray) -> Mask:
    if sorts_unclearly(value) or op is Op.NE:
        return np.ones(len(lows), dtype=np.bool_)
    match op:
        case Op.EQ:
            return _mask(pc.less_equal, lows, value) & _may_reach(value, highs)
        case Op.LT:
            return _mask(pc.less, lows, value)
        case Op.LE:
            return _mask(pc.less_equal, lows, value)
        case Op.GT | Op.GE:
            return _may_reach(value, highs)
        case _:
            assert_never(op)


def _may_reach(value: str, highs: pa.ChunkedArray) -> Mask:
    beginnings = pa.array([value[:length] for length in range(len(value) + 1)], pa.string())
    whole = pc.utf8_rtrim(highs, UNCLEAR_ENDS)
    cut_off: Mask = pc.is_in(whole, value_set=beginnings).to_numpy()
    return _mask(pc.greater_equal, highs, value) | cut_off


def _mask(compare: Callable[[pa.ChunkedArray, str], pa.ChunkedArray], texts: pa.ChunkedArray, value: str) -> Mask:
    found: Mask = pc.fill_null(compare(texts, value), True).to_numpy()
    return found
