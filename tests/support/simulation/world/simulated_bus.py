"""A bus as one simulated process sees it: every call gives way before and after its effect, and may go wrong.

The records lie in a `WitnessedCluster` that all processes share; it tells the invariants about everything that is appended.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar

from headgate_bus.errors import BusError, BusUnavailable
from headgate_bus.interface import DEFAULT_TIMEOUT_S, Deployment, Extent, Mark, Message, MessagePlace, Record, Topic
from headgate_schemas.ambient import Ambient
from headgate_schemas.messages.sources import Source
from support.bus.memory import MemoryBus, MemoryCluster, MemoryReader, MemorySeat
from support.bus.memory_follower import MemoryFollower
from support.simulation.judge.broken import InvariantBroken, must
from support.simulation.world.faults import APPEND_FAULTS, READ_FAULTS, WRITE_FAULTS, Fault, Faults
from support.simulation.world.scheduler import Died, Process, Signal, whole_ms

T = TypeVar("T")

FULL = "bus: too full to take a proposal"
KINDS = (FULL,)
"""By this name it is counted, beside `faults.KINDS`."""


class BusWitness(Protocol):
    def appended(self, topic: Topic, records: Sequence[Record]) -> None: ...


LEADERLESS_MS = 500
"""How long the partitions of a topic that was made anew wait for their leaders."""


class WitnessedCluster(MemoryCluster):
    """Tells its witness of all that is appended, and wakes whoever waits for records."""

    def __init__(self, ambient: Ambient, partitions: int, wake: Callable[[], None]) -> None:
        # Events in two, so that workers have something to share.
        super().__init__(ambient, {Topic.PROPOSALS: partitions, Topic.EVENTS: 2}, leaders=True)
        self.witness: BusWitness | None = None
        self.room: int | None = None
        """Proposals that the bus holds at most; committers may say what they like all the same."""
        self._wake = wake
        self._made_anew_ms = -LEADERLESS_MS

    def recreate(self, topic: Topic, *, forgets: bool = True) -> None:
        super().recreate(topic, forgets=forgets)
        self._made_anew_ms = self.ambient.now_ms()

    @property
    def has_leaders(self) -> bool:
        """Whether partitions answer who would delete records: not right after their topic was made anew. Deletion names no topic id, so
        what was meant for the old topic would fall upon the new one.
        """
        return abs(self.ambient.now_ms() - self._made_anew_ms) >= LEADERLESS_MS

    def append(self, topic: Topic, messages: Sequence[Message]) -> list[MessagePlace]:
        places = super().append(topic, messages)
        if self.witness is not None and places:
            records = [self._record(topic, place) for place in places]
            self.witness.appended(topic, records)
        self._wake()
        return places

    def has_room_for(self, count: int) -> bool:
        """Whether so many more may be proposed. A full bus first lets go of all settled proposals but the last."""
        if self.room is None:
            return True
        logs = self.topic(Topic.PROPOSALS)
        if sum(len(log.records) for log in logs) + count > self.room:
            for number, log in enumerate(logs):
                log.trim(self.settled(number) - 1)
        return sum(len(log.records) for log in logs) + count <= self.room

    def append_at(self, topic: Topic, partition: int, message: Message) -> None:
        """As a client does that chooses partitions by a rule of its own."""
        place = self.partition(topic, partition).append(partition, message, self.ambient.now_ms())
        if self.witness is not None:
            self.witness.appended(topic, [self._record(topic, place)])
        self._wake()

    def _record(self, topic: Topic, place: MessagePlace) -> Record:
        log = self.partition(topic, place.partition)
        return log.records[log.index(place.offset)]


class SimulatedBus:
    def __init__(
        self, inner: MemoryBus, process: Process, faults: Faults, news: Signal, cluster: WitnessedCluster
    ) -> None:
        self.inner = inner
        self.cluster = cluster
        self.process = process
        self.faults = faults
        self.news = news
        self.is_leaving: Callable[[], bool] = lambda: False
        """Whether its process was told to stop."""

    @property
    def address(self) -> str:
        return self.inner.address

    def prepare(self) -> None:
        self.read("prepare", "", self.inner.prepare)

    def partitions(self, topic: Topic) -> int:
        return self.read("partitions", topic.value, lambda: self.inner.partitions(topic))

    def partition_of(self, key: str, topic: Topic = Topic.PROPOSALS) -> int:
        return self.inner.partition_of(key, topic)

    def source(self, partition: int) -> Source:
        return self.read("source", str(partition), lambda: self.inner.source(partition))

    def extent(self, topic: Topic, partition: int) -> Extent:
        return self.read("extent", topic.value, lambda: self.inner.extent(topic, partition))

    def committed(self, group: str, partition: int) -> int | None:
        return self.read("committed", group, lambda: self.inner.committed(group, partition))

    def mark(self, group: str, partition: int) -> Mark | None:
        return self.read("mark", group, lambda: self.inner.mark(group, partition))

    def append(
        self, topic: Topic, messages: Sequence[Message], timeout_s: float = DEFAULT_TIMEOUT_S
    ) -> list[MessagePlace]:
        operation, key = "bus.append", topic.value
        fault = self.begin(operation, key, APPEND_FAULTS)
        if topic is Topic.PROPOSALS and not self.cluster.has_room_for(len(messages)):
            self.faults.injected[FULL] += 1
            raise BusUnavailable("the simulated bus is full: try again when committers have settled what waits")
        places: list[MessagePlace] = []
        match fault:
            case None:
                places = self.inner.append(topic, messages)
            case Fault.REFUSED | Fault.LOST_REQUEST:
                raise unavailable(operation)
            case Fault.LOST_ANSWER:
                count = 1 + self.faults.random.randrange(len(messages)) if messages else 0
                self.inner.append(topic, messages[:count])
                raise unavailable(operation)
            case Fault.LATE:
                self.later(operation, lambda: self.inner.append(topic, messages))
                raise unavailable(operation)
            case Fault.SLOW:
                self.process.sleep(self.faults.slow_s())
                places = self.inner.append(topic, messages)
            case Fault.TWICE:
                places = self.inner.append(topic, messages)
                self.later(operation, lambda: self.inner.append(topic, messages))
            case Fault.DIES_BEFORE | Fault.DIES_AFTER:
                if fault is Fault.DIES_AFTER:
                    self.inner.append(topic, messages)
                self.process.kill()
                raise Died(self.process.name)
        self.end(operation, key)
        return places

    def reader(self, topic: Topic, offsets: Mapping[int, int]) -> "SimulatedReader":
        return SimulatedReader(self, self.read("reader", topic.value, lambda: self.inner.reader(topic, offsets)))

    def seat(self, group: str, roots: Sequence[str] = ()) -> "SimulatedSeat":
        return SimulatedSeat(self, self.read("seat", group, lambda: self.inner.seat(group, roots)), group)

    def follow(self, group: str) -> "SimulatedFollower":
        return SimulatedFollower(self, self.read("follow", group, lambda: self.inner.follow(group)))

    def trim(self, partition: int, before: int) -> None:
        self.read("trim", str(before), lambda: self._trim(partition, before))

    def _trim(self, partition: int, before: int) -> None:
        if not self.cluster.has_leaders:
            raise unavailable("bus.trim")
        self.inner.trim(partition, before)

    def close(self) -> None:
        self.process.io("bus.close", "", done=False)
        self.inner.close()

    def begin(self, operation: str, key: str, possible: Sequence[Fault]) -> Fault | None:
        self.process.io(operation, key, done=False)
        fault = self.faults.draw(self.process, operation, key, possible)
        if fault is not None:
            self.process.scheduler.note(self.process.name, f"{operation} {key}: {fault.value}")
        return fault

    def end(self, operation: str, key: str) -> None:
        self.process.io(operation, key, done=True)

    def read(self, name: str, key: str, effect: Callable[[], T]) -> T:
        operation = f"bus.{name}"
        fault = self.begin(operation, key, READ_FAULTS)
        if fault is Fault.DIES_BEFORE:
            self.process.kill()
            raise Died(self.process.name)
        if fault is Fault.SLOW:
            self.process.sleep(self.faults.slow_s())
        elif fault is not None:
            raise unavailable(operation)
        found = effect()
        self.end(operation, key)
        return found

    def later(self, operation: str, effect: Callable[[], object]) -> None:
        scheduler = self.process.scheduler

        def arrive() -> None:
            try:
                effect()
            except BusUnavailable:
                scheduler.note(self.process.name, f"late {operation} finds nobody")
            else:
                scheduler.note(self.process.name, f"late {operation} arrives")

        scheduler.at(scheduler.now_ms + self.faults.late_by_ms(), arrive)

    def wait_for_records(
        self,
        name: str,
        timeout_s: float,
        look: Callable[[], Sequence[Record]],
        changed: Callable[[], bool] = lambda: False,
    ) -> Sequence[Record]:
        """What `look` finds, at the latest when the time is over or something else has `changed`."""
        scheduler = self.process.scheduler
        deadline_ms = scheduler.now_ms + whole_ms(timeout_s)
        while True:
            found = self.read(name, "", look)
            left_ms = deadline_ms - scheduler.now_ms
            if found or left_ms <= 0 or changed():
                return found
            self.process.wait(self.news, left_ms / 1000)


class SimulatedReader:
    def __init__(self, bus: SimulatedBus, inner: MemoryReader) -> None:
        self._bus = bus
        self._inner = inner

    def read(self, timeout_s: float, max_records: int = 1_000) -> Sequence[Record]:
        return self._bus.wait_for_records("read", timeout_s, lambda: self._inner.read(0.0, max_records))

    def offsets(self) -> Mapping[int, int]:
        return self._inner.offsets()

    def close(self) -> None:
        self._inner.close()


class SimulatedSeat:
    """A publication that was not answered is settled before the next: it happened, or it never will.

    Judges who begins, and who gives up: a committer goes to work when it has seen that nobody contradicts it, and then stays.
    """

    def __init__(self, bus: SimulatedBus, inner: MemorySeat, group: str) -> None:
        self._bus = bus
        self._inner = inner
        self._group = group
        self._saw_nobody = False
        self._is_at_work = False
        self._pending: Callable[[], None] | None = None

    def poll(self, timeout_s: float, max_records: int = 1_000) -> Sequence[Record]:
        before = self._inner.held()
        records = self._bus.wait_for_records(
            "poll", timeout_s, lambda: self._inner.poll(0.0, max_records), lambda: self._inner.held() != before
        )
        self._is_at_work = self._is_at_work and bool(self._inner.held())
        return records

    def held(self) -> frozenset[int]:
        return self._inner.held()

    def others(self) -> Sequence[Deployment]:
        found = self._bus.read("seat_others", "", self._inner.others)
        mine = Deployment(self._group, self._inner.roots)
        self._saw_nobody = self._saw_nobody or all(other == mine for other in found)
        return found

    def committed(self, partition: int) -> int | None:
        return self._bus.read("seat_committed", str(partition), lambda: self._inner.committed(partition))

    def mark(self, partition: int) -> Mark | None:
        return self._bus.read("seat_mark", str(partition), lambda: self._inner.mark(partition))

    def seek(self, partition: int, offset: int, leader_epoch: int | None = None) -> None:
        self._judge(
            self._saw_nobody,
            f"{self._bus.process.name} of group {self._group}, {self._inner.roots}, goes to work beside other deployments",
        )
        self._is_at_work = True
        self._inner.seek(partition, offset, leader_epoch)

    def pause(self, partition: int) -> None:
        self._inner.pause(partition)

    def resume(self, partition: int) -> None:
        self._inner.resume(partition)

    def publish(
        self,
        partition: int,
        events: Sequence[Message],
        dead_letters: Sequence[Message],
        next_offset: int | None,
        mark: Mark | None = None,
    ) -> None:
        self._publish(
            f"{len(events)} events, next {next_offset}",
            lambda: self._inner.publish(partition, events, dead_letters, next_offset, mark),
        )

    def set_back(self, partition: int, offset: int, mark: Mark | None) -> None:
        self._publish(f"back to {offset}", lambda: self._inner.set_back(partition, offset, mark))

    def _publish(self, key: str, effect: Callable[[], None]) -> None:
        operation = "bus.publish"
        fault = self._bus.begin(operation, key, WRITE_FAULTS)
        if self._pending is not None and self._bus.faults.random.random() < 0.5:
            self._settle()
        self._pending = None
        match fault:
            case None:
                effect()
            case Fault.SLOW:
                self._bus.process.sleep(self._bus.faults.slow_s())
                effect()
            case Fault.REFUSED | Fault.LOST_REQUEST:
                raise unavailable(operation)
            case Fault.LOST_ANSWER:
                effect()
                raise unavailable(operation)
            case Fault.TWICE:
                raise AssertionError("a transaction happens once or never")
            case Fault.LATE:
                self._pending = effect
                self._bus.later(operation, self._settle)
                raise unavailable(operation)
            case Fault.DIES_BEFORE | Fault.DIES_AFTER:
                if fault is Fault.DIES_AFTER:
                    effect()
                self._bus.process.kill()
                raise Died(self._bus.process.name)
        self._bus.end(operation, key)

    def close(self) -> None:
        self._judge(
            not self._is_at_work or self._bus.is_leaving(),
            f"{self._bus.process.name} of group {self._group} gives its place up, though it was at work",
        )
        self._bus.process.io("bus.seat_close", "", done=False)
        self._inner.close()

    def _judge(self, condition: bool, what: str) -> None:
        try:
            must(condition, f"{what} (one deployment answers for a partition)")
        except InvariantBroken as broken:
            self._bus.process.scheduler.stop(broken)
            raise

    def _settle(self) -> None:
        effect, self._pending = self._pending, None
        if effect is None:
            return
        try:
            effect()
        except BusError as error:  # the place was lost meanwhile: such a publication never happens
            self._bus.process.scheduler.note(self._bus.process.name, f"late bus.publish is void: {error}")


class SimulatedFollower:
    def __init__(self, bus: SimulatedBus, inner: MemoryFollower) -> None:
        self._bus = bus
        self._inner = inner

    def poll(self, timeout_s: float, max_records: int = 1_000) -> Sequence[Record]:
        before = self._inner.held()
        return self._bus.wait_for_records(
            "follow_poll", timeout_s, lambda: self._inner.poll(0.0, max_records), lambda: self._inner.held() != before
        )

    def held(self) -> frozenset[int]:
        return self._inner.held()

    def position(self, partition: int) -> int | None:
        return self._inner.position(partition)

    def missed(self) -> frozenset[int]:
        return self._inner.missed()

    def settle(self, partition: int, next_offset: int) -> None:
        self._bus.read("follow_settle", str(partition), lambda: self._inner.settle(partition, next_offset))

    def close(self) -> None:
        self._bus.process.io("bus.follower_close", "", done=False)
        self._inner.close()


def unavailable(operation: str) -> BusUnavailable:
    return BusUnavailable(f"the simulated bus didn't answer {operation}: try again later")
