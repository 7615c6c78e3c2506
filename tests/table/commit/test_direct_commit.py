"""Direct commits on a store that behaves, and on one that doesn't: numbering, conflicts, lost answers, states."""

from dataclasses import replace
from typing import Any

import pytest

from headgate_schemas.actions.actions import NULL_PARTITION, CommitInfo, Protocol
from headgate_schemas.errors import InvalidInput
from headgate_schemas.messages.operations import Alter, Committed, Purge, RejectCode, Rejected
from headgate_table.errors import (
    CommitConflict,
    CorruptTable,
    OutcomeUnknown,
    StoreError,
    TableExists,
    UnsupportedTable,
)
from headgate_table.indextables.format.names import MAX_VERSION, POINTER, log_key, state_key, version_key
from headgate_table.indextables.format.state_manifest import decode_state, encode_state
from headgate_table.indextables.format.version_file import decode_actions, encode_actions
from headgate_table.store.interface import Folder, Store
from support.logs.foreign_log import as_anothers, build_on, one_state
from support.stores.faulty import Fault, FaultyStore, Plan, Step, on
from support.stores.memory import MemoryStore
from support.tables import SteadyAmbient, add_file, fresh_resources, new_table, opened
from support.writers.handmade import file as small_file


def names(store: Store) -> list[str]:
    return [info.key.removeprefix("_transaction_log/") for info in store.list("_transaction_log/")]


def version_of(receipt: object) -> int:
    assert isinstance(receipt, Committed), receipt
    return receipt.version


def test_commits_are_numbered_without_gaps() -> None:
    table = new_table()
    assert [version_of(table.append([add_file(f"f{number}")])) for number in range(12)] == list(range(1, 13))


def test_a_commit_is_seen_by_a_process_that_knew_the_table_before() -> None:
    store = MemoryStore()
    writer = new_table(store)
    reader = opened(store)
    assert reader.snapshot().paths() == []
    writer.append([add_file("a")])
    assert reader.snapshot().paths() == ["a.parquet"]


def test_a_commit_that_nobody_gets_in_the_way_of_lists_the_log_once() -> None:
    """Break: the first attempt looks again for what was seen when the settings were read."""
    store = FaultyStore(MemoryStore())
    table = new_table(store)
    table.append([add_file("a")])
    before = store.count("list", "list_folder")
    table.append([add_file("b")])
    assert store.count("list", "list_folder") - before == 1


def test_two_writers_take_turns() -> None:
    store = MemoryStore()
    one, other = new_table(store), opened(store)
    for number in range(6):
        (one if number % 2 else other).append([add_file(f"f{number}")])
    assert opened(store).snapshot().num_files == 6
    assert opened(store).version == 6


def test_a_second_table_at_the_same_place_is_refused() -> None:
    store = MemoryStore()
    new_table(store)
    with pytest.raises(TableExists, match="memory://test"):
        new_table(store)


def test_a_table_is_not_made_where_only_a_state_is_left() -> None:
    store = MemoryStore()
    table = new_table(store)
    table.checkpoint()
    store.delete([version_key(0)])
    with pytest.raises(TableExists):
        new_table(store)


def test_a_removed_path_is_not_added_again() -> None:
    table = new_table()
    table.append([add_file("a")])
    table.delete(paths=["a.parquet"])
    receipt = table.append([add_file("a")])
    assert isinstance(receipt, Rejected)
    assert receipt.code is RejectCode.PATH_IN_USE


def test_a_path_removed_before_the_newest_state_is_not_added_again() -> None:
    store = MemoryStore()
    table = new_table(store, interval=2)
    table.append([add_file("a"), add_file("b")])
    table.delete(paths=["a.parquet"])
    table.compact()
    receipt = opened(store).append([add_file("a")])
    assert isinstance(receipt, Rejected)
    assert receipt.code is RejectCode.PATH_IN_USE


def test_a_purged_path_stays_forbidden_for_a_new_process() -> None:

    store = MemoryStore()
    new_table(store).commit(Purge(("orphan.parquet",)))
    receipt = opened(store).append([add_file("orphan")])
    assert isinstance(receipt, Rejected)
    assert "purged" in receipt.reason


def test_one_path_is_not_taken_for_a_list_of_letters() -> None:
    table = new_table(MemoryStore())
    with pytest.raises(InvalidInput, match=r"paths is 'a\.parquet' \(str\); give a list of texts"):
        table.delete(paths="a.parquet")
    with pytest.raises(InvalidInput, match="give a list of texts"):
        table.rewrite("a.parquet", [])


def test_a_refused_change_writes_nothing() -> None:
    store = MemoryStore()
    table = new_table(store)
    table.append([add_file("a")])
    before = names(store)
    assert isinstance(table.append([add_file("a")]), Rejected)
    assert names(store) == before


@pytest.mark.parametrize("fault", [Fault.LOST_ANSWER, Fault.LOST_REQUEST])
def test_a_version_whose_answer_is_lost_is_committed_once(fault: Fault) -> None:
    store = MemoryStore()
    new_table(store)
    faulty = FaultyStore(store, on("create", fault, key="00001.json"))
    receipt = opened(faulty).append([add_file("a")])
    assert version_of(receipt) == 1
    assert names(store) == ["00000000000000000000.json", "00000000000000000001.json"]


def test_a_version_that_never_gets_an_answer_is_an_unknown_outcome() -> None:
    store = MemoryStore()
    new_table(store)
    faulty = FaultyStore(store, on("create", Fault.LOST_REQUEST, key="00001.json", times=100))
    with pytest.raises(OutcomeUnknown, match="headgate table history"):
        opened(faulty).append([add_file("a")])


def test_a_number_that_another_writer_took_is_decided_again_on_the_next() -> None:
    store = MemoryStore()
    new_table(store)
    rival = opened(store)
    calls = 0

    def interfere(step: Step) -> Fault | None:
        nonlocal calls
        if step.operation == "create" and "00001.json" in step.key and calls == 0:
            calls += 1
            rival.append([add_file("a")])
        return None

    receipt = opened(FaultyStore(store, interfere)).append([add_file("a")])
    assert isinstance(receipt, Rejected), "the rival's file has the same path, which only the second decision can see"
    assert receipt.code is RejectCode.PATH_IN_USE


def always_beaten(store: MemoryStore) -> Plan:
    rival = opened(store)
    taken = iter(range(1000))

    def interfere(step: Step) -> Fault | None:
        if step.operation == "create" and step.key.endswith(".json"):
            rival.append([add_file(f"rival-{next(taken)}")])
        return None

    return interfere


def test_a_writer_that_always_loses_gives_up_and_says_so() -> None:
    store = MemoryStore()
    new_table(store)
    table = opened(FaultyStore(store, always_beaten(store)), settings={"transaction.retry.maxAttempts": "3"})
    with pytest.raises(CommitConflict, match=r"3 times in a row.*Nothing was committed"):
        table.append([add_file("a")])
    assert "a.parquet" not in opened(store).snapshot().paths()


def test_an_answer_lost_to_a_rivals_version_does_not_count_as_ours() -> None:
    store = MemoryStore()
    new_table(store)
    rival = opened(store)
    done = False

    def interfere(step: Step) -> Fault | None:
        nonlocal done
        if step.operation == "create" and "00001.json" in step.key and not done:
            done = True
            rival.append([add_file("rival")])
            return Fault.LOST_REQUEST
        return None

    receipt = opened(FaultyStore(store, interfere)).append([add_file("a")])
    assert version_of(receipt) == 2
    assert opened(store).snapshot().paths() == ["a.parquet", "rival.parquet"]


def test_a_version_created_over_a_cleaned_predecessor_is_not_committed() -> None:
    """A late writer: others committed past its number, and the versions around it were cleaned."""
    store = MemoryStore()
    new_table(store)
    other = opened(store, interval=2)
    done = False

    def interfere(step: Step) -> Fault | None:
        nonlocal done
        if step.operation == "create" and "00001.json" in step.key and not done:
            done = True
            for number in range(4):
                other.append([add_file(f"other-{number}")])
            store.delete([version_key(version) for version in range(4)])
            store.delete([state_key(2)])
        return None

    receipt = opened(FaultyStore(store, interfere)).append([add_file("late")])
    assert version_of(receipt) == 5
    assert "late.parquet" in opened(store).snapshot().paths()


def test_a_state_is_written_every_interval() -> None:
    store = MemoryStore()
    table = new_table(store, interval=3)
    for number in range(7):
        table.append([add_file(f"f{number}")])
    states = [name for name in names(store) if name.endswith("_manifest.avro")]
    assert states == [f"state-v{number:020d}/_manifest.avro" for number in (3, 6)]


def test_a_state_that_could_not_be_written_is_made_up_for_by_the_next_commit() -> None:
    store = MemoryStore()
    new_table(store)
    table = opened(FaultyStore(store, on("create", Fault.REFUSED, key="state-v", times=1)), interval=2)
    versions = [version_of(table.append([add_file(f"f{number}")])) for number in range(3)]
    assert versions == [1, 2, 3]
    assert store.head(state_key(2)) is None
    assert store.head(state_key(3)) is not None


def test_the_pointer_never_goes_back() -> None:
    store = MemoryStore()
    table = new_table(store)
    table.append([add_file("a")])
    slow = opened(store)
    slow.snapshot()
    table.append([add_file("b")])
    table.checkpoint()
    pointer = store.get(POINTER)
    from headgate_table.indextables.format.pointer import state_pointer
    from headgate_table.indextables.log.reader import LogReader
    from headgate_table.indextables.write.state_writer import StateWriter
    from headgate_table.settings.options import TableOptions
    from support.tables import SteadyAmbient

    writer = StateWriter(LogReader(store, fresh_resources()), SteadyAmbient(), TableOptions())
    writer.advance_pointer(state_pointer(1, 1, 1, 1))
    assert store.get(POINTER) == pointer


def test_a_broken_pointer_is_replaced_by_the_next_state() -> None:
    store = MemoryStore()
    table = new_table(store)
    table.append([add_file("a")])
    store.put(POINTER, b"{broken")
    opened(store).checkpoint()
    assert b'"version":1,' in store.get(POINTER)


def test_a_version_names_its_decision() -> None:
    store = MemoryStore()
    receipt = new_table(store).append([add_file("a")])
    assert isinstance(receipt, Committed)
    info = decode_actions(store.get(version_key(1)), "v")[-1]
    assert isinstance(info, CommitInfo)
    assert info.body["decisions"] == [{"id": receipt.proposal_id, "accepted": True}]


def test_a_restore_brings_back_removed_files_for_good() -> None:
    store = MemoryStore()
    table = new_table(store, interval=2)
    for name in ("a", "b"):
        store.put(f"{name}.parquet", b"rows")
        table.append([add_file(name)])
    table.delete(paths=["a.parquet"])
    table.append([add_file("c")])
    assert version_of(table.restore(2)) == 5
    for seen in (table, opened(store)):
        assert seen.snapshot().paths() == ["a.parquet", "b.parquet"]
    state = opened(store).snapshot().log.state
    assert state is not None
    assert state.version == 5
    assert "a.parquet" not in state.tombstones


def test_a_restore_is_refused_when_a_file_was_deleted() -> None:
    store = MemoryStore()
    table = new_table(store)
    table.append([add_file("a")])
    table.delete(paths=["a.parquet"])
    receipt = table.restore(1)
    assert isinstance(receipt, Rejected)
    assert receipt.code is RejectCode.GONE


def test_a_path_that_a_foreign_state_lists_as_removed_cant_be_added_again() -> None:
    """Nothing else remembers: the version file that removed it is gone, and other writers keep no memory."""
    store = build_on(MemoryStore(), one_state([small_file("a"), small_file("b")], tombstones=["a.parquet"]))
    table = opened(store)
    assert table.snapshot().paths() == ["b.parquet"]
    receipt = table.append([add_file("a")])
    assert isinstance(receipt, Rejected)
    assert receipt.code is RejectCode.PATH_IN_USE
    assert opened(store).snapshot().paths() == ["b.parquet"]


def test_a_foreign_re_add_of_a_tombstoned_path_survives_our_state() -> None:
    """docs/format.md, section 5.3: the manifest with the old entry is rewritten, its tombstone dropped."""
    store = MemoryStore()
    table = new_table(store)
    table.append([add_file("a", 10), add_file("b", 20), add_file("c", 30)])
    table.checkpoint()
    table.delete(paths=["a.parquet"])
    table.checkpoint()
    store.create(version_key(3), encode_actions([add_file("a", 99)]))
    after = opened(store)
    after.checkpoint()
    for seen in (after, opened(store)):
        snapshot = seen.snapshot()
        sizes = dict(
            zip(snapshot.files().column("path").to_pylist(), snapshot.files().column("size").to_pylist(), strict=True)
        )
        assert sizes == {"a.parquet": 99, "b.parquet": 20, "c.parquet": 30}
    state = opened(store).snapshot().log.state
    assert state is not None
    assert state.version == 3
    assert state.tombstones == ()
    assert (state.num_files, state.total_bytes) == (3, 149)


def test_a_foreign_re_add_of_a_live_path_counts_once() -> None:
    store = MemoryStore()
    table = new_table(store)
    table.append([add_file("a", 10), add_file("b", 20)])
    table.checkpoint()
    store.create(version_key(2), encode_actions([add_file("a", 99)]))
    opened(store).checkpoint()
    snapshot = opened(store).snapshot()
    assert (snapshot.num_files, snapshot.total_bytes) == (2, 119)
    assert snapshot.log.state is not None
    assert (snapshot.log.state.num_files, snapshot.log.state.total_bytes) == (2, 119)


def test_metadata_changes_survive_a_new_process_and_a_state() -> None:
    store = MemoryStore()
    table = new_table(store)
    table.alter(configuration={"owner": "ada"}, description="events")
    table.checkpoint()
    seen = opened(store)
    assert seen.metadata.configuration["owner"] == "ada"
    assert seen.metadata.description == "events"


def test_the_settings_of_a_table_apply_and_a_process_may_override_them() -> None:
    store = MemoryStore()
    new_table(store, configuration={"indextables.checkpoint.interval": "4"})
    from headgate_table.table import Table
    from support.tables import SteadyAmbient

    plain = Table(store, SteadyAmbient("x"), fresh_resources())
    assert plain.options.checkpoint_interval == 4
    assert opened(store, interval=2).options.checkpoint_interval == 2


def test_a_store_that_refuses_the_version_is_a_plain_failure() -> None:
    store = MemoryStore()
    new_table(store)
    with pytest.raises(StoreError, match="refused"):
        opened(FaultyStore(store, on("create", Fault.REFUSED, key="00001.json"))).append([add_file("a")])
    assert opened(store).version == 0


def test_a_version_that_can_not_be_read_back_is_an_unknown_outcome() -> None:
    store = MemoryStore()
    new_table(store)

    def no_answers(step: Step) -> Fault | None:
        if "00001.json" not in step.key:
            return None
        return Fault.LOST_ANSWER if step.operation == "create" else Fault.REFUSED

    with pytest.raises(OutcomeUnknown, match=r"Look for proposal [0-9a-f]{32} with"):
        opened(FaultyStore(store, no_answers)).append([add_file("a")])
    assert opened(store).version == 1


@pytest.mark.parametrize(
    "protocol", [Protocol(4, 5), Protocol(4, 4, None, ("rowTracking",))], ids=["version", "feature"]
)
def test_a_table_that_needs_a_newer_writer_is_read_but_not_written(protocol: Protocol) -> None:
    store = MemoryStore()
    new_table(store)
    store.create(version_key(1), encode_actions([protocol]))
    table = opened(store)
    assert table.snapshot().paths() == []
    with pytest.raises(UnsupportedTable, match="needs"):
        table.append([add_file("a")])
    assert table.version == 1


def test_a_file_that_only_a_kept_state_lists_is_not_purged() -> None:
    """The version file that removed it is gone, and so is its tombstone; the state before still reads it."""
    store = MemoryStore()
    table = new_table(store)
    table.append([add_file("a"), add_file("b")])
    table.checkpoint()
    table.delete(paths=["a.parquet"])
    table.compact()
    table.append([add_file("c")])
    table.checkpoint()
    store.delete([version_key(version) for version in (0, 1, 2, 3)])
    receipt = opened(store).commit(Purge(("a.parquet",)))
    assert isinstance(receipt, Rejected)
    assert receipt.code is RejectCode.STILL_NEEDED
    assert "still named by a version" in receipt.reason


def test_a_null_partition_value_is_seen_as_it_is_stored() -> None:
    """Break: `_adds` hands the null through; then the next state can't be encoded, long after the commit."""
    store = MemoryStore()
    table = new_table(store, "region", interval=1)
    values: dict[str, Any] = {"region": None}
    assert version_of(table.append([replace(add_file("a"), partition_values=values)])) == 1
    for one in (table, opened(store)):
        (stored,) = one.snapshot().files(("partition_values",)).column(0).to_pylist()
        assert stored == [("region", NULL_PARTITION)]


class _CleanedWhileListing(MemoryStore):
    """Deletes the first versions right after the next complete listing, as a cleaner elsewhere may."""

    is_armed = False

    def list_folder(self, prefix: str = "", *, after: str = "") -> Folder:
        listed = super().list_folder(prefix, after=after)
        if self.is_armed and not after:
            self.is_armed = False
            self.delete([version_key(version) for version in (0, 1, 2)])
        return listed


def test_versions_that_are_cleaned_up_meanwhile_do_not_fail_a_commit() -> None:
    """Break: `EvidenceReader` wants every version that it saw listed."""
    store = _CleanedWhileListing()
    table = new_table(store, interval=2)
    for number in range(6):
        table.append([add_file(f"f{number}")])
    late = opened(store)
    assert late.version == 6
    store.is_armed = True
    assert version_of(late.append([add_file("late")])) == 7
    assert not store.is_armed


def test_metadata_is_not_altered_when_the_versions_since_can_not_be_read() -> None:
    """Break: a cleaned version counts as one that changed no metadata, so its change is overwritten."""
    store = MemoryStore()
    table = new_table(store, interval=2)
    table.append([add_file("a")])
    table.alter(description="theirs")
    for number in range(4):
        table.append([add_file(f"f{number}")])
    store.delete([version_key(version) for version in range(4)])
    stale = opened(store).commit(Alter(based_on=1, configuration={}, description="ours"))
    assert isinstance(stale, Rejected)
    assert stale.code is RejectCode.METADATA_CHANGED
    assert isinstance(opened(store).alter(description="ours"), Committed)


def test_a_log_without_a_number_left_takes_no_commit() -> None:
    """Break: the next number is written although no reader takes it for a version."""
    store = MemoryStore()
    table = new_table(store)
    table.append([add_file("a")])
    table.checkpoint()
    last = replace(decode_state(store.get(state_key(1)), "state"), version=MAX_VERSION)
    store.create(state_key(MAX_VERSION), encode_state(last, bytes(16)))
    with pytest.raises(CorruptTable, match="no number left"):
        opened(store).append([add_file("b")])
    assert version_key(MAX_VERSION + 1) not in {info.key for info in store.list()}


@pytest.mark.parametrize("has_metadata", [False, True], ids=["commit", "checkpoint"])
def test_a_foreign_state_over_our_version_stops_readers_and_writers_alike(has_metadata: bool) -> None:
    """A writer that numbers by states alone takes the number of our version, which has no state yet."""
    store = MemoryStore()
    table = new_table(store)
    table.append([add_file("ours")])
    stranger = MemoryStore(uri="memory://stranger")
    other = new_table(stranger)
    other.append([add_file("theirs")])
    other.checkpoint()
    theirs = decode_state(stranger.get(state_key(1)), "state")
    short = "manifests/manifest-0a1b2c3d.avro"
    store.create(log_key(short), as_anothers(stranger.get(log_key(theirs.manifests[0].path))))
    state = replace(
        theirs,
        manifests=(replace(theirs.manifests[0], path=short),),
        metadata=theirs.metadata if has_metadata else None,
    )
    store.create(state_key(1), encode_state(state, bytes(16)))
    with pytest.raises(CorruptTable, match=r"written by another program over version 1.*ours\.parquet"):
        opened(store).snapshot()
    with pytest.raises(CorruptTable, match="written by another program over version 1"):
        table.append([add_file("more")])


@pytest.mark.parametrize("form", ["avro", "json"])
def test_commit_times_never_go_back(form: str) -> None:
    """Break: only what the log tells above its base counts, where the base is a JSON checkpoint, which tells no time."""
    store, settings = MemoryStore(), {"state.format": form}
    ahead, behind = SteadyAmbient("ahead"), SteadyAmbient("behind")
    ahead.time_ms += 3_600_000
    table = new_table(store, ambient=ahead, settings=settings)
    table.append([add_file("a")])
    table.checkpoint()
    opened(store, ambient=behind, settings=settings).append([add_file("b")])
    times = [entry.time for entry in opened(store).history()]
    assert times == sorted(times, reverse=True)
