"""A member of a group that follows the events: a subscribed consumer that begins at the group's settled offset.

The consumer never chooses a start itself: nobody would notice its choice when no offset is settled or events are gone.
"""

from collections.abc import Collection, Sequence

from kafka import OffsetAndMetadata
from kafka.errors import KafkaError, RebalanceInProgressError

from headgate_bus.errors import BusError, BusUnavailable, Fenced
from headgate_bus.interface import Record, Topic
from headgate_bus.kafka.address import KafkaAddress
from headgate_bus.kafka.cluster import ANSWER_TIMEOUT_S, KafkaCluster
from headgate_bus.kafka.deadline_calls import KafkaCalls
from headgate_bus.kafka.errors import cut_partitions, is_fenced, translated
from headgate_bus.kafka.group.membership import KafkaMembership
from headgate_bus.kafka.records.reader import OUT_OF_RANGE
from headgate_bus.kafka.records.records import as_records
from headgate_schemas.ambient import Ambient
from headgate_schemas.logs import get_logger

SLICE_S = 0.1
"""A poll that waits for records looks this often whether partitions came or went."""

_logger = get_logger("headgate.bus")


class KafkaFollower:
    """A follower on Kafka. It holds a partition once it knows the offset at which to begin."""

    def __init__(
        self, address: KafkaAddress, group: str, cluster: KafkaCluster, calls: KafkaCalls, ambient: Ambient
    ) -> None:
        self._address = address
        # All members of a consumer group must subscribe to the same topic; committers' groups have the plain names.
        self._group = f"{group}.{Topic.EVENTS.value}"
        self._cluster = cluster
        self._calls = calls
        self._ambient = ambient
        self._name = address.topic(Topic.EVENTS)
        self._held: dict[int, int] = {}
        """By partition, up to where it is settled, as far as this member knows."""
        self._missed: set[int] = set()
        self._rejoin = False
        self._closed = False
        self._join()

    @property
    def closed(self) -> bool:
        return self._closed

    def poll(self, timeout_s: float, max_records: int = 1_000) -> Sequence[Record]:
        self._check_open()
        if self._rejoin or self._membership.is_lost:
            self._membership.leave()
            self._held.clear()
            self._rejoin = False
            self._join()
            return []  # A revoked partition may be assigned again at once; the caller must see that it was gone.
        deadline_s = self._ambient.monotonic_s() + timeout_s
        while True:
            left_s = max(deadline_s - self._ambient.monotonic_s(), 0.0)
            slice_s = min(left_s, SLICE_S)
            records = self._poll_once(slice_s, max_records) if self._membership.has_joined(slice_s) else []
            try:
                changed = self._take_and_give()
            except BusError:
                self._rewind(records)
                raise
            held = [record for record in records if record.partition in self._held]
            if held or changed or left_s <= 0:
                return held

    def held(self) -> frozenset[int]:
        return frozenset(self._held)

    def position(self, partition: int) -> int | None:
        if self._closed or partition not in self._held or self._membership.is_moving:
            return None
        return self._places.position(partition)

    def missed(self) -> frozenset[int]:
        missed, self._missed = self._missed, set()
        return frozenset(missed & self._held.keys())

    def settle(self, partition: int, next_offset: int) -> None:
        self._check_open()
        if partition not in self._held:
            raise self._lost(partition)
        doing = f"settling offset {next_offset} of {self._name}, partition {partition}"
        if self._membership.is_moving:
            # The partition may have been revoked and assigned again meanwhile; then it begins again.
            raise self._must_wait(doing)
        position = self._places.position(partition)
        if position is None:
            raise BusUnavailable(f"{doing} must wait until it is known how far it was read; poll first")
        if next_offset > position:
            raise BusError(
                f"group {self._group} can't settle offset {next_offset} of {self._name}, partition {partition}: only what"
                f" lies below {position} was read here"
            )
        if next_offset <= self._held[partition]:
            return
        offsets = {self._places.of(partition): OffsetAndMetadata(next_offset, "", -1)}
        try:
            self._consumer.commit(offsets, timeout_ms=int(ANSWER_TIMEOUT_S * 1000))
        except RebalanceInProgressError as error:
            raise self._must_wait(doing) from error
        except KafkaError as error:
            if not is_fenced(error):
                raise translated(error, doing, self._address) from error
            self._rejoin = True
            raise self._lost(partition) from error
        self._held[partition] = next_offset

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._held.clear()
            self._membership.leave()

    def _join(self) -> None:
        self._membership = KafkaMembership(self._address, self._group, self._name, self._calls)
        self._consumer = self._membership.consumer
        self._places = self._membership.places

    def _poll_once(self, timeout_s: float, max_records: int) -> list[Record]:
        cut = self._places.take_cut()
        if cut and self._leap(cut):
            return []
        try:
            return as_records(self._consumer.poll(timeout_ms=int(timeout_s * 1000), max_records=max_records))
        except OUT_OF_RANGE as error:
            if not self._leap(cut_partitions(error)):
                raise translated(error, f"reading {self._name}", self._address) from error
            return []
        except KafkaError as error:
            if error.retriable:
                return []
            self._rejoin = True
            raise translated(error, f"reading {self._name} in group {self._group}", self._address) from error

    def _take_and_give(self) -> bool:
        """Apply assignments and revocations. Returns whether a partition came or went."""
        change = self._membership.comings.take()
        if not change.is_new:
            return False
        gone = {partition for partition in self._held if partition not in change.given or partition in change.lost}
        for partition in gone:
            del self._held[partition]
        if gone:
            # A regained partition begins with the next poll, so that the caller sees the loss.
            self._membership.comings.look_again()
            return True
        came = False
        for partition in sorted(change.given - self._held.keys()):
            try:
                came |= self._begin(partition)
            except BusError:
                self._membership.comings.look_again()  # the next poll asks again where this one begins
                raise
        return came

    def _begin(self, partition: int) -> bool:
        """Begin the partition. False if the group may have revoked it again; the next look reports that."""
        try:
            settled = self._consumer.committed(self._places.of(partition), timeout_ms=int(ANSWER_TIMEOUT_S * 1000))
        except KafkaError as error:
            raise translated(error, f"looking up what group {self._group} has settled", self._address) from error
        extent = self._cluster.extent(Topic.EVENTS, partition)
        known = settled is not None and settled >= 0
        start = int(settled) if known else extent.first
        if not extent.first <= start <= extent.next_offset:
            self._miss(partition, start, extent.first)
            start = extent.first
        if not (self._places.seek(partition, start) and self._places.resume(partition)):
            return False
        self._held[partition] = start
        _logger.info("events_held", topic=self._name, partition=partition, group=self._group, offset=start)
        return True

    def _leap(self, cut: Collection[int]) -> bool:
        """Continue with the oldest events that are left if the next ones are gone. Returns whether any were gone.

        `cut` are partitions that ended lower since they were read: the same offsets now hold other events.
        """
        leapt = False
        for partition in self._held:
            position = self._places.position(partition)
            extent = self._cluster.extent(Topic.EVENTS, partition)
            if partition in cut or (position is not None and not extent.first <= position <= extent.next_offset):
                self._miss(partition, position, extent.first)
                leapt |= self._places.seek(partition, extent.first)
        return leapt

    def _miss(self, partition: int, offset: int | None, first: int) -> None:
        self._missed.add(partition)
        _logger.warning("events_missed", topic=self._name, partition=partition, offset=offset, first=first)

    def _rewind(self, records: Sequence[Record]) -> None:
        """Go back, so that the next poll delivers these events."""
        for record in reversed(records):
            if record.partition in self._held:
                self._places.seek(record.partition, record.offset)

    def _must_wait(self, doing: str) -> BusUnavailable:
        return BusUnavailable(f"{doing} must wait until group {self._group} has rebalanced; poll first")

    def _lost(self, partition: int) -> Fenced:
        self._held.pop(partition, None)
        return Fenced(
            f"partition {partition} of {self._name} is another member's of group {self._group} by now; nothing was settled."
            " That member reads the same events again"
        )

    def _check_open(self) -> None:
        if self._closed:
            raise BusError("this follower was closed; take another")
