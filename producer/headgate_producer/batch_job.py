"""`BatchJob`: takes the records of a topic into a table, every one exactly once, however often it is killed and run again.

How far it is stands in the table itself: the last seq that was committed for the job is the offset to go on from.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, assert_never

from headgate_bus.errors import BatchUnread, BusUnavailable
from headgate_producer.batch_bounds import Bounds, agree, bounds_key
from headgate_producer.batch_files import write_files
from headgate_producer.errors import JobStopped
from headgate_producer.producer import Producer
from headgate_producer.record_source import Chunk, RecordSource, SourceRecord
from headgate_producer.ticket import Ticket
from headgate_schemas.actions import AddFile
from headgate_schemas.errors import InvalidInput
from headgate_schemas.logs import get_logger
from headgate_schemas.operations import Committed, Duplicate, Receipt, RejectCode, Rejected, Writer
from headgate_table.errors import OutcomeUnknown
from headgate_table.indextables.memory_reader import recover
from headgate_table.indextables.options import table_options

if TYPE_CHECKING:
    import pyarrow as pa

ToTable = Callable[[Sequence[SourceRecord]], "pa.Table"]
Start = Literal["earliest", "latest"] | Mapping[int, int]

_NAME = re.compile(r"[A-Za-z0-9._-]{1,80}")
_POLL_S = 0.5

_log = get_logger("headgate.batch_job")


@dataclass(frozen=True, slots=True)
class BatchLimits:
    max_records: int = 100_000
    max_bytes: int = 64 << 20
    """Of keys and values; a batch is held in memory while it is written."""
    linger_s: float = 5.0
    """How long a batch that isn't full waits for more, when the job runs for ever."""
    stalled_after_s: float = 60.0
    """How long records that the topic holds may fail to come, until the job stops."""
    receipt_within_s: float = 120.0
    asks: int = 5
    """How often it is waited for a receipt before the job stops; run again, it asks on."""


@dataclass(frozen=True, slots=True)
class BatchReport:
    """What a run did."""

    records: int = 0
    files: int = 0
    batches: int = 0
    duplicates: int = 0
    """Batches that an earlier run had committed."""
    positions: Mapping[int, int] = field(default_factory=dict)
    """By partition of the topic, the offset to go on from."""


@dataclass(frozen=True, slots=True)
class _Proposed:
    partition: int
    bounds: Bounds
    records: int
    files: tuple[AddFile, ...]
    ticket: Ticket


class BatchJob:
    """One job, known by its name. `to_table` makes rows of records: columns as in the table, partition columns included."""

    def __init__(
        self,
        name: str,
        source: RecordSource,
        producer: Producer,
        to_table: ToTable,
        *,
        limits: BatchLimits | None = None,
        start: Start = "earliest",
    ) -> None:
        if not _NAME.fullmatch(name) or name.strip(".") == "":
            raise InvalidInput(
                f"job name {name!r} can't be used: give up to 80 letters, digits, dots, dashes or underscores"
            )
        self._name = name
        self._source = source
        self._producer = producer
        self._to_table = to_table
        self._limits = limits or BatchLimits()
        self._start = start
        self._positions: dict[int, int] = {}
        self._partition_columns: tuple[str, ...] = ()

    def run(self, stopping: Callable[[], bool] = lambda: False, *, for_ever: bool = False) -> BatchReport:
        """Take what the topic holds at the start, or, `for_ever`, until `stopping`, whatever comes.

        Raises `JobStopped` where it can't go on by itself, `OutcomeUnknown` or another `HeadgateError` where it may be run
        again as it is.
        """
        committed = self._committed()
        partitions = self._source.partitions()
        ends = {partition: self._source.extent(partition).next_offset for partition in partitions}
        self._positions = {partition: self._begin(partition, committed) for partition in partitions}
        report = BatchReport()
        while not stopping():
            left = [each for each in partitions if for_ever or self._positions[each] < ends[each]]
            if not left:
                break
            proposed: list[_Proposed] = []
            for partition in left:
                end = None if for_ever else ends[partition]
                try:
                    batch = self._propose_next(partition, end)
                except BatchUnread as error:
                    raise JobStopped(f"job {self._name} can't go on: {error}") from error
                if batch is not None:
                    proposed.append(batch)
            for batch in proposed:
                report = self._settle(batch, report)
        return replace(report, positions=dict(self._positions))

    def _app(self, partition: int) -> str:
        return f"{self._name}/{self._source.topic}/{partition}"

    def _committed(self) -> dict[int, int]:
        """By partition, the highest offset that the table knows to be committed."""
        reader = self._producer.reader
        log = reader.latest()
        metadata = reader.metadata(log)
        self._partition_columns = tuple(metadata.partition_columns)
        memory = recover(reader, log, table_options(metadata.configuration))
        last = {app: seqs[-1][0] for app, seqs in memory.writers.items() if seqs}
        return {each: last[self._app(each)] for each in self._source.partitions() if self._app(each) in last}

    def _begin(self, partition: int, committed: Mapping[int, int]) -> int:
        extent = self._source.extent(partition)
        where = f"partition {partition} of topic {self._source.topic}"
        position = committed.get(partition)
        if position is None:
            if not isinstance(self._start, str):
                return self._start.get(partition, extent.first)
            return extent.first if self._start == "earliest" else extent.next_offset
        if position < extent.first:
            raise JobStopped(
                f"job {self._name} is at offset {position} of {where}, which begins at {extent.first} by now: records were deleted "
                f"before they were taken. To go on behind the gap, run it under another name, with start={{{partition}: {extent.first}}}"
            )
        if position > extent.next_offset:
            raise JobStopped(
                f"job {self._name} is at offset {position} of {where}, which ends at {extent.next_offset}: it is not the topic that "
                f"was read before. To take this one from its beginning, run the job under another name"
            )
        return position

    def _propose_next(self, partition: int, end: int | None) -> _Proposed | None:
        """Write and propose the next batch, if there are records."""
        start = self._positions[partition]
        records, reached = self._collect(partition, start, end)
        if not records:
            if end is not None:
                self._positions[partition] = reached  # nothing but markers of transactions up to the end
            return None
        bounds = agree(self._producer.store, self._app(partition), Bounds(start, reached))
        if bounds.start != start:
            self._resume_behind(partition, start, bounds)
            return None
        if bounds.end > reached:
            records += self._read_on(partition, reached, bounds.end)
        records = [record for record in records if record.offset < bounds.end]
        files = self._write(partition, bounds, records)
        ticket = self._producer.append(files, writer=Writer(self._app(partition), bounds.end))
        return _Proposed(partition, bounds, len(records), tuple(files), ticket)

    def _collect(self, partition: int, start: int, end: int | None) -> tuple[list[SourceRecord], int]:
        """Records up to a bound, or up to `end`, or of a while; and the offset behind them."""
        records: list[SourceRecord] = []
        reached, size = start, 0
        until_s = self._producer.ambient.monotonic_s() + self._limits.linger_s
        while len(records) < self._limits.max_records and size < self._limits.max_bytes:
            if end is not None and reached >= end:
                break
            try:
                chunk = self._read(
                    partition, reached, self._limits.max_records - len(records), must_move=end is not None
                )
            except BatchUnread:
                if not records:
                    raise
                break  # what was read comes into the table first; to read on fails again
            records += chunk.records
            size += sum(record.size for record in chunk.records)
            reached = chunk.next_offset
            if end is None and (not records or self._producer.ambient.monotonic_s() >= until_s):
                break
        return records, reached

    def _read_on(self, partition: int, reached: int, end: int) -> list[SourceRecord]:
        """The rest of a batch whose end was agreed on by an earlier run."""
        if self._source.extent(partition).next_offset < end:
            raise JobStopped(
                f"job {self._name} agreed on a batch up to offset {end} of partition {partition} of topic {self._source.topic}, which "
                f"ends before that: it is not the topic that was read before. Run the job under another name"
            )
        records: list[SourceRecord] = []
        while reached < end:
            chunk = self._read(partition, reached, self._limits.max_records, must_move=True)
            records += chunk.records
            reached = chunk.next_offset
        return records

    def _read(self, partition: int, offset: int, max_records: int, *, must_move: bool) -> Chunk:
        """What comes next. What the topic holds already must come in time."""
        until_s = self._producer.ambient.monotonic_s() + self._limits.stalled_after_s
        while True:
            chunk = self._source.read(partition, offset, _POLL_S, max_records)
            if chunk.next_offset > offset or not must_move:
                return chunk
            if self._producer.ambient.monotonic_s() >= until_s:
                raise BusUnavailable(
                    f"partition {partition} of topic {self._source.topic} gave nothing at offset {offset} for "
                    f"{self._limits.stalled_after_s:g} s (stalled_after_s), though it holds more: run the job again when it answers"
                )

    def _resume_behind(self, partition: int, start: int, bounds: Bounds) -> None:
        """Another run of this job is further: go on where the table says."""
        position = self._committed().get(partition, -1)
        if position < bounds.start:
            key = bounds_key(self._app(partition))
            raise JobStopped(
                f"job {self._name} has been up to offset {bounds.start} of partition {partition} of topic {self._source.topic}, but the "
                f"table at {self._producer.table} knows of offset {max(position, start)} only: it is not the table that was written before. "
                f"To begin anew, make sure that no run's proposal is undecided, and delete {key} there"
            )
        self._positions[partition] = position

    def _write(self, partition: int, bounds: Bounds, records: Sequence[SourceRecord]) -> Sequence[AddFile]:
        if not records:
            return ()  # compacted away since the bounds were agreed on
        unique = self._producer.ambient.new_id()
        name = f"{self._name}-{self._source.topic}-{partition}-{bounds.start}-{bounds.end}-{unique}"
        return write_files(self._producer.store, self._to_table(records), self._partition_columns, name)

    def _settle(self, batch: _Proposed, report: BatchReport) -> BatchReport:
        receipt = self._receipt(batch)
        version: int | None
        match receipt:
            case Committed(version):
                self._positions[batch.partition] = batch.bounds.end
                report = replace(
                    report,
                    records=report.records + batch.records,
                    files=report.files + len(batch.files),
                    batches=report.batches + 1,
                )
            case Duplicate(version):
                self._positions[batch.partition] = max(batch.bounds.end, self._committed().get(batch.partition, 0))
                report = replace(report, duplicates=report.duplicates + 1)
            case Rejected(RejectCode.SUPERSEDED):
                # A run goes on behind a batch only once it is committed, so another run has committed this one and is further.
                version = None
                self._positions[batch.partition] = max(batch.bounds.end, self._committed().get(batch.partition, 0))
                report = replace(report, duplicates=report.duplicates + 1)
            case Rejected(code, reason):
                raise JobStopped(
                    f"job {self._name} can't go on: the batch of offsets {batch.bounds.start} to {batch.bounds.end} of partition "
                    f"{batch.partition} was rejected ({code.value}): {reason}. Its records are not in the table"
                )
            case _:
                assert_never(receipt)
        _log.info(
            "batch_committed",
            job=self._name,
            table=self._producer.table,
            version=version,
            partition=batch.partition,
            start=batch.bounds.start,
            end=batch.bounds.end,
            records=batch.records,
            duplicate=not isinstance(receipt, Committed),
        )
        return report

    def _receipt(self, batch: _Proposed) -> Receipt:
        """Asked for again, of the same proposal, until somebody knows."""
        ticket = batch.ticket
        for ask in range(1, self._limits.asks + 1):
            try:
                return ticket.wait(self._limits.receipt_within_s)
            except OutcomeUnknown:
                if ask == self._limits.asks:
                    raise
                if ticket.done:  # given up: the same proposal again
                    writer = Writer(self._app(batch.partition), batch.bounds.end)
                    ticket = self._producer.append(batch.files, writer=writer, proposal_id=ticket.proposal_id)
        raise AssertionError("the loop ends by returning or raising")
