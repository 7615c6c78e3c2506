"""Proposals that were left on the bus because a queue was full: read again, table by table, when there is room."""

from collections.abc import Callable

from headgate_bus.interface import Bus, Reader, Record, Topic
from headgate_committer.limits import CommitterLimits
from headgate_committer.partition.table_queue import TableQueue

_PATIENCE_S = 0.05
"""How long a read waits. The records lie on the bus already, so they come at once."""


class SpilledReader:
    """One reader of the bus for each such table. Used by the loop's thread alone."""

    def __init__(self, bus: Bus, partition: int, limits: CommitterLimits) -> None:
        self._bus = bus
        self._partition = partition
        self._limits = limits
        self._readers: dict[str, Reader] = {}

    def read(self, queue: TableQueue, until: int, take: Callable[[Record], bool]) -> None:
        """Offer the table's records from the first spilled one up to `until`. Stops at the first that `take` has no room for."""
        offset = queue.spilled_from
        assert offset is not None, "only a queue that left something on the bus is read again"
        reader = self._readers.get(queue.uri)
        if reader is None:
            reader = self._bus.reader(Topic.PROPOSALS, {self._partition: offset})
            self._readers[queue.uri] = reader
        for record in reader.read(0.0 if queue.pending else _PATIENCE_S, self._limits.poll_records):
            if record.offset >= until:
                break
            if record.offset < offset:
                continue  # it was answered after all
            if record.key == queue.uri and not take(record):
                queue.spilled_from, queue.spilled_ms = record.offset, record.time_ms
                self.end(queue)
                return
            queue.spilled_from, queue.spilled_ms = record.offset + 1, record.time_ms
        if reader.offsets()[self._partition] >= until:
            queue.spilled_from = None
            self.end(queue)

    def end(self, queue: TableQueue) -> None:
        """Close the table's reader. The next read begins at the first spilled record again."""
        reader = self._readers.pop(queue.uri, None)
        if reader is not None:
            reader.close()

    def close(self) -> None:
        for reader in self._readers.values():
            reader.close()
        self._readers.clear()
