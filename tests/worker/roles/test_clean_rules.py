"""The rules of the commit protocol that cleaning has its part in, kept by a worker beside a real committer.

Each test fails without its rule: that is told for each.
"""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from headgate_bus.claims import FOLDER, put_claim
from headgate_bus.interface import Topic
from headgate_schemas.actions.actions import CommitInfo
from headgate_schemas.messages.message_shape import FORMAT
from headgate_schemas.messages.operation_bodies import body_of
from headgate_schemas.messages.operations import Append, Committed, Operation, Purge, RejectCode, Rejected
from headgate_schemas.messages.proposals import Proposal, encode_claimed
from headgate_table.indextables.cleaning.cleaner import Cleaner
from headgate_table.indextables.compaction.compactor import Compactor
from headgate_table.indextables.format.names import POINTER, version_key
from headgate_table.interface.findings import Severity
from headgate_table.store.interface import Store
from headgate_worker.loop.worker import COMMITTER_GROUP
from headgate_worker.roles.clean import CleanRole
from headgate_worker.roles.interface import Abandoned, CleanTask
from headgate_worker.roles.undecided import protected_by
from support.cleaning import copied
from support.committing.rig import TABLE
from support.coordinated import Coordinated
from support.stores.faulty import Fault, FaultyStore, on
from support.stores.memory import MemoryStore
from support.tables import add_file, opened
from support.working import OpenedTables

DAY = 24


def a_role(world: Coordinated, store: Store | None = None) -> CleanRole:
    tables = world.tables
    if store is not None:
        tables = OpenedTables({TABLE: store}, world._commit_to, world.rig.settings, world.rig.ambient)
    return CleanRole(tables.open, world.rig.bus, world.rig.ambient, COMMITTER_GROUP)


def cleaned(world: Coordinated, store: Store | None = None) -> str:
    return a_role(world, store).run(CleanTask(TABLE)).summary


def store_of(world: Coordinated) -> MemoryStore:
    return world.rig.stores[TABLE]


def is_there(world: Coordinated, key: str) -> bool:
    return store_of(world).head(key) is not None


def an_old_world(commits: int = 12, interval: int = 3) -> Coordinated:
    """A table of many versions, all of them announced, and beyond every retention but for the last."""
    world = Coordinated(interval=interval)
    world.appended(*(f"f{number}" for number in range(commits)))
    world.rig.ambient.advance(hours=DAY * 60)
    world.appended("newest")
    return world


def version_numbers(store: Store) -> list[int]:
    return [int(info.key[-25:-5]) for info in store.list("_transaction_log/0") if len(info.key) == 42]


def state_numbers(store: Store) -> list[int]:
    return [int(info.key.split("/")[1][7:]) for info in store.list("_transaction_log/state-v")]


# Rule 1: versions go as a prefix, in ascending order, and the newest stays


def test_at_every_moment_of_a_cleaning_the_versions_that_are_left_have_no_hole() -> None:
    """Else a late writer creates a version above a hole's edge, finds its predecessor there, and believes that it committed."""
    world = an_old_world()
    seen: list[list[int]] = []

    class Watched(FaultyStore):
        def delete(self, keys: Iterable[str]) -> None:
            super().delete(keys)
            seen.append(version_numbers(self.inner))

    cleaned(world, Watched(store_of(world)))
    assert len(seen) > 5
    assert all(left == list(range(left[0], left[-1] + 1)) for left in seen)
    assert {left[-1] for left in seen} == {seen[0][-1]}


def test_the_version_below_the_oldest_that_is_left_is_covered_by_no_state() -> None:
    """A state above the edge would stand in for the predecessor of a late version."""
    world = an_old_world()
    cleaned(world)
    first = version_numbers(store_of(world))[0]
    assert first > 0
    assert [number for number in state_numbers(store_of(world)) if number < first - 1] == []


def test_a_committer_that_was_asleep_during_the_cleaning_commits_on_top() -> None:
    world = an_old_world()
    asleep = world.rig.committer("asleep")
    asleep.step(0.0)
    world.appended(*(f"g{number}" for number in range(9)))
    world.rig.ambient.advance(hours=DAY * 60)
    world.appended("last")
    cleaned(world)
    world.rig.depose(world.committer)
    world.rig.append("late")
    world.rig.settle(asleep)
    assert add_file("late").path in world.paths()


# Rule 3: data files are deleted only after an accepted purge


def an_orphan(world: Coordinated, name: str = "old") -> str:
    path = add_file(name).path
    store_of(world).put(path, b"rows")
    world.rig.ambient.advance(hours=DAY * 21)
    return path


def test_a_proposal_that_arrives_after_the_look_and_before_the_purge_keeps_its_file() -> None:
    """The bus has it in front of the purge, so the purge is refused. Deletes without a purge would lose a live file."""
    world = Coordinated()
    path = an_orphan(world)
    world.before_deciding.append(Append((add_file("old"),)))
    cleaned(world)
    assert path in world.paths()
    assert is_there(world, path)


def test_a_proposal_that_arrives_behind_the_purge_is_refused_before_the_file_is_gone() -> None:
    world = Coordinated()
    path = an_orphan(world)
    told: list[object] = []

    class Watched(FaultyStore):
        def delete(self, keys: Iterable[str]) -> None:
            found = list(keys)
            if not told and path in found:
                identity = world.rig.append("old")
                world.rig.settle(world.committer)
                told.append(world.rig.receipts()[identity])
            super().delete(found)

    cleaned(world, Watched(store_of(world)))
    (receipt,) = told
    assert isinstance(receipt, Rejected)
    assert (receipt.code, is_there(world, path)) == (RejectCode.PATH_IN_USE, False)


def test_a_purge_that_is_refused_deletes_nothing() -> None:
    world = Coordinated()
    path = an_orphan(world)

    def refuse(operation: Operation) -> Rejected:
        return Rejected(RejectCode.STILL_NEEDED, "somebody needs it", "p")

    tables = OpenedTables({TABLE: store_of(world)}, lambda uri: refuse, world.rig.settings, world.rig.ambient)
    report = CleanRole(tables.open, world.rig.bus, world.rig.ambient, COMMITTER_GROUP).run(CleanTask(TABLE))
    assert is_there(world, path)
    assert "somebody needs it" in report.problems[0]


def test_a_purge_without_a_receipt_deletes_nothing() -> None:
    world = Coordinated()
    path = an_orphan(world)

    class Silent(Exception):
        pass

    def silent(operation: Operation) -> Committed:
        raise Silent

    tables = OpenedTables({TABLE: store_of(world)}, lambda uri: silent, world.rig.settings, world.rig.ambient)
    with pytest.raises(Silent):
        CleanRole(tables.open, world.rig.bus, world.rig.ambient, COMMITTER_GROUP).run(CleanTask(TABLE))
    assert is_there(world, path)


def test_a_purge_beside_a_damaged_version_is_refused_and_holds_up_nobody() -> None:
    """Break: the committer takes the damage for the table's, and waits until somebody has mended it."""
    world = Coordinated(interval=2)
    world.appended("a", "b", "c", "d")
    world.committer.close()
    store_of(world).put(version_key(2), b"\x01\x01 damaged")
    purge, behind = world.rig.propose(Purge(("old.parquet",))), world.rig.append("behind")
    world.rig.settle(world.rig.committer("next"))
    told = world.rig.receipts()
    refused = told[purge]
    assert isinstance(refused, Rejected)
    assert (refused.code, type(told[behind])) == (RejectCode.STILL_NEEDED, Committed)


def test_temporary_files_claims_and_manifests_need_no_purge() -> None:
    """No log can name them as data."""
    world = Coordinated()
    store_of(world).put("_transaction_log/manifests/manifest-00000000000000aa.avro", b"nobody's")
    a_claim(world, "old")
    world.rig.ambient.advance(hours=DAY * 21)
    cleaned(world)
    assert world.operations == []


# Rule 7: strictly below the pointer as just read, with the newest two states


def test_what_lies_from_the_pointer_on_stays() -> None:
    """The pointer may have stood still while states went on; readers begin at it."""
    world = an_old_world()
    store = store_of(world)
    older = copied(store, world.rig.ambient)
    pointed = opened(older).snapshot(6)
    found, etag = store.get_with_etag(POINTER)
    back = found.replace(b'"version":12', b'"version":6').replace(b"00012", b"00006")
    assert back != found
    assert pointed.version == 6
    store.swap(POINTER, back, etag)
    cleaned(world)
    assert {6, 7, 8, 9, 10, 11, 12, 13} <= set(version_numbers(store))
    assert {6, 9, 12} <= set(state_numbers(store))


def test_the_newest_two_states_and_the_versions_between_them_stay() -> None:
    world = an_old_world()
    cleaned(world)
    newest_two = state_numbers(store_of(world))[-2:]
    assert state_numbers(store_of(world)) == newest_two == [9, 12]
    assert set(range(10, 14)) <= set(version_numbers(store_of(world)))


def test_the_pointer_is_read_last_of_all_before_the_first_delete_of_the_log() -> None:
    world = an_old_world()
    store = FaultyStore(store_of(world))
    cleaned(world, store)
    first = next(place for place, step in enumerate(store.steps) if step.operation == "delete")
    read_at = [place for place, step in enumerate(store.steps) if step.key == POINTER and place < first]
    states = [place for place, step in enumerate(store.steps) if "/state-v" in step.key and step.operation == "get"]
    assert max(read_at) > max(place for place in states if place < first)


def test_without_a_pointer_no_version_and_no_state_is_deleted() -> None:
    world = an_old_world()
    before = version_numbers(store_of(world)), state_numbers(store_of(world))
    store_of(world).delete([POINTER])
    assert "no usable pointer" in cleaned(world)
    assert (version_numbers(store_of(world)), state_numbers(store_of(world))) == before


# Rule 8: manifests of swaps are roots, before and after they are accepted


def a_swap(world: Coordinated) -> Operation:
    table = world.table
    state = table.reader.latest().state
    assert state is not None
    work = Compactor(table.reader, world.rig.ambient, table.options)
    return work.prepare(state, work.plan(state, full=True), table.metadata)


def manifests(store: Store) -> set[str]:
    return {info.key for info in store.list("_transaction_log/manifests/")}


def test_the_manifests_of_a_swap_that_waits_on_the_bus_stay() -> None:
    """However long it waits: no state and no version names them yet."""
    world = an_old_world()
    before = manifests(store_of(world))
    swap = a_swap(world)
    new = manifests(store_of(world)) - before
    identity = world.rig.propose(swap)
    world.rig.ambient.advance(hours=DAY * 3)
    cleaned(world)
    world.rig.settle(world.committer)
    assert new <= manifests(store_of(world))
    assert isinstance(world.rig.receipts()[identity], Committed)
    assert world.table.verify(data_files=False).of(Severity.ERROR) == []


def test_the_manifests_of_an_accepted_swap_whose_state_is_not_written_stay() -> None:
    """Only the version that holds the swap names them."""
    world = an_old_world()
    before = manifests(store_of(world))
    swap = a_swap(world)
    new = manifests(store_of(world)) - before
    broken = FaultyStore(store_of(world), on("create", Fault.REFUSED, key="state-v", times=100))
    rival = world.rig.committer("rival", stores={TABLE: broken})
    world.rig.depose(world.committer)
    world.rig.propose(swap)
    for _ in range(20):
        rival.step(0.0)
    world.rig.ambient.advance(hours=DAY * 3)
    swaps = [
        action
        for version in version_numbers(store_of(world))
        for action in world.table.reader.actions(version)
        if isinstance(action, CommitInfo) and "swap" in action.body
    ]
    assert len(swaps) == 1
    role_store = store_of(world)
    protected = protected_by(world.rig.bus, COMMITTER_GROUP, world.table.reader, world.rig.ambient)
    assert not new & protected.manifests
    cleaned(world, role_store)
    assert new <= manifests(role_store)


# Rule 6: what was settled of another log says nothing about the proposals that lie there now


def test_files_of_proposals_that_lie_below_the_committed_offset_of_a_cut_log_are_kept() -> None:
    world = Coordinated()
    world.appended("a", "b")
    bus = world.rig.bus
    bus.cluster.lose_tail(Topic.PROPOSALS, 0, bus.extent(Topic.PROPOSALS, 0).next_offset - 1)
    for name in ("needed", "needed-too"):
        world.rig.append(name)
    protected = protected_by(bus, COMMITTER_GROUP, world.table.reader, world.rig.ambient)
    assert {add_file(name).path for name in ("needed", "needed-too")} <= protected.files


# Rule 11: what may have to be announced again stays; and what an undecided proposal claims


def test_a_committer_that_died_before_it_announced_tells_everything_after_a_cleaning() -> None:
    """Without its versions it could not say what became of those proposals."""
    world = Coordinated(interval=2)
    world.appended(*(f"f{number}" for number in range(8)))
    decided = {event.proposal for event in world.rig.events() if hasattr(event, "proposal")}
    world.rig.bus.cluster.group(COMMITTER_GROUP).committed[0] = 3
    world.rig.ambient.advance(hours=DAY * 60)
    cleaned(world)
    world.rig.depose(world.committer)
    successor = world.rig.committer("successor")
    world.rig.settle(successor)
    again = {event.proposal for event in world.rig.events() if hasattr(event, "proposal")}
    assert len(again & decided) >= 5
    assert is_there(world, version_key(3))


def a_claim(world: Coordinated, name: str) -> Proposal:
    body = encode_claimed(body_of(Append((add_file(name),))))
    claim = put_claim(store_of(world), name, body, files=1, now_ms=world.rig.ambient.now_ms())
    now_ms = world.rig.ambient.now_ms()
    return Proposal(format=FORMAT, id=name, table=TABLE, created=now_ms, author="test", claim=claim)


def claims(world: Coordinated) -> list[str]:
    return [info.key for info in store_of(world).list(FOLDER)]


def test_the_claim_of_a_proposal_that_was_never_sent_is_deleted_when_it_is_old() -> None:
    world = Coordinated()
    a_claim(world, "never")
    world.rig.ambient.advance(hours=DAY * 8)
    assert "deleted 1 claim" in cleaned(world)
    assert claims(world) == []


def test_the_claim_of_a_proposal_that_was_settled_long_ago_is_deleted() -> None:
    """The table was quiet since, so the committer had no reason to look."""
    world = Coordinated()
    world.rig.send(a_claim(world, "settled"))
    world.rig.settle(world.committer)
    world.rig.ambient.advance(hours=DAY * 8)
    assert len(claims(world)) == 1
    cleaned(world)
    assert claims(world) == []


@pytest.mark.parametrize(("hours", "is_deleted"), [(168, False), (169, True)])
def test_a_claim_stays_for_the_window_and_the_margin(hours: int, is_deleted: bool) -> None:
    world = Coordinated()
    a_claim(world, "young")
    world.rig.ambient.advance(hours=hours)
    cleaned(world)
    assert (claims(world) == []) is is_deleted


def test_a_short_window_does_not_take_claims_of_the_same_day() -> None:
    world = Coordinated(coordinator__dedupe__window="1")
    a_claim(world, "young")
    world.rig.ambient.advance(hours=23)
    cleaned(world)
    assert len(claims(world)) == 1


def test_the_claim_of_an_undecided_proposal_stays_however_old_it_is() -> None:
    """No committer ran for a month."""
    world = Coordinated()
    world.rig.send(a_claim(world, "waiting"))
    world.rig.ambient.advance(hours=DAY * 30)
    cleaned(world)
    assert len(claims(world)) == 1


def test_what_is_no_claim_is_left_in_the_folder_of_claims() -> None:
    world = Coordinated()
    store_of(world).put(f"{FOLDER}readme.txt", b"theirs")
    world.rig.ambient.advance(hours=DAY * 30)
    cleaned(world)
    assert claims(world) == [f"{FOLDER}readme.txt"]


# A worker that stops


def test_a_worker_that_stops_leaves_a_sound_table_and_the_rest_to_the_next() -> None:
    world = an_old_world()
    before = world.paths()
    asked = 0

    def give_up() -> None:
        nonlocal asked
        asked += 1
        if asked > 4:
            raise Abandoned("stopping")

    role = CleanRole(world.tables.open, world.rig.bus, world.rig.ambient, COMMITTER_GROUP, give_up=give_up)
    with pytest.raises(Abandoned):
        role.run(CleanTask(TABLE))
    assert world.table.verify(data_files=False).of(Severity.ERROR) == []
    cleaned(world)
    assert world.paths() == before
    assert state_numbers(store_of(world)) == [9, 12]


def test_a_table_with_more_to_delete_than_one_run_takes_is_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headgate_table.indextables.cleaning.cleaner.MAX_ORPHANS", 2)
    world = Coordinated()
    for name in ("a", "b", "c"):
        store_of(world).put(f"{name}.parquet", b"rows")
    world.rig.ambient.advance(hours=DAY * 21)
    first = a_role(world).run(CleanTask(TABLE))
    second = a_role(world).run(CleanTask(TABLE))
    assert (first.more, second.more) == (True, False)
    assert [type(operation) for operation in world.operations] == [Purge, Purge]


def test_a_large_table_inside_is_no_reason_to_look_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headgate_table.indextables.cleaning.cleaner.MAX_ORPHANS", 2)
    world = Coordinated()
    for name in ("INNER/a", "INNER/b", "INNER/c", "INNER/_transaction_log/00000000000000000000.json", "orphan"):
        store_of(world).put(name, b"rows")
    world.rig.ambient.advance(hours=DAY * 21)
    report = a_role(world).run(CleanTask(TABLE))
    assert (report.more, is_there(world, "orphan"), is_there(world, "INNER/a")) == (False, False, True)


def test_a_run_that_got_nowhere_is_not_repeated_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Break: the worker takes what is left over for reason enough; then it lists the whole table without end."""
    world = Coordinated()
    found = world.table.purge(dry_run=True)
    monkeypatch.setattr(Cleaner, "purge", lambda *args, **options: replace(found, status="SUCCESS", is_complete=False))
    assert not a_role(world).run(CleanTask(TABLE)).more
