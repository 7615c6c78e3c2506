"""The simulation is repeatable, tells how to repeat it, notices what it is there to notice, and touches nothing real."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from headgate_schemas.ambient import SystemAmbient
from headgate_schemas.operations import Append, Committed, RejectCode, Rejected
from support.isolated import run_isolated
from support.raw_log import LOG
from support.simulation import versions
from support.simulation.broken import InvariantBroken
from support.simulation.nothing_real import NotSimulated
from support.simulation.run import Failure, simulate
from support.simulation.scenario import TABLE, Scenario

SEED = 3


def test_a_seed_gives_the_same_trace_again() -> None:
    assert simulate(SEED) == simulate(SEED)


def test_a_seed_gives_the_same_trace_in_another_process_whatever_its_hashes() -> None:
    told = run_isolated(f"from support.simulation.run import simulate; print(simulate({SEED}).digest)")
    assert told.strip() == simulate(SEED).digest


def test_another_seed_gives_another_trace() -> None:
    assert simulate(SEED).digest != simulate(SEED + 1).digest


def test_a_failure_tells_the_command_that_replays_it_and_the_last_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise InvariantBroken("for the sake of the test")

    monkeypatch.setattr(versions, "_judge_actions", broken)
    with pytest.raises(Failure) as raised:
        simulate(SEED)
    told = str(raised.value)
    assert f"make simulate SEEDS=1 FIRST={SEED}" in told
    assert "for the sake of the test" in told
    assert "store.create first/v0" in told


def test_a_process_cant_hide_that_an_invariant_is_broken() -> None:
    with Scenario() as play:

        def hide(_: object) -> None:
            with suppress(InvariantBroken):
                play.stores[TABLE].put(f"{LOG}/{0:020d}.json", b"{}")

        with pytest.raises(InvariantBroken, match="written over"):
            play.by("forger", hide)


def _overwritten(play: Scenario) -> None:
    play.stores[TABLE].put(f"{LOG}/{1:020d}.json", b"{}")


def _gap(play: Scenario) -> None:
    play.stores[TABLE].create(f"{LOG}/{9:020d}.json", b"{}")


def _deleted_out_of_order(play: Scenario) -> None:
    play.stores[TABLE].delete(f"{LOG}/{1:020d}.json")


def _live_file_deleted(play: Scenario) -> None:
    play.stores[TABLE].delete(next(iter(play.model.live())))


def _false_receipt(play: Scenario) -> None:
    play.receipts.seen(Committed(7, "p1"), TABLE)


def _second_thoughts(play: Scenario) -> None:
    play.receipts.seen(Rejected(RejectCode.PATH_IN_USE, "", "p1"), TABLE)


def _decided_again(play: Scenario) -> None:
    data = play.model.store.get(f"{LOG}/{1:020d}.json")
    play.stores[TABLE].create(f"{LOG}/{2:020d}.json", data)


def _wrong_state(play: Scenario) -> None:
    play.by("tool", lambda process: play.table(process, TABLE).checkpoint())
    data = play.model.store.get(f"{LOG}/state-v{1:020d}/_manifest.avro")
    play.by("direct", lambda process: play.table(process, TABLE).append([play.file()]))
    play.stores[TABLE].create(f"{LOG}/state-v{2:020d}/_manifest.avro", data)


@pytest.mark.parametrize(
    ("crime", "told"),
    [
        (_overwritten, "written over"),
        (_gap, "follows on 1"),
        (_deleted_out_of_order, "deleted before 0"),
        (_live_file_deleted, "which version 1 needs"),
        (_false_receipt, "told to be committed in version 7"),
        (_second_thoughts, "told to be rejected"),
        (_decided_again, "decides p1 again"),
        (_wrong_state, "differs from the log"),
    ],
)
def test_the_model_notices(crime: Callable[[Scenario], None], told: str) -> None:
    with Scenario() as play:
        play.committer("committer")
        play.decided(play.propose(Append((play.file(),))))
        with pytest.raises(InvariantBroken, match=told):
            crime(play)


def test_nothing_real_can_be_used_meanwhile() -> None:
    with Scenario() as play, pytest.raises(NotSimulated):
        play.by("sinner", lambda _: SystemAmbient().now_ms())


def test_a_killed_process_does_nothing_more_whatever_it_catches() -> None:
    with Scenario() as play:

        def stubborn(process: Any) -> None:
            try:
                play.table(process, TABLE).append([play.file()])
            finally:
                play.table(process, TABLE).append([play.file()])

        process, _ = play.begun("stubborn", stubborn)
        play.halt(process, "store.create", "v1")
        process.kill()
        play.run_for(10)
        assert process.is_over
        assert play.model.newest == 0
