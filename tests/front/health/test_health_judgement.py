"""When a process is alive and ready, and what it says when it isn't: the judge, on facts alone."""

from dataclasses import replace

import pytest

from headgate.health.judgement import HealthFacts, Healthy, Probed, ReasonCode, Unready, is_alive, judge
from headgate.settings.health_limits import WORKER_LIMITS, HealthLimits
from headgate_committer.status import CommitterStatus, OldestProposal, PartitionStatus, TableCounts
from headgate_schemas.metrics import REASON
from headgate_worker.loop.commit_feed import Backlog
from headgate_worker.loop.status import WorkerStanding

NOW_S, NOW_MS = 1_000.0, 1_780_000_000_000
LIMITS = HealthLimits()
BUS, STORE = Probed("the bus kafka://b"), Probed("the store of s3://lake")


def lane(**more: object) -> PartitionStatus:
    held = PartitionStatus(0, 20, 20, 0, TableCounts(open=3), None, None, "", None, 0, 0.0)
    return replace(held, **more)  # type: ignore[arg-type]  # the names are the test's


def facts(standing: CommitterStatus | WorkerStanding | None, **more: object) -> HealthFacts:
    found = HealthFacts(NOW_S, NOW_MS, NOW_S - 60, NOW_S - 0.1, standing, BUS, (STORE,))
    return replace(found, **more)  # type: ignore[arg-type]  # the names are the test's


def serving(*lanes: PartitionStatus, **more: object) -> CommitterStatus:
    held = CommitterStatus("one", NOW_S, lanes or (lane(),))
    return replace(held, **more)  # type: ignore[arg-type]  # the names are the test's


def oldest(age_s: float, trouble: str = "") -> OldestProposal:
    return OldestProposal("s3://lake/events", 17, NOW_MS - int(age_s * 1000), trouble)


def codes(found: HealthFacts, limits: HealthLimits = LIMITS) -> list[ReasonCode]:
    verdict = judge(found, limits)
    return [reason.code for reason in verdict.reasons] if isinstance(verdict, Unready) else []


def said(found: HealthFacts, limits: HealthLimits = LIMITS) -> str:
    verdict = judge(found, limits)
    assert isinstance(verdict, Unready)
    [reason] = verdict.reasons
    return reason.said


def test_a_committer_that_serves_is_ready() -> None:
    assert judge(facts(serving()), LIMITS) == Healthy()


def test_before_its_loop_has_begun_a_part_is_not_ready_but_alive() -> None:
    found = facts(None, bus=None, stores=(), began_s=NOW_S - 4, round_s=NOW_S - 4)
    assert (said(found), is_alive(found, LIMITS)) == ("it began 4.0 s ago and is not at work yet", True)


def test_a_committer_that_was_just_seated_is_starting() -> None:
    assert codes(facts(CommitterStatus("one", NOW_S, vacant_since_s=NOW_S - 2))) == [ReasonCode.STARTING]


def test_a_committer_that_was_given_no_partition_for_long_stands_by_and_is_ready() -> None:
    verdict = judge(facts(CommitterStatus("one", NOW_S, vacant_since_s=NOW_S - 16)), LIMITS)
    assert verdict == Healthy(("stands by: others of its group hold all partitions",))


def test_a_bus_that_refuses_makes_it_unready_after_the_limit_and_says_why() -> None:
    refused = replace(BUS, failing_since_s=NOW_S - 4, problem="connection refused")
    assert said(facts(serving(), bus=refused)) == "the bus kafka://b has not answered for 4.0 s: connection refused"
    assert codes(facts(serving(), bus=replace(refused, failing_since_s=NOW_S - 2))) == []


def test_a_store_that_hangs_makes_it_unready_before_its_request_times_out() -> None:
    hanging = replace(STORE, unanswered_since_s=NOW_S - 3.5)
    assert said(facts(serving(), stores=(hanging,))) == (
        "the store of s3://lake has not answered for 3.5 s: it was asked and says nothing"
    )


def test_time_in_silence_counts_from_the_first_question_that_failed() -> None:
    asked = Probed("it", failing_since_s=NOW_S - 9, unanswered_since_s=NOW_S - 1, problem="no")
    assert asked.silent_s(NOW_S) == 9


def test_a_loop_that_stands_still_is_unready_within_seconds_and_dead_after_minutes() -> None:
    still = facts(serving(), round_s=NOW_S - 11)
    assert said(still) == "its loop has not come round for 11.0 s, longer than stuck-after-ms (10000)"
    assert is_alive(still, LIMITS)
    assert not is_alive(facts(serving(), round_s=NOW_S - 181), LIMITS)


def test_a_proposal_that_waits_for_too_long_is_named_with_what_its_table_waits_for() -> None:
    late = facts(serving(lane(oldest=oldest(61, "no such bucket"))))
    assert said(late) == (
        "the proposal at offset 17 for s3://lake/events has waited for 61.0 s, longer than late-after-ms (60000): no such"
        " bucket"
    )


def test_a_proposal_that_waits_within_the_limit_is_nothing_to_speak_of() -> None:
    assert judge(facts(serving(lane(oldest=oldest(59)))), LIMITS) == Healthy()


def test_the_clock_of_the_bus_may_be_ahead() -> None:
    assert judge(facts(serving(lane(oldest=oldest(-30)))), LIMITS) == Healthy()


def test_when_no_table_with_proposals_can_be_worked_on_it_is_unready_with_the_reason_of_one() -> None:
    failing = lane(tables=TableCounts(3, 2, 2), failing_since_s=NOW_S - 5, trouble="the disk is full")
    assert said(facts(serving(failing))) == (
        "none of the 2 tables with proposals on partition 0 could be worked on for 5.0 s: the disk is full"
    )


def test_one_failing_table_among_others_is_a_note() -> None:
    verdict = judge(facts(serving(lane(tables=TableCounts(3, 2, 1)))), LIMITS)
    assert verdict == Healthy(("1 tables are left alone for a while, because something failed",))


def test_tables_that_an_operator_has_to_look_at_are_a_note() -> None:
    verdict = judge(facts(serving(lane(tables=TableCounts(3, 1, 1, refused=1)))), LIMITS)
    assert verdict == Healthy(("1 tables are held until an operator looks; the log names them (table_waits)",))


def test_what_the_bus_does_not_take_makes_it_unready() -> None:
    assert codes(facts(serving(lane(unannounced_since_s=NOW_S - 4)))) == [ReasonCode.UNANNOUNCED]


def test_a_bus_that_answers_but_cannot_be_read_is_silent_all_the_same() -> None:
    unread = serving(unread_since_s=NOW_S - 4, bus_trouble="not authorised")
    assert said(facts(unread)) == "the bus can't be read for 4.0 s: not authorised"


def test_who_was_told_to_stop_is_unready_while_it_settles() -> None:
    assert codes(facts(serving(is_draining=True))) == [ReasonCode.ENDING]


def test_a_part_whose_loop_is_over_is_neither_ready_nor_alive() -> None:
    over = facts(serving(), has_ended=True, round_s=NOW_S - 50)
    assert (codes(over), is_alive(over, LIMITS)) == ([ReasonCode.ENDED], False)


def test_all_reasons_are_told() -> None:
    silent = replace(BUS, failing_since_s=NOW_S - 70, problem="gone")
    found = facts(serving(lane(oldest=oldest(70))), bus=silent, round_s=NOW_S - 20)
    assert codes(found) == [ReasonCode.BUS_SILENT, ReasonCode.STUCK, ReasonCode.LATE]


def test_a_worker_that_has_read_everything_is_ready() -> None:
    assert judge(facts(WorkerStanding("w", held=8)), WORKER_LIMITS) == Healthy()


def test_a_worker_is_late_after_a_longer_time_than_a_committer() -> None:
    behind = WorkerStanding("w", 8, backlog=Backlog(5, 100_000, NOW_MS))
    assert codes(facts(behind), WORKER_LIMITS) == []
    assert codes(facts(replace(behind, backlog=Backlog(5, 601_000, NOW_MS))), WORKER_LIMITS) == [ReasonCode.LATE]


def test_a_worker_that_waits_for_the_committer_is_ready() -> None:
    verdict = judge(facts(WorkerStanding("w", 8, is_yielding=True)), WORKER_LIMITS)
    assert verdict == Healthy(("begins nothing new, because the committer is behind",))


@pytest.mark.parametrize("standing", [serving(), WorkerStanding("w", held=1)])
def test_health_without_facts_about_bus_and_stores_is_judged_by_the_rest(
    standing: CommitterStatus | WorkerStanding,
) -> None:
    assert judge(facts(standing, bus=None, stores=()), LIMITS) == Healthy()


def test_the_metric_of_reasons_knows_them_all() -> None:
    assert list(REASON.values) == [code.value for code in ReasonCode]
