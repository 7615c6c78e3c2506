"""A batch job that is killed at each step of its I/O and run again: every record is in the table exactly once."""

from collections.abc import Iterator

import pytest

from headgate_table.errors import OutcomeUnknown
from support.processes.fuse import Fuse
from support.producer.batch_world import BatchWorld
from support.stores.faulty import StepKill


def new_world(*, is_committing: bool) -> BatchWorld:
    world = BatchWorld({0: ["e-00", "u-01", "e-02", "u-03", None, "e-05"], 1: ["e-10", "u-11"]})
    world.is_committing = is_committing
    return world


def run_through(world: BatchWorld, fuse: Fuse) -> None:
    """Where nobody commits, a run ends with an unknown outcome."""
    if world.is_committing:
        world.run(fuse)
    else:
        with pytest.raises(OutcomeUnknown):
            world.run(fuse)


def deaths(*, is_committing: bool) -> Iterator[tuple[BatchWorld, str]]:
    """Worlds in which a run died, each at another step."""
    rehearsal = Fuse()
    run_through(new_world(is_committing=is_committing), rehearsal)
    assert {step.split()[0] for step in rehearsal.steps} == {"bus", "source", "store"}
    for number, step in enumerate(rehearsal.steps, 1):
        has_effect = step.startswith(("bus append", "store put", "store create", "store swap"))
        for after in (False, True) if has_effect else (False,):
            world = new_world(is_committing=is_committing)
            with pytest.raises(StepKill):
                world.run(Fuse(number, after=after))
            yield world, f"step {number}, {step}, {'after' if after else 'before'} its effect"


def check_next_run(world: BatchWorld, death: str) -> None:
    world.held[0].extend(["u-06", "e-07", "u-08"])  # so that the next run would cut its batches elsewhere
    world.held[1].append("e-12")
    world.is_committing = True
    world.run()
    expected = sorted(value for held in world.held.values() for value in held if value is not None)
    assert world.rows() == expected, death
    assert world.run().batches == 0, death


def test_a_killed_job_run_again_commits_every_record_once() -> None:
    for world, death in deaths(is_committing=True):
        check_next_run(world, death)


def test_a_killed_job_run_again_while_its_proposals_are_still_undecided_commits_every_record_once() -> None:
    for world, death in deaths(is_committing=False):
        check_next_run(world, death)


def test_a_job_that_is_killed_again_and_again_gets_there() -> None:
    world = new_world(is_committing=True)
    killed = 0
    for at in range(5, 200, 7):
        try:
            world.run(Fuse(at))
        except StepKill:
            killed += 1
    assert killed > 3
    check_next_run(world, "all of them")
