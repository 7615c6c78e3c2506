"""The simulation is repeatable, tells how to repeat it, notices what it is there to notice, and touches nothing real."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from headgate_schemas.ambient import SystemAmbient
from headgate_schemas.messages.operations import Append, Committed, Delete, Overwrite, RejectCode, Rejected
from support.logs.raw_log import LOG
from support.processes.isolated import run_isolated
from support.simulation.actors.operations import added_file
from support.simulation.judge import versions
from support.simulation.judge.asked import ask_of
from support.simulation.judge.broken import InvariantBroken
from support.simulation.judge.sequence import judge_sequence
from support.simulation.outcome import Failure
from support.simulation.run import simulate
from support.simulation.scenario import TABLE, Scenario
from support.simulation.world.data_files import STREAMED
from support.simulation.world.nothing_real import NotSimulated

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
    assert f"make simulate KIND=log SEEDS=1 FIRST={SEED}" in told
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


def _accepted_without_an_effect(play: Scenario) -> None:
    play.asks.by_id["p1"] = ask_of("p1", TABLE, Overwrite((play.file(),)))
    play.decided(play.propose(Append((play.file(),))))
    judge_sequence(play.model, 2, [{"id": "p1", "accepted": True}], set(play.model.versions[1].live))


def _refused_without_a_reason(play: Scenario) -> None:
    play.asks.by_id["p1"] = ask_of("p1", TABLE, Delete(("region=eu/00001.parquet",)))
    refusal = {"id": "p1", "accepted": False, "code": "not_live"}
    judge_sequence(play.model, 1, [refusal], {"region=eu/00001.parquet"})


def _refused_by_a_strange_code(play: Scenario) -> None:
    judge_sequence(play.model, 1, [{"id": "p1", "accepted": False, "code": "source_gone"}], set())


def _decided_before_it_was_proposed(play: Scenario) -> None:
    play.model.acknowledged = 9
    play.decided(play.propose())


def _money_made(play: Scenario) -> None:
    play.model.balance = 100
    path = play.file_name("eu", "a101")
    play.put_file(TABLE, path, 10)
    play.model.versions[play.model.newest].live.clear()
    play.decided(play.propose(Append((added_file(path, "eu"),))))


def _batch_twice(play: Scenario) -> None:
    for _ in range(2):
        path = play.file_name("eu")
        play.rows_given[path] = (f"{STREAMED}query/0/0",)
        play.put_file(TABLE, path, 10)
        play.decided(play.propose(Append((added_file(path, "eu"),))))


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
        (_accepted_without_an_effect, "isn't what its decisions make"),
        (_refused_without_a_reason, "though all of it was live"),
        (_refused_by_a_strange_code, "which no Append can be refused for"),
        (_decided_before_it_was_proposed, "real-time order"),
        (_money_made, "hold 101 instead of 100"),
        (_batch_twice, "exactly once"),
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


def test_a_version_whose_proposals_are_gone_from_the_bus_needs_no_second_announcement() -> None:
    """Break: look for the id alone. Its author sent it again, and that record is answered by what the table remembers."""
    with Scenario() as play:
        play.committer("committer")
        identity = play.decided(play.propose())
        play.receipts.announced.discard(identity)
        assert play.model.untold_of(1) == [identity]
        play.repeat(identity)
        play.lose_beginning(1)
        assert play.model.untold_of(1) == []


def test_a_late_repetition_may_expire_where_refusals_are_forgotten_and_nothing_else_may() -> None:
    with Scenario() as play:
        play.receipts.may_expire, play.receipts.may_forget_refusals = False, True
        late, fresh = play.propose(), play.propose()
        play.let_pass(31 / 3_600)
        play.repeat(late)
        play.receipts.seen(Rejected(RejectCode.EXPIRED, "", late), TABLE)
        with pytest.raises(InvariantBroken, match="nothing was forgotten"):
            play.receipts.seen(Rejected(RejectCode.EXPIRED, "", fresh), TABLE)
