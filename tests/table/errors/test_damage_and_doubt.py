"""What goes wrong around a table: missing and damaged objects, formats from the future, stores that fail or fall silent."""

import pytest

from headgate_schemas.messages.operations import Committed, Receipt
from headgate_table.errors import CorruptTable, OutcomeUnknown, StoreError, UnsupportedTable
from headgate_table.indextables.format.names import POINTER, state_key, version_key
from headgate_table.store.interface import Store
from support.logs.foreign_log import build_on, one_state
from support.logs.raw_log import LOG, RawLog
from support.stores import Fault, FaultyStore, MemoryStore
from support.stores.faulty import at, on
from support.tables import add_file, new_table, opened
from support.writers import avro_schemas
from support.writers.handmade import HandMade, add, file, metadata, protocol, without_fields


def committed(receipt: Receipt) -> int:
    assert isinstance(receipt, Committed), receipt
    return receipt.version


def two_states() -> MemoryStore:
    """Versions 1 and 2, each with a state; the second state names a manifest that the first doesn't."""
    store = MemoryStore()
    table = new_table(store, interval=1)
    table.append([add_file("a")])
    table.append([add_file("b")])
    return store


def newest_manifest(store: Store, version: int = 2) -> str:
    return f"{LOG}/{RawLog(store).state(version)['manifests'][-1]['path']}"


@pytest.mark.spec("testReadMissingManifest")
def test_a_missing_manifest_is_named_and_other_versions_still_read() -> None:
    """Break: `_fetch` takes a missing manifest for an empty one."""
    store = two_states()
    missing = newest_manifest(store)
    store.delete([missing])
    with pytest.raises(CorruptTable, match="is missing, so the files it lists can't be known") as caught:
        opened(store).snapshot().paths()
    assert missing in str(caught.value)
    assert "headgate table verify" in str(caught.value)
    assert opened(store).snapshot(version=1).paths() == ["a.parquet"]


@pytest.mark.spec("testReadMissingManifest")
def test_a_commit_that_needs_a_missing_manifest_writes_nothing() -> None:
    """Break: `find_entries` skips a manifest that it can't read: the path it holds could be added again."""
    store = two_states()
    store.delete([newest_manifest(store)])
    keys = RawLog(store).keys()
    with pytest.raises(CorruptTable, match="is missing"):
        opened(store).append([add_file("b")])
    assert RawLog(store).keys() == keys


@pytest.mark.spec("testReadMissingStateDir")
def test_version_files_stand_in_for_a_missing_state() -> None:
    """Break: `_load` gives up after the first base; or `latest` believes the pointer."""
    store = two_states()
    store.delete([state_key(2)])
    table = opened(store)
    assert (table.version, table.snapshot().paths()) == (2, ["a.parquet", "b.parquet"])
    assert committed(table.append([add_file("c")])) == 3
    assert opened(store).snapshot().paths() == ["a.parquet", "b.parquet", "c.parquet"]


@pytest.mark.spec("testReadMissingStateDir")
def test_a_missing_state_that_nothing_stands_in_for_is_named() -> None:
    """Break: `latest` takes the newest version that is left, and says nothing."""
    store = two_states()
    store.delete([state_key(2), version_key(2)])
    with pytest.raises(CorruptTable, match=r"the pointer .* names version 2") as caught:
        opened(store).snapshot()
    assert state_key(2) in str(caught.value)
    assert "the newest version left is 1" in str(caught.value)
    assert opened(store).snapshot(version=1).paths() == ["a.parquet"]


@pytest.mark.spec("testCommitStateUnknown")
@pytest.mark.parametrize("fault", [Fault.LOST_ANSWER, Fault.LOST_REQUEST])
@pytest.mark.parametrize("times", [1, 4])
def test_a_commit_without_an_answer_happens_once(fault: Fault, times: int) -> None:
    """Break: `_write_version` raises at the first Unknown; or takes its own version for another writer's."""
    store = MemoryStore()
    new_table(store)
    table = opened(FaultyStore(store, on("create", fault, key=".json", times=times)))
    assert committed(table.append([add_file("a")])) == 1
    assert RawLog(store).versions() == [0, 1]
    assert opened(store).snapshot().paths() == ["a.parquet"]


@pytest.mark.spec("testCommitStateUnknown")
def test_a_commit_that_never_gets_an_answer_says_so_and_how_to_find_out() -> None:
    """Neither success nor failure is claimed. Break: `_write_version` raises `CommitConflict`, or returns."""
    store = MemoryStore()
    new_table(store)
    silent = FaultyStore(store, on("create", Fault.LATE, key=".json", times=5))
    table = opened(silent)
    with pytest.raises(OutcomeUnknown, match="version 1 of memory://test was written") as caught:
        table.append([add_file("a")])
    assert "headgate table history memory://test" in str(caught.value)
    silent.deliver_late()  # it was under way all the time
    assert RawLog(store).versions() == [0, 1]
    assert committed(table.append([add_file("b")])) == 2
    assert opened(store).snapshot().paths() == ["a.parquet", "b.parquet"]


@pytest.mark.spec("testCommitStateUnknown")
@pytest.mark.parametrize("fault", [Fault.LOST_ANSWER, Fault.LOST_REQUEST])
def test_a_state_without_an_answer_is_written_once(fault: Fault) -> None:
    """Break: `StateWriter.write` takes Unknown for a failure, or its own state for a stranger's."""
    store = MemoryStore()
    new_table(store)
    table = opened(FaultyStore(store, on("create", fault, key="state-v")), interval=1)
    assert committed(table.append([add_file("a")])) == 1
    assert RawLog(store).states() == [1]
    assert RawLog(store).pointer()["version"] == 1
    assert opened(store).snapshot().paths() == ["a.parquet"]


@pytest.mark.spec("testCommitStateUnknown")
@pytest.mark.parametrize("fault", [Fault.LOST_ANSWER, Fault.LOST_REQUEST])
def test_a_pointer_without_an_answer_is_moved(fault: Fault) -> None:
    """Break: `advance_pointer` takes Unknown for done."""
    store = two_states()
    opened(FaultyStore(store, on("swap", fault)), interval=1).append([add_file("c")])
    assert RawLog(store).pointer()["version"] == 3


@pytest.mark.spec("testCorruptedAvroHeader")
@pytest.mark.parametrize("cut", [0, 3, 20])
@pytest.mark.parametrize("kind", ["state", "manifest"])
def test_a_damaged_header_is_reported_with_the_name_of_its_file(kind: str, cut: int) -> None:
    """Break: `parse_container` doesn't check the magic bytes; or reads an empty file as one without entries."""
    store = two_states()
    key = state_key(2) if kind == "state" else newest_manifest(store)
    store.put(key, store.get(key)[:cut])
    with pytest.raises(CorruptTable) as caught:
        opened(store).snapshot().paths()
    assert key.rpartition("/")[2] in str(caught.value)


@pytest.mark.spec("testCorruptedAvroHeader")
@pytest.mark.parametrize("kind", ["state", "manifest"])
def test_another_files_bytes_are_no_avro(kind: str) -> None:
    """Break: `parse_container` skips four bytes whatever they are."""
    store = two_states()
    key = state_key(2) if kind == "state" else newest_manifest(store)
    store.put(key, b"PAR1" + store.get(key)[4:])
    with pytest.raises(CorruptTable, match="Avro") as caught:
        opened(store).snapshot().paths()
    assert key.rpartition("/")[2] in str(caught.value)


@pytest.mark.spec("testInvalidSchemaVersion")
@pytest.mark.parametrize("where", ["state", "version file"])
def test_a_protocol_from_the_future_is_refused(where: str) -> None:
    """Break: `_check` compares with 5; or looks at version files only, or at states only."""

    def build(made: HandMade) -> None:
        if where == "state":
            one_state([file("a")], protocolVersion=5)(made)
        else:
            made.version(1, protocol(5, 5), add(file("a")))

    with pytest.raises(UnsupportedTable, match=r"needs .*protocol 5; .* Upgrade Headgate"):
        opened(build_on(MemoryStore(), build)).snapshot().paths()


@pytest.mark.spec("testInvalidSchemaVersion")
def test_a_reader_feature_that_nobody_knows_yet_is_refused() -> None:
    """Break: `_check` ignores feature lists."""
    store = build_on(MemoryStore(), lambda made: made.version(1, protocol(4, 4, ["timeMachine"])))
    with pytest.raises(UnsupportedTable, match="timeMachine"):
        opened(store).snapshot()


@pytest.mark.spec("testInvalidSchemaVersion")
def test_nothing_is_written_to_a_table_from_the_future() -> None:
    """Break: `_attempt` commits without having read the protocol."""
    store = build_on(MemoryStore(), lambda made: made.version(1, protocol(5, 5), metadata("m")))
    keys = RawLog(store).keys()
    with pytest.raises(UnsupportedTable):
        opened(store).append([add_file("a")])
    assert RawLog(store).keys() == keys


@pytest.mark.spec("testInvalidSchemaVersion")
def test_a_manifest_whose_entries_have_no_path_is_refused() -> None:
    """Break: `_writers_names` asks for nothing, and `decode_columns` answers with rows of nothing."""
    schema = without_fields(avro_schemas.file_entry_a(), "path")

    def build(made: HandMade) -> None:
        made.state(1, [made.manifest([file("a")], schema=schema)])
        made.pointer(1)

    with pytest.raises(CorruptTable, match=r"manifest-[0-9a-f]{8}\.avro: its entries have no field path"):
        opened(build_on(MemoryStore(), build)).snapshot().paths()


@pytest.mark.spec("testStorageException")
def test_a_store_that_fails_while_reading_fails_that_reading_only() -> None:
    """Break: `latest` takes a failing store for one without a pointer, and shows less."""
    store = two_states()
    for key in (POINTER, state_key(2), newest_manifest(store)):
        table = opened(FaultyStore(store, on("get", Fault.REFUSED, key=key)))
        with pytest.raises(StoreError):
            table.snapshot().paths()
        assert table.snapshot().paths() == ["a.parquet", "b.parquet"], key


@pytest.mark.spec("testStorageException")
@pytest.mark.parametrize("operation", ["put", "create", "swap"])
def test_a_store_that_fails_beside_the_commit_fails_only_what_can_be_made_up_for(operation: str) -> None:
    """The version stands, the next commit writes the state. Break: `_state_if_due` raises what its state fails with."""
    store = two_states()
    key = {"put": "manifests/", "create": "state-v", "swap": "_last_checkpoint"}[operation]
    table = opened(FaultyStore(store, on(operation, Fault.REFUSED, key=key)), interval=1)
    assert committed(table.append([add_file("c")])) == 3
    assert opened(store).snapshot().paths() == ["a.parquet", "b.parquet", "c.parquet"]
    assert committed(table.append([add_file("d")])) == 4
    assert RawLog(store).pointer()["version"] == 4
    assert sorted(RawLog(store).live(4)) == ["a.parquet", "b.parquet", "c.parquet", "d.parquet"]


@pytest.mark.spec("testStorageException")
@pytest.mark.parametrize("every", [7, 11, 17])
def test_a_store_that_fails_again_and_again_loses_nothing(every: int) -> None:
    """A StoreError means that nothing was committed, so it is safe to ask again; a doubt is looked up first.

    Break: `_write_version` lets a StoreError through that came after its write; or `_refresh` keeps a half-read log.
    """
    store = MemoryStore()
    new_table(store)
    table = opened(FaultyStore(store, lambda step: Fault.REFUSED if step.number % every == 0 else None), interval=2)
    failures = 0
    for number in range(10):
        while f"f{number}.parquet" not in opened(store).snapshot().paths():
            try:
                committed(table.append([add_file(f"f{number}")]))
            except (StoreError, OutcomeUnknown):
                failures += 1
                assert failures < 40
    assert failures > 0
    assert RawLog(store).versions() == list(range(11))
    assert opened(store).snapshot().paths() == [f"f{number}.parquet" for number in range(10)]


@pytest.mark.spec("testStorageException")
def test_a_store_error_during_a_commit_means_that_nothing_was_committed() -> None:
    """Break: `_write_version` lets a StoreError through that came after its write."""
    rehearsal = FaultyStore(MemoryStore())
    new_table(rehearsal)
    first = len(rehearsal.steps)
    opened(rehearsal).append([add_file("a")])
    doubts = 0
    for number in range(1, len(rehearsal.steps) - first + 1):
        store = MemoryStore()
        new_table(store)
        table = opened(FaultyStore(store, at(number, Fault.REFUSED)))
        try:
            committed(table.append([add_file("a")]))
        except StoreError:
            assert opened(store).version == 0, number
        except OutcomeUnknown:
            doubts += 1
    assert doubts == 1  # the look at the version before, after the write
