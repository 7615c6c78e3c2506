"""One partition of proposals while this process holds it: queues by table, work on tables side by side, announcements.

The loop's thread reads records and publishes decisions. Only work on a table runs in other threads, one piece a table at a time.
"""

from collections import Counter, OrderedDict
from collections.abc import Iterable, Sequence
from concurrent.futures import Future

from headgate_bus.errors import BusUnavailable
from headgate_bus.interface import Mark, Record, Seat
from headgate_committer.context import CommitterContext
from headgate_committer.errors import Overtaken, TableHeld
from headgate_committer.feed.partition_source import PartitionSource
from headgate_committer.partition.announcements import Announcements, Landmarks
from headgate_committer.partition.spilled_reader import SpilledReader
from headgate_committer.partition.table_queue import TableQueue
from headgate_committer.partition.trimming import Trimmer
from headgate_committer.proposals.answers import Settlement, set_aside
from headgate_committer.proposals.intake import QueuedProposal, UndecidableRecord, take_in
from headgate_committer.served_addresses import ServedAddresses
from headgate_committer.status import OldestProposal, PartitionStatus, TableCounts
from headgate_committer.table.table_committer import TableCommitter
from headgate_committer.tables import CommitterTables, NotServed
from headgate_schemas.errors import HeadgateError
from headgate_schemas.logs import describe_error, get_logger
from headgate_schemas.messages.operations import RejectCode
from headgate_schemas.metrics import (
    COMMIT_SECONDS,
    COMMIT_STEP_SECONDS,
    PROPOSALS_RECEIVED,
    PROPOSALS_RECEIVED_BYTES,
)
from headgate_table.errors import CommitConflict, OutcomeUnknown, StoreError

_log = get_logger("headgate.committer")

_STATE_LOOK_S = 0.05
"""How often the loop looks whether a state is done that another one waits for."""
_MAY_PASS = (BusUnavailable, StoreError, OutcomeUnknown, CommitConflict)


class HeldPartition:
    """Made when a partition is taken. Thrown away when it is lost, or when its log becomes another one."""

    def __init__(
        self, feed: PartitionSource, tables: CommitterTables, served: ServedAddresses, context: CommitterContext
    ) -> None:
        self.partition = feed.source.partition
        self.feed = feed
        self._next = feed.start
        self._tables = tables
        self._served = served
        self._context = context
        self._ambient, self._limits, self._measures = context.ambient, context.limits, context.measures
        self._queues: dict[str, TableQueue] = {}
        self._active: dict[str, TableQueue] = {}
        """Queues that are not idle. The one that was worked on longest ago is first."""
        self._committers: OrderedDict[str, TableCommitter] = OrderedDict()
        """Open tables, in the same order. Each has a queue."""
        self._leftovers = SpilledReader(feed.bus, self.partition, self._limits)
        self._announcements = Announcements(feed.source, context)
        self._landmarks = Landmarks(feed.source.topic)
        self._trimmer = Trimmer(feed, context)
        self._announced_mark: Mark | None = None
        self._held_bytes = 0
        self._untold: set[str] = set()
        """Tables with answers that are yet to be announced."""
        self._untold_ms: list[int] = []
        """When those answered proposals were appended."""
        self._behind: set[str] = set()
        """Tables whose newest versions are due for a state that is yet to be begun."""

    # ---- in

    def take(self, records: Sequence[Record]) -> None:
        """Queue records of the bus, in order."""
        now_s = self._ambient.monotonic_s()
        if records:
            self._measures.count(PROPOSALS_RECEIVED, by=len(records))
            self._measures.count(PROPOSALS_RECEIVED_BYTES, by=sum(len(record.body) for record in records))
        for record in records:
            self._next = record.offset + 1
            self._landmarks.passed(record)
            queue = self._queues.get(record.key)
            if queue is not None and queue.spilled_from is not None:
                continue  # read again when the table's turn comes
            taken = take_in(record, self._limits.claims)
            if isinstance(taken, UndecidableRecord):
                self._announcements.set_aside(taken)
            else:
                self._queue(taken, now_s)

    def _queue(self, item: QueuedProposal, now_s: float) -> None:
        uri = item.proposal.table
        queue = self._queues.get(uri)
        if queue is None:
            queue = self._queues[uri] = TableQueue(uri, self._limits)
        before = queue.size
        queue.add(item, now_s)
        self._held_bytes += queue.size - before
        self._active[uri] = queue

    def make_room(self) -> bool:
        """Whether more may be held. For room, proposals of tables whose store fails are let go of, and read from the bus later."""
        if self._is_full:
            failing = [
                queue for queue in self._active.values() if queue.failures and queue.pending and queue.work is None
            ]
            for queue in sorted(failing, key=lambda queue: queue.size, reverse=True):
                self._spill(queue)
                if not self._is_full:
                    break
        return not self._is_full

    @property
    def _is_full(self) -> bool:
        return self._held_bytes >= self._limits.lane_bytes

    def _spill(self, queue: TableQueue) -> None:
        self._held_bytes -= queue.size
        queue.spill()
        self._leftovers.end(queue)  # reading begins again, at an earlier offset
        _log.warning("table_spilled", table=queue.uri, offset=queue.spilled_from, reason=queue.trouble)

    def refill(self) -> None:
        """Read proposals that were left on the bus, for tables that have room again."""
        now_s = self._ambient.monotonic_s()
        for queue in list(self._active.values()):
            if queue.spilled_from is None or not queue.is_half_empty:
                continue
            if queue.failures and (queue.pending or now_s < queue.ready_at_s):
                continue  # its store doesn't answer yet
            if self.is_choked or not self.make_room():
                return
            try:
                self._refill(queue, now_s)
            except BusUnavailable as error:
                _log.warning("bus_unavailable", partition=self.partition, doing="reading again", reason=str(error))
                self._leftovers.end(queue)

    def _refill(self, queue: TableQueue, now_s: float) -> None:
        def take(record: Record) -> bool:
            taken = take_in(record, self._limits.claims)
            if isinstance(taken, UndecidableRecord):
                self._announcements.set_aside(taken)
                return True
            if not queue.has_room:
                return False
            queue.hold(taken, now_s)
            self._held_bytes += taken.size
            return True

        self._leftovers.read(queue, self._next, take)
        self._rest(queue)

    # ---- work

    def work(self, *, at_once: bool = False) -> None:
        """Begin work on every table that is ready. `at_once`: without lingering for more proposals."""
        now_s, at_work = self._ambient.monotonic_s(), len(self.under_way())
        for queue in list(self._active.values()):
            if self.is_choked:
                return
            if at_work >= self._limits.open_tables:
                break
            if queue.is_ready(now_s, at_once=at_once):
                self._begin(queue, now_s)
                at_work += queue.work is not None
        for uri in list(self._behind):
            self._catch_up(uri, now_s)

    def _begin(self, queue: TableQueue, now_s: float) -> None:
        queue.began_s = now_s
        self._active[queue.uri] = self._active.pop(queue.uri)
        try:
            committer = self._opened(queue.uri)
        except NotServed as error:
            self._turn_away(queue, error)
        except StoreError as error:
            self._wait(queue, error, now_s)
        else:
            batch = tuple(_first(queue, self._limits.group_proposals))
            self._measure_wait(queue, now_s)
            queue.work = self._context.executor.submit(committer.settle, batch)

    def _opened(self, uri: str) -> TableCommitter:
        """The table, open. Raises `NotServed`, and `StoreError` where its store can't be opened now."""
        if uri not in self._committers:
            reader = self._tables.reader(uri)  # before another is closed for it: an address may be none
            self._served.check_place(uri, reader.store.place)
            if len(self._committers) >= self._limits.open_tables:
                self._close_one()
            self._committers[uri] = TableCommitter(reader, self.feed, self._tables, self._served, self._context)
        self._committers.move_to_end(uri)
        return self._committers[uri]

    def _close_one(self) -> None:
        """Close an idle table, else one that waits. It is loaded again when its turn comes."""
        free = [queue for uri in self._committers if (queue := self._queues[uri]).work is None]
        queue = next((queue for queue in free if queue.is_idle), free[0])
        del self._committers[queue.uri]
        self._rest(queue)

    def _rest(self, queue: TableQueue) -> None:
        """Forget the queue of an idle table that is not open."""
        if queue.is_idle:
            self._active.pop(queue.uri, None)
            if queue.uri not in self._committers:
                del self._queues[queue.uri]

    def _turn_away(self, queue: TableQueue, error: NotServed) -> None:
        """Set aside proposals for a table that isn't served. Their authors get no receipt where other committers may serve it."""
        code, reason, uri = RejectCode.UNKNOWN_TABLE, str(error), queue.uri
        unknown = [
            UndecidableRecord(item.record, code, reason, item.proposal.id, uri, is_told=error.is_for_good)
            for item in queue.pending
        ]
        self._settled(queue, Settlement(tuple(map(set_aside, unknown))))
        self._rest(queue)

    def _measure_wait(self, queue: TableQueue, now_s: float) -> None:
        # The bus has a clock of its own, which may be a little ahead.
        on_the_bus_s = max(0, self._ambient.now_ms() - queue.oldest_ms) / 1000
        self._measures.observe(COMMIT_STEP_SECONDS, on_the_bus_s, "queue")
        if not queue.failures:
            self._measures.observe(COMMIT_STEP_SECONDS, max(0.0, now_s - queue.waiting_since_s), "linger")

    def _catch_up(self, uri: str, now_s: float) -> None:
        """Begin a state that was left out, so that readers need not wait for the next commit to get it."""
        queue, committer = self._queues.get(uri), self._committers.get(uri)
        if queue is None or committer is None or not committer.is_behind_with_states:
            self._behind.discard(uri)
        elif queue.is_idle and now_s >= queue.ready_at_s and committer.can_catch_up:
            self._behind.discard(uri)
            self._active[uri] = queue
            queue.work = self._context.executor.submit(committer.catch_up)

    def collect(self) -> bool:
        """Take the results of finished work; whether there were any. Raises `Overtaken`."""
        done = [queue for queue in self._active.values() if queue.work is not None and queue.work.done()]
        for queue in done:
            work = queue.work
            assert work is not None, "it was done a moment ago"
            queue.work = None
            self._finish(queue, work)
        return bool(done)

    def _finish(self, queue: TableQueue, work: "Future[Settlement]") -> None:
        error = work.exception()
        if error is None:
            self._settled(queue, work.result())
        elif isinstance(error, Overtaken) or not isinstance(error, Exception):
            raise error
        else:
            # Other errors don't end the holding. Only an answered proposal shows that an operator has acted.
            queue.is_refused = queue.is_refused or isinstance(error, TableHeld)
            self._wait(queue, error, self._ambient.monotonic_s())
        if self._committers[queue.uri].is_behind_with_states:
            self._behind.add(queue.uri)
        self._rest(queue)

    def _settled(self, queue: TableQueue, settlement: Settlement) -> None:
        if not settlement.answers:
            return
        before = queue.size
        answered = queue.answered(settlement.answers[-1].offset, self._ambient.monotonic_s())
        self._untold_ms += [item.record.time_ms for item in answered]
        self._held_bytes += queue.size - before
        self._announcements.add(queue.uri, settlement)
        self._untold.add(queue.uri)

    def _wait(self, queue: TableQueue, error: Exception, now_s: float) -> None:
        """Pause a table, and log a new trouble once."""
        limits = self._limits
        pause_s = limits.longest_pause_ms / 1000
        if isinstance(error, _MAY_PASS):
            pause_s = min(pause_s, limits.first_pause_ms / 1000 * 2 ** min(queue.failures, 20))
        trouble = describe_error(error)
        if queue.failed(trouble, now_s, pause_s * (0.5 + self._ambient.jitter() / 2)):
            _log.warning("table_waits", table=queue.uri, offset=queue.oldest, kind=type(error).__name__, reason=trouble)

    # ---- out

    def committable(self) -> int:
        """The offset to commit: the oldest undecided one, else the next to come."""
        return min((queue.oldest for queue in self._active.values() if queue.oldest is not None), default=self._next)

    def publish(self, seat: Seat) -> bool:
        """Announce decisions, and commit the offset with them. Returns whether anything was announced.

        Raises `Fenced`. Where the bus doesn't answer, the same is announced again later.
        """
        offset = self.committable()
        # While a table is refused, the committed offset is evidence: moved on, it would hide what was lost.
        is_refused = any(queue.is_refused for queue in self._active.values())
        moves = not is_refused and offset > self.feed.announced
        if (self._announcements.is_empty and not moves) or self._ambient.monotonic_s() < self._announcements.ready_at_s:
            return False
        mark = self._landmarks.below(offset) if moves else None
        if not self._announcements.publish(seat, offset if moves else None, mark):
            return False
        if moves:
            self.feed.announced, self._announced_mark = offset, mark
        now_s = self._ambient.monotonic_s()
        for uri in self._untold:
            if uri in self._queues:
                self._queues[uri].told(now_s)
        self._untold.clear()
        self._measure_told()
        return True

    def trim(self) -> None:
        """Have the bus delete proposals that were settled long ago, now and then."""
        self._trimmer.look(self.feed.announced, self._announced_mark)

    def _measure_told(self) -> None:
        now_ms = self._ambient.now_ms()
        for appended_ms, proposals in Counter(self._untold_ms).items():
            self._measures.observe(COMMIT_SECONDS, max(0, now_ms - appended_ms) / 1000, times=proposals)
        self._untold_ms.clear()

    # ---- waiting and ending

    @property
    def refused(self) -> dict[str, str]:
        """Held tables, and why each waits for an operator. Threads may ask."""
        return {queue.uri: queue.trouble for queue in tuple(self._active.values()) if queue.is_refused}

    @property
    def is_choked(self) -> bool:
        """Whether announcements must leave before anything more is decided."""
        return self._announcements.is_choked

    @property
    def undecided(self) -> int:
        return sum(len(queue.pending) for queue in self._active.values())

    def standing(self) -> PartitionStatus:
        """The status now."""
        busy = [queue for queue in self._active.values() if queue.oldest is not None]
        served = [queue for queue in busy if not queue.is_refused]
        failing = [queue for queue in served if queue.failures]
        oldest = min(served, key=lambda queue: queue.oldest_ms, default=None)
        states = [state for committer in self._committers.values() if (state := committer.newest_state) is not None]
        return PartitionStatus(
            self.partition,
            self._next,
            self.feed.announced,
            self.undecided,
            TableCounts(
                len(self._committers),
                len(busy),
                sum(queue.failures > 0 for queue in busy),
                sum(queue.is_refused for queue in busy),
                sum(queue.spilled_from is not None for queue in busy),
            ),
            None
            if oldest is None
            else OldestProposal(oldest.uri, oldest.oldest or 0, oldest.oldest_ms, oldest.trouble),
            max(queue.failing_since_s for queue in failing) if failing and len(failing) == len(served) else None,
            failing[0].trouble if failing else "",
            self._announcements.failing_since_s,
            sum(len(state.tombstones) for state in states),
            max((len(state.tombstones) / max(1, state.num_files) for state in states), default=0.0),
        )

    def under_way(self) -> "list[Future[Settlement]]":
        return [queue.work for queue in self._active.values() if queue.work is not None]

    @property
    def is_settled(self) -> bool:
        """Whether every proposal that was taken is decided and announced."""
        return not self._active and self._announcements.is_empty

    def pause_s(self, longest_s: float) -> float:
        """How long the loop may sleep if no record comes."""
        now_s = self._ambient.monotonic_s()
        if self.is_choked:
            return min(longest_s, max(0.0, self._announcements.ready_at_s - now_s))
        pause_s = longest_s
        for queue in self._active.values():
            if queue.work is None and queue.pending:
                pause_s = min(pause_s, max(queue.ready_at_s, queue.lingers_until_s) - now_s)
            elif queue.spilled_from is not None and queue.work is None:
                pause_s = min(pause_s, queue.ready_at_s - now_s)
        if not self._announcements.is_empty:
            pause_s = min(pause_s, self._announcements.ready_at_s - now_s)
        if self._behind:
            pause_s = min(pause_s, _STATE_LOOK_S)
        return max(0.0, pause_s)

    def finish(self) -> None:
        """Wait for states that are under way, then drop the partition."""
        for uri, committer in self._committers.items():
            queue = self._queues.get(uri)
            if queue is not None and queue.work is not None and not queue.work.done():
                continue  # a thread still works on it, and only one may
            try:
                committer.finish()
            except HeadgateError as error:
                _log.warning("state_not_written", table=uri, reason=str(error))
        self.drop()

    def drop(self) -> None:
        """Drop the partition without announcing anything more. Work under way ends by itself."""
        self._leftovers.close()


def _first(queue: TableQueue, count: int) -> Iterable[QueuedProposal]:
    for place, item in enumerate(queue.pending):
        if place == count:
            return
        yield item
