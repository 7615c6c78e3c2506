"""Two committers of different groups on one topic, which is a mistake of whoever deployed them: harmless, and told."""

import re

from support.processes.waiting import wait_until
from support.torture.stage.children import Child
from support.torture.stage.stage import Stage, stopped

PATIENCE_S = 60.0


def one_gives_way(*committers: Child) -> tuple[Child, Child]:
    """The one that ended, and the one that goes on."""
    wait_until(lambda: not all(each.is_running for each in committers), "one gives way", PATIENCE_S)
    [gone] = [each for each in committers if not each.is_running]
    [left] = [each for each in committers if each.is_running]
    return gone, left


def goes_on(kafka_stage: Stage, name: str) -> None:
    before = kafka_stage.answered(name)
    wait_until(lambda: kafka_stage.answered(name) >= before + 20, "proposals are answered again", PATIENCE_S)


def test_one_of_two_groups_gives_way_and_says_so_and_nothing_is_lost(kafka_stage: Stage) -> None:
    first = kafka_stage.committer("first", group="blue")
    producers = [kafka_stage.proposing(f"producer-{each}", steps=None, pace_s=0.02) for each in range(2)]
    wait_until(lambda: kafka_stage.answered("producer-0") > 20, "the first is at work", PATIENCE_S)

    second = kafka_stage.committer("second", group="green")
    gone, left = one_gives_way(first, second)
    assert gone.code() == 1
    assert re.match(
        rf"Error: {kafka_stage.table} is worked on by committer {left.name}-\w+ in epoch \d+, which came after this one",
        gone.last_line(),
    )
    assert "Traceback" not in gone.said()

    goes_on(kafka_stage, "producer-0")
    stopped(*producers)
    stopped(left)
    assert kafka_stage.problems(had_rivals=True) == []


def test_both_alive_since_the_start_end_as_one(kafka_stage: Stage) -> None:
    """They claim their epochs at the same time; ties go by their names."""
    committers = [kafka_stage.committer(name, group=name) for name in ("blue", "green")]
    wait_until(
        lambda: all(each.has_said("partition_taken") for each in committers), "both have what is proposed", PATIENCE_S
    )
    # An epoch is claimed by a version, so there is work until both have won one.
    producers = [kafka_stage.proposing(f"producer-{each}", steps=None, pace_s=0.02) for each in range(2)]
    gone, left = one_gives_way(*committers)
    assert (gone.code(), f"Error: {kafka_stage.table} is worked on by" in gone.last_line()) == (1, True)

    goes_on(kafka_stage, "producer-0")
    stopped(*producers)
    stopped(left)
    assert kafka_stage.problems(had_rivals=True) == []
