"""Runs merges of one table: an engine writes, the result is proposed, and refused groups are cleaned up and planned
again.

It deletes only files that this run wrote itself, and only once it is certain that no version names them.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import dataclass, replace
from typing import assert_never

import pyarrow as pa
import pyarrow.compute as pc

from headgate_schemas.actions.actions import NULL_PARTITION, AddFile, Metadata, SkipFile
from headgate_schemas.ambient import Ambient
from headgate_schemas.errors import HeadgateError, InvalidInput
from headgate_schemas.logs import get_logger
from headgate_schemas.messages.operations import Committed, Duplicate, RejectCode, Rejected, Rewrite
from headgate_schemas.predicates.partition_text import escape_partition_text, meaning
from headgate_schemas.predicates.tree import columns
from headgate_table.errors import CommitConflict, StoreError
from headgate_table.indextables.rules.skips import known_skips
from headgate_table.store.paths import is_key
from headgate_table.table import Table
from headgate_worker.merge.orders import Merged, MergeEngine, MergeOrder, NotMerged
from headgate_worker.merge.plan import PLAN_COLUMNS, SORT_COLUMNS, MergeGroup, MergeLimits, MergePlan, plan_merges
from headgate_worker.merge.report import (
    GroupDone,
    GroupFailed,
    GroupLost,
    GroupNothing,
    GroupPending,
    GroupReport,
    GroupResult,
    MergeReport,
    merge_report,
)
from headgate_worker.merge.skipping import Skipping
from headgate_worker.roles.interface import Abandoned

MAX_ROUNDS = 3
"""Plans of one merge: the first, and those for what others changed meanwhile. A busier partition waits for the next."""
MAX_ATTEMPTS = 5
"""At one group, each without the sources that were in the way of the one before; then it is planned again."""

MAX_NAMES = 3
"""Drawn for one output. Ids are unique, so a second is drawn only where something is wrong with this machine."""

_PLAN_AGAIN = frozenset({RejectCode.SOURCE_GONE, RejectCode.PATH_IN_USE, RejectCode.READ_CONFLICT})
"""Refusals that a fresh look at the table may mend. `EXPIRED` is none: by the same clock, the next one is as late."""
_MAY_BE_LIVE = frozenset({RejectCode.PATH_IN_USE, RejectCode.EXPIRED})
"""Refusals that an output which was committed after all would get as well: it stays, and cleaning judges it."""

_log = get_logger("headgate.merge")


@dataclass(frozen=True, slots=True)
class RunLimits:
    """Bounds on the concurrent work of one run."""

    parallel_groups: int = 2
    parallel_bytes: int = 8 << 30
    """Of the sources of all groups under way; a larger group runs alone."""


class Merging:
    """Merges one table by one engine. Each group is a proposal of its own, so that a conflict costs one group."""

    def __init__(self, table: Table, engine: MergeEngine, ambient: Ambient, *, codec: str | None = None) -> None:
        self._table = table
        self._engine = engine
        self._ambient = ambient
        self._codec = codec
        self._skipping = Skipping(table, ambient)

    def plan(
        self, limits: MergeLimits, where: str | None = None, *, without: frozenset[str] = frozenset()
    ) -> MergePlan:
        """The groups to merge now, among the files whose partition matches `where`.

        Raises `InvalidInput` for a `where` on other columns, which would select files by the rows that they happen to
        hold.
        """
        if where is not None:
            _check_where(self._table, where)
        snapshot = self._table.snapshot(where=where)
        now_ms = self._ambient.now_ms()
        wanted = (*PLAN_COLUMNS, *SORT_COLUMNS) if limits.sort_order is not None else PLAN_COLUMNS
        files = snapshot.files(wanted)
        if without:
            taken = pc.is_in(files.column("path"), value_set=pa.array(sorted(without), pa.string()))
            files = files.filter(pc.invert(taken))
        return plan_merges(files, limits, known_skips(self._table.reader, snapshot.log, now_ms), now_ms)

    def merge(
        self,
        limits: MergeLimits,
        executor: Executor,
        where: str | None = None,
        run_limits: RunLimits | None = None,
    ) -> MergeReport:
        """Plan and merge, and plan again after conflicts. `executor` must not be the one whose thread calls this."""
        bounds = run_limits or RunLimits()
        reports: list[GroupReport] = []
        failed: set[str] = set()
        notes: tuple[str, ...] = ()
        for turn in range(MAX_ROUNDS):
            plan = self.plan(limits, where, without=frozenset(failed))
            notes = notes if turn else plan.notes()
            last = self._merge_all(plan.groups, executor, bounds)
            lost = [report for _, report in last if isinstance(report.result, GroupLost)]
            again = bool(lost) and turn < MAX_ROUNDS - 1
            # The second plan reports the final result of these groups; their skips are reported now.
            reports += [
                GroupReport(GroupNothing(), report.skips) if again and isinstance(report.result, GroupLost) else report
                for _, report in last
            ]
            for group, report in last:
                if isinstance(report.result, GroupFailed | GroupPending):
                    failed.update(source.path for source in group.sources)
            if not again:
                break
            limits = replace(limits, max_outputs=len(lost))
        return merge_report(self._table.uri, reports, notes)

    def _merge_all(
        self, groups: Sequence[MergeGroup], executor: Executor, bounds: RunLimits
    ) -> list[tuple[MergeGroup, GroupReport]]:
        waiting = deque(groups)
        running: dict[Future[GroupReport], MergeGroup] = {}
        ended: list[tuple[MergeGroup, GroupReport]] = []
        try:
            while waiting or running:
                while waiting and _has_room(waiting[0], running.values(), bounds):
                    group = waiting.popleft()
                    running[executor.submit(self.merge_group, group)] = group
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    ended.append((running[future], future.result()))
                    del running[future]
        finally:
            for future in running:
                future.cancel()
        return ended

    def merge_group(self, group: MergeGroup) -> GroupReport:
        """Merge one group without its unreadable sources, which are left alone for a while.

        Raises `Abandoned` if the engine does; no file is left behind then.
        """
        skips: list[SkipFile] = []
        try:
            result = self._attempts(group, skips)
        finally:
            self._skipping.record(skips)
        return GroupReport(result, tuple(skips))

    def _attempts(self, group: MergeGroup, skips: list[SkipFile]) -> GroupResult:
        metadata = self._table.metadata
        sources = group.sources
        for _ in range(MAX_ATTEMPTS):
            if len(sources) < 2:
                return GroupNothing()
            try:
                order = self._order(sources, metadata)
            except HeadgateError as error:
                return GroupFailed(str(error))
            try:
                outcome = self._engine.merge(order)
            except Abandoned:
                self._discard(order.output)
                raise
            except HeadgateError as error:
                self._discard(order.output)
                return GroupFailed(str(error))
            match outcome:
                case Merged(add):
                    if add.path != order.output:
                        self._discard(order.output)  # the leftovers of an attempt that the engine gave up
                    return self._propose(order, add)
                case NotMerged(problems):
                    self._discard(order.output)
                    skips += self._skipping.found(sources, problems)
                    bad = {problem.path for problem in problems}
                    sources = tuple(source for source in sources if source.path not in bad)
                case _:
                    assert_never(outcome)
        return GroupLost(f"{MAX_ATTEMPTS} attempts each found another source that could not be read")

    def _order(self, sources: tuple[AddFile, ...], metadata: Metadata) -> MergeOrder:
        values = sources[0].partition_values
        partition = {column: values.get(column, NULL_PARTITION) for column in metadata.partition_columns}
        options = self._table.options
        return MergeOrder(
            table=self._table.uri,
            sources=sources,
            output=self._fresh_output(sources, partition),
            schema_string=metadata.schema_string,
            partition_columns=metadata.partition_columns,
            partition_values=partition,
            codec=self._codec,
            indexed_columns=options.data_skipping_columns,
            max_text_length=options.stats_max_length,
        )

    def _fresh_output(self, sources: Sequence[AddFile], partition: dict[str, str]) -> str:
        """A name that is not in use: a file under it is this run's own, so the run may delete it."""
        output = ""
        for _ in range(MAX_NAMES):
            output = output_path(sources, partition, self._ambient.new_id())
            if self._table.store.head(output) is None:
                return output
        raise StoreError(
            f"{MAX_NAMES} new names for a merged file are all taken in {self._table.uri}, the last by {output}: ids repeat. "
            f"Look for a machine or container that was copied while it ran"
        )

    def _propose(self, order: MergeOrder, add: AddFile) -> GroupResult:
        paths = tuple(source.path for source in order.sources)
        try:
            receipt = self._table.commit(Rewrite(paths, (add,)))
        except CommitConflict as error:
            self._discard(add.path)
            return GroupLost(str(error))
        except HeadgateError as error:
            # The proposal may be committed or may still be, so the output must stay. If it isn't committed, cleaning
            # finds the file.
            _log.warning("merge_outcome_unknown", table=self._table.uri, output=add.path, reason=str(error))
            return GroupPending(add.path, str(error))
        match receipt:
            case Committed(version) | Duplicate(version):
                original = sum(source.size for source in order.sources)
                _log.info(
                    "files_merged",
                    table=self._table.uri,
                    version=version,
                    sources=len(paths),
                    output=add.path,
                    original_bytes=original,
                    merged_bytes=add.size,
                )
                return GroupDone(paths, add.path, version, original, add.size)
            case Rejected(code, reason):
                if code not in _MAY_BE_LIVE:
                    self._discard(add.path)
                return GroupLost(reason) if code in _PLAN_AGAIN else GroupFailed(f"{code.value}: {reason}")
            case _:
                assert_never(receipt)

    def _discard(self, output: str) -> None:
        """Delete a file that this run wrote and no version can name. If that fails, the file is an orphan, and cleaning
        finds it.
        """
        try:
            self._table.store.delete([output])
        except HeadgateError as error:
            _log.warning("merge_output_left", table=self._table.uri, output=output, reason=str(error))


def output_path(sources: Sequence[AddFile], partition_values: dict[str, str], unique: str) -> str:
    """A new name in the folder that the sources share; otherwise in their partition's folder, as Spark spells it."""
    name = f"merged-{unique}.parquet"
    folders = {source.path.rpartition("/")[0] for source in sources}
    if len(folders) == 1:
        folder = folders.pop()
    else:
        folder = "/".join(
            f"{escape_partition_text(column)}={escape_partition_text(meaning(text)) if text else NULL_PARTITION}"
            for column, text in partition_values.items()
        )
    path = f"{folder}/{name}" if folder else name
    # A folder's name may be too long for a path. The root is as good, because the log names the partition.
    return path if is_key(path) else name


def _has_room(group: MergeGroup, running: Iterable[MergeGroup], bounds: RunLimits) -> bool:
    under_way = list(running)
    if not under_way:
        return True
    size = group.size_bytes + sum(other.size_bytes for other in under_way)
    return len(under_way) < bounds.parallel_groups and size <= bounds.parallel_bytes


def _check_where(table: Table, where: str) -> None:
    from headgate_schemas.predicates.text import parse_predicate  # imports sqlglot, which only predicates need

    partitions = table.metadata.partition_columns
    for column in sorted(columns(parse_predicate(where))):
        if column not in partitions:
            known = ", ".join(partitions) or "none: the table is not partitioned"
            raise InvalidInput(
                f"{column!r} is no partition column of {table.uri}, so it can't say which files to merge; partition columns: "
                f"{known}"
            )
