"""Writers that come late one after the other, into numbers that were cleaned: none takes another's file for its predecessor."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate_schemas.actions.actions import CommitInfo
from headgate_schemas.messages.operations import Append, Committed, Receipt
from headgate_table.coordination.commit_info import commit_record
from headgate_table.coordination.memory import MemoryLimits
from headgate_table.indextables.format.names import version_key
from headgate_table.indextables.format.version_file import decode_actions, encode_actions
from headgate_table.indextables.recovery.decisions import find_decision
from headgate_table.indextables.recovery.memory_reader import advance, recover
from headgate_table.store.interface import Store
from headgate_table.table import Table
from support.stores.faulty import Fault, FaultyStore, Step
from support.stores.memory import MemoryStore
from support.tables import SteadyAmbient, add_file, committer_of, new_table, opened

_PROCESSES = itertools.count()

FORMS = ("avro", "json")


def table_at(store: Store, form: str) -> Table:
    ambient = SteadyAmbient(f"late pair {next(_PROCESSES)}")
    return opened(store, interval=2, settings={"state.format": form}, ambient=ambient)


def commit(table: Table, name: str) -> Receipt:
    """The file has the proposal's name, so that it shows where it went."""
    return committer_of(table).commit(Append((add_file(name),)), name)


def written_late(store: MemoryStore, form: str) -> tuple[str, bytes]:
    """What a writer that reads the table now, and pauses, will write when it wakes up."""
    copy = MemoryStore()
    for info in store.list():
        copy.put(info.key, store.get(info.key))
    name = f"late-{next(_PROCESSES)}"
    receipt = commit(table_at(copy, form), name)
    assert isinstance(receipt, Committed)
    return version_key(receipt.version), copy.get(version_key(receipt.version))


def as_foreign(data: bytes) -> bytes:
    """Another program's version: it says nothing of who wrote it."""
    return encode_actions([action for action in decode_actions(data, "v") if not isinstance(action, CommitInfo)])


def tell_the_truth(store: MemoryStore, form: str, name: str, receipt: Receipt) -> None:
    assert isinstance(receipt, Committed)
    table = table_at(store, form)
    assert add_file(name).path in table.snapshot().paths()
    added = [getattr(action, "path", None) for action in table.reader.actions(receipt.version)]
    assert added == [add_file(name).path, None]
    # Whoever asks later is told the same.
    assert find_decision(table_at(store, form).reader, name) == receipt


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("until", [4, 5, 6, 9])
def test_the_second_late_writer_does_not_build_on_the_file_of_the_first(form: str, until: int) -> None:
    play(form, commits_before=1, late=1, until=until, foreign=False)


@pytest.mark.parametrize("form", FORMS)
def test_nor_on_that_of_another_program(form: str) -> None:
    play(form, commits_before=1, late=1, until=5, foreign=True)


@settings(max_examples=60, deadline=None)
@given(
    form=st.sampled_from(FORMS),
    commits_before=st.integers(0, 3),
    late=st.integers(1, 3),
    more=st.integers(0, 6),
    foreign=st.booleans(),
    same_process=st.booleans(),
)
def test_however_many_come_late_each_is_told_the_truth(
    form: str, commits_before: int, late: int, more: int, foreign: bool, same_process: bool
) -> None:
    play(form, commits_before, late, commits_before + late + 1 + more, foreign=foreign, same_process=same_process)


def play(form: str, commits_before: int, late: int, until: int, *, foreign: bool, same_process: bool = False) -> None:
    """So many writers pause one after the other, each on top of one more version; then all numbers are cleaned, and they wake
    up in order. The last of them is watched; with `same_process` it wrote its predecessor itself."""
    store = MemoryStore()
    table = new_table(store, interval=2, settings={"state.format": form})
    for number in range(commits_before):
        table.append([add_file(f"before-{number}")])

    def wake_up(step: Step) -> Fault | None:
        if step.operation == "create" and step.key == watched_key and pending:
            others = table_at(store, form)
            while others.version < until:
                others.append([add_file(f"other-{others.version + 1}")])
            others.truncate_history()
            for key, data in pending:
                if store.head(key) is None:
                    store.create(key, data)
            pending.clear()
        return None

    watched_key, pending = "", list[tuple[str, bytes]]()
    watched = table_at(FaultyStore(store, wake_up), form)
    for number in range(late):
        key, data = written_late(store, form)
        pending.append((key, as_foreign(data) if foreign else data))
        writer = watched if same_process else table_at(store, form)
        receipt = writer.append([add_file(f"between-{number}")])
        if foreign and not same_process:
            assert isinstance(receipt, Committed)
            true = store.get(version_key(receipt.version))
            store.delete([version_key(receipt.version)])
            store.create(version_key(receipt.version), as_foreign(true))
    watched_key = version_key(commits_before + late + 1)
    tell_the_truth(store, form, "watched", commit(watched, "watched"))
    assert not pending


def test_a_file_that_only_looks_otherwise_is_still_the_predecessor() -> None:
    """A copy of the same bytes, as after a restore from a backup: what it says counts, not its etag."""
    store = MemoryStore()
    table = new_table(store, interval=100)
    table.append([add_file("a")])

    def touched(step: Step) -> Fault | None:
        if step.operation == "create" and step.key == version_key(2):
            data = store.get(version_key(1))
            store.delete([version_key(1)])
            store.create(version_key(1), data)
        return None

    late = table_at(FaultyStore(store, touched), "avro")
    assert isinstance(late.append([add_file("b")]), Committed)
    assert opened(store).version == 2


def test_a_commit_asks_no_more_of_the_store_for_it() -> None:
    store = FaultyStore(MemoryStore())
    table = new_table(store, interval=100)
    table.append([add_file("a")])
    for number in range(3):
        before = {operation: store.count(operation) for operation in ("get", "head", "list_folder", "create")}
        table.append([add_file(f"b{number}")])
        after = {operation: store.count(operation) - count for operation, count in before.items()}
        assert after == {"get": 0, "head": 1, "list_folder": 1, "create": 1}


@pytest.mark.parametrize("late", [1, 2])
def test_a_follower_of_the_log_takes_no_answer_from_those_that_came_late(late: int) -> None:
    """Break: what follows the version that it knew counts, though the log was cleaned past it and filled again."""
    store = MemoryStore()
    new_table(store, interval=2, settings={"state.format": "json"})
    reader, limits = table_at(store, "json").reader, MemoryLimits()
    pending = [written_late(store, "json")]
    table_at(store, "json").append([add_file("between-0")])
    memory = recover(reader, reader.latest(), limits)
    pending.append(written_late(store, "json"))
    table_at(store, "json").append([add_file("between-1")])
    others = table_at(store, "json")
    while others.version < 4:
        others.append([add_file(f"other-{others.version + 1}")])
    others.truncate_history()
    for key, data in pending[-late:]:
        assert store.head(key) is None
        store.create(key, data)
    advance(memory, reader, reader.latest())
    ids = [
        decision.id
        for key, data in pending
        for record in [commit_record(decode_actions(data, key))]
        if record is not None
        for decision in record.decisions
    ]
    assert len(ids) == 2
    assert [memory.receipt_of(identity) for identity in ids] == [None, None]
