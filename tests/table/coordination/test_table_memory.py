"""What a table remembers, as a pure function of its versions: ids, seqs, positions, and what is forgotten when."""

import json

import pytest

from headgate_schemas.messages.operations import Committed, Duplicate, Receipt, RejectCode, Rejected, Writer
from headgate_table.coordination import memory as memory_module
from headgate_table.coordination.commit_info import Term
from headgate_table.coordination.memory import MAX_SOURCES, Arrival, Floor, MemoryLimits, TableMemory
from headgate_table.coordination.memory_text import format_memory, parse_memory
from headgate_table.coordination.writers_ids import MAX_WRITERS_IDS
from support.logs.decided_logs import (
    OTHER,
    SOURCE,
    TERM,
    accepted,
    adds,
    by_committer,
    directly,
    metadata,
    rejected,
    removes,
)
from support.tables import START_MS, add_file

HOUR_MS = 3_600_000


def remembering(*versions: list, limits: MemoryLimits | None = None) -> TableMemory:  # type: ignore[type-arg]  # actions
    memory = TableMemory(limits or MemoryLimits())
    for number, actions in enumerate(versions):
        memory.apply(number, actions)
    return memory


def code_of(receipt: Receipt | None) -> RejectCode:
    assert isinstance(receipt, Rejected), receipt
    return receipt.code


def test_an_id_that_was_accepted_is_a_duplicate_of_its_version() -> None:
    memory = remembering([], by_committer(accepted("a"), next_offset=1))
    assert memory.earlier("a", None) == Duplicate(1, "a")
    assert memory.receipt_of("a") == Committed(1, "a")
    assert memory.earlier("b", None) is None


def test_an_id_that_was_rejected_is_rejected_again_for_the_same_reason() -> None:
    memory = remembering(by_committer(rejected("a", "because"), next_offset=1))
    assert memory.earlier("a", None) == Rejected(RejectCode.PATH_IN_USE, "because", "a")


def test_the_first_decision_about_an_id_stands() -> None:
    """Break: `remember_ids` overwrites: two committers at once would make two receipts disagree."""
    memory = remembering(
        by_committer(rejected("a", "first"), next_offset=1), by_committer(accepted("a"), next_offset=2)
    )
    assert memory.earlier("a", None) == Rejected(RejectCode.PATH_IN_USE, "first", "a")


OTHERS = (None, Writer("nightly", 17), Writer("nightly", 18), Writer("hourly", 17))


@pytest.mark.parametrize("first", OTHERS)
@pytest.mark.parametrize("later", OTHERS)
def test_an_id_that_was_accepted_is_a_duplicate_whoever_sends_it_again(
    first: Writer | None, later: Writer | None
) -> None:
    """Break: know what has a writer by its seq alone."""
    memory = TableMemory()
    memory.apply(1, by_committer(accepted("a", writer=first), next_offset=1))
    memory = parse_memory(format_memory(memory), MemoryLimits())
    assert memory.earlier("a", later) == Duplicate(1, "a")
    assert memory.receipt_of("a") == Committed(1, "a")


def test_the_first_decision_about_an_id_stands_whoever_sent_it() -> None:
    memory = TableMemory()
    memory.apply(1, by_committer(accepted("a", writer=Writer("w", 1)), next_offset=1))
    memory.apply(2, by_committer(accepted("a"), next_offset=2))
    memory.apply(3, by_committer(accepted("a", writer=Writer("w2", 1)), next_offset=3))
    memory.apply(4, by_committer(rejected("a"), next_offset=4))
    assert memory.earlier("a", None) == memory.earlier("a", Writer("w2", 1)) == Duplicate(1, "a")


def test_the_ids_of_proposals_with_a_writer_are_bounded_and_move_no_horizon() -> None:
    """Break: count them with the others, so that a stream of one writer makes the proposals of others expire."""
    memory = TableMemory(MemoryLimits(max_ids=4))
    memory.apply(1, by_committer(accepted("plain"), next_offset=1))
    for number in range(2, MAX_WRITERS_IDS + 4):
        decision = accepted(f"w{number}", writer=Writer("w", number))
        memory.apply(number, by_committer(decision, next_offset=number, appended_ms=START_MS + number))
    assert memory.earlier("plain", None) == Duplicate(1, "plain")
    assert memory.horizon_ms == 0
    assert [memory.earlier(f"w{number}", None) for number in (2, 3)] == [None, None]
    assert memory.earlier("w4", None) == Duplicate(4, "w4")


def test_a_seq_that_was_committed_is_a_duplicate_for_good() -> None:
    """Break: seqs age with the ids: a batch job run again after ten days doubles its rows."""
    writer = Writer("nightly", 17)
    old = by_committer(accepted("a", writer=writer), next_offset=1)
    new = [
        by_committer(accepted(f"p{n}"), next_offset=n, appended_ms=START_MS + n * 100 * HOUR_MS) for n in range(2, 9)
    ]
    memory = remembering(old, *new)
    assert memory.earlier("other id", writer) == Duplicate(0, "other id")


def test_an_older_seq_gets_the_version_that_committed_it() -> None:
    versions = [by_committer(accepted(f"p{n}", writer=Writer("a", n)), next_offset=n) for n in range(1, 4)]
    assert remembering([], *versions).earlier("x", Writer("a", 2)) == Duplicate(2, "x")


def test_a_seq_below_all_that_are_known_by_version_is_told_no_version() -> None:
    """Break: it gets the version of the last, which doesn't hold it."""
    versions = [by_committer(accepted(f"p{n}", writer=Writer("a", n)), next_offset=n) for n in range(1, 20)]
    memory = remembering([], *versions)
    assert code_of(memory.earlier("x", Writer("a", 2))) is RejectCode.SUPERSEDED
    assert memory.earlier("x", Writer("a", 12)) == Duplicate(12, "x")
    assert memory.newer_seq(Writer("a", 2)) is None


def test_a_seq_between_two_remembered_ones_was_passed_over() -> None:
    versions = [by_committer(accepted(f"p{n}", writer=Writer("a", n)), next_offset=n) for n in (16, 18)]
    memory = remembering([], *versions)
    assert (memory.newer_seq(Writer("a", 17)), memory.earlier("x", Writer("a", 17))) == (18, None)
    assert [memory.newer_seq(Writer("a", seq)) for seq in (15, 16, 18, 19)] == [None] * 4
    assert memory.newer_seq(Writer("b", 17)) is None


def test_a_seq_in_a_gap_over_lost_versions_is_not_taken_for_passed_over() -> None:
    """Break: seq 17 is called skipped though a version that can't be read may have committed it."""
    memory = remembering([], by_committer(accepted("a", writer=Writer("a", 16)), next_offset=1))
    memory.apply(5, by_committer(accepted("b", writer=Writer("a", 18)), next_offset=9))
    assert memory.newer_seq(Writer("a", 17)) is None
    assert code_of(memory.earlier("x", Writer("a", 17))) is RejectCode.SUPERSEDED
    memory.apply(6, by_committer(accepted("c", writer=Writer("a", 20)), next_offset=10))
    assert memory.newer_seq(Writer("a", 19)) == 20


def test_a_seq_below_what_a_floor_tells_is_not_taken_for_passed_over() -> None:
    memory = remembering([], by_committer(accepted("a", writer=Writer("a", 16)), next_offset=1))
    memory.raise_floor(Floor(writers=(("a", 18, 1),)))
    assert memory.earlier("x", Writer("a", 18)) == Duplicate(1, "x")
    assert memory.newer_seq(Writer("a", 17)) is None


def test_a_version_whose_decisions_are_doubted_hides_seqs() -> None:
    memory = remembering([], by_committer(accepted("a", writer=Writer("a", 16)), next_offset=1))
    memory.apply_files(2, by_committer(accepted("b", writer=Writer("a", 17)), next_offset=2))
    memory.apply(3, by_committer(accepted("c", writer=Writer("a", 18)), next_offset=3))
    assert memory.newer_seq(Writer("a", 17)) is None


def test_a_memory_of_an_earlier_release_does_not_tell_which_seqs_were_passed_over() -> None:
    versions = [by_committer(accepted(f"p{n}", writer=Writer("a", n)), next_offset=n) for n in (16, 18)]
    body = json.loads(format_memory(remembering([], *versions)))
    assert parse_memory(json.dumps(body), MemoryLimits()).newer_seq(Writer("a", 17)) == 18
    del body["decisionsFrom"]
    older = parse_memory(json.dumps(body), MemoryLimits())
    assert older.newer_seq(Writer("a", 17)) is None
    assert older.earlier("x", Writer("a", 16)) == Duplicate(1, "x")


def test_a_rejected_seq_does_not_advance_its_app() -> None:
    """Break: the job that mends what was refused, and sends the same seq under a new id, is called a duplicate."""
    memory = remembering(by_committer(rejected("a", writer=Writer("nightly", 17)), next_offset=1))
    assert memory.earlier("b", Writer("nightly", 17)) is None


def test_a_full_memory_takes_no_new_app_and_lets_none_go() -> None:
    limits = MemoryLimits(max_apps=2)
    memory = remembering(by_committer(accepted("a", writer=Writer("one", 1)), next_offset=1), limits=limits)
    assert memory.has_room_for("two")
    assert not memory.has_room_for("three", besides=1)
    memory.apply(1, by_committer(accepted("b", writer=Writer("two", 1)), next_offset=2))
    assert not memory.has_room_for("three")
    assert memory.has_room_for("one")


def test_ids_age_by_the_time_of_the_bus_and_leave_the_horizon() -> None:
    limits = MemoryLimits(window_ms=HOUR_MS)
    memory = remembering(
        by_committer(accepted("a"), next_offset=1, appended_ms=START_MS),
        by_committer(accepted("b"), next_offset=2, appended_ms=START_MS + 2 * HOUR_MS),
        limits=limits,
    )
    assert memory.earlier("a", None) is None
    assert memory.earlier("b", None) == Duplicate(1, "b")
    assert memory.horizon_ms == START_MS


def test_what_an_author_of_the_future_made_moves_no_horizon_when_its_week_is_over() -> None:
    """Break: a month later than one proposal by a clock that is ahead, everybody's are `expired`."""
    limits = MemoryLimits(window_ms=HOUR_MS)
    memory = remembering(
        by_committer(accepted("ahead"), next_offset=1, made_ms=START_MS + 700 * HOUR_MS),
        by_committer(accepted("b"), next_offset=2, made_ms=START_MS),
        by_committer(accepted("c"), next_offset=3, appended_ms=START_MS + 2 * HOUR_MS),
        limits=limits,
    )
    assert memory.horizon_ms == START_MS
    assert [memory.earlier(each, None) for each in ("ahead", "b")] == [Duplicate(0, "ahead"), None]


def test_the_clock_of_a_direct_commit_ages_no_id_of_the_bus() -> None:
    """Break: one machine whose clock is a year ahead expires every proposal that is under way."""
    limits = MemoryLimits(window_ms=HOUR_MS)
    memory = remembering(
        by_committer(accepted("a"), next_offset=1, appended_ms=START_MS),
        directly(accepted("b"), time_ms=START_MS + 9000 * HOUR_MS),
        limits=limits,
    )
    assert memory.earlier("a", None) == Duplicate(0, "a")
    assert memory.horizon_ms == 0


def test_direct_commits_that_are_forgotten_leave_no_horizon() -> None:
    limits = MemoryLimits(window_ms=HOUR_MS)
    memory = remembering(
        directly(accepted("a"), time_ms=START_MS),
        directly(accepted("b"), time_ms=START_MS + 9 * HOUR_MS),
        limits=limits,
    )
    assert memory.earlier("a", None) == Duplicate(0, "a")  # one clock alone proves nothing
    memory.apply(2, directly(accepted("c"), time_ms=START_MS + 9 * HOUR_MS))
    assert memory.earlier("a", None) is None
    assert memory.horizon_ms == 0


def test_the_number_of_ids_is_bounded() -> None:
    limits = MemoryLimits(max_ids=10)
    memory = remembering(
        *[by_committer(accepted(f"p{n}"), next_offset=n, appended_ms=START_MS + n * 60_000) for n in range(30)],
        limits=limits,
    )
    assert len(memory.ids) == 10
    assert memory.horizon_ms == START_MS + 19 * 60_000


def test_what_was_made_ahead_is_counted_until_its_time_has_come() -> None:
    limits = MemoryLimits(max_ids=3)
    versions = [
        by_committer(accepted(f"p{n}"), next_offset=n, appended_ms=START_MS + n, made_ms=START_MS + n * HOUR_MS)
        for n in range(5)
    ]
    memory = remembering(*versions, limits=limits)
    assert (memory.ids.ahead, memory.has_room_ahead()) == (4, False)
    memory = parse_memory(format_memory(memory), limits)
    assert (memory.ids.ahead, memory.has_room_ahead()) == (4, False)
    assert all(memory.earlier(f"p{n}", None) is not None for n in range(5))
    for n in (5, 6):
        memory.apply(n, by_committer(accepted(f"p{n}"), next_offset=n, appended_ms=START_MS + 3 * HOUR_MS))
    assert (memory.ids.ahead, memory.has_room_ahead()) == (1, True)
    assert memory.horizon_ms == START_MS + 2 * HOUR_MS


def test_refusals_lose_their_reasons_first() -> None:
    """Break: 200,000 rejections of 500 characters each would make every state a hundred megabytes long."""
    limits = MemoryLimits(max_ids=100)
    versions = [by_committer(rejected(f"p{n}", "x" * 80), next_offset=n, appended_ms=START_MS + n) for n in range(9)]
    memory = remembering(*versions, limits=limits)
    told = [memory.receipt_of(f"p{n}") for n in range(9)]
    assert [code_of(receipt) for receipt in told] == [RejectCode.PATH_IN_USE] * 9
    assert [isinstance(each, Rejected) and each.reason == "x" * 80 for each in told] == [False] * 4 + [True] * 5


def test_refusals_are_bounded_apart_and_move_no_horizon() -> None:
    """Break: a writer that repeats refused proposals makes everybody's fresh proposals expire."""
    limits = MemoryLimits(max_ids=10)
    first = by_committer(accepted("mine"), accepted("and mine"), next_offset=1)
    second = by_committer(accepted("other"), next_offset=2)
    minute = 60_000
    versions = [
        by_committer(
            rejected(f"p{n}", "x" * 480),
            next_offset=n,
            time_ms=START_MS + n * minute,
            appended_ms=START_MS + n * minute,
        )
        for n in range(40)
    ]
    memory = remembering(first, second, *versions, limits=limits)
    assert memory.earlier("mine", None) == Duplicate(0, "mine")
    assert memory.horizon_ms == 0
    assert [memory.receipt_of(f"p{n}") is not None for n in range(40)] == [False] * 30 + [True] * 10
    assert memory.ids.refused_horizon_ms == START_MS + 29 * minute


def test_refusals_of_the_last_minute_are_kept_beyond_the_bound() -> None:
    """Break: a refusal is forgotten at once among many others, and its proposal, sent again, is decided anew."""
    limits = MemoryLimits(max_ids=10)
    versions = [by_committer(rejected(f"p{n}"), next_offset=n, appended_ms=START_MS + n) for n in range(40)]
    memory = remembering(*versions, limits=limits)
    assert all(memory.receipt_of(f"p{n}") is not None for n in range(40))
    assert memory.ids.refused_horizon_ms == 0


@pytest.mark.parametrize(
    ("created_ms", "appended_ms", "is_doubtful"),
    [
        (-1_000, 100, False),  # a first delivery
        (-29_000, 0, False),
        (-31_000, 0, True),  # too late for a first delivery, and made before what was forgotten
        (70_000, 100_500, True),  # after it, but by less than clocks of versions may be behind
        (3_650_000, 3_690_000, False),  # late, but made long after it
        (200_000, 100, True),  # by a clock that is ahead
        (20_000, 100, False),  # by a little
    ],
)
def test_what_may_be_a_forgotten_refusal_is_doubtful_and_first_deliveries_are_not(
    created_ms: int, appended_ms: int, is_doubtful: bool
) -> None:
    memory = TableMemory()
    memory.ids.refused_horizon_ms = START_MS + 10_000
    found = memory.may_have_decided(
        Arrival(START_MS + created_ms, START_MS + appended_ms, START_MS + appended_ms, 30_000), None
    )
    assert (found is not None) is is_doubtful


@pytest.mark.parametrize("writer", [None, Writer("stream", 3)])
def test_a_horizon_in_the_future_holds_back_nobody_who_proposes_now(writer: Writer | None) -> None:
    """Break: what an earlier release left in a table, or a clock that was wrong, turns everybody away until that time comes."""
    memory = TableMemory()
    memory.lose_window(START_MS + 700 * HOUR_MS)

    def is_doubtful(created_ms: int, appended_ms: int = START_MS, now_ms: int = START_MS) -> bool:
        arrival = Arrival(created_ms, appended_ms, now_ms, 30_000)
        return memory.may_have_decided(arrival, writer) is not None

    assert not is_doubtful(START_MS)
    assert not is_doubtful(START_MS - 20_000)
    assert not is_doubtful(START_MS, appended_ms=START_MS - 9 * HOUR_MS)  # by a bus that is behind
    assert is_doubtful(START_MS - 31_000)  # no first delivery
    assert is_doubtful(START_MS + 100 * HOUR_MS)  # by a clock that is ahead itself
    later_ms = START_MS + 701 * HOUR_MS
    assert is_doubtful(START_MS, later_ms, later_ms)
    assert not is_doubtful(later_ms, later_ms, later_ms)


def test_a_memory_with_refusals_of_every_age_is_written_and_read_as_it_is() -> None:
    limits = MemoryLimits(max_ids=10)
    versions = [
        by_committer(
            accepted(f"a{n}"), rejected(f"b{n}", "x" * 9), rejected(f"c{n}"), next_offset=n, appended_ms=START_MS + n
        )
        for n in range(12)
    ]
    memory = remembering(*versions, limits=limits)
    again = parse_memory(format_memory(memory), limits)
    assert format_memory(again) == format_memory(memory)
    for each in (memory, again):
        each.apply(
            12, by_committer(accepted("last"), rejected("d", "y" * 30), next_offset=99, appended_ms=START_MS + 99)
        )
    assert again == memory


def test_what_one_version_settled_is_never_forgotten_at_once() -> None:
    """Break: a bound below one group forgets the group itself, and so decides it twice after a crash."""
    ids = [accepted(f"p{n}") for n in range(20)]
    memory = remembering(by_committer(*ids, next_offset=20), limits=MemoryLimits(max_ids=10))
    assert memory.earlier("p0", None) == Duplicate(0, "p0")


def test_a_position_never_goes_back_within_a_source() -> None:
    memory = remembering(
        by_committer(accepted("a"), next_offset=50, term=Term(2, "b")),
        by_committer(accepted("b"), next_offset=7, term=TERM),
    )
    assert memory.position(SOURCE) == 50
    assert memory.term == Term(2, "b")


def test_a_late_version_of_a_committer_that_missed_a_rebinding_does_not_undo_it() -> None:
    memory = remembering(
        by_committer(next_offset=9),
        by_committer(next_offset=3, rebound=True, term=Term(2, "operator"), source=OTHER),
        by_committer(accepted("late"), next_offset=10),
    )
    assert memory.source == OTHER
    assert memory.position(SOURCE) is None
    assert memory.earlier("late", None) == Duplicate(2, "late")


def test_the_number_of_sources_is_bounded() -> None:
    from dataclasses import replace

    versions = [by_committer(next_offset=1, source=replace(SOURCE, partition=n)) for n in range(40)]
    memory = remembering(*versions)
    assert len(memory.positions) == MAX_SOURCES
    assert memory.position(replace(SOURCE, partition=39)) == 1


def test_ties_of_terms_go_by_the_name_of_the_committer() -> None:
    memory = TableMemory()
    memory.raise_floor(Floor(term=Term(3, "b")))
    memory.raise_floor(Floor(term=Term(3, "a")))
    assert memory.term == Term(3, "b")


def test_a_floor_raises_what_is_lower_and_nothing_else() -> None:
    memory = remembering([], by_committer(accepted("a", writer=Writer("one", 5)), next_offset=9))
    memory.raise_floor(
        Floor(positions=((SOURCE, 4), (OTHER, 8)), writers=(("one", 3, 0), ("two", 6, 1))),
    )
    assert memory.positions == {SOURCE: 9, OTHER: 8}
    assert memory.earlier("x", Writer("one", 5)) == Duplicate(1, "x")
    assert memory.earlier("x", Writer("two", 6)) == Duplicate(1, "x")


def test_a_removed_path_is_known_until_it_comes_back() -> None:
    path = add_file("x").path
    memory = remembering(adds("x"), removes("x"))
    assert memory.was_removed(path)
    memory.apply(2, adds("x"))
    assert not memory.was_removed(path)


def test_the_number_of_removed_paths_is_bounded_and_the_newest_stay(monkeypatch) -> None:  # type: ignore[no-untyped-def]  # pytest's
    monkeypatch.setattr(memory_module, "MAX_REMOVED", 8)
    monkeypatch.setattr(memory_module, "_REMOVED_KEPT", 6)
    memory = remembering(*[removes(f"x{n}") for n in range(9)])
    known = [n for n in range(9) if memory.was_removed(add_file(f"x{n}").path)]
    assert known == [3, 4, 5, 6, 7, 8]


def test_a_purged_path_is_forbidden_for_the_window() -> None:
    limits = MemoryLimits(window_ms=HOUR_MS)
    memory = remembering(directly(purged=["x"], time_ms=START_MS), directly(time_ms=START_MS + HOUR_MS), limits=limits)
    assert memory.is_purged("x")
    memory.apply(2, directly(time_ms=START_MS + HOUR_MS + 1))
    assert memory.is_purged("x")  # one clock alone proves nothing
    memory.apply(3, directly(time_ms=START_MS + HOUR_MS + 1))
    assert not memory.is_purged("x")


def test_a_path_that_is_purged_again_stays_forbidden_from_then() -> None:
    """Break: forgetting the first purge forgets what the second forbids."""
    limits = MemoryLimits(window_ms=HOUR_MS)
    versions = [directly(purged=["x"], time_ms=START_MS + n * HOUR_MS // 2) for n in range(2)]
    memory = remembering(*versions, directly(time_ms=START_MS + HOUR_MS + 1), limits=limits)
    assert memory.is_purged("x")


def test_a_stranger_s_commit_info_moves_no_clock() -> None:
    """Break: a writer that counts microseconds lets every purge be forgotten, and its files be added while they are deleted."""
    from headgate_schemas.actions.actions import CommitInfo

    memory = remembering(directly(purged=["x"]), [CommitInfo({"timestamp": START_MS * 1000})])
    assert memory.is_purged("x")


def test_metadata_that_changed_is_known_by_its_version() -> None:
    assert remembering([], [], [metadata()]).metadata_version == 2


def test_after_a_hole_nothing_before_it_is_known_for_sure() -> None:
    memory = remembering([], [])
    memory.apply(5, [])
    assert memory.complete_from == 5
    memory.skip_to(7)
    assert memory.complete_from == 8


def test_a_version_is_applied_once() -> None:
    memory = remembering(by_committer(accepted("a"), next_offset=1))
    memory.apply(0, by_committer(accepted("b"), next_offset=5))
    assert memory.earlier("b", None) is None
