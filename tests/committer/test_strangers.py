"""What others write to a table or to the bus, in whatever units and sizes, stops no committer."""

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import replace
from typing import Any

import pytest

from headgate_bus.interface import MAX_MESSAGE_BYTES, Message, Record, Topic
from headgate_bus.message_bounds import check_messages
from headgate_committer.proposals.answers import letter_message
from headgate_committer.proposals.intake import UndecidableRecord, take_in
from headgate_schemas.actions.actions import CommitInfo
from headgate_schemas.columns.table_schema import schema_string_of
from headgate_schemas.messages.events import CommitEvent, ReceiptEvent
from headgate_schemas.messages.operations import Append, Committed, Create, Delete, Rejected
from headgate_schemas.messages.sources import Source
from headgate_table.indextables.format.names import state_key, version_key
from headgate_table.indextables.format.version_file import encode_actions
from headgate_table.indextables.log.reader import LogReader
from headgate_table.indextables.write.create import create_table
from support.ambient import FakeAmbient
from support.committing.rig import TABLE, Rig
from support.stores.faulty import Fault, FaultyStore, Step, StepKill, on
from support.tables import COLUMNS, add_file, fresh_resources, new_table

MICROSECONDS = 1_780_000_000_000_000


@pytest.mark.parametrize(
    "said",
    [
        {"timestamp": MICROSECONDS, "operation": "WRITE"},
        {"timestamp": 2**64, "operation": "x" * MAX_MESSAGE_BYTES},
        {"timestamp": 1, "operation": "WRITE", "committer": {"id": "x" * MAX_MESSAGE_BYTES, "epoch": 0}},
    ],
    ids=["microseconds", "beyond all bounds", "a long name"],
)
def test_a_version_of_a_stranger_is_announced_whatever_it_says_of_itself(said: dict[str, object]) -> None:
    rig = Rig()
    committer = rig.committer()
    rig.settle(committer)
    rig.stores[TABLE].put(version_key(1), encode_actions([add_file("theirs"), CommitInfo(said)]))
    first = rig.append("a")
    rig.settle(committer)
    second = rig.append("b")
    rig.settle(committer)
    events = rig.events()
    assert {event.proposal: event.to_receipt() for event in events if hasattr(event, "to_receipt")} | {
        first: Committed(2, first),
        second: Committed(3, second),
    } == {event.proposal: event.to_receipt() for event in events if hasattr(event, "to_receipt")}
    assert [event.version for event in events if not hasattr(event, "to_receipt")] == [0, 1, 2, 3]


HALF = "\ud800"
"""Of a pair of surrogates: JSON can say it, and no text can hold it."""


def _added(path: str, size: int) -> dict[str, object]:
    return {"add": {"path": path, "partitionValues": {}, "size": size, "modificationTime": 1, "dataChange": True}}


def _removed(path: str, size: int) -> dict[str, object]:
    return {"remove": {"path": path, "deletionTimestamp": 1, "dataChange": True, "size": size}}


def _said(**said: object) -> dict[str, object]:
    return {"commitInfo": {"timestamp": 1, "operation": "WRITE", **said}}


@pytest.mark.parametrize(
    "lines",
    [
        [_added("t", -5)],
        [_added("t", 2**63 - 1), _added("u", 2**63 - 1)],
        [_removed("t", 2**63 - 1), _removed("u", 2**63 - 1)],
        [_removed("t", -5)],
        [_added("t", 1), _said(operation=HALF)],
        [_added("t", 1), _said(committer={"id": HALF, "epoch": 0})],
        [_added("t", 1), _said(decisions=[{"id": HALF, "accepted": True}])],
        [_added("t", 1), _said(decisions=[{"id": "\x01" * 400_000, "accepted": True}])],
    ],
    ids=[
        "a negative size",
        "files too large together",
        "removed files too large together",
        "a negative size removed",
        "an operation that is no Unicode",
        "a committer that is no Unicode",
        "a proposal that is no Unicode",
        "a proposal of control characters",
    ],
)
def test_a_version_of_a_stranger_is_announced_whatever_its_sizes_and_texts(
    lines: Sequence[Mapping[str, object]],
) -> None:
    """Break: hand on to the event what the version says, as it says it."""
    rig = Rig()
    committer = rig.committer()
    rig.settle(committer)
    rig.stores[TABLE].put(version_key(1), "\n".join(map(json.dumps, lines)).encode())
    proposal = rig.append("a")
    rig.settle(committer)
    events = rig.events()
    assert [event.version for event in events if isinstance(event, CommitEvent)] == [0, 1, 2]
    told = {event.proposal: event.to_receipt() for event in events if isinstance(event, ReceiptEvent)}
    assert told[proposal] == Committed(2, proposal)


def test_what_a_stranger_says_of_an_offset_of_ours_counts_for_the_proposal_it_names_alone() -> None:
    """Break: take the word of any version for whatever proposal lies at the offset that it names."""
    rig = Rig()
    committer = rig.committer()
    rig.settle(committer)
    settled = rig.record(0).settled
    assert settled is not None
    offset = settled.next_offset
    said = _said(
        source={**settled.to_json(), "first": offset, "next": offset + 1},
        decisions=[{"id": "é", "accepted": True, "offset": offset}],
    )
    rig.stores[TABLE].put(version_key(1), "\n".join(map(json.dumps, [_added("t", 1), said])).encode())
    mine, next_one = rig.append("a"), rig.append("b")
    rig.settle(committer)
    receipts = rig.receipts()
    assert isinstance(receipts[mine], Rejected)
    assert receipts[next_one] == Committed(2, next_one)


def test_files_of_any_size_are_committed_and_announced() -> None:
    """Break: announce the sum of their sizes, which no event can hold."""
    rig = Rig(interval=1)
    proposal = rig.propose(Append(tuple(replace(add_file(name), size=2**62) for name in "ab")))
    rig.settle(rig.committer())
    events = rig.events()
    assert [event.added_bytes for event in events if isinstance(event, CommitEvent)] == [0, 2**63 - 1]
    told = {event.proposal: event.to_receipt() for event in events if isinstance(event, ReceiptEvent)}
    assert told[proposal] == Committed(1, proposal)


@pytest.mark.parametrize(
    ("key", "body", "headers"),
    [
        ("k" * 500_000, b"\xff" * 540_000, {}),
        ("k" * 1_040_000, b"x", {}),
        ("k", b"\xff" * 700_000, {f"\x01{number:499d}".replace(" ", "\x01"): "\x01" * 500 for number in range(100)}),
        ("€" * 340_000, b"", {"kind": "€" * 100}),
    ],
    ids=["a long key and body", "a long key", "long headers of control characters", "a key beyond ASCII"],
)
def test_whatever_the_bus_took_fits_into_a_dead_letter(key: str, body: bytes, headers: dict[str, str]) -> None:
    letter = take_in(Record(0, 0, 1, key, body, headers))
    assert isinstance(letter, UndecidableRecord)
    message = letter_message(letter, Source("c" * 36, "t" * 36, 0), "committer", 1)
    check_messages(Topic.DEAD_LETTERS, [message])


def test_a_message_that_is_nearly_all_key_is_set_aside_and_the_next_proposal_commits() -> None:
    rig = Rig()
    rig.bus.append(Topic.PROPOSALS, [Message("k" * 500_000, {}, b"\xff" * 540_000)])
    good = rig.append("a")
    rig.settle(rig.committer())
    assert rig.receipts()[good] == Committed(1, good)
    assert len(rig.dead_letters()) == 1


def test_a_foreign_state_over_our_version_stops_the_table_for_as_long_as_it_is_there() -> None:
    theirs = Rig(interval=2)
    theirs.ambient = FakeAmbient("theirs")  # manifests of their own names
    other = theirs.committer()
    theirs.settle(other)
    for name in ("x", "y"):
        theirs.append(name)
        theirs.settle(other)
    state = theirs.stores[TABLE].get(state_key(2))
    rig = Rig(interval=2)
    committer = rig.committer()
    rig.settle(committer)
    rig.stores[TABLE].put(state_key(2), state)
    for info in list(theirs.stores[TABLE].list("_transaction_log/manifests/")):
        rig.stores[TABLE].put(info.key, theirs.stores[TABLE].get(info.key))
    for name in ("a", "b", "c", "d"):
        rig.append(name)
        for _ in range(5):
            committer.step(0.0)
            rig.ambient.advance(seconds=20)
    assert rig.stores[TABLE].head(version_key(3)) is None
    rig.stores[TABLE].delete([state_key(2)])
    for _ in range(5):
        committer.step(0.0)
        rig.ambient.advance(seconds=20)
    assert rig.table().snapshot().num_files == 4


def manifests(rig: Rig) -> list[str]:
    return [info.key for info in rig.stores[TABLE].list("_transaction_log/manifests/")]


def test_a_history_that_others_extend_compact_and_truncate_is_followed() -> None:
    rig = Rig(interval=2)
    committer = rig.committer(caches=False)
    rig.append("a")
    rig.settle(committer)
    rig.append("b")
    rig.settle(committer)
    known = manifests(rig)
    rig.ambient.time_ms -= 3_600_000  # so long ago that nobody builds on the state before the compaction any more
    theirs = rig.table()
    for name in ("c", "d"):
        theirs.append([add_file(name)])
    theirs.compact(full=True)
    theirs.append([add_file("e")])
    theirs.checkpoint()
    rig.ambient.time_ms += 3_600_000
    rig.table().truncate_history()
    assert known
    assert not set(known) & set(manifests(rig))
    kept = [number for number in range(7) if rig.stores[TABLE].head(version_key(number)) is not None]
    asked = rig.propose(Delete((add_file("a").path,)))
    rig.events()
    rig.settle(committer)
    events = rig.events()
    assert [event.to_receipt() for event in events if isinstance(event, ReceiptEvent)] == [Committed(7, asked)]
    assert [event.version for event in events if isinstance(event, CommitEvent)] == [*kept, 7]
    assert rig.table().snapshot().paths() == [add_file(name).path for name in "bcde"]


def test_a_lost_manifest_stops_the_table_until_it_is_back_and_every_commit_is_announced_once() -> None:
    rig = Rig(interval=2)
    doomed = rig.committer(
        stores={TABLE: FaultyStore(rig.stores[TABLE], on("create", Fault.KILL_AFTER, key=version_key(3)))}
    )
    for name in ("a", "b"):
        rig.append(name)
        rig.settle(doomed)
    written = rig.append("c")
    with pytest.raises(StepKill):
        rig.settle(doomed)
    rig.depose(doomed)
    rig.events()
    asked = rig.propose(Delete((add_file("a").path,)))
    store = rig.stores[TABLE]
    [lost] = manifests(rig)
    data = store.get(lost)
    store.delete([lost])
    committer = rig.committer(caches=False)
    for _ in range(5):
        committer.step(0.0)
        rig.ambient.advance(seconds=20)
    assert rig.events() == []
    store.put(lost, data)
    for _ in range(3):
        committer.step(0.0)
        rig.ambient.advance(seconds=20)
    events = rig.events()
    receipts = [event.to_receipt() for event in events if isinstance(event, ReceiptEvent)]
    assert receipts == [Committed(3, written), Committed(4, asked)]
    assert [event.version for event in events if isinstance(event, CommitEvent)] == [3, 4]


def test_a_foreign_state_is_not_believed_because_our_own_manifests_are_gone() -> None:
    theirs = Rig(interval=4)
    theirs.ambient = FakeAmbient("theirs")  # manifests of their own names
    other = theirs.committer()
    theirs.settle(other)
    for name in ("w", "x", "y", "z"):
        theirs.append(name)
        theirs.settle(other)
    rig = Rig(interval=2)
    committer = rig.committer(caches=False)
    rig.settle(committer)
    for name in ("a", "b", "c"):
        rig.append(name)
        rig.settle(committer)
    store = rig.stores[TABLE]
    ours = {key: store.get(key) for key in manifests(rig)}
    store.put(state_key(4), theirs.stores[TABLE].get(state_key(4)))
    for key in manifests(theirs):
        store.put(key, theirs.stores[TABLE].get(key))
    store.delete(list(ours))
    for name in ("d", "e", "f"):
        rig.append(name)
        for _ in range(5):
            committer.step(0.0)
            rig.ambient.advance(seconds=20)
    assert store.head(version_key(4)) is not None
    assert store.head(version_key(5)) is None
    for key, data in ours.items():
        store.put(key, data)
    store.delete([state_key(4)])
    for _ in range(10):
        committer.step(0.0)
        rig.ambient.advance(seconds=20)
    assert rig.table().snapshot().paths() == [add_file(name).path for name in "abcdef"]


def test_a_table_that_took_the_place_of_ours_is_taken_up_though_only_its_end_is_left() -> None:
    rig = Rig(interval=2)
    committer = rig.committer(caches=False)
    rig.settle(committer)
    for name in ("a", "b", "c", "d", "e"):
        rig.append(name)
        rig.settle(committer)
    store = rig.stores[TABLE]
    store.delete([info.key for info in list(store.list())])
    other = new_table(store, interval=5, ambient=FakeAmbient("other", rig.ambient.time_ms))
    for name in ("v", "w", "x", "y", "z"):
        other.append([add_file(name)])
    other.append([add_file("last")])
    store.delete([version_key(number) for number in range(6)])
    asked = rig.append("f")
    rig.settle(committer)
    assert rig.receipts()[asked] == Committed(7, asked)
    assert rig.table().snapshot().paths() == sorted(add_file(name).path for name in [*"fvwxyz", "last"])


class _AnsweredLater(Executor):
    """Does everything at once, and tells of it when it is asked to."""

    def __init__(self) -> None:
        self._untold: list[tuple[Future[Any], Any]] = []

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> "Future[Any]":
        future: Future[Any] = Future()
        self._untold.append((future, fn(*args, **kwargs)))
        return future

    def tell(self) -> None:
        untold, self._untold = self._untold, []
        for future, result in untold:
            future.set_result(result)


def test_a_state_of_a_table_that_was_replaced_is_not_put_under_the_new_one() -> None:
    rig = Rig(interval=2)
    states = _AnsweredLater()

    def plan(step: Step) -> None:
        if step.operation == "create" and step.key == version_key(3):
            states.tell()

    committer = rig.committer(stores={TABLE: FaultyStore(rig.stores[TABLE], plan)}, background=states)
    rig.settle(committer)
    for name in ("old-1", "old-2"):
        rig.append(name)
        rig.settle(committer)
    store = rig.stores[TABLE]
    store.delete([info.key for info in list(store.list(""))])
    create_table(LogReader(store, fresh_resources()), rig.ambient, Create(schema_string_of(COLUMNS)))
    rig.settings["checkpoint.interval"] = "100"
    table = rig.table()
    for number in range(4):
        table.append([add_file(f"new-{number}")])
    removed = rig.propose(Delete(("new-0.parquet",)))
    for _ in range(10):
        committer.step(0.0)
        rig.ambient.advance(seconds=20)
    assert rig.receipts()[removed] == Committed(5, removed)
