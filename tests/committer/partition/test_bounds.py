"""However slow stores are and however many tables there are: what a committer holds and keeps open is bounded."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from headgate_bus.claims import put_claim
from headgate_bus.errors import BusUnavailable
from headgate_bus.interface import Message, Topic
from headgate_committer.committer import Committer
from headgate_committer.partition.held_partition import HeldPartition
from headgate_committer.tables import NotServed
from headgate_schemas.messages.operations import Append, Committed, RejectCode
from headgate_schemas.messages.proposals import encode_claimed
from headgate_table.errors import StoreError
from headgate_table.indextables.log.reader import LogReader
from headgate_table.store.interface import Store
from support.committing.by_hand import ByHand
from support.committing.rig import NO_LINGER, TABLE, AtOnce, Rig, Stores
from support.stores.faulty import Fault, FaultyStore, Step
from support.tables import add_file

OTHER = "memory://other"
TABLES = tuple(f"memory://table-{number}" for number in range(8))


def _lane(committer: Committer) -> HeldPartition:
    (lane,) = committer._lanes.values()
    return lane


def _size(rig: Rig) -> int:
    """The bytes of the last proposal that was sent; all of one test weigh about the same."""
    end = rig.bus.extent(Topic.PROPOSALS, 0).next_offset
    return len(rig.bus.reader(Topic.PROPOSALS, {0: end - 1}).read(0.0)[0].body)


def _refused(step: Step) -> Fault | None:
    return Fault.REFUSED if step.writes else None


def _undecided(rig: Rig, proposals: Sequence[str]) -> list[str]:
    receipts = rig.receipts()
    return [proposal for proposal in proposals if not isinstance(receipts.get(proposal), Committed)]


def _with_a_backlog(work: ByHand) -> tuple[Rig, Committer, list[str]]:
    """Six proposals for each of eight tables; a committer that may hold ten, takes four at once, and works on three tables."""
    rig = Rig(*TABLES)
    rig.create_first()
    ids = [rig.append(f"f{turn}", table=uri) for turn in range(6) for uri in TABLES]
    limits = replace(NO_LINGER, poll_records=4, lane_bytes=10 * _size(rig), open_tables=3)
    return rig, rig.committer("second", limits=limits, executor=work, background=AtOnce()), ids


def test_tables_whose_stores_are_slow_hold_no_more_than_their_partition_may() -> None:
    """Break: `make_room` says that there is always room."""
    work = ByHand()
    rig, committer, ids = _with_a_backlog(work)
    held: list[int] = []
    for turn in range(120):
        committer.step(0.0)
        held.append(_lane(committer).undecided)
        if turn >= 20:
            work.let_go()
    assert max(held) < 10 + 4
    assert _undecided(rig, ids) == []


def test_a_backlog_on_slow_stores_is_not_read_again_and_again() -> None:
    """Break: a table whose store doesn't fail goes back to the bus, too."""
    work = ByHand()
    rig, committer, ids = _with_a_backlog(work)
    spilled = 0
    for turn in range(120):
        committer.step(0.0)
        spilled += _lane(committer).standing().tables.spilled
        if turn >= 20:
            work.let_go()
    assert spilled == 0
    assert _undecided(rig, ids) == []


def test_who_fails_after_filling_the_partition_makes_room_for_others() -> None:
    """Break: `make_room` lets nobody go back to the bus."""
    rig, work = Rig(TABLE, OTHER), ByHand()
    rig.create_first()
    sick = FaultyStore(rig.stores[TABLE], _refused)
    ids = [rig.append(f"f{number}") for number in range(8)]
    limits = replace(NO_LINGER, poll_records=2, lane_bytes=4 * _size(rig))
    committer = rig.committer("second", stores={TABLE: sick}, limits=limits, executor=work, background=AtOnce())
    well = rig.append("a", table=OTHER)
    for _ in range(10):
        committer.step(0.0)
    assert _lane(committer).undecided == 4
    for _ in range(20):
        work.let_go()
        committer.step(0.0)
    assert rig.receipts()[well] == Committed(1, well)
    sick.plan = lambda step: None
    for _ in range(40):
        rig.ambient.advance(seconds=20)
        work.let_go()
        committer.step(0.0)
    assert _undecided(rig, ids) == []


def test_a_version_that_stands_after_all_settles_what_was_let_go_of_meanwhile() -> None:
    """Break: it is read again all the same; of what was set aside, no version and no memory says what became of it."""
    rig = Rig(TABLE, OTHER)
    rig.create_first()
    answers, was_created = False, False

    def plan(step: Step) -> Fault | None:
        nonlocal was_created
        was_created |= answers and step.operation == "create"
        return Fault.REFUSED if not answers or (was_created and step.operation == "head") else None

    store = FaultyStore(rig.stores[TABLE], plan)
    sick = FaultyStore(rig.stores[OTHER], _refused)
    ids = [rig.append(f"f{number}") for number in range(4)]
    proposal = rig.proposal(Append((add_file("claimed"),)))
    assert proposal.operation is not None
    claim = put_claim(
        rig.stores[TABLE], proposal.id, encode_claimed(proposal.operation), files=1, now_ms=rig.ambient.now_ms()
    )
    rig.stores[TABLE].put(claim.key, b"x" * claim.compressed_bytes)
    torn = rig.send(proposal.model_copy(update={"operation": None, "claim": claim}))
    ids.append(rig.append("last"))
    limits = replace(NO_LINGER, poll_records=2, lane_bytes=9 * _size(rig))
    committer = rig.committer("second", stores={TABLE: store, OTHER: sick}, limits=limits)
    for _ in range(6):
        committer.step(0.0)
    answers = True
    rig.ambient.advance(seconds=20)
    committer.step(0.0)
    assert was_created
    for number in range(4):
        rig.append(f"f{number}", table=OTHER)
    for _ in range(4):
        committer.step(0.0)
    assert _lane(committer).standing().tables.spilled == 1
    store.plan = lambda step: None
    for _ in range(10):
        rig.ambient.advance(seconds=20)
        committer.step(0.0)
    assert [(letter.proposal, letter.code) for letter in rig.dead_letters()] == [(torn, RejectCode.UNREADABLE.value)]
    receipts = rig.receipts()
    assert [receipts[proposal] for proposal in ids] == [Committed(1, proposal) for proposal in ids]


def test_no_more_tables_are_open_than_may_be_however_many_have_proposals() -> None:
    rig, work = Rig(*TABLES), ByHand()
    rig.create_first()
    ids = [rig.append(f"f{turn}", table=uri) for turn in range(2) for uri in TABLES]
    limits = replace(NO_LINGER, open_tables=3)
    committer = rig.committer("second", limits=limits, executor=work, background=AtOnce())
    open_at_once: list[int] = []
    for _ in range(30):
        committer.step(0.0)
        open_at_once.append(len(_lane(committer)._committers))
        work.let_go()
    assert max(open_at_once) == 3
    assert _undecided(rig, ids) == []


def test_tables_that_fail_keep_no_other_from_being_opened() -> None:
    """Break: only a table that is idle is closed for another."""
    rig = Rig(*TABLES)
    rig.create_first()
    sick = {uri: FaultyStore(rig.stores[uri], _refused) for uri in TABLES[:6]}
    for uri in TABLES[:6]:
        rig.append("a", table=uri)
    committer = rig.committer("second", stores=sick, limits=replace(NO_LINGER, open_tables=2))
    for _ in range(10):
        committer.step(0.0)
    ids = [rig.append("a", table=uri) for uri in TABLES[6:]]
    for _ in range(10):
        committer.step(0.0)
    assert len(_lane(committer)._committers) == 2
    assert _undecided(rig, ids) == []


def test_who_is_worked_on_all_the_time_lets_others_have_their_turn() -> None:
    """Break: the order of turns is that of the first proposals."""
    rig, work = Rig(*TABLES), ByHand()
    rig.create_first()
    limits = replace(NO_LINGER, open_tables=2, group_proposals=1)
    committer = rig.committer("second", limits=limits, executor=work, background=AtOnce())
    for turn in range(20):
        for uri in TABLES[:2]:
            rig.append(f"f{turn}", table=uri)
    late = rig.append("a", table=TABLES[2])
    for _ in range(10):
        committer.step(0.0)
        work.let_go()
    assert rig.receipts()[late] == Committed(1, late)


class _Moody(Stores):
    """The address can't be opened at first, and turns out to be none later."""

    def __init__(self, stores: Mapping[str, Store], settings: Mapping[str, str]) -> None:
        super().__init__(stores, settings)
        self.refusals = 2

    def reader(self, uri: str) -> LogReader:
        if uri == TABLE and self.refusals:
            self.refusals -= 1
            raise StoreError(f"{uri} can't be opened now")
        if uri == TABLE:
            raise NotServed(f"{uri} is none")
        return super().reader(uri)


def test_an_address_that_turns_out_to_be_none_later_ends_no_committer() -> None:
    rig = Rig(TABLE, OTHER)
    nowhere = rig.append("a")
    well = rig.append("a", table=OTHER)
    committer = rig.committer(tables=_Moody(rig.stores, rig.settings))
    for _ in range(10):
        rig.ambient.advance(seconds=20)
        committer.step(0.0)
    assert rig.receipts()[well] == Committed(1, well)
    letters = [(letter.proposal, letter.code) for letter in rig.dead_letters()]
    assert letters == [(f"create-{TABLE}", RejectCode.UNKNOWN_TABLE.value), (nowhere, RejectCode.UNKNOWN_TABLE.value)]


def test_while_the_bus_takes_no_events_nothing_is_read_again() -> None:
    rig = Rig()
    rig.create_first()
    store = FaultyStore(rig.stores[TABLE], _refused)
    committer = rig.committer(
        "second", stores={TABLE: store}, limits=replace(NO_LINGER, queue_proposals=2, unpublished_events=1)
    )
    ids = [rig.append(f"f{number}") for number in range(3)]
    for number in range(50):
        rig.bus.append(Topic.PROPOSALS, [Message(TABLE, {"ce_subject": f"bad-{number}"}, b"{")])
    for _ in range(4):
        committer.step(0.0)
    publish = committer._seat.publish

    def refused(*_: Any) -> None:
        raise BusUnavailable("no events are taken")

    committer._seat.publish = refused  # type: ignore[method-assign, assignment]  # as the seat of a bus in trouble
    store.plan = lambda step: None
    for _ in range(20):
        rig.ambient.advance(seconds=20)
        committer.step(0.0)
    letters = len(_lane(committer)._announcements._letters)
    committer._seat.publish = publish  # type: ignore[method-assign]  # as it was
    for _ in range(20):
        rig.ambient.advance(seconds=20)
        committer.step(0.0)
    assert letters == 0
    assert _undecided(rig, ids) == []
    assert len(rig.dead_letters()) == 50


def test_of_what_was_answered_and_waits_to_be_announced_nothing_is_kept_beside_it() -> None:
    """Another table holds the committed offset back, and this one is closed and opened again meanwhile."""
    rig = Rig(TABLE, OTHER)
    rig.create_first()
    sick = FaultyStore(rig.stores[OTHER], _refused)
    rig.append("a", table=OTHER)
    committer = rig.committer("second", stores={OTHER: sick}, limits=replace(NO_LINGER, open_tables=1))
    for number in range(5):
        rig.append(f"f{number}")
        for _ in range(4):
            rig.ambient.advance(seconds=20)
            committer.step(0.0)
    rig.append("last")
    for _ in range(2):
        committer.step(0.0)
    assert rig.table().version == 6
    assert _lane(committer)._committers[TABLE]._told == {}
