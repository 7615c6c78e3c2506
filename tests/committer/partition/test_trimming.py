"""What was settled long ago leaves the bus, beside the work of a committer; nothing waits for it, and nothing is missed."""

from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import replace
from typing import Any

import pytest

from headgate_bus.errors import BusUnavailable
from headgate_bus.interface import Topic
from headgate_committer.committer import Committer
from headgate_schemas.columns.table_schema import schema_string_of
from headgate_schemas.messages.operations import Append, Committed, Create
from support.bus.memory import MemoryBus
from support.committing.rig import NO_LINGER, TABLE, Rig
from support.stores.faulty import Fault, FaultyStore, on
from support.tables import COLUMNS, add_file

OTHER = "memory://other"
KEPT = 3
LIMITS = replace(NO_LINGER, kept_proposals=KEPT, trim_ms=60_000)


class Later(Executor):
    """Runs what was submitted when it is told to."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> "Future[Any]":
        future: Future[Any] = Future()

        def run() -> None:
            try:
                future.set_result(fn(*args, **kwargs))
            except Exception as error:  # noqa: BLE001  # as an executor does: it is the future's to tell
                future.set_exception(error)

        self.waiting.append(run)
        return future

    def run(self) -> None:
        waiting, self.waiting = self.waiting, []
        for work in waiting:
            work()


class Untrimmable(MemoryBus):
    """Lets go of nothing as long as it is told so."""

    refuses = True
    asked = 0

    def trim(self, partition: int, before: int) -> None:
        self.asked += 1
        if self.refuses:
            raise BusUnavailable("nobody answers")
        super().trim(partition, before)


def _first(rig: Rig) -> int:
    return rig.bus.extent(Topic.PROPOSALS, 0).first


def _end(rig: Rig) -> int:
    return rig.bus.extent(Topic.PROPOSALS, 0).next_offset


def _decided(rig: Rig, committer: Committer, count: int, table: str = TABLE) -> list[str]:
    ids = []
    for number in range(count):
        ids.append(rig.append(f"{table}-{_end(rig)}-{number}", table=table))
        rig.settle(committer)
    return ids


def test_settled_proposals_leave_the_bus_except_for_the_newest() -> None:
    rig = Rig()
    committer = rig.committer(limits=LIMITS)
    _decided(rig, committer, 10)
    rig.ambient.advance(seconds=60)
    committer.step(0.0)
    assert (_first(rig), _end(rig)) == (11 - KEPT, 11)


def test_it_is_done_now_and_then_only() -> None:
    rig = Rig()
    bus = Untrimmable(rig.ambient, cluster=rig.bus.cluster)
    bus.refuses = False
    committer = rig.committer(limits=LIMITS, bus=bus)
    _decided(rig, committer, 20)
    assert bus.asked == 1
    rig.ambient.advance(seconds=60)
    committer.step(0.0)
    rig.ambient.advance(seconds=60)
    committer.step(0.0)
    assert bus.asked == 2, "nothing was settled since"


def test_what_is_not_announced_stays() -> None:
    rig = Rig(TABLE, OTHER)
    rig.create_first()
    store = FaultyStore(rig.stores[OTHER], on("create", Fault.REFUSED, times=10_000))
    committer = rig.committer("second", stores={OTHER: store}, limits=replace(LIMITS, kept_proposals=1))
    waiting = rig.append("waits", table=OTHER)
    _decided(rig, committer, 10)
    rig.ambient.advance(seconds=60)
    committer.step(0.0)
    assert _first(rig) <= 2
    store.plan = lambda step: None
    for _ in range(4):
        rig.ambient.advance(seconds=60)
        committer.step(0.0)
    assert rig.receipts()[waiting] == Committed(1, waiting)
    assert _first(rig) == _end(rig) - 1


def test_a_bus_that_lets_go_of_nothing_delays_nobody_and_is_asked_again() -> None:
    rig = Rig()
    bus = Untrimmable(rig.ambient, cluster=rig.bus.cluster)
    committer = rig.committer(limits=LIMITS, bus=bus)
    ids = _decided(rig, committer, 10)
    assert rig.receipts().keys() >= set(ids)
    assert (_first(rig), bus.asked) == (0, 1)
    bus.refuses = False
    rig.ambient.advance(seconds=60)
    committer.step(0.0)
    assert (_first(rig), bus.asked) == (11 - KEPT, 2)


def test_it_is_done_beside_the_work() -> None:
    """Break: trim in the thread of the lanes."""
    rig = Rig(interval=1_000)
    background = Later()
    committer = rig.committer(limits=LIMITS, background=background)
    ids = _decided(rig, committer, 5)
    rig.ambient.advance(seconds=60)
    ids += _decided(rig, committer, 5)
    assert rig.receipts().keys() >= set(ids)
    assert _first(rig) == 0
    background.run()
    assert _first(rig) > 0


def _after_trimming(rig: Rig) -> Committer:
    """A successor of a committer that has trimmed what was settled."""
    first = rig.committer("first", limits=LIMITS)
    rig.settle(first)
    _decided(rig, first, 10)
    rig.ambient.advance(seconds=60)
    first.step(0.0)
    first.close()
    assert _first(rig) > 2
    rig.receipts()
    return rig.committer("second", limits=LIMITS)


def test_a_table_that_was_quiet_meanwhile_goes_on() -> None:
    rig = Rig(TABLE, OTHER)
    second = _after_trimming(rig)
    proposal = rig.append("a", table=OTHER)
    rig.settle(second)
    assert rig.receipts() == {proposal: Committed(1, proposal)}


def test_a_table_that_is_new_begins() -> None:
    rig = Rig(TABLE, OTHER, create=False)
    rig.propose(Create(schema_string_of(COLUMNS), ()))
    second = _after_trimming(rig)
    proposal = rig.propose(Create(schema_string_of(COLUMNS), ()), table=OTHER)
    rig.settle(second)
    assert rig.receipts() == {proposal: Committed(0, proposal)}


def test_a_table_that_is_loaded_late_by_the_one_that_trimmed_goes_on() -> None:
    """Break: compare with where the log begins by now, and not with where it did when the partition was taken."""
    rig = Rig(TABLE, OTHER)
    rig.create_first()
    committer = rig.committer("second", limits=LIMITS)
    _decided(rig, committer, 10)
    rig.ambient.advance(seconds=60)
    committer.step(0.0)
    assert _first(rig) > 2
    rig.receipts()
    proposal = rig.append("a", table=OTHER)
    rig.settle(committer)
    assert rig.receipts() == {proposal: Committed(1, proposal)}


@pytest.mark.parametrize("kept", [1, 2])
def test_what_was_left_on_the_bus_for_want_of_room_is_still_there(kept: int) -> None:
    rig = Rig(TABLE, OTHER)
    rig.create_first()
    store = FaultyStore(rig.stores[OTHER], on("create", Fault.REFUSED, times=10_000))
    limits = replace(LIMITS, kept_proposals=kept, trim_ms=1, queue_proposals=2, poll_records=3)
    committer = rig.committer("second", stores={OTHER: store}, limits=limits)
    spilled = [rig.propose(Append((add_file(f"o{number}"),)), table=OTHER) for number in range(9)]
    _decided(rig, committer, 5)
    store.plan = lambda step: None
    for _ in range(40):
        rig.ambient.advance(seconds=20)
        committer.step(0.0)
    receipts = rig.receipts()
    assert [type(receipts.get(proposal)) for proposal in spilled] == [Committed] * 9
    assert _first(rig) == _end(rig) - kept


def _about_to_trim() -> tuple[Rig, Committer, Later]:
    """Everything is decided, and what may go has yet to be let go of."""
    rig, later = Rig(), Later()
    committer = rig.committer(limits=LIMITS, background=later)
    _decided(rig, committer, 8)
    assert (_first(rig), len(later.waiting) > 0) == (0, True)
    return rig, committer, later


def _grown(rig: Rig, count: int = 12) -> None:
    for number in range(count):
        rig.append(f"new-{number}")


def test_nothing_is_let_go_of_a_topic_that_was_made_anew_before_the_committer_noticed() -> None:
    """Break: trim by offsets that were settled on the topic before; what lies there was decided by nobody."""
    rig, _, later = _about_to_trim()
    rig.bus.cluster.recreate(Topic.PROPOSALS, forgets=False)
    _grown(rig)
    later.run()
    assert (_first(rig), _end(rig)) == (0, 12)


def test_nothing_is_let_go_of_a_log_that_lost_its_end_and_has_grown_again() -> None:
    """Break: look at the topic alone."""
    rig, _, later = _about_to_trim()
    rig.bus.cluster.lose_tail(Topic.PROPOSALS, 0, 1)
    _grown(rig)
    later.run()
    assert (_first(rig), _end(rig)) == (0, 13)
