"""Histories that would break a table of manifests without the rules of its records: zombies, strangers, equal bytes, losses."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from headgate_bus.interface import Topic
from headgate_committer.committer import DEFAULT_GROUP, Committer
from headgate_committer.errors import Overtaken
from headgate_committer.limits import CommitterLimits
from headgate_committer.rebind.rebind import rebind
from headgate_schemas.messages.events import CommitEvent, ReceiptEvent
from headgate_schemas.messages.operations import Committed, Duplicate, RejectCode, Rejected, Writer
from headgate_table.errors import StoreError
from headgate_table.indextables.log.reader import LogReader
from headgate_table.milvus.committed.records import RECORDS, ManifestId, VersionRecord, digest_of, encode_record
from headgate_table.milvus.format.names import manifest_key
from headgate_table.settings.options import table_options
from headgate_table.store.interface import ObjectInfo
from support.committing.rig import TABLE, Rig
from support.committing.transactions import (
    adding,
    deleting,
    digest_at,
    fail,
    foreign_commit,
    manifest_of,
    merge,
    names_in,
    newest,
    next_bytes,
    record_of,
    recorded,
    stat,
)
from support.stores.faulty import Fault, FaultyStore, Step, on
from support.tables import fresh_resources, new_table


def _rig(*names: str) -> Rig:
    """A table with a version for each of these files, by a committer that has left."""
    rig = Rig(create=False)
    committer = rig.committer("creator")
    for name in names:
        rig.propose(merge(adding(name)))
        rig.settle(committer)
    committer.close()
    rig.events()
    return rig


def _files(rig: Rig) -> list[str]:
    return names_in(manifest_of(rig.stores[TABLE]))


def _at(key: str, act: Callable[[], object]) -> Callable[[Step], Fault | None]:
    """Do something just before the first create of a key that contains this text."""
    is_done = False

    def plan(step: Step) -> Fault | None:
        nonlocal is_done
        if step.operation == "create" and key in step.key and not is_done:
            is_done = True
            act()
        return None

    return plan


def _taken(committer: Committer, rig: Rig, offset: int) -> Callable[[], None]:
    """The committer's lane goes to work on what lies on the bus from there, although it is deposed."""
    lane = next(iter(committer._lanes.values()))

    def work() -> None:
        lane.take(rig.bus.reader(Topic.PROPOSALS, {0: offset}).read(0.0))
        lane.work()

    return work


# ---- strangers


def test_foreign_versions_in_between_keep_their_changes_and_cost_nobody_a_proposal() -> None:
    rig = _rig("a")
    store = rig.stores[TABLE]
    committer = rig.committer()
    ids = []
    for number in range(5):
        foreign_commit(store, adding(f"theirs-{number}"))
        ids.append(rig.propose(merge(adding(f"ours-{number}"))))
        rig.settle(committer)
    receipts = rig.receipts()
    assert [receipts[identity] for identity in ids] == [
        Committed(3 + 2 * number, identity) for number, identity in enumerate(ids)
    ]
    assert _files(rig) == ["a", *(f"{who}-{number}" for number in range(5) for who in ("theirs", "ours"))]


def test_a_foreign_version_that_takes_our_number_is_met_and_ours_comes_after_it() -> None:
    rig = _rig("a")
    inner = rig.stores[TABLE]
    store = FaultyStore(inner, _at("manifest-2.", lambda: foreign_commit(inner, adding("theirs"))))
    identity = rig.propose(merge(adding("ours")))
    rig.settle(rig.committer("second", stores={TABLE: store}))
    assert rig.receipts()[identity] == Committed(3, identity)
    assert _files(rig) == ["a", "theirs", "ours"]


def test_a_foreign_version_with_our_very_bytes_is_ours_when_our_record_was_there_first() -> None:
    rig = _rig("a")
    inner = rig.stores[TABLE]
    store = FaultyStore(inner, _at("manifest-2.", lambda: foreign_commit(inner, adding("same"))))
    identity = rig.propose(merge(adding("same")))
    rig.settle(rig.committer("second", stores={TABLE: store}))
    assert rig.receipts()[identity] == Committed(2, identity)
    assert _files(rig) == ["a", "same"]


@pytest.mark.parametrize("more", [(), ("more",), ("more", "and-more")])
def test_foreign_versions_that_were_met_stay_foreign_whatever_record_comes_later(more: tuple[str, ...]) -> None:
    """A zombie makes up the same bytes as a stranger, and sleeps before it can say so."""
    rig = _rig("a")
    inner = rig.stores[TABLE]
    zombie = rig.committer("asleep")
    zombie.step(0.0)
    identity = rig.propose(merge(adding("same")), writer=Writer("job", 1))

    def sleeps() -> None:
        for name in ("same", *more):
            foreign_commit(inner, adding(name))
        rig.depose(zombie)
        rig.settle(rig.committer("new"))

    lane = next(iter(zombie._lanes.values()))
    lane._tables.stores[TABLE] = FaultyStore(inner, _at(RECORDS, sleeps))  # type: ignore[attr-defined]  # the rig's tables
    _taken(zombie, rig, 1)()
    with pytest.raises(Overtaken):
        lane.collect()
    receipt = rig.receipts()[identity]
    assert isinstance(receipt, Rejected)
    assert receipt.code is RejectCode.PATH_IN_USE, (
        "the stranger's version holds that file, and nobody gets its rows twice"
    )
    assert _files(rig) == ["a", "same", *more]
    sealed = record_of(inner, 2)
    assert sealed is not None
    assert sealed.commit is None


@pytest.mark.parametrize("is_known", [False, True])
def test_a_foreign_version_that_is_met_half_written_is_built_upon_when_it_is_whole(is_known: bool) -> None:
    """On a local disk the published library opens the manifest's own name, and writes into it."""
    rig = _rig("a")
    store = rig.stores[TABLE]
    committer = rig.committer("second")
    if is_known:
        rig.propose(merge(adding("b")))
        rig.settle(committer)
    version, whole = newest(store) + 1, next_bytes(store, adding("theirs"))
    identity = rig.propose(merge(adding("ours")))
    for written in (0, 9, len(whole) - 1):
        store.put(manifest_key("", version), whole[:written])
        _steps(rig, committer, 2)
        assert identity not in rig.receipts()
    store.put(manifest_key("", version), whole)
    _steps(rig, committer)
    assert rig.receipts()[identity] == Committed(version + 1, identity)
    assert _files(rig)[-2:] == ["theirs", "ours"]


def test_a_committer_of_a_table_that_only_strangers_wrote_begins_on_top() -> None:
    rig = Rig(create=False)
    for name in ("x", "y", "z"):
        foreign_commit(rig.stores[TABLE], adding(name))
    identity = rig.propose(fail(adding("a"), 3))
    rig.settle(rig.committer())
    assert rig.receipts()[identity] == Committed(4, identity)
    assert [record_of(rig.stores[TABLE], version) is not None for version in (1, 2, 3, 4)] == [True, False, True, True]


def test_a_thousand_foreign_versions_are_not_walked_over() -> None:
    rig = _rig("a")
    inner = rig.stores[TABLE]
    data = next_bytes(inner, stat("k", "v"))
    for version in range(2, 1_002):
        inner.put(manifest_key("", version), data)
    store = FaultyStore(inner)
    identity = rig.propose(merge(adding("b")))
    rig.settle(rig.committer("second", stores={TABLE: store}))
    assert rig.receipts()[identity] == Committed(1_002, identity)
    assert store.count() < 60


# ---- restarts


def test_what_was_decided_before_foreign_versions_is_known_after_a_restart() -> None:
    rig = Rig(create=False)
    proposal = rig.proposal(merge(adding("a")))
    rig.send(proposal)
    first = rig.committer("first")
    rig.settle(first)
    first.close()
    for number in range(5):
        foreign_commit(rig.stores[TABLE], adding(f"theirs-{number}"))
    rig.events()
    rig.send(proposal)
    rig.settle(rig.committer("second"))
    assert rig.receipts()[proposal.id] == Duplicate(1, proposal.id)


def test_the_memory_is_found_again_over_foreign_versions_that_come_between_all_of_ours() -> None:
    rig = Rig(create=False)
    first = rig.committer("first")
    sent = []
    for number in range(80):
        sent.append(rig.proposal(merge(adding(f"ours-{number}"))))
        rig.send(sent[-1])
        rig.settle(first)
        foreign_commit(rig.stores[TABLE], deleting(f"theirs-{number}"))
    first.close()
    rig.events()
    store = FaultyStore(rig.stores[TABLE])
    for proposal in sent:
        rig.send(proposal)
    rig.settle(rig.committer("second", stores={TABLE: store}))
    receipts = rig.receipts()
    assert [receipts[proposal.id] for proposal in sent] == [
        Duplicate(1 + 2 * number, proposal.id) for number, proposal in enumerate(sent)
    ]
    assert store.count("get") < 120


def test_a_record_without_its_manifest_says_nothing() -> None:
    rig = _rig("a")
    store = FaultyStore(rig.stores[TABLE], on("create", Fault.REFUSED, key="manifest-2.", times=10_000))
    lost = rig.propose(merge(adding("b")), writer=Writer("job", 1))
    dying = rig.committer("dying", stores={TABLE: store})
    rig.settle(dying)
    rig.depose(dying)
    other = rig.propose(merge(adding("c")))
    rig.settle(rig.committer("second"))
    receipts = rig.receipts()
    assert (receipts[lost], receipts[other]) == (Committed(2, lost), Committed(2, other))
    assert len([found for found in recorded(rig.stores[TABLE]).recorded() if found.version == 2]) == 2
    assert _files(rig) == ["a", "b", "c"]


def test_the_record_of_a_dead_committer_is_adopted_with_its_answers() -> None:
    rig = _rig("a")
    store = FaultyStore(rig.stores[TABLE], on("create", Fault.REFUSED, key="manifest-2.", times=10_000))
    accepted = rig.propose(merge(adding("b")))
    refused = rig.propose(fail(adding("c"), 0))
    dying = rig.committer("dying", stores={TABLE: store})
    rig.settle(dying)
    rig.depose(dying)
    rig.settle(rig.committer("second"))
    record = record_of(rig.stores[TABLE], 2)
    assert record is not None
    assert record.commit is not None
    assert record.commit.term is not None
    assert record.commit.term.committer == "dying"
    receipts = rig.receipts()
    assert receipts[accepted] == Committed(2, accepted)
    assert isinstance(receipts[refused], Rejected)
    assert _files(rig) == ["a", "b"]


def test_what_was_committed_but_not_announced_is_announced_by_the_successor() -> None:
    rig = _rig("a")
    first = rig.committer("first")
    first.step(0.0)
    accepted, refused = rig.propose(merge(adding("b"))), rig.propose(fail(adding("c"), 0))
    rig.depose(first)
    _taken(first, rig, 1)()
    assert newest(rig.stores[TABLE]) == 2
    rig.settle(rig.committer("second"))
    events = rig.events()
    receipts = {event.proposal: event.to_receipt() for event in events if hasattr(event, "to_receipt")}
    assert receipts[accepted] == Committed(2, accepted)
    assert isinstance(receipts[refused], Rejected)
    assert [event.version for event in events if hasattr(event, "epoch")] == [2]
    assert newest(rig.stores[TABLE]) == 2


# ---- two committers


def test_a_successor_claims_a_later_epoch_and_the_zombie_stops() -> None:
    rig = _rig("a")
    old = rig.committer("first")
    rig.propose(merge(adding("b")))
    rig.settle(old)
    rig.depose(old)
    rig.propose(merge(adding("c")))
    rig.settle(rig.committer("second"))
    _taken(old, rig, 2)()
    with pytest.raises(Overtaken, match="second"):
        next(iter(old._lanes.values())).collect()
    assert _files(rig) == ["a", "b", "c"]


def test_a_late_version_of_the_predecessor_is_folded_in_with_its_answers() -> None:
    rig = _rig("a")
    old = rig.committer("first")
    old.step(0.0)
    late = rig.propose(merge(adding("late")), writer=Writer("job", 1))
    rig.depose(old)
    other = rig.propose(merge(adding("other")))
    lane = next(iter(old._lanes.values()))
    lane.take(rig.bus.reader(Topic.PROPOSALS, {0: 1}).read(0.0)[:1])
    store = FaultyStore(rig.stores[TABLE], _at("manifest-2.", lane.work))
    rig.settle(rig.committer("second", stores={TABLE: store}))
    receipts = rig.receipts()
    assert (receipts[late], receipts[other]) == (Committed(2, late), Committed(3, other))
    assert _files(rig) == ["a", "late", "other"]


def _told_though_refused(refused: int) -> bool:
    """Our number was taken by a stranger, and the next by a predecessor; of the calls after that the store refuses one.

    Whether there was such a call.
    """
    rig = _rig("a")
    inner = rig.stores[TABLE]
    old = rig.committer("first")
    old.step(0.0)
    late = rig.propose(merge(adding("late")), writer=Writer("job", 1))
    rig.depose(old)
    lands = _taken(old, rig, 1)
    taken_at: int | None = None

    def plan(step: Step) -> Fault | None:
        nonlocal taken_at
        if taken_at is None and step.operation == "create" and "manifest-2." in step.key:
            taken_at = step.number
            foreign_commit(inner, adding("theirs"))
            lands()
        return Fault.REFUSED if taken_at is not None and step.number == taken_at + refused else None

    store = FaultyStore(inner, plan)
    _steps(rig, rig.committer("second", stores={TABLE: store}))
    events = rig.events()
    told = {event.to_receipt() for event in events if isinstance(event, ReceiptEvent)}
    assert told == {Committed(3, late)}, f"call {refused} was refused"
    assert {event.version for event in events if isinstance(event, CommitEvent)} == {2, 3}
    assert _files(rig) == ["a", "theirs", "late"]
    assert taken_at is not None
    return len(store.steps) >= taken_at + refused


def test_a_read_that_fails_once_takes_no_answer_from_a_late_version_of_the_predecessor() -> None:
    """Break: remember what others decided before all of it could be read."""
    refused = 1
    while _told_though_refused(refused):
        refused += 1
    assert refused > 5


def test_two_committers_that_make_the_same_bytes_give_the_same_answers() -> None:
    """The slower one finds the record of the faster, which refused something besides."""
    rig = _rig("a")
    old = rig.committer("first")
    old.step(0.0)
    accepted = rig.propose(merge(adding("b")))
    refused = rig.propose(fail(adding("c"), 0))
    rig.depose(old)
    lane = next(iter(old._lanes.values()))
    lane.take(rig.bus.reader(Topic.PROPOSALS, {0: 1}).read(0.0)[:1])
    store = FaultyStore(rig.stores[TABLE], _at(RECORDS, lane.work))
    rig.settle(rig.committer("second", stores={TABLE: store}))
    receipts = rig.receipts()
    assert receipts[accepted] == Committed(2, accepted)
    assert isinstance(receipts[refused], Rejected)
    assert _files(rig) == ["a", "b"]


def test_a_version_that_was_there_with_our_bytes_is_not_decided_upon_before_it_is_looked_for_later_ones() -> None:
    """A stranger committed what is proposed, version by version; the new committer seals what the old one is yet to find."""
    rig = _rig()
    inner = rig.stores[TABLE]
    old = rig.committer("first", limits=CommitterLimits(linger_ms=0, group_proposals=1))
    rig.propose(merge(adding("a")))
    rig.settle(old)
    rig.depose(old)
    for name in ("b", "c", "d"):
        foreign_commit(inner, adding(name))
    ids = [rig.propose(merge(adding(name))) for name in ("b", "c")]
    lane = next(iter(old._lanes.values()))

    def works() -> None:
        lane.take(rig.bus.reader(Topic.PROPOSALS, {0: 1}).read(0.0))
        for _ in ids:
            lane.work()
            lane.collect()

    store = FaultyStore(inner, _at(RECORDS, works))
    rig.settle(rig.committer("second", stores={TABLE: store}))
    told = rig.receipts()
    decided = [
        (decision.id, version, decision.code)
        for version in range(2, newest(inner) + 1)
        if (record := record_of(inner, version)) is not None and record.commit is not None
        for decision in record.commit.decisions
    ]
    assert decided == [(ids[0], 2, None), (ids[1], 5, RejectCode.PATH_IN_USE)]
    assert told[ids[0]] == Committed(2, ids[0])
    assert isinstance(told[ids[1]], Rejected)
    assert _files(rig) == ["a", "b", "c", "d"]


def test_a_number_that_was_cleaned_away_does_not_count() -> None:
    """A committer sleeps before its manifest; others commit, and manifests up to the newest are deleted."""
    rig = _rig("a")
    inner = rig.stores[TABLE]

    def sleeps() -> None:
        for name in ("x", "y", "z"):
            foreign_commit(inner, adding(name))
        inner.delete([manifest_key("", version) for version in (1, 2, 3)])

    store = FaultyStore(inner, _at("manifest-2.", sleeps))
    identity = rig.propose(merge(adding("b")))
    committer = rig.committer("second", stores={TABLE: store})
    for _ in range(5):
        committer.step(0.0)
        rig.ambient.advance(seconds=20)
    assert identity not in rig.receipts()
    assert newest(inner) == 4


# ---- answers lost


@pytest.mark.parametrize("key", [RECORDS, "manifest-2."])
@pytest.mark.parametrize("fault", [Fault.LOST_ANSWER, Fault.LOST_REQUEST])
def test_an_answer_that_was_lost_is_found_out(key: str, fault: Fault) -> None:
    rig = _rig("a")
    store = FaultyStore(rig.stores[TABLE], on("create", fault, key=key))
    identity = rig.propose(merge(adding("b")))
    rig.settle(rig.committer("second", stores={TABLE: store}))
    assert rig.receipts()[identity] == Committed(2, identity)
    assert _files(rig) == ["a", "b"]


def test_the_unknown_outcome_of_a_version_is_asked_about_before_anything_else() -> None:
    rig = _rig("a")

    class Silent(FaultyStore):
        """The manifest lands, and then the store says nothing for a while."""

        refusals = 2

        def head(self, key: str) -> ObjectInfo | None:
            if self.refusals and any("manifest-2." in step.key for step in self.steps if step.writes):
                self.refusals -= 1
                raise StoreError("nobody answers")
            return super().head(key)

    store = Silent(rig.stores[TABLE])
    identity = rig.propose(merge(adding("b")))
    committer = rig.committer("second", stores={TABLE: store})
    for _ in range(10):
        committer.step(0.0)
        rig.ambient.advance(seconds=20)
    assert rig.receipts()[identity] == Committed(2, identity)
    assert (newest(rig.stores[TABLE]), _files(rig)) == (2, ["a", "b"])


def test_a_table_whose_store_fails_is_tried_again_and_loses_nothing() -> None:
    rig = _rig("a")
    store = FaultyStore(rig.stores[TABLE], on("create", Fault.REFUSED, times=6))
    identity = rig.propose(merge(adding("b")))
    committer = rig.committer("second", stores={TABLE: store})
    for _ in range(20):
        committer.step(0.0)
        rig.ambient.advance(seconds=20)
    assert rig.receipts()[identity] == Committed(2, identity)
    assert _files(rig) == ["a", "b"]


# ---- losses and rebinding


def _rebind(rig: Rig) -> int | None:
    reader = LogReader(rig.stores[TABLE], fresh_resources())
    return rebind(rig.bus, reader, rig.ambient, table_options).version


def _steps(rig: Rig, committer: Committer, count: int = 6) -> None:
    for _ in range(count):
        committer.step(0.0)
        rig.ambient.advance(seconds=20)


def test_manifests_that_others_clean_do_not_matter_once_their_proposals_were_announced() -> None:
    rig = _rig("a", "b")
    for name in ("x", "y", "z"):
        foreign_commit(rig.stores[TABLE], adding(name))
    rig.stores[TABLE].delete([manifest_key("", version) for version in (1, 2, 3)])
    again, fresh = rig.proposal(merge(adding("a")), proposal_id="p1"), rig.propose(merge(adding("c")))
    rig.send(again)
    rig.settle(rig.committer("second"))
    assert rig.receipts() == {fresh: Committed(6, fresh), "p1": Duplicate(1, "p1")}
    assert _files(rig) == ["a", "b", "x", "y", "z", "c"]


def test_a_table_is_held_while_nobody_can_tell_whether_its_last_commit_was_one() -> None:
    rig = _rig("a")
    first = rig.committer("first")
    first.step(0.0)
    unannounced = rig.propose(merge(adding("b")))
    rig.depose(first)
    _taken(first, rig, 1)()
    foreign_commit(rig.stores[TABLE], adding("theirs"))
    rig.stores[TABLE].delete([manifest_key("", 2)])
    identity = rig.propose(merge(adding("c")))
    committer = rig.committer("second")
    _steps(rig, committer)
    assert rig.receipts() == {}
    assert _rebind(rig) == 4
    _steps(rig, committer)
    assert rig.receipts() == {unannounced: Committed(2, unannounced), identity: Committed(5, identity)}
    assert _files(rig) == ["a", "b", "theirs", "c"]


def test_a_record_that_its_successor_needs_and_that_is_gone_holds_the_table() -> None:
    rig = _rig("a", "b")
    rig.stores[TABLE].delete([ManifestId(1, digest_at(rig.stores[TABLE], 1)).key])
    rig.propose(merge(adding("c")))
    _steps(rig, rig.committer("second"))
    assert (rig.receipts(), _files(rig)) == ({}, ["a", "b"])


def test_a_topic_made_anew_is_refused_until_the_table_is_rebound() -> None:
    rig = Rig(create=False)
    kept = rig.proposal(merge(adding("a")), writer=Writer("job", 1))
    rig.send(kept)
    first = rig.committer("first")
    rig.settle(first)
    first.close()
    rig.bus.cluster.recreate(Topic.PROPOSALS)
    rig.receipts()
    second = rig.committer("second")
    fresh = rig.propose(merge(adding("b")))
    rig.send(kept)
    _steps(rig, second)
    assert rig.receipts() == {}
    assert _rebind(rig) == 2
    _steps(rig, second)
    assert rig.receipts() == {fresh: Committed(3, fresh), kept.id: Duplicate(1, kept.id)}
    assert _files(rig) == ["a", "b"]


def test_a_file_that_was_restored_from_a_copy_is_refused_until_the_table_is_rebound() -> None:
    rig = _rig("a", "b")
    rig.bus.cluster.lose_tail(Topic.PROPOSALS, 0, 1)
    rig.bus.cluster.group(DEFAULT_GROUP).committed[0] = 1
    fresh = [rig.propose(merge(adding(name))) for name in ("c", "d")]
    committer = rig.committer("second")
    _steps(rig, committer)
    assert "holds something else" in committer.refused[TABLE]
    assert (rig.receipts(), rig.dead_letters()) == ({}, [])
    assert _rebind(rig) == 3
    _steps(rig, committer)
    assert rig.receipts() == {proposal: Committed(4, proposal) for proposal in fresh}
    assert _files(rig) == ["a", "b", "c", "d"]


def test_a_rebind_that_is_not_needed_writes_nothing() -> None:
    rig = _rig("a")
    assert _rebind(rig) is None
    assert newest(rig.stores[TABLE]) == 1


def test_a_rebind_fences_who_still_works_from_the_old_bus() -> None:
    rig = _rig("a")
    old = rig.committer("first")
    rig.propose(merge(adding("b")))
    rig.settle(old)
    rig.depose(old)
    lane = next(iter(old._lanes.values()))
    rig.propose(merge(adding("c")))
    late = rig.bus.reader(Topic.PROPOSALS, {0: 2}).read(0.0)
    rig.bus.cluster.recreate(Topic.PROPOSALS)
    assert _rebind(rig) == 3
    lane.take(late)
    lane.work()
    with pytest.raises(Overtaken):
        lane.collect()
    assert _files(rig) == ["a", "b"]


# ---- records


def test_a_record_of_another_history_with_the_same_bytes_holds_the_table() -> None:
    rig = _rig("a")
    store = rig.stores[TABLE]
    data = next_bytes(store, adding("b"))
    other = VersionRecord(ManifestId(2, digest_of(data)), ManifestId(1, "0" * 64), record_of(store, 1).commit, {})  # type: ignore[union-attr]
    store.put(other.id.key, encode_record(other))
    rig.propose(merge(adding("b")))
    _steps(rig, rig.committer("second"))
    assert (rig.receipts(), newest(store)) == ({}, 1)


@pytest.mark.parametrize("text", [b"", b"{}", b"[1]", b'{"format":2}', b"\xff" * 40, b"[" * 100_000])
def test_a_record_that_can_not_be_read_holds_the_table(text: bytes) -> None:
    rig = _rig("a")
    store = rig.stores[TABLE]
    store.put(ManifestId(1, digest_at(store, 1)).key, text)
    rig.propose(merge(adding("b")))
    _steps(rig, rig.committer("second"))
    assert (rig.receipts(), newest(store)) == ({}, 1)


def test_old_records_are_deleted_the_newest_thousand_stay_and_nothing_is_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("headgate_committer.milvus.record_sweeping.KEPT", 100)
    rig = Rig(create=False)
    committer = rig.committer("one")
    proposals = [rig.proposal(merge(stat(f"k{number % 7}", f"v{number}"))) for number in range(310)]
    for proposal in proposals:
        rig.send(proposal)
        rig.settle(committer)
    committer.close()
    left = recorded(rig.stores[TABLE]).recorded()
    assert 100 <= len(left) < 210
    assert left[-1].version == 310
    rig.events()
    for proposal in (proposals[0], proposals[305]):
        rig.send(proposal)
    rig.settle(rig.committer("two"))
    assert rig.receipts() == {
        proposals[0].id: Duplicate(1, proposals[0].id),
        proposals[305].id: Duplicate(306, proposals[305].id),
    }


def test_records_of_manifests_that_never_came_to_be_push_out_none_that_is_needed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A store took records and refused manifests for a weekend: each attempt in a container's form has other bytes."""
    monkeypatch.setattr("headgate_committer.milvus.record_sweeping.KEPT", 100)
    rig = _rig(*(f"f{number}" for number in range(20)))
    store = rig.stores[TABLE]
    committer = rig.committer("one")
    proposals = [rig.proposal(merge(stat(f"k{number % 7}", f"v{number}"))) for number in range(100)]
    for number, proposal in enumerate(proposals):
        rig.send(proposal)
        rig.settle(committer)
        if number == 90:
            here = record_of(store, newest(store))
            assert here is not None
            for attempt in range(150):
                stray = replace(here, id=ManifestId(here.id.version, digest_of(b"%d" % attempt)))
                store.put(stray.id.key, encode_record(stray))
    committer.close()
    assert recorded(store).recorded()[0].version == 21
    rig.events()
    rig.send(proposals[0])
    rig.settle(rig.committer("two"))
    assert rig.receipts() == {proposals[0].id: Duplicate(21, proposals[0].id)}


def test_another_table_in_the_place_of_the_known_one_is_read_anew() -> None:
    rig = _rig("a", "b")
    committer = rig.committer("one")
    rig.propose(merge(adding("c")))
    rig.settle(committer)
    store = rig.stores[TABLE]
    store.delete([info.key for info in list(store.list(""))])
    names = [f"x{number}" for number in range(6)]
    for name in names:
        foreign_commit(store, adding(name))
    identity = rig.propose(merge(adding("d")))
    rig.settle(committer)
    assert rig.receipts()[identity] == Committed(7, identity)
    assert _files(rig) == [*names, "d"]


def test_a_log_of_versions_in_the_place_of_the_manifests_that_were_found_is_found() -> None:
    """Break: where there are no manifests any more, there is no table."""
    rig = _rig("a")
    store = FaultyStore(rig.stores[TABLE], on("get", Fault.REFUSED, key="_metadata"))
    committer = rig.committer("one", stores={TABLE: store})
    identity = rig.append("b")
    rig.settle(committer)
    assert store.plan(Step(0, "get", "_metadata")) is None, "the manifests were found, and could not be read"
    store.delete([info.key for info in list(store.list(""))])
    new_table(store, ambient=rig.ambient)
    rig.ambient.advance(seconds=20)
    rig.settle(committer)
    assert rig.receipts()[identity] == Committed(1, identity)
