"""The committer: holds partitions of proposals as long as the bus lets it, and keeps their lanes going.

`step` is one round; `run` repeats it until it is told to stop, then settles what was taken and gives the partitions back.
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
"""How often a committer looks whether those who contradict it have gone, before it gives up."""
_STEP_BACK_S = 1.0
"""Between these looks, on average."""
_WORKING_S = 0.005
"""While work is under way the bus is looked at this often. The end of the work is waited for instead, since it can't
interrupt a look; and every look in vain costs a Kafka client some fifty objects in cycles, which the collector pays for."""
_GLANCE_S = 0.001
"""How long a look takes that only fetches what has come."""
_STANDING_S = 0.25
"""How often it is noted where the committer stands: seldom enough to cost nothing beside many tables."""

_log = get_logger("headgate.committer")


class Committer:
    """One process' worth of deciding."""

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
        """Whether, since it holds something, it was seen that nobody contradicts it."""
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
        """Where it stood a moment ago. Threads may ask."""
        return self._standing

    @property
    def refused(self) -> dict[str, str]:
        """By table, why it is left alone until an operator has looked. Threads may ask."""
        return {uri: why for lane in tuple(self._lanes.values()) for uri, why in lane.refused.items()}

    def step(self, timeout_s: float = _IDLE_S) -> bool:
        """Take what came, decide what is ready, announce what is decided; whether anything was done.

        Raises `Overtaken` when another committer works on a table in a later term, and `Fenced` when the place among the
        committers was lost for good: this one must not go on. A partition alone may come and go.
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
                # Its new holder finds everything in the tables and announces it. Whether we get it back, polling tells.
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
        """Go on until `stopping`; then settle what was taken, as far as it can be in time, and leave."""
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
        """Give the partitions to others at once."""
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
        """A lane for each partition that is held, of the log that is there now."""
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
        # Without a lane a partition delivers nothing; who stops begins nothing new.
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
        """Whether nobody contradicts this committer. What it announces is seen by now by whoever comes later."""
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
        """Two that begin at once both give way, and come again after pauses of different lengths; who is there first stays."""
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
        # Tables know up to where they are decided, so beginning too early is harmless; what was lost, they notice.
        feed = PartitionSource(self._bus, source, extent, committed, known)
        self._seat.seek(partition, feed.start, _epoch_before(feed, mark))
        self._paused.discard(partition)
        self._seat.resume(partition)
        _log.info("partition_taken", partition=partition, offset=feed.start, committed=committed, source=str(source))
        return HeldPartition(feed, self._tables, self._served, self._context)

    def _set_back(self, partition: int, topic: str, known: KnownLog) -> int:
        """The log isn't the one of which the offset was said, and whoever began there would pass over what lies there now."""
        _log.warning("log_set_back", partition=partition, offset=known.start, reason=known.reason)
        # Who takes over before anything more is settled has to know it, too.
        self._seat.set_back(partition, known.start, cut_mark(topic) if known.proof is Proof.CUT else None)
        return known.start

    def _set_flow(self, partition: int, lane: HeldPartition) -> None:
        """Take nothing more in while there is no room, or the bus doesn't take what there is to say about what came before."""
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
        """A topic that was made anew under the same name is another log: its offsets mean something else."""
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
        """Begin the partition anew: its tables notice what was lost."""
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
