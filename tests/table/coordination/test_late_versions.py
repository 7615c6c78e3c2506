"""Version files that came late, into numbers that were cleaned meanwhile: they answer for nothing, and all others for themselves."""

from dataclasses import replace

import pytest

from headgate_committer.backend.own_term import OwnTerm
from headgate_committer.versions.known_versions import ReachedVersion
from headgate_committer.versions.table_log import TableLog
from headgate_schemas.actions.actions import Protocol
from headgate_schemas.messages.operations import Append, Committed, Duplicate, ReadSet, RejectCode, Rejected, Writer
from headgate_table.coordination.commit_info import Decision, Term
from headgate_table.coordination.memory import MemoryLimits, TableMemory
from headgate_table.errors import VersionNotRetained
from headgate_table.indextables.format.names import version_key
from headgate_table.indextables.format.version_file import encode_actions
from headgate_table.indextables.recovery.decisions import find_decision
from headgate_table.indextables.recovery.memory_reader import advance, recover
from headgate_table.settings.options import table_options
from headgate_table.store.interface import Store
from support.ambient import FakeAmbient
from support.logs.decided_logs import (
    SOURCE,
    TERM,
    accepted,
    adds,
    by_committer,
    directly,
    fresh_reader,
    metadata,
    replayed,
    write_foreign_state,
    write_log,
    write_state,
)
from support.stores.memory import MemoryStore
from support.tables import START_MS, add_file, committer_of, new_table, opened

FORMS = pytest.mark.parametrize("form", ["avro", "json"])
LIMITS = MemoryLimits()
WRITER = Writer("app", 5)


def recovered(store: Store) -> TableMemory:
    reader = fresh_reader(store)
    return recover(reader, reader.latest(), LIMITS)


def cleaned_below_3(form: str) -> MemoryStore:
    """A table at version 4, of which versions 3 and 4 are left: each added a file, the even ones made a state."""
    store = MemoryStore()
    table = new_table(store, "region", interval=2, settings={"state.format": form})
    for name, region in (("a", "eu"), ("b", "eu"), ("c", "us"), ("d", "us")):
        table.append([add_file(name, region=region)])
    table.truncate_history()
    assert [store.head(version_key(number)) is None for number in range(5)] == [True, True, True, False, False]
    return store


def fill(store: MemoryStore, number: int, *decisions: Decision) -> None:
    """A late version."""
    actions = [add_file("late", region="us")]
    late = by_committer(*decisions, next_offset=9, appended_ms=START_MS + 9, term=Term(9, "late"), actions=actions)
    store.put(version_key(number), encode_actions(late))


@FORMS
@pytest.mark.parametrize("writer", [None, WRITER])
def test_a_proposal_is_not_found_in_a_late_version(form: str, writer: Writer | None) -> None:
    """Break: look through all version files that are left."""
    store = cleaned_below_3(form)
    fill(store, 2, accepted("late", writer=writer))
    assert find_decision(fresh_reader(store), "late", writer) is None


@FORMS
def test_a_proposal_that_was_decided_again_is_found_where_it_counts(form: str) -> None:
    store = cleaned_below_3(form)
    fill(store, 2, accepted("late", writer=WRITER))
    fill(store, 5, accepted("late", writer=WRITER))
    assert find_decision(fresh_reader(store), "late", WRITER) == Committed(5, "late")


@FORMS
@pytest.mark.parametrize("number", [0, 1])
def test_a_late_version_far_below_those_that_are_left_is_not_believed_either(form: str, number: int) -> None:
    """Break: take what lies right below the newest versions for the only one that may have come late."""
    store = cleaned_below_3(form)
    fill(store, number, accepted("late"))
    assert find_decision(fresh_reader(store), "late") is None
    assert recovered(store).earlier("late", None) is None


@FORMS
def test_what_was_read_before_the_log_was_cleaned_is_not_compared_with_a_late_version(form: str) -> None:
    """Break: versions since then are all there, so they count. The one that touched what was read is not among them."""
    store = cleaned_below_3(form)
    fill(store, 2, accepted("late"))
    table = opened(store, settings={"state.format": form})
    receipt = committer_of(table).commit(
        Append((add_file("new", region="eu"),)), "s", reads=ReadSet(1, "region = 'eu'")
    )
    assert isinstance(receipt, Rejected)
    assert receipt.code is RejectCode.READ_CONFLICT


def test_a_late_version_is_not_announced_by_who_held_the_table_meanwhile() -> None:
    """Break: tell of every version after the one that was known. What it says of offset 1 would go before what is remembered."""
    refused = Decision("p", accepted=False, offset=1, code=RejectCode.PATH_IN_USE, reason="no")
    versions = [
        by_committer(accepted("p0", 0), first=0, next_offset=1),
        by_committer(refused, first=1, next_offset=2),
        adds("x"),
        adds("y"),
    ]
    store = MemoryStore()
    write_log(store, versions[:1])
    term, reached = OwnTerm(store.uri, "b"), ReachedVersion(store.uri)
    held = TableLog(fresh_reader(store), lambda given: table_options(given, {}), term, reached, FakeAmbient())
    write_log(store, versions)
    for number in (2, 4):
        write_state(store, number, replayed(versions[:number], TableMemory()))
    store.delete([version_key(number) for number in range(3)])
    late = by_committer(accepted("p", 1), first=1, next_offset=2, actions=adds("late"))
    store.put(version_key(2), encode_actions(late))
    earlier = held.follow(SOURCE)
    assert earlier is not None
    assert [commit.version for commit in earlier.commits] == [3, 4]


def test_version_0_of_another_table_decides_nothing() -> None:
    """Break: a log without a gap was never cleaned. Only the identity in its first version tells."""
    store = MemoryStore()
    table = new_table(store, interval=1, settings={"state.format": "json"})
    table.append([add_file("a")])
    table.append([add_file("b")])
    late = by_committer(accepted("create"), next_offset=7, term=Term(1, "late"))
    store.put(version_key(0), encode_actions([Protocol(), replace(metadata(), id="another"), *late]))
    memory = recovered(store)
    assert (memory.earlier("create", None), memory.position(SOURCE), memory.term) == (None, None, None)


@pytest.mark.parametrize("is_begun", [True, False])
def test_the_first_version_on_top_of_states_alone_is_believed(is_begun: bool) -> None:
    """Break: doubt the lowest version file wherever the states begin. Its proposals would be decided twice."""
    store = MemoryStore()
    write_log(store, [adds(f"f{number}") for number in range(1, 8)])
    for number in range(3, 8):
        write_foreign_state(store, number, keep_configuration=False)
    store.delete([version_key(number) for number in range(0 if not is_begun else 1, 8)])
    decided = by_committer(accepted("p"), accepted("w", writer=WRITER), next_offset=2)
    store.put(version_key(8), encode_actions([*decided, *adds("g")]))
    memory = recovered(store)
    assert memory.earlier("p", None) == Duplicate(8, "p")
    assert memory.earlier("again", WRITER) == Duplicate(8, "again")
    assert (memory.position(SOURCE), memory.term) == (2, TERM)


@FORMS
def test_a_direct_commit_is_known_by_its_id_after_the_history_was_truncated(form: str) -> None:
    """Break: doubt the lowest version file also above a checkpoint whose own version has none."""
    store, settings = MemoryStore(), {"state.format": form}
    table = new_table(store, interval=1, settings=settings)
    table.append([add_file("a")])
    table.append([add_file("b")])
    assert committer_of(table).commit(Append((add_file("c"),)), "x") == Committed(3, "x")
    opened(store, interval=1, settings=settings).truncate_history()
    again = committer_of(opened(store, interval=1, settings=settings)).commit(Append((add_file("d"),)), "x")
    assert again == Duplicate(3, "x")


def test_what_follows_a_version_that_only_a_state_tells_of_is_believed() -> None:
    """Break: `advance` takes the version that a process knew for cleaned, where it never had a file."""
    versions = [by_committer(accepted("a"), next_offset=1), adds("x"), by_committer(accepted("b"), next_offset=2)]
    store = MemoryStore()
    write_log(store, versions)
    write_foreign_state(store, 2)
    store.delete([version_key(2)])
    reader = fresh_reader(store)
    memory = recover(reader, reader.at_version(2), LIMITS)
    assert memory.through == 2
    write_foreign_state(store, 3)
    advance(memory, reader, reader.latest())
    assert (memory.earlier("b", None), memory.horizon_ms) == (Duplicate(3, "b"), 0)


def test_who_has_written_the_newest_state_itself_believes_what_follows_it() -> None:
    """Break: prefer only a memory that is newer than one's own. Then the lowest version left is doubted for nothing."""
    versions = [by_committer(accepted(f"p{n}"), next_offset=n + 1) for n in range(4)]
    store = MemoryStore()
    write_log(store, versions)
    write_state(store, 2, replayed(versions[:2], TableMemory(LIMITS)))
    reader = fresh_reader(store)
    memory = recover(reader, reader.at_version(2), LIMITS)
    write_foreign_state(store, 4, keep_configuration=False)
    store.delete([version_key(number) for number in range(3)])
    advance(memory, reader, reader.latest())
    assert memory == replayed(versions, TableMemory(LIMITS))


def test_a_direct_version_that_came_late_answers_for_no_id() -> None:
    store = cleaned_below_3("avro")
    store.put(version_key(2), encode_actions(directly(accepted("late"), actions=adds("late"))))
    receipt = committer_of(opened(store)).commit(Append((add_file("new", region="eu"),)), "late")
    assert receipt == Committed(5, "late")


def late_upon_states(form: str) -> MemoryStore:
    """Versions 3 and 4 stand on what was cleaned; version 2 and 1 came late, each upon its true predecessor."""
    store = cleaned_below_3(form)
    fill(store, 1)
    fill(store, 2)
    return store


@FORMS
@pytest.mark.parametrize("since", [0, 1])
@pytest.mark.parametrize("until", [2, 3, 4])
def test_changes_believe_no_late_version(form: str, since: int, until: int) -> None:
    """Break: replay the version files that are there. Readers of snapshots know nothing of the late ones."""
    table = opened(late_upon_states(form), settings={"state.format": form})
    assert "late" not in " ".join(table.snapshot().paths())
    with pytest.raises(VersionNotRetained):
        table.changes(since, until)


@FORMS
def test_changes_since_a_version_that_can_be_rebuilt_are_told_though_some_below_came_late(form: str) -> None:
    table = opened(late_upon_states(form), settings={"state.format": form})
    assert [path.split("/")[-1] for path in table.changes(2, 4).added.column("path").to_pylist()] == [
        "c.parquet",
        "d.parquet",
    ]


@FORMS
def test_what_is_left_of_a_cleaned_log_still_tells_its_changes(form: str) -> None:
    """Break: doubt each version that is the lowest, though the next one names it."""
    table = opened(cleaned_below_3(form), settings={"state.format": form})
    assert [path.split("/")[-1] for path in table.changes(2, 3).added.column("path").to_pylist()] == ["c.parquet"]


def test_history_of_a_log_that_was_never_cleaned_is_whole() -> None:
    """Nothing can have come late there. A version that names another one before it is damage, for `verify` to tell."""
    store = MemoryStore()
    table = new_table(store, "region", interval=2)
    for name in ("a", "b", "c"):
        table.append([add_file(name, region="eu")])
    fill(store, 1)
    assert [entry.version for entry in opened(store).history()] == [3, 2, 1, 0]


@FORMS
def test_history_leaves_late_versions_out(form: str) -> None:
    table = opened(late_upon_states(form), settings={"state.format": form})
    assert [(entry.version, entry.source) for entry in table.history() if entry.source == "version file"] == [
        (4, "version file"),
        (3, "version file"),
    ]
    assert [entry.version for entry in table.history(limit=3)][:2] == [4, 3]
