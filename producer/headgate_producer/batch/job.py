"""`BatchJob`: loads the records of a topic into a table, each exactly once, however often it is killed and run again.

The table itself holds the progress: the last seq that was committed for the job is the offset at which to continue.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, assert_never

from headgate_bus.errors import BatchUnread
from headgate_bus.interface import Extent
from headgate_producer.batch.bounds import BatchBounds, agree, agreed_last, bounds_key
from headgate_producer.batch.marks import RecordMark, SeenRecord, compared, last_mark
from headgate_producer.batch.origin import Start as Start
from headgate_producer.batch.origin import check_topic, remember
from headgate_producer.batch.reading import BatchLimits as BatchLimits
from headgate_producer.batch.reading import BatchReading
from headgate_producer.batch.record_source import RecordSource, SourceRecord, TopicIdentity
from headgate_producer.delivery.ticket import Ticket
from headgate_producer.errors import JobStopped
from headgate_producer.producer import Producer
from headgate_schemas.actions.actions import AddFile, Metadata
from headgate_schemas.errors import InvalidInput
from headgate_schemas.logs import get_logger
from headgate_schemas.messages.operations import Committed, Duplicate, Receipt, RejectCode, Rejected, Writer
from headgate_table.errors import OutcomeUnknown
from headgate_table.indextables.recovery.memory_reader import recover
from headgate_table.settings.options import table_options

if TYPE_CHECKING:
    import pyarrow as pa

ToTable = Callable[[Sequence[SourceRecord]], "pa.Table"]

MAX_FILES_PER_BATCH = 1_000
"""A batch with more partitions makes files that are too small to be read well."""

_NAME = re.compile(r"[A-Za-z0-9._-]{1,80}")

_log = get_logger("headgate.batch_job")


@dataclass(frozen=True, slots=True)
class BatchReport:
    """The result of a run."""

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
    bounds: BatchBounds
    records: int
    files: tuple[AddFile, ...]
    ticket: Ticket


class BatchJob:
    """Loads the records of a topic into a table, each exactly once. Its name identifies it.

    `to_table` makes rows from records. The rows have the table's columns, including partition columns. `start` gives the
    beginning of the first run. Later runs continue where the table says, even in partitions without a record so far. A
    new partition starts with its first record. The job refuses a topic that was made anew or that lost its end. A
    complete job is in the guide of a Kafka-fed batch job.

    Examples:
        >>> headgate.BatchJob("../nightly", source=None, producer=None, to_table=list)
        Traceback (most recent call last):
        headgate_schemas.errors.InvalidInput: ...
    """

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
        self._reading = BatchReading(name, source, producer.ambient, self._limits)
        self._identity = TopicIdentity(None, None)
        self._positions: dict[int, int] = {}
        """Where the next batch begins, as every run sees it."""
        self._reached: dict[int, int] = {}
        """Where to read on: behind a stretch without records that this run has seen."""
        self._metadata = Metadata("", "")
        """Of the table, as the last look found it."""

    def run(self, stopping: Callable[[], bool] = lambda: False, *, for_ever: bool = False) -> BatchReport:
        """Load the records that the topic holds now. With `for_ever`, load new records too, until `stopping` returns true.

        Raises `JobStopped` if it needs an operator. After `OutcomeUnknown` or another `HeadgateError`, run it again as it is.
        """
        self._positions, self._reached = {}, {}
        ends = {partition: extent.next_offset for partition, extent in self._begin().items()}
        look_again_s = self._producer.ambient.monotonic_s() + self._limits.partitions_every_s
        report = BatchReport()
        while not stopping():
            if for_ever and self._producer.ambient.monotonic_s() >= look_again_s:
                self._begin()
                look_again_s = self._producer.ambient.monotonic_s() + self._limits.partitions_every_s
            left = [each for each in self._positions if for_ever or self._reached[each] < ends[each]]
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
        return replace(report, positions=dict(self._reached))

    def _app(self, partition: int) -> str:
        return f"{self._name}/{self._source.topic}/{partition}"

    def _committed(self) -> dict[int, int]:
        """For each partition, the highest offset that the table has committed."""
        reader = self._producer.reader
        log = reader.latest()
        metadata = reader.metadata(log)
        self._metadata = metadata
        memory = recover(reader, log, table_options(metadata.configuration))
        last = {app: seqs[-1][0] for app, seqs in memory.writers.items() if seqs}
        return {each: last[self._app(each)] for each in self._source.partitions() if self._app(each) in last}

    def _begin(self) -> Mapping[int, Extent]:
        """Find the first offset in each partition that is new to this run. Returns the extents of those partitions."""
        seen = self._source.identity()
        new = [each for each in self._source.partitions() if each not in self._positions]
        extents = {partition: self._source.extent(partition) for partition in new}
        store = self._producer.store
        before = self._reading.mark_before
        origin = remember(store, self._name, self._source.topic, seen, extents, self._start, before)
        self._identity = origin.topic
        committed = self._committed() if new else {}
        for partition in new:
            beginning = origin.starts[partition]
            position = committed.get(partition, beginning.offset)
            mark = beginning.before if position == beginning.offset else None
            self._check(partition, position, extents[partition], mark)
            self._positions[partition] = self._reached[partition] = position
        return extents

    def _check(self, partition: int, position: int, extent: Extent, mark: RecordMark | None) -> None:
        """Raises `JobStopped` if the partition isn't the one that was read up to this position."""
        where = f"partition {partition} of topic {self._source.topic}"
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
        agreed = agreed_last(self._producer.store, self._app(partition))
        mark = mark if agreed is None else agreed.mark_before(position) or mark
        if mark is not None and mark.offset >= extent.first:
            records = self._reading.between(partition, mark.offset, position)
            if records is not None:
                self._check_mark(partition, mark, records)

    def _check_mark(self, partition: int, mark: RecordMark, records: Sequence[SourceRecord]) -> None:
        seen = compared(mark, records)
        match seen:
            case SeenRecord.SAME | SeenRecord.GONE:
                return
            case SeenRecord.OTHER:
                raise JobStopped(
                    f"job {self._name} has seen a record at offset {mark.offset} of partition {partition} of topic "
                    f"{self._source.topic}, and that record is not there any more, though the topic reaches further: it lost its end and has grown again, "
                    f"or was made anew. To take it from its beginning, run the job under another name"
                )
            case _:
                assert_never(seen)

    def _propose_next(self, partition: int, end: int | None) -> _Proposed | None:
        """Write and propose the next batch, if there are records."""
        start = self._positions[partition]
        records, reached = self._reading.collect(partition, self._reached[partition], end)
        if not records:
            self._reached[partition] = reached  # only marks of transactions, or gaps that compaction left
            return None
        # The records were read before this look, so they are from the topic that it finds.
        check_topic(self._name, self._source.topic, self._identity, self._source.identity())
        bounds = agree(self._producer.store, self._app(partition), BatchBounds(start, reached, last_mark(records)))
        if bounds.start != start:
            self._resume_behind(partition, start, bounds)
            return None
        if bounds.end > reached:
            records += self._reading.read_on(partition, reached, bounds.end)
        records = [record for record in records if record.offset < bounds.end]
        if bounds.last is not None:
            self._check_mark(partition, bounds.last, records)
        files = self._write(partition, bounds, records)
        ticket = self._producer.append(files, writer=Writer(self._app(partition), bounds.end))
        return _Proposed(partition, bounds, len(records), tuple(files), ticket)

    def _resume_behind(self, partition: int, start: int, bounds: BatchBounds) -> None:
        """Another run of this job is further: continue at the table's position."""
        position = self._committed().get(partition, -1)
        if position < bounds.start:
            key = bounds_key(self._app(partition))
            raise JobStopped(
                f"job {self._name} has been up to offset {bounds.start} of partition {partition} of topic {self._source.topic}, but the "
                f"table at {self._producer.table} knows of offset {max(position, start)} only: it is not the table that was written before. "
                f"To begin anew, make sure that no run's proposal is undecided, and delete {key} there"
            )
        self._positions[partition] = self._reached[partition] = position

    def _write(self, partition: int, bounds: BatchBounds, records: Sequence[SourceRecord]) -> Sequence[AddFile]:
        if not records:
            return ()  # compacted away since the bounds were fixed
        from headgate_table.rows.file_writer import FileLimits  # imports PyArrow's writer
        from headgate_table.rows.writing import table_files

        rows = self._to_table(records)
        limits = FileLimits(files=MAX_FILES_PER_BATCH)
        while True:
            unique = self._producer.ambient.new_id()
            name = f"{self._name}-{self._source.topic}-{partition}-{bounds.start}-{bounds.end}-{unique}"
            try:
                return table_files(self._producer.store, self._metadata, rows, name, limits)
            except InvalidInput as error:
                reader = self._producer.reader
                newest = reader.metadata(reader.latest())
                if newest == self._metadata:
                    raise JobStopped(
                        f"job {self._name} can't go on: {error}. Nothing of the batch was proposed"
                    ) from error
                self._metadata = newest  # the table may have new columns since the last look

    def _settle(self, batch: _Proposed, report: BatchReport) -> BatchReport:
        receipt = self._receipt(batch)
        version: int | None
        match receipt:
            case Committed(version):
                position = batch.bounds.end
                report = replace(
                    report,
                    records=report.records + batch.records,
                    files=report.files + len(batch.files),
                    batches=report.batches + 1,
                )
            case Duplicate(version):
                position = max(batch.bounds.end, self._committed().get(batch.partition, 0))
                report = replace(report, duplicates=report.duplicates + 1)
            case Rejected(RejectCode.SUPERSEDED):
                # A run continues after a batch only once it is committed, so another run has committed this one and
                # is further.
                version = None
                position = max(batch.bounds.end, self._committed().get(batch.partition, 0))
                report = replace(report, duplicates=report.duplicates + 1)
            case Rejected(code, reason):
                raise JobStopped(
                    f"job {self._name} can't go on: the batch of offsets {batch.bounds.start} to {batch.bounds.end} of partition "
                    f"{batch.partition} was rejected ({code.value}): {reason}. Its records are not in the table"
                )
            case _:
                assert_never(receipt)
        self._positions[batch.partition] = self._reached[batch.partition] = position
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
        """The receipt of one proposal, asked for repeatedly until its outcome is known."""
        ticket = batch.ticket
        for ask in range(1, self._limits.asks + 1):
            try:
                return ticket.wait(self._limits.receipt_within_s)
            except OutcomeUnknown:
                if ask == self._limits.asks:
                    raise
                if ticket.done:  # given up: send the same proposal again
                    writer = Writer(self._app(batch.partition), batch.bounds.end)
                    ticket = self._producer.append(batch.files, writer=writer, proposal_id=ticket.proposal_id)
        raise AssertionError("the loop ends by returning or raising")
