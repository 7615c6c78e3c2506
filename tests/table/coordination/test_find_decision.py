"""Asking a table's log what became of a proposal."""

from headgate_schemas.messages.operations import Committed, Duplicate, RejectCode, Rejected, Writer
from headgate_table.coordination.memory import MemoryLimits, TableMemory
from headgate_table.coordination.writers_ids import MAX_WRITERS_IDS
from headgate_table.indextables.format.names import version_key
from headgate_table.indextables.recovery.decisions import find_decision
from support.logs.decided_logs import (
    accepted,
    by_committer,
    directly,
    fresh_reader,
    rejected,
    replayed,
    write_log,
    write_state,
)
from support.stores.faulty import FaultyStore
from support.stores.memory import MemoryStore
from support.tables import START_MS, add_file, committer_of, new_table, opened

WRITER = Writer("nightly", 17)


def logged(*versions: list) -> MemoryStore:  # type: ignore[type-arg]  # actions
    store = MemoryStore()
    write_log(store, versions)
    return store


def test_an_accepted_proposal_is_in_its_version() -> None:
    assert find_decision(fresh_reader(logged([], by_committer(accepted("a"), next_offset=1))), "a") == Committed(2, "a")


def test_a_rejected_proposal_has_its_reason() -> None:
    found = find_decision(fresh_reader(logged(by_committer(rejected("a", "live"), next_offset=1))), "a")
    assert found == Rejected(RejectCode.PATH_IN_USE, "live", "a")


def test_a_proposal_that_nobody_decided_has_no_decision() -> None:
    assert find_decision(fresh_reader(logged(by_committer(accepted("a"), next_offset=1))), "b") is None


def test_a_proposal_with_a_writer_is_found_by_its_id() -> None:
    store = logged(by_committer(accepted("x"), accepted("a", writer=WRITER), next_offset=2), [])
    assert find_decision(fresh_reader(store), "a", WRITER) == Committed(1, "a")


def test_a_seq_that_another_id_committed_is_a_duplicate() -> None:
    store = logged(by_committer(accepted("a", writer=WRITER), next_offset=1))
    assert find_decision(fresh_reader(store), "b", WRITER) == Duplicate(1, "b")


def test_a_seq_whose_version_is_gone_is_a_duplicate_of_it() -> None:
    versions = [by_committer(accepted("a", writer=WRITER), next_offset=1), []]
    store = logged(*versions)
    write_state(store, 2, replayed(versions, TableMemory()))
    store.delete([version_key(0), version_key(1)])
    assert find_decision(fresh_reader(store), "b", WRITER) == Duplicate(1, "b")
    assert find_decision(fresh_reader(store), "a", WRITER) == Committed(1, "a")


def test_a_rejected_proposal_with_a_writer_was_rejected_though_its_seq_was_committed_later() -> None:
    store = logged(
        by_committer(rejected("a", "live", writer=WRITER), next_offset=1),
        by_committer(accepted("b", writer=WRITER), next_offset=2),
    )
    assert find_decision(fresh_reader(store), "a", WRITER) == Rejected(RejectCode.PATH_IN_USE, "live", "a")


def test_an_author_is_never_told_the_version_of_another_writer_that_used_its_id() -> None:
    """Break: take the id for enough. A log of an earlier release may hold one id three times."""
    hourly = Writer("hourly", 1)
    versions = [
        by_committer(accepted("x", writer=WRITER), next_offset=1),
        by_committer(accepted("x"), next_offset=2),
        by_committer(accepted("x", writer=hourly), next_offset=3),
    ]
    reader = fresh_reader(logged(*versions))
    assert find_decision(reader, "x", WRITER) == Committed(1, "x")
    assert find_decision(reader, "x", hourly) == Committed(3, "x")
    assert find_decision(reader, "x") == Committed(1, "x")


def test_an_id_counts_before_the_seq_that_another_id_committed() -> None:
    """Break: the log tells the version of the seq, and the committer that of the id."""
    store = logged(
        by_committer(accepted("x"), next_offset=1),
        by_committer(accepted("y", writer=WRITER), next_offset=2),
    )
    assert find_decision(fresh_reader(store), "x", WRITER) == Duplicate(1, "x")
    assert find_decision(fresh_reader(store), "z", WRITER) == Duplicate(2, "z")


def test_a_forgotten_id_of_another_writer_is_no_answer() -> None:
    """Break: look through the versions for the id alone."""
    many = [
        by_committer(
            *(accepted(f"w{step}-{n}", writer=Writer("w", step * 500 + n)) for n in range(500)), next_offset=step + 1
        )
        for step in range(MAX_WRITERS_IDS // 500 + 1)
    ]
    reader = fresh_reader(logged(*many))
    assert find_decision(reader, "w0-3", Writer("w", 3)) == Committed(1, "w0-3")
    assert find_decision(reader, "w0-3", Writer("other", 3)) is None


def test_an_id_that_a_writer_committed_is_found_without_it() -> None:
    store = logged(by_committer(accepted("a", writer=WRITER), next_offset=1))
    assert find_decision(fresh_reader(store), "a") == Committed(1, "a")


def test_an_id_that_is_forgotten_is_looked_up_in_the_versions() -> None:
    versions = [by_committer(accepted(f"p{n}"), next_offset=n + 1, appended_ms=START_MS + n) for n in range(20)]
    found = find_decision(fresh_reader(logged(*versions)), "p3", options=MemoryLimits(max_ids=4))
    assert found == Committed(4, "p3")


def test_an_id_that_the_window_covers_is_not_looked_for_in_versions() -> None:
    versions = [by_committer(accepted(f"p{n}"), next_offset=n + 1) for n in range(20)]
    store = logged(*versions)
    write_state(store, 20, replayed(versions, TableMemory()))
    watched = FaultyStore(store)
    assert find_decision(fresh_reader(watched), "p3") == Committed(4, "p3")
    assert not [step for step in watched.steps if step.operation == "get" and step.key.endswith(".json")]


def test_a_direct_commit_sent_again_is_a_duplicate() -> None:
    """Break: `DirectCommitter` doesn't ask what was decided before."""
    from headgate_schemas.messages.operations import Append

    table = new_table()
    committer_of(table).commit(Append((add_file("a"),)), "my-id")
    again = committer_of(opened(table.store)).commit(Append((add_file("b"),)), "my-id")
    assert again == Duplicate(1, "my-id")
    assert table.version == 1


def test_a_direct_commit_is_found_like_any_other() -> None:
    assert find_decision(fresh_reader(logged(directly(accepted("a")))), "a") == Committed(1, "a")
