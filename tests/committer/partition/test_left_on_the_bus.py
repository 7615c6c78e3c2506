"""Proposals that are left on the bus for want of room are read again, each of them, and never more than there is room for."""

from dataclasses import replace

from headgate_bus.interface import Topic
from headgate_schemas.messages.operations import Committed
from support.committing.rig import NO_LINGER, TABLE, Rig
from support.stores.faulty import Fault, FaultyStore, Step

OTHER = "memory://other"


def test_a_table_that_is_let_go_while_it_is_read_again_loses_no_proposal() -> None:
    rig = Rig(TABLE, OTHER)
    rig.create_first()
    failing = True

    def plan(step: Step) -> Fault | None:
        return Fault.REFUSED if failing and step.writes else None

    store = FaultyStore(rig.stores[TABLE], plan)
    ids = [rig.append(f"f{number}") for number in range(12)]
    size = len(rig.bus.reader(Topic.PROPOSALS, {0: 2}).read(0.0)[0].body)
    # Four fit in the queue, and are read again one by one; not four of both tables fit in the lane.
    limits = replace(NO_LINGER, queue_proposals=4, poll_records=3, group_proposals=2, lane_bytes=3 * size + size // 2)
    committer = rig.committer("second", stores={TABLE: store}, limits=limits)
    for _ in range(20):
        committer.step(0.0)
        rig.ambient.advance(seconds=20)
    for number in range(6):
        rig.append(f"o{number}", table=OTHER)
        committer.step(0.0)
    failing = False
    for _ in range(60):
        rig.ambient.advance(seconds=20)
        committer.step(0.0)
    receipts = rig.receipts()
    assert [proposal for proposal in ids if not isinstance(receipts.get(proposal), Committed)] == []


def test_what_is_to_be_read_again_and_is_gone_stops_its_tables_and_not_the_process() -> None:
    rig = Rig(TABLE, OTHER)
    rig.create_first()
    store = FaultyStore(rig.stores[TABLE], lambda step: Fault.REFUSED if step.writes else None)
    for number in range(6):
        rig.append(f"f{number}")
    committer = rig.committer("second", stores={TABLE: store}, limits=replace(NO_LINGER, queue_proposals=2))
    for _ in range(2):  # the first takes the partition
        committer.step(0.0)
    rig.bus.cluster.truncate(Topic.PROPOSALS, 0, rig.bus.extent(Topic.PROPOSALS, 0).next_offset)
    store.plan = lambda step: None
    rig.receipts()
    for _ in range(10):
        rig.ambient.advance(seconds=20)
        committer.step(0.0)
    rig.append("late", table=OTHER)
    for _ in range(10):
        rig.ambient.advance(seconds=20)
        committer.step(0.0)
    assert rig.table(OTHER).version == 0
    assert rig.receipts().keys() <= {"p1", "p2"}
