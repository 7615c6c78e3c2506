"""What the page shows after which facts: proposals and their outcomes, tables, lag, dead letters, bounds."""

from dataclasses import replace
from typing import Any

import pytest

from headgate.page import page_state
from headgate.page.page_state import PageState
from headgate.page.proposal_preview import Glimpse
from headgate.page.table_rows import OVERTAKEN_MS, WAITING_AFTER_MS, TableFacts
from headgate_schemas.messages.dead_letters import DeadLetter
from headgate_schemas.messages.events import CommitEvent, ReceiptEvent

NOW = 1_780_000_000_000
TABLE = "s3://lake/events"


def proposed(
    identity: str, offset: int, *, table: str = TABLE, at: int = NOW, operation: str = "append", partition: int = 0
) -> Glimpse:
    return Glimpse(identity, table, partition, offset, at, "sink@ingest-2", operation, 2)


def receipt(
    identity: str,
    outcome: Any = "committed",
    *,
    version: int | None = 7,
    at: int = NOW + 40,
    code: str | None = None,
    table: str | None = TABLE,
    reason: str | None = None,
) -> ReceiptEvent:
    return ReceiptEvent(
        table=table, proposal=identity, outcome=outcome, version=version, code=code, reason=reason, time=at
    )


def rejected(identity: str, code: str = "path_in_use", **given: Any) -> ReceiptEvent:
    return receipt(identity, "rejected", version=None, code=code, reason="the path is live", **given)


def commit(version: int, *, table: str = TABLE, at: int = NOW, added: int = 3, removed: int = 1) -> CommitEvent:
    return CommitEvent(
        table=table,
        version=version,
        time=at,
        operation="Append",
        added=added,
        removed=removed,
        added_bytes=300,
        removed_bytes=100,
    )


def facts(version: int, *, files: int = 10, at: int = NOW, needs_compaction: bool = False) -> TableFacts:
    return TableFacts(version, files, 1000, 2, 1, 0.1, needs_compaction, "avro-state", NOW - 9_000, at)


def letter(identity: str) -> DeadLetter:
    return DeadLetter(
        id=identity,
        code="unreadable",
        reason="this is no JSON",
        cluster="c",
        topic="t",
        partition=0,
        offset=4,
        appended=NOW,
        headers={},
        body=b"?",
        body_bytes=1,
        time=NOW,
    )


def row(state: PageState, table: str = TABLE, now: int = NOW) -> dict[str, Any]:
    [found] = [row for row in state.picture(now)["tables"] if row["uri"] == table]
    return dict(found)


def flow(state: PageState) -> list[tuple[str, str]]:
    return [(entry["id"], entry["outcome"]) for entry in state.picture(NOW)["flow"]]


def test_a_proposal_waits_until_its_receipt_comes_and_then_says_how_long_it_took() -> None:
    state = PageState()
    state.saw_proposal(proposed("a", 1), NOW)
    assert flow(state) == [("a", "waiting")]
    assert row(state)["waiting"] == 1
    state.saw_event(receipt("a"), NOW + 50)
    [entry] = state.picture(NOW)["flow"]
    assert (entry["outcome"], entry["version"], entry["latency"], entry["author"]) == (
        "committed",
        7,
        40,
        "sink@ingest-2",
    )
    assert row(state)["waiting"] == 0


def test_a_receipt_that_is_read_before_its_proposal_is_completed_by_it() -> None:
    for outcome in (receipt("a"), rejected("a"), receipt("a", "duplicate")):
        state = PageState()
        state.saw_event(outcome, NOW + 50)
        state.saw_proposal(proposed("a", 1), NOW + 60)
        [entry] = state.picture(NOW)["flow"]
        assert (entry["outcome"], entry["author"], entry["latency"]) == (outcome.outcome, "sink@ingest-2", 40)
        assert row(state)["waiting"] == 0


def test_a_proposal_that_was_settled_when_it_is_read_waits_for_nobody_and_lends_its_words_to_a_late_receipt() -> None:
    state = PageState()
    state.saw_settled(0, 5, NOW)
    state.saw_proposal(proposed("a", 4), NOW)
    assert flow(state) == []
    state.saw_event(receipt("a"), NOW + 50)
    [entry] = state.picture(NOW)["flow"]
    assert (entry["author"], entry["latency"]) == ("sink@ingest-2", 40)


def test_an_event_that_comes_again_counts_once() -> None:
    state = PageState()
    for _ in range(3):
        state.saw_event(receipt("a"), NOW)
        state.saw_event(commit(7), NOW)
    assert flow(state) == [("a", "committed")]
    assert row(state)["counts"] == {"committed": 1, "rejected": 0, "duplicate": 0}
    [rates] = state.picture(NOW)["rates"]["rows"]
    assert rates[1:3] == [1, 1]


def test_proposals_that_are_read_again_after_the_bus_was_away_are_there_once() -> None:
    state = PageState()
    for _ in range(2):
        state.saw_proposal(proposed("a", 0), NOW)
        state.saw_proposal(proposed("b", 1), NOW)
        state.saw_event(receipt("a"), NOW)
        state.saw_event(commit(7), NOW)
    assert flow(state) == [("a", "committed"), ("b", "waiting")]
    assert row(state)["waiting"] == 1


def test_the_same_proposal_sent_again_is_an_entry_of_its_own_with_its_own_outcome() -> None:
    state = PageState()
    state.saw_proposal(proposed("a", 1), NOW)
    state.saw_event(receipt("a"), NOW)
    state.saw_proposal(proposed("a", 2, at=NOW + 90), NOW)
    state.saw_event(receipt("a", "duplicate", at=NOW + 95), NOW)
    assert flow(state) == [("a", "committed"), ("a", "duplicate")]


def test_a_rejection_says_its_code_and_its_reason_up_to_a_bound() -> None:
    state = PageState()
    state.saw_event(receipt("a", "rejected", version=None, code="gone", reason="x" * 1_900), NOW)
    [entry] = state.picture(NOW)["flow"]
    assert (entry["code"], len(entry["reason"])) == ("gone", page_state.MAX_REASON_CHARS)


def test_a_proposal_that_was_settled_without_a_receipt_here_is_not_known_after_a_while() -> None:
    state = PageState()
    state.saw_proposal(proposed("a", 1), NOW)
    state.saw_settled(0, 2, NOW + 60_000)
    state.saw_settled(0, 2, NOW + 60_000 + page_state.GRACE_MS)
    assert flow(state) == [("a", "waiting")]
    state.saw_settled(0, 2, NOW + 60_000 + page_state.GRACE_MS + 1)
    assert flow(state) == [("a", "unknown")]


def test_a_receipt_that_comes_long_after_its_proposal_is_that_of_its_entry() -> None:
    """As after an outage. Break: count the time from the proposal."""
    state = PageState()
    state.saw_proposal(proposed("a", 1), NOW)
    later = NOW + 10 * page_state.GRACE_MS
    state.saw_settled(0, 2, later)
    state.saw_event(receipt("a", at=later), later)
    assert flow(state) == [("a", "committed")]


def test_what_is_settled_is_undecided_no_more_although_its_receipt_is_still_to_be_read() -> None:
    state = PageState()
    state.saw_proposal(proposed("a", 1), NOW)
    state.saw_proposal(proposed("a", 2), NOW)
    state.saw_settled(0, 2, NOW)
    assert row(state)["waiting"] == 1
    state.saw_settled(0, 3, NOW)
    assert row(state, now=NOW + WAITING_AFTER_MS + 1)["health"] == []


def test_of_one_proposal_sent_twice_only_the_sending_that_was_settled_long_ago_is_given_up() -> None:
    state = PageState()
    state.saw_proposal(proposed("a", 1), NOW)
    state.saw_proposal(proposed("a", 5), NOW)
    for now in (NOW, NOW + page_state.GRACE_MS + 1):
        state.saw_settled(0, 2, now)
    assert flow(state) == [("a", "unknown"), ("a", "waiting")]
    state.saw_event(receipt("a"), NOW + 60_000)
    assert flow(state) == [("a", "unknown"), ("a", "committed")]


def test_a_sending_whose_receipt_was_taken_for_an_event_that_comes_again_has_the_outcome_of_the_one_before() -> None:
    state = PageState()
    for outcome in ("committed", "duplicate", "duplicate"):
        state.saw_event(receipt("a", outcome), NOW)
    state.saw_event(rejected("b"), NOW)
    state.saw_event(rejected("b"), NOW)
    for offset, identity in enumerate("aaabb"):
        state.saw_proposal(proposed(identity, offset), NOW)
    state.saw_settled(0, 5, NOW)
    shown = state.picture(NOW)["flow"]
    assert [(entry["id"], entry["outcome"], entry["version"], entry["code"]) for entry in shown] == [
        ("a", "committed", 7, ""),
        ("a", "duplicate", 7, ""),
        ("b", "rejected", None, "path_in_use"),
        ("a", "duplicate", 7, ""),
        ("b", "rejected", None, "path_in_use"),
    ]


def test_lag_has_the_age_of_the_oldest_undecided_proposal_of_any_partition() -> None:
    state = PageState()
    state.saw_proposal(proposed("a", 1, at=NOW - 5_000), NOW)
    state.saw_proposal(proposed("b", 2, at=NOW - 3_000), NOW)
    state.saw_proposal(proposed("c", 9, at=NOW - 4_000, partition=1), NOW)
    state.saw_lag(3, NOW)
    assert state.picture(NOW)["lag"] == {"proposals": 3, "age": 5_000}
    state.saw_settled(0, 2, NOW)
    state.saw_lag(2, NOW)
    assert state.picture(NOW)["lag"] == {"proposals": 2, "age": 4_000}
    state.saw_lag(0, NOW)
    assert state.picture(NOW)["lag"] == {"proposals": 0, "age": None}


def test_a_table_is_late_when_a_proposal_has_waited_for_long_which_time_alone_may_bring() -> None:
    state = PageState()
    state.saw_proposal(proposed("a", 1), NOW)
    state.changes(NOW)
    assert state.changes(NOW + WAITING_AFTER_MS) is None
    changed = state.changes(NOW + WAITING_AFTER_MS + 1)
    assert changed is not None
    assert [shown["health"] for shown in changed["tables"]] == [["waiting"]]
    state.saw_event(receipt("a", at=NOW + 6_000), NOW + 6_000)
    changed = state.changes(NOW + 6_000)
    assert changed is not None
    assert [shown["health"] for shown in changed["tables"]] == [[]]


def test_a_picture_for_one_browser_takes_no_change_from_the_others() -> None:
    state = PageState()
    state.saw_proposal(proposed("a", 1), NOW)
    state.changes(NOW)
    assert row(state, now=NOW + 6_000)["health"] == ["waiting"]
    changed = state.changes(NOW + 6_000)
    assert changed is not None
    assert changed["tables"][0]["health"] == ["waiting"]


def test_commits_count_on_what_was_read_until_the_table_is_read_again() -> None:
    state = PageState()
    state.saw_event(commit(7), NOW)
    state.saw_facts(TABLE, facts(7, files=10))
    state.saw_event(commit(8), NOW)
    shown = row(state)
    assert (shown["version"], shown["files"], shown["bytes"]) == (8, 12, 1_200)
    state.saw_facts(TABLE, facts(7, files=10))
    assert row(state)["files"] == 12
    state.saw_facts(TABLE, facts(9, files=20, at=NOW + 1))
    shown = row(state)
    assert (shown["version"], shown["files"], shown["committed"]) == (9, 20, NOW + 1)


def test_a_table_that_was_made_anew_is_believed_once_its_old_commits_are_past() -> None:
    state = PageState()
    state.saw_event(commit(7), NOW)
    state.saw_facts(TABLE, facts(0, at=NOW + OVERTAKEN_MS - 1))
    assert row(state)["version"] == 7
    state.saw_facts(TABLE, facts(0, at=NOW + OVERTAKEN_MS))
    assert row(state)["version"] == 0


def test_what_can_not_be_read_keeps_its_last_values_and_says_why_until_it_can() -> None:
    state = PageState()
    state.saw_event(commit(7), NOW)
    state.saw_facts(TABLE, facts(7, needs_compaction=True))
    state.saw_trouble(TABLE, "the store is gone")
    shown = row(state)
    assert (shown["files"], shown["trouble"], shown["health"]) == (
        10,
        "the store is gone",
        ["unreadable", "compaction due"],
    )
    state.saw_facts(TABLE, facts(7))
    assert row(state)["health"] == []


def test_a_mirror_shows_its_version_and_why_it_stopped() -> None:
    state = PageState()
    state.add_table(TABLE)
    state.saw_facts(TABLE, replace(facts(7), mirror_version=5))
    shown = row(state)
    assert (shown["mirror"], shown["mirror_problem"], shown["health"]) == (5, "", [])
    state.saw_facts(TABLE, replace(facts(7), mirror_version=5, mirror_problem="somebody wrote version 6"))
    shown = row(state)
    assert (shown["mirror_problem"], shown["health"]) == ("somebody wrote version 6", ["mirror stopped"])
    state.saw_facts(TABLE, facts(7))
    shown = row(state)
    assert (shown["mirror"], shown["health"]) == (None, [])


@pytest.mark.parametrize(
    ("mirror", "problem", "behind"),
    [(None, "", False), (7, "", False), (6, "", True), (-1, "", True), (6, "somebody wrote version 7", False)],
)
def test_a_mirror_is_behind_while_it_lacks_versions_that_it_can_publish(
    mirror: int | None, problem: str, behind: bool
) -> None:
    assert replace(facts(7), mirror_version=mirror, mirror_problem=problem).mirror_is_behind is behind


def test_a_proposal_to_a_table_that_is_not_there_leaves_no_table_behind() -> None:
    state = PageState()
    state.saw_proposal(proposed("a", 1), NOW)
    state.changes(NOW)
    state.saw_event(rejected("a", "unknown_table"), NOW)
    changed = state.changes(NOW)
    assert changed is not None
    assert changed["gone"] == [TABLE]
    assert state.picture(NOW)["tables"] == []
    assert flow(state) == [("a", "rejected")]


def test_a_refused_table_is_said_so_before_everything_else() -> None:
    state = PageState()
    state.saw_refusals({TABLE: "fed from another topic"})
    state.saw_trouble(TABLE, "the store is gone")
    assert row(state)["health"] == ["refused", "unreadable"]
    state.saw_refusals({})
    assert row(state)["health"] == ["unreadable"]


def test_workers_proposals_are_tasks_by_their_role() -> None:
    state = PageState()
    operations = ("append", "rewrite", "compact_state", "purge", "skip")
    for number, operation in enumerate(operations):
        state.saw_proposal(proposed(operation, number, operation=operation), NOW)
    assert [(task["operation"], task["role"]) for task in state.picture(NOW)["tasks"]] == [
        ("rewrite", "merge"),
        ("compact_state", "compact"),
        ("purge", "clean"),
        ("skip", "merge"),
    ]


def test_running_tasks_keep_the_time_since_when_they_were_first_seen() -> None:
    state = PageState()
    assert state.picture(NOW)["running"] is None
    state.saw_running([(TABLE, "merge")], NOW)
    state.saw_running([(TABLE, "merge"), (TABLE, "clean")], NOW + 500)
    assert state.picture(NOW)["running"] == [
        {"table": TABLE, "role": "merge", "since": NOW},
        {"table": TABLE, "role": "clean", "since": NOW + 500},
    ]
    state.changes(NOW)
    state.saw_running([(TABLE, "clean"), (TABLE, "merge")], NOW + 900)
    assert state.changes(NOW) is None


def test_a_source_in_trouble_is_in_trouble_since_the_first_time() -> None:
    state = PageState()
    state.saw_source("bus", "sqlite:bus.db", "no answer", NOW)
    state.saw_source("bus", "sqlite:bus.db", "still no answer", NOW + 5_000)
    assert state.picture(NOW)["sources"]["bus"] == {
        "address": "sqlite:bus.db",
        "trouble": "still no answer",
        "since": NOW,
    }
    state.saw_source("bus", "sqlite:bus.db", "", NOW + 9_000)
    assert state.picture(NOW)["sources"]["bus"]["since"] == NOW + 9_000


def test_changes_are_told_once_and_together_make_the_picture() -> None:
    state = PageState()
    state.saw_proposal(proposed("a", 1), NOW)
    state.saw_dead_letter(letter("x"))
    state.saw_dead_letter(letter("x"))
    changed = state.changes(NOW)
    assert changed is not None
    picture = state.picture(NOW)
    assert (changed["flow"], changed["tables"], changed["letters"]) == (
        picture["flow"],
        picture["tables"],
        picture["letters"],
    )
    assert len(picture["letters"]) == 1
    assert state.changes(NOW) is None


def test_everything_is_bounded_and_what_was_quiet_longest_makes_room() -> None:
    state = PageState()
    state.add_table("s3://lake/quiet")
    for number in range(page_state.MAX_WAITING + 1_000):
        state.saw_proposal(proposed(f"p{number}", number, table=f"s3://lake/{number}", operation="purge"), NOW)
    for number in range(page_state.MAX_LETTERS + 5):
        state.saw_dead_letter(letter(f"l{number}"))
    picture = state.picture(NOW)
    assert {part: len(picture[part]) for part in ("tables", "flow", "tasks", "letters")} == {
        "tables": page_state.MAX_TABLES,
        "flow": page_state.MAX_FLOW,
        "tasks": page_state.MAX_TASKS,
        "letters": page_state.MAX_LETTERS,
    }
    assert picture["tables"][-1]["uri"] == f"s3://lake/{page_state.MAX_WAITING - 1}"
    assert not state.shows("s3://lake/quiet")
    changed = state.changes(NOW)
    assert changed is not None
    assert "s3://lake/quiet" in changed["gone"]


def test_hostile_names_and_reasons_go_through_as_the_texts_that_they_are() -> None:
    state = PageState()
    hostile = "s3://lake/<img src=x onerror=alert(1)>"
    state.saw_event(rejected("a", table=hostile), NOW)
    assert row(state, hostile)["uri"] == hostile
