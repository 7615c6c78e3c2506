"""Which entries of a table match a predicate: exact for partition values, "may match" by statistics for data columns.

Works on whole Arrow tables. A condition on a partition column is evaluated once for each distinct text, by the rules of
`predicates.partition_text`; one on a data column for whole arrays, else for each distinct pair, by those of
`column_statistics`.
"""

from collections.abc import Collection, Mapping

import numpy as np
import pyarrow as pa

from headgate_schemas.columns.column_kinds import FLOATING, ColumnKind, literal_value
from headgate_schemas.predicates.partition_text import kind_of, spellings, text_test
from headgate_schemas.predicates.tree import Comparison, In, IsNotNull, IsNull, Leaf, Op, Predicate, columns, fold
from headgate_table.indextables.format.map_column import distinct_values, map_values
from headgate_table.indextables.read.column_statistics import StatisticsTest, statistics_test
from headgate_table.indextables.read.statistics_arrays import decide

MAX_CANDIDATE_TEXTS = 256
"""Beyond this many texts, looking for them costs more than decoding."""

Mask = np.ndarray[tuple[int], np.dtype[np.bool_]]
Codes = np.ndarray[tuple[int], np.dtype[np.int64]]


def columns_needed(predicate: Predicate, partition_columns: Collection[str]) -> frozenset[str]:
    """The columns of the entries that `entry_mask` reads for this predicate."""
    used = columns(predicate)
    needed = set()
    if used & frozenset(partition_columns):
        needed.add("partition_values")
    if used - frozenset(partition_columns):
        needed.update(("min_values", "max_values"))
    return frozenset(needed)


def entry_mask(
    predicate: Predicate,
    entries: pa.Table,
    column_kinds: Mapping[str, ColumnKind],
    partition_columns: Collection[str],
) -> pa.BooleanArray:
    """True for the entries to keep: all that match by partition values, and may match by statistics.

    Raises `PredicateError` for an unknown column and for a literal that doesn't fit its column.
    """
    texts = _Texts(entries)

    def leaf_mask(leaf: Leaf) -> Mask:
        kind = kind_of(leaf.column, column_kinds)
        if leaf.column in partition_columns:
            return texts.partition_mask(leaf, kind)
        return texts.statistics_mask(leaf, kind)

    mask = fold(
        predicate,
        leaf_mask,
        np.logical_and.reduce,
        np.logical_or.reduce,
        lambda truth: np.full(entries.num_rows, truth, dtype=np.bool_),
    )
    return pa.array(mask)


class _Texts:
    """The texts of one table of entries; the distinct ones of a partition column are computed once."""

    def __init__(self, entries: pa.Table) -> None:
        self._entries = entries
        self._found: dict[str, tuple[list[str | None], Codes]] = {}

    def partition_mask(self, leaf: Leaf, kind: ColumnKind) -> Mask:
        if leaf.column not in self._found:
            texts = map_values(self._entries["partition_values"], leaf.column)
            self._found[leaf.column] = distinct_values(texts)
        distinct, codes = self._found[leaf.column]
        test = text_test(leaf, kind)
        return np.fromiter(map(test, distinct), np.bool_, len(distinct))[codes]

    def statistics_mask(self, leaf: Leaf, kind: ColumnKind) -> Mask:
        everything = np.ones(self._entries.num_rows, dtype=np.bool_)
        if kind is ColumnKind.OTHER or isinstance(leaf, IsNull | IsNotNull):
            return everything
        lows = map_values(self._entries["min_values"], leaf.column)
        highs = map_values(self._entries["max_values"], leaf.column)
        decided, may_match = decide(leaf, kind, lows, highs) or (~everything, everything)
        mask = np.where(decided, may_match, everything)
        rest = np.flatnonzero(~decided)
        if len(rest):
            test = statistics_test(leaf, kind)
            # A file that may hold NaN has no upper bound, and all bounds are those of its numbers.
            highest = "Infinity" if kind in FLOATING else None
            mask[rest] = _each_pair(test, lows.take(pa.array(rest)), highs.take(pa.array(rest)), highest)
        return mask


def _each_pair(test: StatisticsTest, lows: pa.ChunkedArray, highs: pa.ChunkedArray, highest: str | None) -> Mask:
    """`highest` stands for a missing upper bound."""
    low_texts, low_codes = distinct_values(lows)
    high_texts, high_codes = distinct_values(highs)
    pairs, places = np.unique(low_codes * len(high_texts) + high_codes, return_inverse=True)

    def may_match(pair: int) -> bool:
        low, high = low_texts[pair // len(high_texts)], high_texts[pair % len(high_texts)] or highest
        return low is None or high is None or test(low, high)

    return np.fromiter(map(may_match, pairs.tolist()), np.bool_, len(pairs))[places]


def candidate_texts(
    predicate: Predicate, column_kinds: Mapping[str, ColumnKind], partition_columns: Collection[str]
) -> tuple[bytes, ...] | None:
    """Texts of which a matching entry's partition values hold at least one, or None if there is no such finite set.

    A block of entries without any of these texts in its bytes holds no match. Only kinds with known spellings give
    texts: an integer 7 may be stored as "007".
    """

    def leaf_texts(leaf: Leaf) -> frozenset[str] | None:
        kind = column_kinds.get(leaf.column)
        if leaf.column not in partition_columns or kind not in (ColumnKind.STRING, ColumnKind.DATE):
            return None
        match leaf:
            case Comparison(column, Op.EQ, literal):
                wanted = [literal_value(column, kind, literal)]
            case In(column, values):
                wanted = [literal_value(column, kind, each) for each in values]
            case _:
                return None
        return frozenset(spelling for value in wanted for spelling in spellings(str(value)) if spelling)

    def conjunction(found: list[frozenset[str] | None]) -> frozenset[str] | None:
        return min((texts for texts in found if texts is not None), key=len, default=None)

    def disjunction(found: list[frozenset[str] | None]) -> frozenset[str] | None:
        known = [texts for texts in found if texts is not None]
        return frozenset[str]().union(*known) if len(known) == len(found) else None

    texts = fold(predicate, leaf_texts, conjunction, disjunction, lambda truth: None if truth else frozenset[str]())
    if texts is None or len(texts) > MAX_CANDIDATE_TEXTS:
        return None
    return tuple(sorted(text.encode() for text in texts))
