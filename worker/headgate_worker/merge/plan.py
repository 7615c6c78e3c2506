"""Plans which small files become one, over the live files of a snapshot. Pure; `merging` runs the plan.

Files are packed in their given order, so that rows stay near their neighbours. With a `SortOrder`, and if the files'
ranges allow it, they are packed in the order of their lowest values.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headgate_schemas.actions.actions import NULL_PARTITION, AddFile, SkipFile
from headgate_schemas.columns.column_kinds import parse_decimal
from headgate_schemas.errors import InvalidInput
from headgate_table.indextables.rules.skips import holds
from headgate_table.store.paths import is_key

MIN_TARGET_BYTES = 1 << 20
"""Below a mebibyte, requests cost more than bytes."""

PLAN_COLUMNS = ("path", "partition_values", "size", "modification_time", "num_records", "num_merge_ops")
SORT_COLUMNS = ("min_values", "max_values")

_PARQUET = r"(?i)(\.(parquet|parq|pq)|(^|/)[^/.]+)$"
"""Hive and some other writers give their files no extension at all."""


@dataclass(frozen=True, slots=True)
class SortOrder:
    """The columns by which each file's rows are sorted, ascending. `is_text`: the first column compares as text."""

    columns: tuple[str, ...]
    is_text: bool


@dataclass(frozen=True, slots=True)
class MergeLimits:
    """The aims and bounds of a merge. Raises `InvalidInput` for values that contradict each other."""

    target_bytes: int = 5 << 30
    """TARGET SIZE: no output is planned larger."""
    max_outputs: int | None = None
    """MAX DEST SPLITS: only so many groups, those first that save most files."""
    max_sources: int = 1_000
    """MAX SOURCE SPLITS PER MERGE: bounds how much work one damaged file or lost race can waste."""
    min_sources: int = 2
    """A group of fewer waits for more, unless it fills its output: or else each new small file would have the same large
    one written again. Two for who asks by hand; more for who does it unasked."""
    sort_order: SortOrder | None = None

    def __post_init__(self) -> None:
        if self.target_bytes < MIN_TARGET_BYTES:
            raise InvalidInput(f"the target size is {self.target_bytes} bytes; it must be at least {MIN_TARGET_BYTES}")
        if self.max_sources < 2 or self.min_sources < 2:
            raise InvalidInput(
                f"a merge takes {self.min_sources} to {self.max_sources} sources; it needs at least 2 to merge anything"
            )
        if self.max_outputs is not None and self.max_outputs < 1:
            raise InvalidInput(f"at most {self.max_outputs} outputs are asked for; it must be at least 1")

    @property
    def stays_from_bytes(self) -> int:
        """Files of at least three quarters of the target stay as they are.

        Such a file could only take in files of less than the last quarter, so each moved byte would cost at least three
        written ones. The output of a packing merge also counts as done, so that no file is written twice for the same
        target.
        """
        return -(-self.target_bytes * 3 // 4)


@dataclass(frozen=True, slots=True)
class MergeGroup:
    """Files of one partition that become one, in the order in which their rows are written."""

    sources: tuple[AddFile, ...]

    @property
    def size_bytes(self) -> int:
        return sum(source.size for source in self.sources)

    @property
    def files_saved(self) -> int:
        return len(self.sources) - 1


@dataclass(frozen=True, slots=True)
class MergePlan:
    """The groups to merge, best first, and the files that stay."""

    groups: tuple[MergeGroup, ...] = ()
    cooling: int = 0
    """Files that couldn't be read lately, and are left alone until their cooldown ends."""
    splits: int = 0
    """`.split` files: search indexes, which only their own writer can merge."""
    others: int = 0
    """Files that are no Parquet files by their names, or lie outside of the table."""
    put_off: int = 0
    """Groups beyond `max_outputs`."""
    waiting: tuple[int, ...] = ()
    """By partition, most first: small files that wait for others, once these groups are merged."""

    @property
    def size_bytes(self) -> int:
        return sum(group.size_bytes for group in self.groups)

    def notes(self) -> tuple[str, ...]:
        """One sentence for each kind of files that were left alone."""
        told = []
        if self.splits:
            told.append(
                f"{self.splits} .split files are left alone: they are search indexes, and only Parquet is merged"
            )
        if self.others:
            told.append(f"{self.others} files are left alone: they are no Parquet files of this table by their paths")
        if self.cooling:
            told.append(f"{self.cooling} files are left alone for now: they could not be read lately")
        if self.put_off:
            told.append(f"{self.put_off} more groups are left for the next merge")
        return tuple(told)


class _Part(Enum):
    CANDIDATE = 0
    STAYS = 1


@dataclass(frozen=True, slots=True)
class _Row:
    file: AddFile
    part: _Part


def plan_merges(files: pa.Table, limits: MergeLimits, skips: Mapping[str, SkipFile], now_ms: int) -> MergePlan:
    """The groups to merge among the live `files` (`PLAN_COLUMNS`; with a sort order also `SORT_COLUMNS`).

    Each file is in at most one group. A group has at least two files, of one partition, and is no larger than the
    target. The same files in the same order give the same plan. `skips` are the skips that the log remembers.
    """
    path = files.column("path")
    splits = pc.ends_with(path, ".split")
    parquet = pc.and_not(pc.match_substring_regex(path, _PARQUET), splits)
    cooling = sorted(name for name, skip in skips.items() if holds(skip, now_ms))
    cool = pc.is_in(path, value_set=pa.array(cooling, pa.string()))
    is_candidate = pc.and_(
        pc.and_not(parquet, cool), pc.less(files.column("size"), pa.scalar(limits.stays_from_bytes, pa.int64()))
    )
    chosen = files.append_column("is_candidate", is_candidate)
    if limits.sort_order is None:
        # Then large files don't matter, and on most tables they are the majority.
        chosen = chosen.filter(is_candidate)
    foreign = 0
    partitions: dict[tuple[tuple[str, str], ...], list[_Row]] = {}
    for row in _rows(chosen):
        if row.part is _Part.CANDIDATE and not is_key(row.file.path):
            foreign += 1
            continue
        partitions.setdefault(partition_key(row.file.partition_values), []).append(row)
    groups: list[MergeGroup] = []
    waiting: list[int] = []
    for rows in partitions.values():
        found = list(_groups(rows, limits))
        groups += found
        left = sum(row.part is _Part.CANDIDATE for row in rows) - sum(len(group.sources) for group in found)
        left += sum(group.size_bytes < limits.stays_from_bytes for group in found)
        if left:
            waiting.append(left)
    # The sort is stable: equal ones keep the order of the partitions and of their files.
    groups.sort(key=lambda group: (-group.files_saved, group.size_bytes))
    kept = groups if limits.max_outputs is None else groups[: limits.max_outputs]
    return MergePlan(
        groups=tuple(kept),
        cooling=_count(pc.and_(cool, parquet)),
        splits=_count(splits),
        others=files.num_rows - _count(parquet) - _count(splits) + foreign,
        put_off=len(groups) - len(kept),
        waiting=tuple(sorted(waiting, reverse=True)),
    )


def partition_key(values: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Equal for files of one partition: a missing value and the null marker are both null."""
    return tuple(sorted((column, text) for column, text in values.items() if text != NULL_PARTITION))


def _count(flags: Any) -> int:
    return int(pc.sum(flags).as_py() or 0)


def _rows(files: pa.Table) -> Iterator[_Row]:
    for batch in files.to_batches(max_chunksize=4096):
        for row in batch.to_pylist():
            yield _Row(_file(row), _Part.CANDIDATE if row["is_candidate"] else _Part.STAYS)


def _file(row: Mapping[str, Any]) -> AddFile:
    return AddFile(
        path=row["path"],
        partition_values=dict(row["partition_values"] or ()),
        size=row["size"],
        modification_time=row["modification_time"],
        num_records=row["num_records"],
        num_merge_ops=row["num_merge_ops"],
        min_values=dict(row.get("min_values") or ()),
        max_values=dict(row.get("max_values") or ()),
    )


def _groups(rows: Sequence[_Row], limits: MergeLimits) -> Iterator[MergeGroup]:
    """The groups of one partition."""
    ordered = _by_range([row for row in rows if is_key(row.file.path)], limits.sort_order)
    if ordered is None:
        runs: Iterable[Sequence[AddFile]] = [[row.file for row in rows if row.part is _Part.CANDIDATE]]
    else:
        # A file that stays is a border: an output must not span the range of a file between its sources.
        runs = _runs(ordered)
    for run in runs:
        yield from _packed(run, limits)


def _runs(rows: Sequence[_Row]) -> Iterator[Sequence[AddFile]]:
    run: list[AddFile] = []
    for row in rows:
        if row.part is _Part.CANDIDATE:
            run.append(row.file)
        elif run:
            yield run
            run = []
    yield run


def _packed(files: Sequence[AddFile], limits: MergeLimits) -> Iterator[MergeGroup]:
    """Packs neighbouring files together, as many as fit."""
    bin_: list[AddFile] = []
    size = 0
    for file in files:
        fits = size + file.size <= limits.target_bytes and len(bin_) < limits.max_sources
        if bin_ and not fits:
            if len(bin_) > 1:
                yield MergeGroup(tuple(bin_))
            bin_, size = [], 0
        bin_.append(file)
        size += file.size
    if len(bin_) >= limits.min_sources or (len(bin_) > 1 and size >= limits.stays_from_bytes):
        yield MergeGroup(tuple(bin_))


def _by_range(rows: Sequence[_Row], order: SortOrder | None) -> Sequence[_Row] | None:
    """The rows by their lowest values if no two files overlap in the first sort column; otherwise None."""
    if order is None or not order.columns:
        return None
    ranges = []
    for place, row in enumerate(rows):
        bounds = _range(row.file, order)
        if bounds is None:
            return None
        ranges.append((bounds, place))
    ranges.sort(key=lambda item: item[0])
    for ((_, high), _), ((low, _), _) in pairwise(ranges):
        # With further sort columns, equal values of the first column may be out of order in the others.
        if high > low or (high == low and len(order.columns) > 1):
            return None
    return [rows[place] for _, place in ranges]


def _range(file: AddFile, order: SortOrder) -> tuple[Any, Any] | None:
    column = order.columns[0]
    low, high = (file.min_values or {}).get(column), (file.max_values or {}).get(column)
    if low is None or high is None:
        return None
    if order.is_text:
        return low, high
    lowest, highest = parse_decimal(low), parse_decimal(high)
    return None if lowest is None or highest is None else (lowest, highest)
