"""The least and greatest partition texts of a manifest's entries, safe for comparisons by every known reader.

`manifests.pruning` uses the bounds of any writer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from headgate_schemas.actions.actions import NULL_PARTITION
from headgate_schemas.columns.column_kinds import ColumnKind
from headgate_table.indextables.format.map_column import map_values


@dataclass(frozen=True, slots=True)
class Bounds:
    min: str | None
    max: str | None


# Texts that some reader takes for numbers (docs/format.md, section 7), in RE2's syntax: Java trims blanks and accepts
# suffixes and hexadecimal floats; Rust accepts inf and nan in any case. Too wide is safe here, too narrow is not.
LOOKS_NUMERIC = (
    r"(?is)^[\x00-\x20]*[+-]?"
    r"(nan|inf|infinity|0x[0-9a-f]*\.?[0-9a-f]*(p[+-]?[0-9]+)?[df]?|([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?[df]?)"
    r"[\x00-\x20]*$"
)
_SAFE_INTEGER = r"^(0|-?[1-9][0-9]{0,17})$"
"""Spelled in one way only, and within 64 bits."""
_SAFE_DECIMAL = r"^-?(0|[1-9][0-9]{0,6})(\.[0-9]{1,7})?$"
"""Few enough digits that no two different numbers are equal as doubles."""
_NEGATIVE_ZERO = r"^-0(\.0*)?$"


def compute_partition_bounds(
    entries: pa.Table,
    partition_columns: Sequence[str],
    column_kinds: Mapping[str, ColumnKind] | None = None,
) -> dict[str, Bounds] | None:
    """The bounds of each partition column over the entries' `partition_values`; None for an unpartitioned table.

    The known readers compare two texts as integers if both are, else as doubles if both are, else as texts. If that
    isn't a proper order of the column's texts (numbers mixed with other texts, numbers spelled in several ways), the
    column gets no bounds at all: with any bounds, some reader would skip files that match. Null bounds mean that every
    value is empty or missing; a known reader skips those for IS NOT NULL, so they never stand for "unknown".

    Other readers treat the null marker as a text like any other, so it counts here.
    """
    if not partition_columns:
        return None
    kinds = column_kinds or {}
    bounds = {}
    for column in partition_columns:
        found = _column_bounds(map_values(entries["partition_values"], column), kinds.get(column))
        if found is not None:
            bounds[column] = found
    return bounds


def _column_bounds(texts: pa.ChunkedArray, kind: ColumnKind | None) -> Bounds | None:
    distinct = pc.unique(texts)
    distinct = distinct.filter(pc.and_(pc.is_valid(distinct), pc.not_equal(distinct, "")))
    if len(distinct) == 0:
        return Bounds(None, None)
    has_marker = pc.any(pc.equal(distinct, NULL_PARTITION)).as_py()
    values = distinct.filter(pc.not_equal(distinct, NULL_PARTITION)) if has_marker else distinct
    if not _any_matches(distinct, LOOKS_NUMERIC):
        if _any_matches(distinct, r"[\x{E000}-\x{10FFFF}]"):
            return None  # UTF-16 and UTF-8 order differ
        return _text_bounds(distinct)
    if _all_match(values, _SAFE_INTEGER):
        numbers = values.cast(pa.int64())
    elif _all_match(values, _SAFE_DECIMAL) and not _any_matches(values, _NEGATIVE_ZERO):
        numbers = values.cast(pa.float64())
    else:
        return None
    found = _number_bounds(values, numbers)
    if has_marker:
        # Above every number as text, and so for a reader.
        found = Bounds(found.min, NULL_PARTITION)
    if kind is ColumnKind.STRING and found != _text_bounds(distinct):
        # A literal of such a column may be no number, and then readers compare everything as text.
        return None
    return found


def _any_matches(texts: pa.Array, pattern: str) -> bool:
    return bool(pc.any(pc.match_substring_regex(texts, pattern)).as_py())


def _all_match(texts: pa.Array, pattern: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(texts, pattern)).as_py())


def _text_bounds(texts: pa.Array) -> Bounds:
    found = pc.min_max(texts)
    return Bounds(found["min"].as_py(), found["max"].as_py())


def _number_bounds(texts: pa.Array, numbers: pa.Array) -> Bounds:
    least = texts[pc.index(numbers, pc.min(numbers)).as_py()]
    greatest = texts[pc.index(numbers, pc.max(numbers)).as_py()]
    return Bounds(least.as_py(), greatest.as_py())
