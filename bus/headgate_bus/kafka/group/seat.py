"""A seat in the group of committers: a subscribed consumer, and a publisher for each held partition.

A seat holds a partition only after it has opened a publisher for it, because opening fences the former holder. From
then on, nobody else can move the committed offset, so the answer of `committed` stays true.
"""

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from kafka.errors import KafkaError
from kafka.structs import MemberState

from headgate_bus.errors import BusError, BusUnavailable, Fenced
from headgate_bus.interface import Deployment, Extent, Mark, Message, Record, Topic
from headgate_bus.kafka.address import KafkaAddress
from headgate_bus.kafka.cluster import ANSWER_TIMEOUT_S, KafkaCluster
from headgate_bus.kafka.deadline_calls import KafkaCalls
from headgate_bus.kafka.deployments import announcement
from headgate_bus.kafka.errors import cut_partitions, translated
from headgate_bus.kafka.group.membership import KafkaMembership
from headgate_bus.kafka.records.publisher import OPEN_TIMEOUT_S, KafkaPublisher, close_unused, opened, start_opening
from headgate_bus.kafka.records.reader import OUT_OF_RANGE, check_cut, check_offsets
from headgate_bus.kafka.records.records import as_records
from headgate_bus.marks import read_mark
from headgate_bus.message_bounds import check_messages
from headgate_schemas.ambient import Ambient
from headgate_schemas.logs import get_logger

SLICE_S = 0.1
"""A poll that waits for records looks this often whether partitions came or went."""
OPENING_SLICE_S = 0.01
"""The same while a publisher is being opened, which takes tens of milliseconds."""

_logger = get_logger("headgate.bus")


@dataclass(slots=True)
class _Opening:
    publisher: "Future[KafkaPublisher]"
    deadline_s: float


class KafkaSeat:
    def __init__(
        self,
        address: KafkaAddress,
        group: str,
        cluster: KafkaCluster,
        calls: KafkaCalls,
        ambient: Ambient,
        roots: Sequence[str] = (),
    ) -> None:
        self._announced = announcement(roots)
        self._address = address
        self._group = group
        self._cluster = cluster
        self._calls = calls
        self._ambient = ambient
        self._name = address.topic(Topic.PROPOSALS)
        self._openings: dict[int, _Opening] = {}
        self._publishers: dict[int, KafkaPublisher | None] = {}
        """Of held partitions. None: to be opened again before the next publication."""
        self._committed: dict[int, int] = {}
        self._sought: set[int] = set()
        self._paused: set[int] = set()
        self._rejoin = False
        self._closed = False
        self._sit_down()

    @property
    def closed(self) -> bool:
        return self._closed

    def poll(self, timeout_s: float, max_records: int = 1_000) -> Sequence[Record]:
        self._check_open()
        if self._rejoin or self._member.is_lost:
            self._stand_up()
            self._sit_down()
            self._rejoin = False
            # A revoked partition may be assigned again at once; the caller must see that it was gone.
            return []
        deadline = self._ambient.monotonic_s() + timeout_s
        while True:
            left = max(deadline - self._ambient.monotonic_s(), 0.0)
            slice_s = min(left, OPENING_SLICE_S if self._openings else SLICE_S)
            records = self._poll_once(slice_s, max_records) if self._member.has_joined(slice_s) else []
            try:
                changed = self._settle_changes()
            except BusError:
                self._rewind(records)
                raise
            held = [record for record in records if record.partition in self._publishers]
            if held or changed or left <= 0:
                return held

    def held(self) -> frozenset[int]:
        return frozenset(self._publishers)

    def others(self) -> Sequence[Deployment]:
        self._check_open()
        return self._cluster.deployments(self._consumer.group_metadata().member_id)

    def committed(self, partition: int) -> int | None:
        found = self._settled(partition)
        if found is None or found.offset < 0:
            return None
        if partition in self._publishers:
            self._committed[partition] = max(found.offset, self._committed.get(partition, 0))
        return int(found.offset)

    def mark(self, partition: int) -> Mark | None:
        found = self._settled(partition)
        return None if found is None or found.offset < 0 else read_mark(found.metadata)

    def _settled(self, partition: int) -> Any:
        """The committed offset and the text that was committed with it."""
        self._check_open()
        place = self._places.of(partition)
        try:
            return self._consumer.committed(place, metadata=True, timeout_ms=int(ANSWER_TIMEOUT_S * 1000))
        except KafkaError as error:
            raise translated(error, f"looking up what group {self._group} has committed", self._address) from error

    def seek(self, partition: int, offset: int, leader_epoch: int | None = None) -> None:
        self._check_held(partition)
        self._places.seek(partition, offset, leader_epoch)
        self._sought.add(partition)
        self._set_flow(partition)

    def pause(self, partition: int) -> None:
        self._check_held(partition)
        self._paused.add(partition)
        self._set_flow(partition)

    def resume(self, partition: int) -> None:
        self._check_held(partition)
        self._paused.discard(partition)
        self._set_flow(partition)

    def publish(
        self,
        partition: int,
        events: Sequence[Message],
        dead_letters: Sequence[Message],
        next_offset: int | None,
        mark: Mark | None = None,
        *,
        goes_back: bool = False,
    ) -> None:
        self._check_open()
        check_messages(Topic.EVENTS, events)
        check_messages(Topic.DEAD_LETTERS, dead_letters)
        if partition not in self._publishers:
            raise Fenced(
                f"partition {partition} of {self._name} isn't held: group {self._group} gave it to another process, or"
                " hasn't given it to this one; nothing was published. Stop the work on it"
            )
        membership = self._membership(partition)
        if next_offset is not None and not goes_back:
            self._check_next_offset(partition, next_offset)
        publisher = self._publishers[partition] or self._opened_again(partition)
        try:
            publisher.publish(events, dead_letters, next_offset, mark, membership)
        except Fenced:
            self._let_go(partition)
            # Only the group knows the holder, and joining again is the way to learn it.
            self._rejoin = True
            raise
        except BusUnavailable:
            publisher.close()
            self._publishers[partition] = None
            raise
        if next_offset is not None:
            self._committed[partition] = next_offset

    def set_back(self, partition: int, offset: int, mark: Mark | None) -> None:
        self.publish(partition, (), (), offset, mark, goes_back=True)

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._stand_up()

    def _sit_down(self) -> None:
        self._member = KafkaMembership(self._address, self._group, self._name, self._calls, self._announced)
        self._consumer = self._member.consumer
        self._places = self._member.places
        self._comings = self._member.comings

    def _stand_up(self) -> None:
        for partition in list(self._publishers):
            self._let_go(partition)
        for partition in list(self._openings):
            self._abandon(partition)
        self._member.leave()

    def _poll_once(self, timeout_s: float, max_records: int) -> list[Record]:
        self._check_cut(self._places.take_cut())
        try:
            return as_records(self._consumer.poll(timeout_ms=int(timeout_s * 1000), max_records=max_records))
        except OUT_OF_RANGE as error:
            self._check_cut(cut_partitions(error))
            check_offsets(self._name, self._positions(), self._extent_of)
            raise translated(error, f"reading {self._name}", self._address) from error
        except KafkaError as error:
            if error.retriable:
                return []
            self._rejoin = True
            raise translated(error, f"reading {self._name} in group {self._group}", self._address) from error

    def _check_cut(self, cut: frozenset[int]) -> None:
        """Raise `OffsetGone` for the first held one of them; the next poll checks the others again."""
        held = cut & self._sought & self._publishers.keys()
        if not held:
            return
        first, *others = sorted(held)
        self._places.cut_again(others)
        check_cut(self._name, {first: self._positions().get(first, 0)}, held, self._extent_of)

    def _positions(self) -> dict[int, int]:
        """The positions of held partitions that aren't paused."""
        found = {each: self._places.position(each) for each in self._sought & self._publishers.keys()}
        return {partition: offset for partition, offset in found.items() if offset is not None}

    def _extent_of(self, partition: int) -> Extent:
        return self._cluster.extent(Topic.PROPOSALS, partition)

    def _rewind(self, records: Sequence[Record]) -> None:
        """Go back, so that the next poll delivers these records."""
        for record in reversed(records):
            if record.partition in self._publishers:
                self._places.seek(record.partition, record.offset)

    def _settle_changes(self) -> bool:
        """Apply assignments and revocations. Returns whether a partition came or went."""
        change = self._comings.take()
        if not change.is_new and not self._openings:
            return False
        given = change.given
        # If a partition was lost and regained within one poll, another member may have held it in between.
        gone = [partition for partition in self._publishers if partition not in given or partition in change.lost]
        for partition in gone:
            self._let_go(partition)
        for partition in [partition for partition in self._openings if partition not in given]:
            self._abandon(partition)
        for partition in given - self._publishers.keys() - self._openings.keys():
            self._openings[partition] = _Opening(
                start_opening(self._address, self._calls, self._group, partition),
                self._ambient.monotonic_s() + OPEN_TIMEOUT_S,
            )
        # A revoked partition may be among the openings, and may be open by now: see `poll`.
        return bool(gone) or self._take_opened()

    def _take_opened(self) -> bool:
        taken = False
        for partition, opening in list(self._openings.items()):
            left = opening.deadline_s - self._ambient.monotonic_s()
            if not opening.publisher.done() and left > 0:
                continue
            del self._openings[partition]
            self._comings.look_again()
            self._publishers[partition] = opened(opening.publisher, 0, self._address, self._calls, partition)
            _logger.info("partition_held", topic=self._name, partition=partition, group=self._group)
            taken = True
        return taken

    def _opened_again(self, partition: int) -> KafkaPublisher:
        """Open the publisher again. Opening fences, so only a current member may do it; a former member must not fence
        its successor.
        """
        member = self._consumer.group_metadata().member_id
        if not self._cluster.is_member(self._group, member):
            raise self._lost(partition)
        future = start_opening(self._address, self._calls, self._group, partition)
        publisher = opened(future, OPEN_TIMEOUT_S, self._address, self._calls, partition)
        self._publishers[partition] = publisher
        return publisher

    def _lost(self, partition: int) -> Fenced:
        self._let_go(partition)
        self._rejoin = True
        return Fenced(
            f"this process is no longer a member of group {self._group}, which gave partition {partition} of"
            f" {self._name} to another; nothing was published. Stop the work on it"
        )

    def _membership(self, partition: int) -> Any:
        membership = self._consumer.group_metadata()
        if membership.state == MemberState.UNJOINED:
            raise self._lost(partition)
        if membership.state != MemberState.STABLE:
            raise BusUnavailable(
                f"group {self._group} is rebalancing; nothing was published. Poll until it has"
                " ended, and publish again if the partition is still held"
            )
        return membership

    def _check_next_offset(self, partition: int, next_offset: int) -> None:
        if partition not in self._committed:
            self.committed(partition)
        before = self._committed.setdefault(partition, 0)
        position = self._places.position(partition)
        if position is None and not self._places.has(partition):  # the group revoked it since the last poll
            raise self._lost(partition)
        end = position if partition in self._sought and position is not None else 0
        if not before <= next_offset <= end:
            end = self._cluster.extent(Topic.PROPOSALS, partition).next_offset
        if next_offset > end or next_offset < before <= end:
            raise BusError(
                f"group {self._group} can't commit offset {next_offset} of {self._name}, partition {partition}: it lies"
                f" outside of {before} to {end}; nothing was published"
            )

    def _set_flow(self, partition: int) -> None:
        if partition in self._sought and partition not in self._paused:
            self._places.resume(partition)
        else:
            self._places.pause(partition)

    def _let_go(self, partition: int) -> None:
        publisher = self._publishers.pop(partition, None)
        self._committed.pop(partition, None)
        self._sought.discard(partition)
        self._paused.discard(partition)
        if publisher is not None:
            publisher.close()
        _logger.info("partition_let_go", topic=self._name, partition=partition, group=self._group)

    def _abandon(self, partition: int) -> None:
        self._openings.pop(partition).publisher.add_done_callback(close_unused)

    def _check_open(self) -> None:
        if self._closed:
            raise BusError("this seat was closed; take another")

    def _check_held(self, partition: int) -> None:
        self._check_open()
        if partition not in self._publishers:
            raise BusError(
                f"partition {partition} of {self._name} isn't held; only partitions in `held` can be sought, paused or"
                " resumed"
            )
