"""A micro-batch that is killed at each step of its commit and replayed: its rows are in the table exactly once."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from headgate_bus.interface import Bus
from headgate_producer.errors import NotSent
from headgate_schemas.messages.operations import Duplicate
from headgate_schemas.messages.proposals import decode_proposal
from headgate_table.errors import OutcomeUnknown
from headgate_table.table import Table
from support.processes.fuse import Fuse
from support.producer.failing_bus import FailingBus, Trouble, always, first
from support.spark.sink_world import SinkWorld
from support.stores.faulty import StepKill

FIRST = [(1, "a"), (2, "b")]
SECOND = [(3, "a")]


def deaths(folder: Path, *, is_new: bool) -> Iterator[tuple[SinkWorld, str]]:
    """Worlds in which the process of a batch died, each at another step; `is_new`: of the batch that makes the table."""

    def world(name: str) -> SinkWorld:
        found = SinkWorld(folder / name)
        if not is_new:
            Table.create(found.uri, "id BIGINT, k STRING", ["k"])
        return found

    rehearsal = Fuse()
    world("rehearsal").batch(0, FIRST, rehearsal)
    assert {"files", "bus append", "bus read", "Spark's own commit"} <= set(rehearsal.steps)
    for number, step in enumerate(rehearsal.steps, 1):
        for after in (False, True):
            found = world(f"{number}-{after}")
            with pytest.raises(StepKill):
                found.batch(0, FIRST, Fuse(number, after=after))
            yield found, f"{'after' if after else 'before'} step {number}, {step}"


@pytest.mark.parametrize("is_new", [True, False])
def test_a_batch_that_was_killed_anywhere_is_there_once_after_its_replay(tmp_path: Path, is_new: bool) -> None:
    for world, death in deaths(tmp_path, is_new=is_new):
        world.batch(0, FIRST)
        world.batch(1, SECOND)
        assert world.ids() == [1, 2, 3], death


def a_table(folder: Path) -> SinkWorld:
    world = SinkWorld(folder)
    Table.create(world.uri, "id BIGINT, k STRING", ["k"])
    return world


def test_a_replay_gets_there_when_the_first_attempt_is_still_undecided(tmp_path: Path) -> None:
    world = a_table(tmp_path)
    world.is_committing = False
    with pytest.raises(OutcomeUnknown, match=r"receiptWithin.*may be started again as it is"):
        world.batch(0, FIRST)
    world.is_committing = True
    assert isinstance(world.batch(0, FIRST), Duplicate)
    assert world.ids() == [1, 2]


def test_what_the_bus_loses_is_proposed_again_under_the_same_id(tmp_path: Path) -> None:
    world = a_table(tmp_path)
    lossy: list[FailingBus] = []

    def wrap(bus: Bus) -> Bus:
        lossy.append(FailingBus(bus, first("append", Trouble.LOST, Trouble.UNANSWERED)))
        return lossy[-1]

    world.wrap = wrap
    world.batch(0, FIRST)
    sent = {decode_proposal(message.body).id for bus in lossy for batch in bus.attempts for message in batch}
    assert sum(len(bus.attempts) for bus in lossy) == 2
    assert len(sent) == 1
    assert world.ids() == [1, 2]


def test_a_bus_that_never_answers_fails_the_batch_in_time(tmp_path: Path) -> None:
    world = a_table(tmp_path)
    world.wrap = lambda bus: FailingBus(bus, always("extent", Trouble.LOST))
    with pytest.raises((NotSent, OutcomeUnknown)):
        world.batch(0, FIRST)
    world.wrap = lambda bus: bus
    world.batch(0, FIRST)
    assert world.ids() == [1, 2]
