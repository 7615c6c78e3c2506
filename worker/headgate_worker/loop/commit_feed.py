"""Reads the commits that a worker reacts to from the events of a bus, and settles events that need no second reading.

An event is settled only after whole sweeps have passed since it came. So a worker that takes over a partition reads the
latest events again, and learns which tables its predecessor may have left half done.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from headgate_bus.errors import BusError, BusUnavailable, Fenced
from headgate_bus.interface import Bus, Record, Topic
from headgate_schemas.ambient import Ambient
from headgate_schemas.logs import get_logger
from headgate_schemas.messages.cloud_events import COMMIT, kind_of
from headgate_schemas.messages.events import CommitEvent, decode_event
from headgate_schemas.messages.message_shape import UnreadableMessage
from headgate_worker.limits import WorkerLimits

_MARKS = 100
"""Of one partition: the time that events stay unsettled is cut into so many pieces, and each piece is settled as a whole."""

_log = get_logger("headgate.worker")


@dataclass(frozen=True, slots=True)
class SeenCommits:
    """The result of one poll of the events."""

    commits: Sequence[CommitEvent] = ()
    missed: bool = False
    """Whether events were let go of before they were seen."""
    changed: bool = False
    """Whether partitions came or went."""


@dataclass(frozen=True, slots=True)
class Backlog:
    """The worker's lag on the events of the partitions that it holds."""

    events: int = 0
    """That it has not read."""
    age_ms: int = 0
    """Of the oldest of them, at most."""
    looked_at_ms: int | None = None
    """When this was found out; None before the first time. An old look means a bus that doesn't answer, or a worker that
    stands still."""


class CommitFeed:
    """The commits of the tables whose events this worker holds. For one thread."""

    def __init__(self, bus: Bus, group: str, ambient: Ambient, limits: WorkerLimits) -> None:
        self._bus = bus
        self._ambient = ambient
        self._limits = limits
        self._piece_ms = max(1, limits.hold_ms // _MARKS)
        self._follower = bus.follow(group)
        self._held: frozenset[int] = frozenset()
        self._marks: dict[int, deque[tuple[int, int]]] = {}
        """By partition: pieces of time, and the offset behind what came in each."""
        self._read_until_ms: dict[int, int] = {}
        """By held partition: what came before has been read."""
        self._is_failing = False
        self.unread_since_s: float | None = None
        """Since when the events could not be read; None while they can."""
        self.trouble = ""

    @property
    def held(self) -> frozenset[int]:
        """The partitions whose tables belong to this worker, as of the last poll."""
        return self._held

    def poll(self, timeout_s: float) -> SeenCommits:
        """The next commits, waiting up to `timeout_s` for them.

        If the bus doesn't answer, or the group has dropped this member, it returns nothing after a pause; the next poll
        joins the group again.
        """
        try:
            records = self._follower.poll(timeout_s, self._limits.poll_records)
        except (BusUnavailable, Fenced) as error:
            if self.unread_since_s is None:
                self.unread_since_s = self._ambient.monotonic_s()
            self.trouble = str(error)
            self._trouble("reading events", error)
            return SeenCommits()
        self._is_failing = False
        self.unread_since_s, self.trouble = None, ""
        held = self._follower.held()
        changed, self._held = held != self._held, held
        self._marks = {partition: marks for partition, marks in self._marks.items() if partition in held}
        self._mark(records)
        now_ms = self._ambient.now_ms()
        self._read_until_ms = {partition: self._read_until_ms.get(partition, now_ms) for partition in held}
        for record in records:
            self._read_until_ms[record.partition] = record.time_ms
        missed = bool(self._follower.missed())
        return SeenCommits([event for record in records if (event := _commit(record)) is not None], missed, changed)

    def owns(self, table: str) -> bool:
        """Whether this worker gets the table's events, and so maintains the table."""
        return self._bus.partition_of(table, Topic.EVENTS) in self._held

    def backlog(self) -> Backlog:
        """The number of unread events now. Raises `BusUnavailable`."""
        now_ms = self._ambient.now_ms()
        events, oldest_ms = 0, now_ms
        for partition in sorted(self._held):
            position = self._follower.position(partition)
            if position is None:
                continue  # the partition was taken away; the next poll reports it
            unread = self._bus.extent(Topic.EVENTS, partition).next_offset - position
            if unread > 0:
                events += unread
                oldest_ms = min(oldest_ms, self._read_until_ms[partition])
            else:
                self._read_until_ms[partition] = now_ms
        return Backlog(events, now_ms - oldest_ms, now_ms)

    def settle(self) -> None:
        """Settle the events that came long enough ago."""
        oldest_kept = (self._ambient.now_ms() - self._limits.hold_ms) // self._piece_ms
        for partition, marks in list(self._marks.items()):
            offset = None
            while marks and marks[0][0] < oldest_kept:
                offset = marks.popleft()[1]
            if offset is None:
                continue
            try:
                self._follower.settle(partition, offset)
            except Fenced:
                # The next holder reads these events again, even if this worker gets the partition back.
                del self._marks[partition]
                self._held -= {partition}
            except BusUnavailable as error:
                self._trouble("settling events", error)
                marks.appendleft((oldest_kept - 1, offset))
                return

    def close(self) -> None:
        """Give up all partitions at once, so that other workers can take them."""
        self._follower.close()

    def _mark(self, records: Sequence[Record]) -> None:
        piece = self._ambient.now_ms() // self._piece_ms
        for record in records:
            marks = self._marks.setdefault(record.partition, deque())
            if marks and marks[-1][0] >= piece:
                piece_there, _ = marks.pop()
                marks.append((piece_there, record.offset + 1))
            else:
                marks.append((piece, record.offset + 1))

    def _trouble(self, doing: str, error: BusError) -> None:
        if not self._is_failing:
            _log.warning("bus_unavailable", doing=doing, bus=self._bus.address, reason=str(error))
        self._is_failing = True
        self._ambient.sleep(self._limits.pause_ms / 1000)


def _commit(record: Record) -> CommitEvent | None:
    if kind_of(record.headers) != COMMIT:
        return None
    try:
        event = decode_event(record.body)
    except UnreadableMessage as error:
        # Perhaps from a newer release. Sweeps still reach its table if the worker knows it.
        _log.warning("event_not_understood", partition=record.partition, offset=record.offset, reason=str(error))
        return None
    return event if isinstance(event, CommitEvent) and event.table == record.key else None
