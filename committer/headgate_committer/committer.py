"""The loop of a committer process: it holds partitions of proposals, and moves each of them on.

`step` is one round. `run` repeats it until the process is told to stop, then settles the proposals that were taken and gives
the partitions back.
"""

from collections.abc import Callable, Sequence

from headgate_bus.errors import BusUnavailable, Fenced, OffsetGone
from headgate_bus.interface import Bus, Deployment, Mark, Record, Topic
from headgate_bus.marks import KnownLog, Proof, cut_mark, known_again
from headgate_committer.context import CommitterContext
from headgate_committer.errors import RivalDeployment
from headgate_committer.feed.partition_source import PartitionSource
from headgate_committer.partition.held_partition import HeldPartition
from headgate_committer.rivals import rivalry
from headgate_committer.served_addresses import ServedAddresses
from headgate_committer.status import CommitterStatus
from headgate_committer.tables import CommitterTables
from headgate_schemas.logs import get_logger

DEFAULT_GROUP = "headgate-committer"
_IDLE_S = 0.5
_TRIES = 4
"""How often a committer looks for rival deployments before it gives up."""
_STEP_BACK_S = 1.0
"""Between these looks, on average."""
_WORKING_S = 0.005
"""How often the bus is polled while work is under way. Between polls the loop waits for the work, because finished work can't
interrupt a poll. Each poll in vain also costs a Kafka client some fifty objects in cycles, which the garbage collector frees."""
_GLANCE_S = 0.001
"""How long a poll takes that only fetches what has arrived."""
_STANDING_S = 0.25
"""How often the status is renewed: seldom enough to cost nothing with many tables."""

_log = get_logger("headgate.committer")


class Committer:
    """Decides the proposals of the partitions that the bus gives to one process."""

    def __init__(
        self,
        bus: Bus,
        tables: CommitterTables,
        context: CommitterContext,
        *,
        group: str = DEFAULT_GROUP,
        roots: Sequence[str] = (),
    ) -> None:
        self._bus = bus
        self._tables = tables
        self._served = ServedAddresses()
        self._context = context
        self._ambient, self._limits = context.ambient, context.limits
        self._deployment = Deployment(group, tuple(roots))
        self._seat = bus.seat(group, roots)
        self._is_alone = False
        """Whether a look found no rival deployment since this committer holds a partition."""
        self._looks_around_at_s = self._ambient.monotonic_s()
        self._steps_back = 0
        self._lanes: dict[int, HeldPartition] = {}
        self._checked_at_s = self._ambient.monotonic_s()
        self._is_draining = False
        self._stands_by = False
        self._paused: set[int] = set()
        self._vacant_since_s: float | None = self._checked_at_s
        self._unread_since_s: float | None = None
        self._bus_trouble = ""
        self._round_s = self._checked_at_s
        self._standing = CommitterStatus(self.identity, self._checked_at_s, vacant_since_s=self._checked_at_s)

    @property
    def identity(self) -> str:
        return self._context.identity

    @property
    def round_s(self) -> float:
        """When the last round came to its end, by the monotonic clock. Threads may ask."""
        return self._round_s

    @property
    def standing(self) -> CommitterStatus:
        """The status a moment ago. Threads may ask."""
        return self._standing

    @property
    def refused(self) -> dict[str, str]:
        """Held tables, and why each waits for an operator. Threads may ask."""
        return {uri: why for lane in tuple(self._lanes.values()) for uri, why in lane.refused.items()}

    def step(self, timeout_s: float = _IDLE_S) -> bool:
        """One round: read proposals, decide those that are ready, announce the decisions. Returns whether anything was done.

        Raises `Overtaken` when another committer works on a table in a later term, and `Fenced` when this one lost its place
        in the group for good. It must not go on then. The loss of a single partition raises nothing.
        """
        records = self._poll(timeout_s)
        before = set(self._lanes)
        self._match_lanes()
        by_partition: dict[int, list[Record]] = {}
        for record in records:
            by_partition.setdefault(record.partition, []).append(record)
        busy = bool(records) or before != self._lanes.keys()
        for partition, lane in list(self._lanes.items()):
            lane.take(by_partition.get(partition, ()))
            busy |= lane.collect()
            self._set_flow(partition, lane)
            try:
                lane.refill()
            except OffsetGone as gone:
                self._lose(gone)
                continue
            lane.work(at_once=self._is_draining)
            busy |= lane.collect()
            try:
                busy |= lane.publish(self._seat)
            except Fenced as fenced:
                # The new holder finds every decision in the tables and announces it. A later poll tells whether it comes back.
                _log.warning("partition_taken_away", partition=partition, reason=str(fenced))
                self._let_go(partition)
                continue
            lane.trim()
        self._note_standing()
        return busy

    def _note_standing(self) -> None:
        self._round_s = now_s = self._ambient.monotonic_s()
        if self._lanes:
            self._vacant_since_s = None
        elif self._vacant_since_s is None:
            self._vacant_since_s = now_s
        if now_s - self._standing.at_s < _STANDING_S:
            return
        self._standing = CommitterStatus(
            self.identity,
            now_s,
            tuple(lane.standing() for lane in self._lanes.values()),
            self._vacant_since_s,
            self._unread_since_s,
            self._bus_trouble,
            self._is_draining,
        )

    def run(self, stopping: Callable[[], bool]) -> None:
        """Repeat rounds until `stopping`. Then settle the proposals that were taken, for a bounded time, and leave."""
        _log.info("committer_started", committer=self.identity, bus=self._bus.address)
        while not stopping():
            self.step()
        self._drain()
        self.close()
        _log.info("committer_stopped", committer=self.identity)

    def _drain(self) -> None:
        self._is_draining = True
        until_s = self._ambient.monotonic_s() + self._limits.drain_ms / 1000
        for partition in self._lanes:
            self._seat.pause(partition)
        while self._ambient.monotonic_s() < until_s:
            if all(lane.is_settled for lane in self._lanes.values()):
                break
            self.step(_WORKING_S)
        for lane in self._lanes.values():
            lane.finish()

    def close(self) -> None:
        """Release the partitions at once."""
        for lane in self._lanes.values():
            lane.drop()
        self._lanes.clear()
        self._seat.close()

    def _poll(self, timeout_s: float) -> Sequence[Record]:
        under_way = [work for lane in self._lanes.values() for work in lane.under_way()]
        if under_way:
            self._ambient.wait_for_any(under_way, min(timeout_s, _WORKING_S))
            patience_s = _GLANCE_S
        else:
            patience_s = min((lane.pause_s(timeout_s) for lane in self._lanes.values()), default=timeout_s)
        try:
            records = self._seat.poll(patience_s, self._limits.poll_records)
            self._unread_since_s, self._bus_trouble = None, ""
            return records
        except OffsetGone as gone:
            self._lose(gone)
            return ()
        except BusUnavailable as error:
            _log.warning("bus_unavailable", doing="reading proposals", reason=str(error))
            if self._unread_since_s is None:
                self._unread_since_s = self._ambient.monotonic_s()
            self._bus_trouble = str(error)
            self._ambient.sleep(self._limits.first_pause_ms / 1000)
            return ()

    def _match_lanes(self) -> None:
        """Keep one held partition for each partition of the seat, for the log that is there now."""
        held = self._seat.held()
        if self._stands_by != (not held):
            self._stands_by = not held
            if self._stands_by:
                _log.info(
                    "standing_by", committer=self.identity, why="another committer of the group holds all partitions"
                )
        for partition in [partition for partition in self._lanes if partition not in held]:
            _log.info("partition_lost", partition=partition)
            self._let_go(partition)
        # A partition that is not taken over delivers nothing. A committer that stops takes none.
        may_begin = not self._is_draining and self._may_begin(held)
        for partition in sorted(held - self._lanes.keys()) if may_begin else ():
            try:
                self._lanes[partition] = self._take_over(partition)
            except Fenced as fenced:
                _log.warning("partition_taken_away", partition=partition, reason=str(fenced))
            except BusUnavailable as error:
                _log.warning("bus_unavailable", partition=partition, doing="taking over", reason=str(error))
        self._check_sources()

    def _may_begin(self, held: frozenset[int]) -> bool:
        """Whether there is no rival deployment. A committer that starts later sees this one's announcement."""
        now_s = self._ambient.monotonic_s()
        self._is_alone = self._is_alone and bool(held)
        if self._is_alone or (not held and now_s < self._looks_around_at_s):
            return self._is_alone
        self._looks_around_at_s = now_s + self._limits.source_check_ms / 1000
        try:
            reason = rivalry(self._deployment, self._seat.others(), self._bus.address)
        except BusUnavailable as error:
            _log.warning("bus_unavailable", doing="looking for other committers", reason=str(error))
            return False
        if reason is None:
            self._steps_back = 0
            self._is_alone = bool(held)
        else:
            self._step_back(reason)
        return self._is_alone

    def _step_back(self, reason: str) -> None:
        """Give way to a rival. Two that begin at once both do, and return after pauses of different lengths: the first one stays."""
        self._steps_back += 1
        self._looks_around_at_s = self._ambient.monotonic_s()
        self._seat.close()
        if self._steps_back >= _TRIES:
            raise RivalDeployment(reason)
        _log.warning("rival_found", committer=self.identity, reason=reason)
        self._ambient.sleep(_STEP_BACK_S * (0.5 + self._ambient.jitter()))
        self._seat = self._bus.seat(self._deployment.group, self._deployment.roots or ())

    def _take_over(self, partition: int) -> HeldPartition:
        source = self._bus.source(partition)
        extent = self._bus.extent(Topic.PROPOSALS, partition)
        committed, mark = self._seat.committed(partition), self._seat.mark(partition)
        known = known_again(self._bus, source, extent, committed, mark)
        if known.reason:
            committed = self._set_back(partition, source.topic, known)
        # A table knows up to which offset it is decided. So reading may begin too early, and a table notices lost proposals.
        feed = PartitionSource(self._bus, source, extent, committed, known)
        self._seat.seek(partition, feed.start, _epoch_before(feed, mark))
        self._paused.discard(partition)
        self._seat.resume(partition)
        _log.info("partition_taken", partition=partition, offset=feed.start, committed=committed, source=str(source))
        return HeldPartition(feed, self._tables, self._served, self._context)

    def _set_back(self, partition: int, topic: str, known: KnownLog) -> int:
        """Set the committed offset back: it belongs to another log, and reading from it would skip proposals of this one."""
        _log.warning("log_set_back", partition=partition, offset=known.start, reason=known.reason)
        # The next holder needs the new offset, too, if it takes over before anything more is settled.
        self._seat.set_back(partition, known.start, cut_mark(topic) if known.proof is Proof.CUT else None)
        return known.start

    def _set_flow(self, partition: int, lane: HeldPartition) -> None:
        """Pause the partition while there is no room, or while the bus doesn't take the announcements."""
        if self._is_draining:
            return
        flows = lane.make_room() and not lane.is_choked
        if flows == (partition not in self._paused):
            return
        if flows:
            self._paused.discard(partition)
            self._seat.resume(partition)
        else:
            self._paused.add(partition)
            self._seat.pause(partition)

    def _check_sources(self) -> None:
        """Drop partitions whose topic was made anew under the same name. It is another log, with other offsets."""
        now_s = self._ambient.monotonic_s()
        if now_s - self._checked_at_s < self._limits.source_check_ms / 1000:
            return
        self._checked_at_s = now_s
        for partition, lane in list(self._lanes.items()):
            try:
                source = self._bus.source(partition)
            except BusUnavailable:
                return  # asked again next time
            if source != lane.feed.source:
                _log.warning("source_changed", partition=partition, was=str(lane.feed.source), now=str(source))
                self._let_go(partition)

    def _lose(self, gone: OffsetGone) -> None:
        """Begin the partition anew. Its tables notice which proposals were lost."""
        _log.warning("offset_gone", partition=gone.partition, offset=gone.offset, reason=str(gone))
        self._let_go(gone.partition)

    def _let_go(self, partition: int) -> None:
        lane = self._lanes.pop(partition, None)
        if lane is not None:
            lane.drop()
        if partition in self._seat.held():
            self._seat.pause(partition)  # until it is taken over


def _epoch_before(feed: PartitionSource, mark: Mark | None) -> int | None:
    """The epoch of the record right before the one that is read first, where that is known."""
    return mark.leader_epoch if mark is not None and feed.is_known and mark.offset + 1 == feed.start else None
