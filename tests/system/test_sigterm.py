"""SIGTERM: what a committer took is settled, and its place is free at once."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from headgate_bus.interface import Topic
from headgate_bus.open import open_bus
from headgate_committer.committer import DEFAULT_GROUP
from support.processes.waiting import wait_until
from support.torture.judge.evidence import everything, receipts_of
from support.torture.stage.scenes import Scene, one_machine
from support.torture.stage.stage import AMBIENT, Stage, stage_on, stopped

PATIENCE_S = 60.0
AT_ONCE_S = 40.0
"""It takes a second; a busy machine gets much room. A session of `LONG_SESSION_MS` would not be over."""
LONG_SESSION_MS = 60_000


@pytest.fixture(params=["kafka", "sqlite"])
def scene(request: pytest.FixtureRequest) -> Iterator[Scene]:
    if request.param == "kafka":
        yield request.getfixturevalue("new_scene")(partitions=1, session_timeout_ms=LONG_SESSION_MS)
    else:
        with one_machine(partitions=1) as found:
            yield found


@pytest.fixture
def stage(scene: Scene) -> Iterator[Stage]:
    with stage_on(scene) as found:
        yield found


def test_a_committer_that_is_told_to_stop_settles_what_it_took_and_a_successor_takes_over_at_once(stage: Stage) -> None:
    first = stage.committer("first")
    producer = stage.proposing("producer", steps=None)
    wait_until(lambda: stage.answered("producer") > 50, "the first is at work", PATIENCE_S)
    second = stage.committer("second")
    assert not second.has_said("partition_taken")

    first.tell_to_stop()
    assert first.ended() == 0
    wait_until(lambda: second.has_said("partition_taken"), "the second takes over", AT_ONCE_S)
    first.listen()
    assert first.this_run["committer_stopped"] == 1

    before = stage.answered("producer")
    wait_until(lambda: stage.answered("producer") > before + 20, "the second is at work", PATIENCE_S)
    stopped(producer)
    stopped(second)
    assert stage.problems() == []


def test_all_that_was_taken_is_announced_before_a_committer_leaves(stage: Stage) -> None:
    committer = stage.committer()
    producer = stage.proposing("producer", steps=None, pace_s=0.001)
    wait_until(lambda: stage.answered("producer") > 50, "it is at work", PATIENCE_S)
    producer.kill()
    stopped(committer)
    with closing(open_bus(stage.scene.bus, AMBIENT)) as bus:
        receipts = receipts_of(everything(bus, Topic.EVENTS))
        committed = bus.committed(DEFAULT_GROUP, 0)
        settled = {record.headers["ce_subject"] for record in everything(bus, Topic.PROPOSALS)[:committed]}
    decided = {
        decision["id"]: decision["offset"]
        for version in stage.watch.versions()[stage.table].values()
        for action in version
        for decision in action.get("commitInfo", {}).get("decisions", ())
        if "offset" in decision
    }
    assert settled == receipts.keys()
    assert decided.keys() <= receipts.keys()
    assert committed is not None
    assert committed > max(decided.values())
