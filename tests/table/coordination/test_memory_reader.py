"""Recovering a table's memory: from any state that carries it, from versions alone, and after others dropped it."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate_schemas.actions.actions import Action
from headgate_schemas.messages.operations import Duplicate, RejectCode, Rejected, Writer
from headgate_table.coordination.commit_info import Term
from headgate_table.coordination.memory import Arrival, MemoryLimits, TableMemory
from headgate_table.indextables.format.names import state_key, version_key
from headgate_table.indextables.format.state_manifest import decode_state, encode_state
from headgate_table.indextables.format.version_file import encode_actions
from headgate_table.indextables.log.reader import LogReader
from headgate_table.indextables.recovery.memory_reader import advance, recover
from headgate_table.store.interface import Store
from support.ambient import FakeAmbient
from support.logs.decided_logs import (
    OTHER,
    SOURCE,
    TERM,
    accepted,
    adds,
    by_committer,
    decided_logs,
    directly,
    fresh_reader,
    metadata,
    rejected,
    removes,
    replayed,
    write_foreign_state,
    write_log,
    write_state,
)
from support.stores.faulty import FaultyStore
from support.stores.memory import Clockless, MemoryStore
from support.tables import START_MS, add_file

LIMITS = MemoryLimits()
TIGHT = MemoryLimits(window_ms=1_000, max_ids=9, max_apps=2)


def recovered(store: Store, limits: MemoryLimits = LIMITS) -> TableMemory:
    reader = fresh_reader(store)
    return recover(reader, reader.latest(), limits)


def logged(*versions: Sequence[Action]) -> MemoryStore:
    store = MemoryStore()
    write_log(store, versions)
    return store


@given(decided_logs(), st.data())
@settings(max_examples=40)
def test_a_state_and_the_versions_after_it_tell_what_all_versions_tell(
    versions: list[list[Action]], data: st.DataObject
) -> None:
    """Break: anything that `format_memory` leaves out or `parse_memory` orders otherwise."""
    store = logged(*versions)
    whole = recovered(store, TIGHT)
    at = data.draw(st.integers(0, len(versions)), label="state at")
    early = logged(*versions[:at])
    write_state(store, at, recovered(early, TIGHT))
    assert recovered(store, TIGHT) == whole
    store.delete([version_key(number) for number in range(data.draw(st.integers(0, at + 1), label="cleaned"))])
    assert recovered(store, TIGHT) == whole


@given(decided_logs(), st.data())
@settings(max_examples=40)
def test_following_a_log_comes_to_what_recovering_it_does(versions: list[list[Action]], data: st.DataObject) -> None:
    """Break: `advance` applies a version twice or leaves one out."""
    at = data.draw(st.integers(0, len(versions)), label="first read at")
    store = logged(*versions[:at])
    reader = fresh_reader(store)
    log = reader.latest()
    memory = recover(reader, log, TIGHT)
    write_log(store, versions[at:], first=at + 1)
    advance(memory, reader, reader.advance(log))
    assert memory == recovered(store, TIGHT)


def test_versions_alone_tell_what_applying_them_tells() -> None:
    versions = [
        by_committer(accepted("a"), rejected("b"), next_offset=2, actions=adds("x")),
        directly(accepted("c"), actions=removes("x")),
    ]
    assert recovered(logged(*versions)) == replayed(versions, TableMemory(LIMITS))


def test_a_restart_reads_only_the_versions_after_the_state() -> None:
    """Break: `recover` starts from nothing although the state tells."""
    versions = [by_committer(accepted(f"p{number}"), next_offset=number + 1) for number in range(30)]
    store = logged(*versions)
    write_state(store, 28, recovered(logged(*versions[:28])))
    watched = FaultyStore(store)
    memory = recovered(watched)
    asked = {step.key for step in watched.steps if step.operation.startswith("get")}
    assert {key for key in asked if key.endswith(".json")} == {version_key(29), version_key(30)}
    assert memory.earlier("p3", None) == Duplicate(4, "p3")


def test_a_rejection_is_remembered_with_its_reason() -> None:
    store = logged(by_committer(rejected("b", "x is live"), next_offset=1))
    assert recovered(store).earlier("b", None) == Rejected(RejectCode.PATH_IN_USE, "x is live", "b")


def test_a_foreign_state_over_the_memory_costs_nothing_while_versions_are_left() -> None:
    """Break: only the newest state is looked at, and what the versions before the field's state said is lost."""
    versions = [by_committer(accepted(f"p{number}"), next_offset=number + 1) for number in range(6)]
    store = logged(*versions)
    write_state(store, 3, recovered(logged(*versions[:3])))
    write_foreign_state(store, 5)
    store.delete([version_key(number) for number in range(3)])
    memory = recovered(store)
    assert memory == replayed(versions, TableMemory(LIMITS))
    assert memory.horizon_ms == 0


def test_a_foreign_state_that_dropped_everything_is_looked_past() -> None:
    """Break: the search for the field ends at a state without the copy in its configuration."""
    versions = [by_committer(accepted(f"p{number}"), next_offset=number + 1) for number in range(6)]
    store = logged(*versions)
    write_state(store, 3, recovered(logged(*versions[:3])))
    write_foreign_state(store, 5, keep_configuration=False)
    store.delete([version_key(number) for number in range(3)])
    assert recovered(store) == replayed(versions, TableMemory(LIMITS))


def test_what_survives_in_the_configuration_is_the_floor_when_all_else_is_gone() -> None:
    """Break: `recover` doesn't look at the configuration: the table's proposals would be decided twice."""
    versions = [
        by_committer(accepted("a", writer=Writer("nightly", 17)), next_offset=40, term=Term(3, "c")),
        adds("x"),
    ]
    store = logged(*versions)
    write_state(store, 1, recovered(logged(*versions[:1])))
    _drop_memory(store, 1)
    store.delete([version_key(0), version_key(1)])
    memory = recovered(store)
    assert (memory.term, memory.source, memory.position(SOURCE)) == (Term(3, "c"), SOURCE, 40)
    assert memory.earlier("again", Writer("nightly", 17)) == Duplicate(1, "again")


def test_the_copy_in_the_configuration_outlives_a_change_of_metadata() -> None:
    """Break: only the newest metadata is looked at, and that of a version file has no copy."""
    versions: list[list[Action]] = [by_committer(accepted("a"), next_offset=40), [metadata({"owner": "ada"})]]
    store = logged(*versions)
    write_state(store, 1, recovered(logged(*versions[:1])))
    _drop_memory(store, 1)
    store.delete([version_key(0), version_key(1)])
    assert recovered(store).position(SOURCE) == 40


def test_versions_that_only_states_tell_of_lost_nothing() -> None:
    """A stranger that numbers by states alone decides nothing for others."""
    versions = [by_committer(accepted("a"), next_offset=1), adds("x"), by_committer(accepted("b"), next_offset=2)]
    store = logged(*versions)
    write_state(store, 1, recovered(logged(*versions[:1])))
    write_foreign_state(store, 2)
    store.delete([version_key(2)])
    memory = recovered(store)
    assert memory.horizon_ms == 0
    assert memory.earlier("b", None) == Duplicate(3, "b")


def test_a_state_in_place_of_a_cleaned_version_does_not_tell_what_that_decided() -> None:
    """Break: a version counts as known because a state that forgot it has its number."""
    versions = [by_committer(accepted(f"p{n}"), next_offset=n + 1, appended_ms=START_MS + n) for n in range(3)]
    store = logged(*versions)
    for number in range(3):
        write_foreign_state(store, number)
    store.delete([version_key(number) for number in range(3)])
    assert recovered(store).horizon_ms == START_MS + 2


def test_a_lost_window_puts_the_horizon_at_the_newest_commit() -> None:
    """Break: a recovered memory without its ids claims to know them all."""
    versions = [
        by_committer(accepted("a"), next_offset=1, appended_ms=START_MS + 5),
        directly(accepted("b"), time_ms=START_MS + 900, actions=adds("x")),
    ]
    store = logged(*versions)
    write_state(store, 1, recovered(logged(*versions[:1])))
    _drop_memory(store, 1)
    store.delete([version_key(0), version_key(1)])
    assert recovered(store).horizon_ms == START_MS + 900


def test_of_a_window_lost_in_part_only_the_lost_part_expires() -> None:
    """Offsets only rise, so nothing that an earlier version settled came later than what a later version settled."""
    versions = [by_committer(accepted(f"p{n}"), next_offset=n + 1, appended_ms=START_MS + n) for n in range(9)]
    store = logged(*versions)
    write_state(store, 4, TableMemory())
    _drop_memory(store, 4)
    store.delete([version_key(number) for number in range(4)])
    memory = recovered(store)
    assert memory.horizon_ms == START_MS + 4
    assert memory.earlier("p4", None) == Duplicate(5, "p4")


@pytest.mark.parametrize("tells_time", [True, False])
def test_a_lost_window_told_by_a_clock_that_is_a_month_ahead_ends_where_the_store_says(tells_time: bool) -> None:
    """Break: a horizon in the future. Whatever is proposed expires for a month, those of writers with a counter, too."""
    month_ms = 30 * 24 * 3_600_000
    versions = [
        by_committer(accepted("a"), next_offset=1, appended_ms=START_MS + 5),
        directly(accepted("b"), time_ms=START_MS + month_ms, actions=adds("x")),
    ]
    ambient = FakeAmbient()
    store = (MemoryStore if tells_time else Clockless)(ambient)
    write_log(store, versions)
    write_state(store, 1, recovered(logged(*versions[:1])))
    _drop_memory(store, 1)
    store.delete([version_key(0), version_key(1)])
    ambient.advance(seconds=60)
    memory = recovered(store)
    assert ambient.now_ms() - 60_000 <= memory.horizon_ms <= ambient.now_ms()
    ambient.advance(seconds=60)
    fresh = Arrival(ambient.now_ms(), ambient.now_ms(), ambient.now_ms(), 30_000)
    assert memory.may_have_decided(fresh, None) is None
    assert memory.may_have_decided(fresh, Writer("stream", 7)) is None


def _cleaned_and_filled_again() -> tuple[MemoryStore, TableMemory, LogReader]:
    """A log of which versions 0 to 2 were cleaned, and then a late 2 was written; and what was known at version 1."""
    versions = [by_committer(accepted(f"p{n}"), next_offset=n, appended_ms=START_MS + n) for n in (1, 2, 3, 4)]
    store = logged(*versions)
    reader = fresh_reader(store)
    known = recover(reader, reader.at_version(1), LIMITS)
    for number in (2, 4):
        write_state(store, number, recovered(logged(*versions[:number])))
    store.delete([version_key(number) for number in range(3)])
    late = by_committer(accepted("late"), next_offset=9, appended_ms=START_MS + 9, term=Term(9, "late"))
    store.put(version_key(2), encode_actions([*removes("x"), *late]))
    return store, known, fresh_reader(store)


def test_whoever_knew_an_earlier_version_does_not_believe_what_came_late() -> None:
    """Break: versions on top of what a process knows count although the log was cleaned past it."""
    _, memory, reader = _cleaned_and_filled_again()
    advance(memory, reader, reader.latest())
    assert (memory.earlier("late", None), memory.position(SOURCE), memory.term) == (None, 4, TERM)
    assert memory.earlier("p2", None) == Duplicate(2, "p2")


def test_where_no_state_remembers_the_lowest_version_left_decides_nothing() -> None:
    """Break: a late version is told from others by nothing, so it counts. What it did to files is known all the same."""
    store, memory, _ = _cleaned_and_filled_again()
    for number in (2, 4):
        _drop_memory(store, number)
    reader = fresh_reader(store)
    advance(memory, reader, reader.latest())
    for told in (memory, recovered(store)):
        assert told.earlier("late", None) is None
        assert (told.position(SOURCE), told.horizon_ms) == (4, START_MS + 3)
        assert told.earlier("p4", None) == Duplicate(4, "p4")
        assert told.was_removed("x.parquet")


def test_a_log_that_begins_where_a_state_remembers_hides_nothing() -> None:
    """Break: the lowest version left is doubted although the state below it says all that was decided before."""
    versions = [by_committer(accepted(f"p{n}"), next_offset=n + 1) for n in range(4)]
    store = logged(*versions)
    write_state(store, 2, recovered(logged(*versions[:2])))
    reader = fresh_reader(store)
    followed = recover(reader, reader.at_version(2), LIMITS)
    store.delete([version_key(number) for number in range(3)])
    advance(followed, reader, reader.latest())
    for memory in (followed, recovered(store)):
        assert memory == replayed(versions, TableMemory(LIMITS))


def test_a_table_where_no_committer_worked_has_no_horizon() -> None:
    """Break: every table whose first versions were cleaned refuses what was sent before its newest commit."""
    store = logged(directly(accepted("a"), actions=adds("x")), directly(accepted("b"), actions=adds("y")))
    write_state(store, 1, TableMemory())
    _drop_memory(store, 1)
    store.delete([version_key(0), version_key(1)])
    assert recovered(store).horizon_ms == 0


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"format":1}', '{"format":99,"through":1}', '{"format":1,"through":"x"}']
)
def test_a_field_that_cannot_be_read_counts_as_absent(text: str) -> None:
    versions = [by_committer(accepted("a"), next_offset=1), by_committer(accepted("b"), next_offset=2)]
    store = logged(*versions)
    write_state(store, 2, recovered(store))
    state = decode_state(store.get(state_key(2)), "state")
    store.put(state_key(2), encode_state(replace(state, coordinator=text), bytes(16)))
    assert recovered(store) == replayed(versions, TableMemory(LIMITS))


def test_a_copy_in_the_configuration_that_cannot_be_read_is_passed_over() -> None:
    store = logged(by_committer(accepted("a"), next_offset=1))
    write_state(store, 1, recovered(store))
    state = decode_state(store.get(state_key(1)), "state")
    assert state.metadata is not None
    broken = replace(state, metadata=replace(state.metadata, coordinator="{broken"))
    store.put(state_key(1), encode_state(broken, bytes(16)))
    assert recovered(store).position(SOURCE) == 1


def test_an_old_copy_that_a_stranger_brought_back_lowers_nothing() -> None:
    """Break: the newest copy wins instead of the highest."""
    first = by_committer(accepted("a"), next_offset=1)
    store = logged(first, by_committer(accepted("b"), next_offset=50, term=Term(2, "c")))
    old = recovered(logged(first))
    write_state(store, 2, old)
    memory = recovered(store)
    assert (memory.position(SOURCE), memory.term) == (50, Term(2, "c"))


def test_an_old_copy_does_not_undo_a_rebinding() -> None:
    """Break: positions of a source count after the table was bound to another, or anew: its proposals would be skipped."""
    first = by_committer(accepted("a"), next_offset=90)
    again = by_committer(next_offset=10, rebound=True, term=Term(2, "c"))
    store = logged(first, again)
    write_state(store, 2, recovered(logged(first)))
    assert recovered(store).position(SOURCE) == 10


def test_a_rebinding_forgets_the_positions_of_other_sources() -> None:
    store = logged(
        by_committer(accepted("a"), next_offset=90),
        by_committer(next_offset=3, rebound=True, term=Term(2, "c"), source=OTHER),
        by_committer(accepted("late"), next_offset=91, term=TERM),
    )
    memory = recovered(store)
    assert (memory.source, memory.positions) == (OTHER, {OTHER: 3})
    assert memory.earlier("late", None) == Duplicate(3, "late")


def test_a_live_memory_that_missed_cleaned_versions_goes_on_from_the_state() -> None:
    versions = [by_committer(accepted(f"p{number}"), next_offset=number + 1) for number in range(8)]
    store = logged(*versions[:2])
    reader = fresh_reader(store)
    memory = recover(reader, reader.latest(), LIMITS)
    write_log(store, versions[2:], first=3)
    write_state(store, 7, recovered(logged(*versions[:7])))
    store.delete([version_key(number) for number in range(6)])
    advance(memory, reader, reader.latest())
    assert memory == replayed(versions, TableMemory(LIMITS))


def test_a_live_memory_knows_what_was_removed_by_others() -> None:
    store = logged(adds("x"))
    reader = fresh_reader(store)
    log = reader.latest()
    memory = recover(reader, log, LIMITS)
    write_log(store, [removes("x")], first=2)
    advance(memory, reader, reader.advance(log))
    assert memory.was_removed(add_file("x").path)


def test_a_damaged_old_version_counts_as_lost() -> None:
    """Break: one damaged file that no reader needs stops every commit."""
    store = logged(by_committer(accepted("a"), next_offset=1), by_committer(accepted("b"), next_offset=2))
    write_state(store, 2, TableMemory())
    _drop_memory(store, 2)
    store.put(version_key(1), b"{broken")
    memory = recovered(store)
    assert memory.horizon_ms > 0
    assert memory.earlier("b", None) == Duplicate(2, "b")


def _drop_memory(store: MemoryStore, version: int) -> None:
    """As a foreign commit does: its state has the configuration, but not the field."""
    state = decode_state(store.get(state_key(version)), "state")
    store.put(state_key(version), encode_state(replace(state, coordinator=None), bytes(16)))
