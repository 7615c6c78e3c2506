"""The writer profile that every known reader accepts (docs/format.md, section 13), rule by rule, on the raw bytes.

Both profiles: a state every ten versions, and a state with every version for readers that know nothing else.
"""

import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headgate_schemas.actions.actions import SkipFile
from headgate_schemas.actions.doc_mapping import mapping_hash
from headgate_schemas.ambient import SystemAmbient
from headgate_schemas.messages.operations import Committed, Receipt, Skip
from headgate_table.indextables.format.pointer import state_pointer
from headgate_table.indextables.write.state_writer import StateWriter
from headgate_table.store.interface import Store
from headgate_table.store.open import open_store
from headgate_table.store.settings import StoreSettings
from headgate_table.table import Table
from support.logs.foreign_log import build_on, copy_to
from support.logs.known_keys import ADD_KEYS, METADATA_KEYS, POINTER_KEYS, PROTOCOL_KEYS, REMOVE_KEYS, SKIP_KEYS
from support.logs.raw_log import RawLog
from support.stores import MemoryStore
from support.tables import START_MS, SteadyAmbient, add_file, files, new_table, opened
from support.writers import avro_schemas
from support.writers.handmade import HandMade, file, metadata
from support.writers.invented import DOC_MAPPING, DOC_MAPPING_HASH
from support.writers.legacy_jar import LegacyJarTable
from support.writers.log_folder import hadoop_crc
from support.writers.rust import RustTable
from support.writers.scala import ScalaTable

OTHER_MAPPING = '[{"name":"n","type":"i64"}]'

KNOWN_KEYS = {
    "protocol": PROTOCOL_KEYS,
    "metaData": METADATA_KEYS,
    "add": ADD_KEYS,
    "remove": REMOVE_KEYS,
    "mergeskip": SKIP_KEYS,
}


def committed(receipt: Receipt) -> int:
    assert isinstance(receipt, Committed), receipt
    return receipt.version


def busy_table(interval: int) -> Table:
    """A life of twelve versions in which every kind of action and of value occurs."""
    table = new_table(None, "region", "month", interval=interval, configuration={"owner": "ünï"})
    table.append(
        [
            add_file(
                "full",
                region="eu",
                month=1,
                stats="{}",
                min_values={"id": "1", "text": "ü"},
                max_values={"id": "9", "text": "ý"},
                footer_start_offset=5,
                footer_end_offset=9,
                has_footer_offsets=True,
                split_tags=("t",),
                num_merge_ops=0,
                doc_mapping_json=DOC_MAPPING,
                uncompressed_size_bytes=5,
                companion_source_files=("s",),
                companion_delta_version=3,
                companion_fast_field_mode="HYBRID",
                tags={"k": "v"},
            ),
            add_file("bare", region="eu", month=2, num_records=None),
        ]
    )
    table.append(files("a", 30, region="us", month=12))
    table.commit(Skip((SkipFile("region=eu/month=1/full.parquet", START_MS, "unreadable", "merge"),)))
    table.overwrite(files("b", 4, region="eu", month=2), where="region = 'eu' AND month = 2")
    table.delete(paths=["region=us/month=12/a-00003.parquet"])
    table.rewrite(
        ["region=us/month=12/a-00004.parquet", "region=us/month=12/a-00005.parquet"],
        [add_file("merged", region="us", month=12, num_records=20)],
    )
    table.alter(configuration={"k": "v"}, description="about")
    for number in range(5):
        table.append(files(f"z{number}", 2, region="ap", month=7, doc_mapping_json=OTHER_MAPPING))
    return table


@pytest.fixture(params=[10, 1], ids=["interval-10", "interval-1"])
def table(request: pytest.FixtureRequest) -> Table:
    return busy_table(request.param)


@pytest.fixture
def log(table: Table) -> RawLog:
    return RawLog(table.store)


def states_of(log: RawLog) -> Iterator[tuple[int, dict[str, Any]]]:
    for version in log.states():
        yield version, log.state(version)


# --- version files ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("interval", [10, 1])
def test_every_version_has_a_file_and_every_interval_a_state(interval: int) -> None:
    """Break: `_state_if_due` compares with `>` instead of `>=`."""
    log = RawLog(busy_table(interval).store)
    assert log.versions() == list(range(13))
    assert log.states() == [version for version in range(1, 13) if version % interval == 0]


def test_a_version_file_is_two_bytes_and_one_gzip_stream(log: RawLog) -> None:
    """Break: `pack` leaves out the two bytes (Scala reads plain gzip as text), or writes several members (fatal in Rust)."""
    for version in log.versions():
        data = log.version_bytes(version)
        assert data[:4] == b"\x01\x01\x1f\x8b"
        member = zlib.decompressobj(wbits=31)
        text = member.decompress(data[2:])
        assert (member.eof, member.unused_data) == (True, b"")
        assert text.endswith(b"\n")
        assert not text.startswith(b"\xef\xbb\xbf")
        assert b"\r" not in text


def test_version_files_are_plain_text_when_the_table_says_so() -> None:
    """Break: `encode_actions` ignores `compressed`."""
    table = new_table(settings={"transaction.compression.enabled": "false"})
    table.append(files("a", 1))
    assert RawLog(table.store).version_bytes(1).startswith(b'{"seal":')


def test_removes_come_before_adds(log: RawLog) -> None:
    """Break: `_prepare` puts the adds first; a reader that replays in order loses a rewritten path."""
    for version in log.versions():
        kinds = [next(iter(line)) for line in log.actions(version)]
        if "remove" in kinds and "add" in kinds:
            assert kinds.index("add") > max(place for place, kind in enumerate(kinds) if kind == "remove")
    assert any({"remove", "add"} <= {kind for line in log.actions(v) for kind in line} for v in log.versions())


def test_lines_hold_one_action_with_known_keys_only(log: RawLog) -> None:
    """Break: `_written` adds a key of our own: Scala then drops the line, and with it the file."""
    seen = set()
    for version in log.versions():
        for line in log.actions(version):
            (kind,) = line
            seen.add(kind)
            if kind != "commitInfo":  # the one line of our own: known readers skip it as a whole
                assert set(line[kind]) <= KNOWN_KEYS[kind]
    assert seen == {*KNOWN_KEYS, "commitInfo"}


def test_maps_hold_strings_only_and_partition_values_are_always_there(log: RawLog) -> None:
    """Break: `format_action` leaves out an empty partitionValues, or writes a null into it: fatal in Rust."""
    checked = 0
    for version in log.versions():
        for line in log.actions(version):
            for body in (line[kind] for kind in ("add", "remove", "mergeskip", "metaData") if kind in line):
                for key in ("partitionValues", "minValues", "maxValues", "tags", "configuration"):
                    if body.get(key) is not None:
                        assert all(isinstance(text, str) for pair in body[key].items() for text in pair)
                        checked += 1
            if "add" in line:
                assert isinstance(line["add"]["partitionValues"], dict)
    assert checked > 50


def test_an_unpartitioned_file_has_an_empty_object_of_partition_values() -> None:
    """Break: `_written` drops empty maps."""
    table = new_table()
    table.append(files("a", 1))
    table.delete(paths=["a-00000.parquet"])
    log = RawLog(table.store)
    assert log.action(1, "add")["partitionValues"] == {}
    assert log.action(2, "remove")["partitionValues"] == {}


def test_required_values_of_an_add_are_never_null_and_numbers_are_whole(log: RawLog) -> None:
    """Break: `_written` writes a size as text or a flag as null: fatal in Rust."""
    for version in log.versions():
        for add in (line["add"] for line in log.actions(version) if "add" in line):
            assert type(add["path"]) is str
            assert type(add["size"]) is int
            assert type(add["modificationTime"]) is int
            assert type(add["dataChange"]) is bool


# --- manifests and states -----------------------------------------------------------------------------------------


def test_manifests_have_the_21_fields_of_schema_a(log: RawLog) -> None:
    """Break: `schema_for` always takes schema B; or `file_entry_a.avsc` gives `splitTags` the id 130 of the old texts."""
    wanted = avro_schemas.without_prose(avro_schemas.file_entry_a())
    assert len(wanted["fields"]) == 21
    for version, state in states_of(log):
        for info in state["manifests"]:
            assert avro_schemas.without_prose(log.manifest_file(info["path"], version).schema) == wanted


def test_states_have_the_known_schema_and_one_optional_field_more(log: RawLog) -> None:
    """Break: `state_manifest.avsc` changes a default, a type or the namespace."""
    wanted = avro_schemas.without_prose(avro_schemas.state_manifest())
    for version in log.states():
        schema = avro_schemas.without_prose(log.state_file(version).schema)
        assert schema["fields"].pop() == {"name": "coordinator", "type": ["null", "string"], "default": None}
        assert schema == wanted
        assert len(log.state_file(version).records) == 1


@pytest.mark.parametrize("compression", ["zstd", "none", "snappy"])
def test_the_codec_is_zstandard_or_null_unless_snappy_was_asked_for(compression: str) -> None:
    """Break: `TableOptions.codec` gives "deflate" for zstd; or states ignore the setting."""
    table = new_table(interval=1, settings={"state.compression": compression})
    table.append(files("a", 3))
    log = RawLog(table.store)
    wanted = {"zstd": "zstandard", "none": "null", "snappy": "snappy"}[compression]
    assert (log.state_file(1).codec, log.manifest_of(1).codec) == (wanted, wanted)


def test_the_codec_is_zstandard_when_nothing_is_said(log: RawLog) -> None:
    """Break: the default of `state_compression` changes to snappy, which Rust can't read."""
    for version, state in states_of(log):
        assert log.state_file(version).codec == "zstandard"
        assert {log.manifest_file(info["path"], version).codec for info in state["manifests"]} == {"zstandard"}


def test_headers_begin_with_the_two_keys_that_every_reader_knows(log: RawLog) -> None:
    """Those of our own come last: readers ignore them. Break: `header_bytes` writes the codec before the schema."""
    ours = ("headgate.name", "headgate.sha256")
    for version, state in states_of(log):
        assert log.state_file(version).header_keys == ("avro.schema", "avro.codec", *ours)
        assert log.manifest_file(state["manifests"][0]["path"]).header_keys == ("avro.schema", "avro.codec", *ours)


def test_every_state_carries_the_metadata_with_the_document_mappings(log: RawLog) -> None:
    """Break: `_plan` passes no metadata: Rust then loses schema and partition columns."""
    for _, state in states_of(log):
        body = json.loads(state["metadata"])
        assert list(body) == ["metaData"]
        assert set(body["metaData"]) <= METADATA_KEYS  # an unknown one makes Scala ignore all of it
        assert body["metaData"]["partitionColumns"] == ["region", "month"]
        assert body["metaData"]["configuration"]["owner"] == "ünï"
        for hash_, text in state["schemaRegistry"].items():
            assert body["metaData"]["configuration"][f"docMappingSchema.{hash_}"] == text
    assert state["schemaRegistry"]


def test_the_schema_registry_has_bare_keys(log: RawLog) -> None:
    """Break: `_plan` writes `registry_key(hash)`: Scala looks up bare keys only."""
    last = log.state(log.states()[-1])["schemaRegistry"]
    assert last == {DOC_MAPPING_HASH: DOC_MAPPING, mapping_hash(OTHER_MAPPING): OTHER_MAPPING}


def test_a_registry_with_prefixed_keys_is_written_on_with_bare_ones() -> None:
    """Break: `_plan` keeps the keys of the base as they are; or passes `metadata` without `with_registry`."""
    entry = {**file("a"), "docMappingRef": DOC_MAPPING_HASH}

    def build(made: HandMade) -> None:
        registry = {f"docMappingSchema.{DOC_MAPPING_HASH}": DOC_MAPPING}
        made.state(1, [made.manifest([entry])], schemaRegistry=registry)
        made.pointer(1)

    table = opened(build_on(MemoryStore(), build), interval=1)
    table.append([add_file("b")])
    state = RawLog(table.store).state(2)
    assert state["schemaRegistry"] == {DOC_MAPPING_HASH: DOC_MAPPING}
    configuration = json.loads(state["metadata"])["metaData"]["configuration"]
    assert configuration.keys() == {f"docMappingSchema.{DOC_MAPPING_HASH}", "headgate.coordinator"}
    assert configuration[f"docMappingSchema.{DOC_MAPPING_HASH}"] == DOC_MAPPING


def test_entries_say_the_version_and_the_time_of_the_commit_that_added_them(log: RawLog) -> None:
    """Break: `Delta.apply` notes 0 as the version, as Scala does; or the file's own time."""
    added_in: dict[str, tuple[int, int]] = {}
    for version in log.versions():
        time_ms = log.action(version, "commitInfo")["timestamp"]
        added_in |= {line["add"]["path"]: (version, time_ms) for line in log.actions(version) if "add" in line}
    last = log.states()[-1]
    found = {entry["path"]: (entry["addedAtVersion"], entry["addedAtTimestamp"]) for entry in log.entries(last)}
    assert len(found) > 30
    assert found == {path: added_in[path] for path in found}
    for info in log.state(last)["manifests"]:
        versions = [entry["addedAtVersion"] for entry in log.manifest_file(info["path"]).records]
        assert (info["minAddedAtVersion"], info["maxAddedAtVersion"]) == (min(versions), max(versions))


def test_a_state_lists_what_the_versions_up_to_it_leave(log: RawLog) -> None:
    """Break: `_plan` forgets the removes of a version that also adds."""
    live: set[str] = set()
    for version in log.versions():
        for line in log.actions(version):
            if "remove" in line:
                live.discard(line["remove"]["path"])
            if "add" in line:
                live.add(line["add"]["path"])
        if version in log.states():
            state = log.state(version)
            assert set(log.live(version)) == live
            assert (state["numFiles"], state["totalBytes"]) == (
                len(live),
                sum(entry["size"] for entry in log.live(version).values()),
            )


def test_a_tombstone_stays_until_the_manifest_that_needs_it_is_rewritten() -> None:
    """Break: `_plan` starts without the tombstones of its base; or compaction leaves them in place."""
    table = new_table(interval=1)
    table.append(files("a", 40))
    table.delete(paths=["a-00007.parquet"])
    for number in range(6):
        table.append(files(f"b{number}", 1))
    log = RawLog(table.store)
    assert all(log.state(version)["tombstones"] == ["a-00007.parquet"] for version in range(2, 9))
    compacted = committed(table.compact())
    assert log.state(compacted)["tombstones"] == []
    assert "a-00007.parquet" not in {entry["path"] for entry in log.entries(compacted)}
    assert len(log.live(compacted)) == 45


# --- pointer ------------------------------------------------------------------------------------------------------


def test_the_pointer_has_nine_keys_in_order_and_tells_the_newest_state(log: RawLog) -> None:
    """Break: `format_pointer` leaves out the nulls, adds a key (Scala then ignores the pointer) or ends in a newline."""
    newest = log.states()[-1]
    state, pointer = log.state(newest), log.pointer()
    assert list(pointer) == POINTER_KEYS
    assert log.raw("_last_checkpoint").startswith(b'{"version":')
    assert b"\n" not in log.raw("_last_checkpoint")
    assert pointer == {
        "version": newest,
        "size": state["numFiles"],
        "sizeInBytes": state["totalBytes"],
        "numFiles": state["numFiles"],
        "createdTime": pointer["createdTime"],
        "parts": None,
        "checkpointId": None,
        "format": "avro-state",
        "stateDir": f"state-v{newest:020d}",
    }
    assert START_MS < pointer["createdTime"] <= state["createdAt"]


def test_the_pointer_never_goes_backwards() -> None:
    """Break: `advance_pointer` doesn't compare; a writer that was asleep then hides ten versions from old readers."""
    table = new_table(interval=1)
    for number in range(4):
        table.append(files(f"a{number}", 1))
    log = RawLog(table.store)
    before = log.raw("_last_checkpoint")
    writer = StateWriter(table.reader, SteadyAmbient(), table.options)
    writer.advance_pointer(state_pointer(2, 99, 99, 99))
    writer.advance_pointer(state_pointer(4, 99, 99, 99))
    assert log.raw("_last_checkpoint") == before


def test_a_broken_pointer_is_replaced_by_a_good_one() -> None:
    """Break: `advance_pointer` returns when it can't read what is there: fatal in Rust from then on."""
    table = new_table(interval=1)
    table.append(files("a", 1))
    table.store.put("_transaction_log/_last_checkpoint", b"")
    table.append(files("b", 1))
    assert RawLog(table.store).pointer()["version"] == 2


# --- tables of others ---------------------------------------------------------------------------------------------


def scala_at_5(root: Path) -> ScalaTable:
    """A Scala table whose newest state is 5, with one version file, 0, and a checksum beside every file."""
    made = ScalaTable(root)
    for _ in range(5):
        made.append(3)
    return made


def local(root: Path) -> Store:
    return open_store(str(root), StoreSettings(local_durable=False), SystemAmbient())


@pytest.mark.parametrize("interval", [10, 1])
def test_the_first_commit_on_a_scala_table_is_version_6_and_state_6(tmp_path: Path, interval: int) -> None:
    """Break: `next` counts version files only (6.3: the commit is lost); or no state is written until the tenth."""
    made = scala_at_5(tmp_path)
    table = opened(local(tmp_path), interval=interval)
    assert committed(table.append([add_file("ours")])) == 6
    log = RawLog(table.store)
    assert (log.versions(), log.states()) == ([0, 6], [1, 2, 3, 4, 5, 6])
    assert set(log.live(6)) == {*made.expected().paths, "ours.parquet"}
    assert log.pointer()["version"] == 6
    assert json.loads(log.state(6)["metadata"])["metaData"]["id"] == made.table_id


def test_after_the_first_commit_states_follow_their_interval(tmp_path: Path) -> None:
    """Break: `_states_run_ahead` compares with the newest state's number and stays true."""
    scala_at_5(tmp_path)
    table = opened(local(tmp_path), interval=10)
    for number in range(12):
        table.append([add_file(f"ours{number}")])
    assert RawLog(table.store).states() == [1, 2, 3, 4, 5, 6, 16]


@pytest.mark.parametrize(
    ("versions", "states", "following"),
    [((0, 1, 2, 3), (), 4), ((0,), (5,), 6), ((0, 1, 2, 3, 4, 5, 6), (3,), 7), ((), (4,), 5)],
    ids=["versions", "state ahead", "versions ahead", "state only"],
)
def test_the_next_number_follows_the_highest_in_use(
    versions: tuple[int, ...], states: tuple[int, ...], following: int
) -> None:
    """Break: `LogListing.highest` looks at one of the name spaces only."""

    def build(made: HandMade) -> None:
        (made.log.path / f"{0:020d}.json").unlink()
        for version in versions:
            made.version(version, {"add": file_action(f"v{version}")}) if version else made.start()
        for state in states:
            made.state(state, [made.manifest([file("s")])], meta=metadata("an-id"))
            made.pointer(state)

    table = opened(build_on(MemoryStore(), build))
    assert committed(table.append([add_file("ours")])) == following
    assert RawLog(table.store).versions() == [*versions, following]


def file_action(name: str) -> dict[str, Any]:
    entry = file(name)
    return {key: entry[key] for key in ("path", "partitionValues", "size", "modificationTime", "dataChange")}


def test_a_number_above_a_json_checkpoint_is_taken() -> None:
    """Break: `highest` leaves out `checkpoints`."""

    def build(made: HandMade) -> None:
        (made.log.path / f"{0:020d}.json").unlink()
        lines = [json.dumps(metadata("an-id")), json.dumps({"add": file_action("c")})]
        made.log.put(f"{8:020d}.checkpoint.json", "".join(f"{line}\n" for line in lines).encode())
        made.pointer(8, format="json", stateDir=None)

    table = opened(build_on(MemoryStore(), build))
    assert committed(table.append([add_file("ours")])) == 9


def test_a_number_above_a_json_state_of_an_early_jar_is_taken(tmp_path: Path) -> None:
    """Break: `_check_predecessor` leaves out the early jars' name: the commit is made, and then taken for lost."""
    made = LegacyJarTable(tmp_path)
    made.append(2)
    for name in made.log.path.glob("*.json"):
        name.unlink()
    table = opened(copied(tmp_path))
    before = table.version
    assert committed(table.append([add_file("ours")])) == before + 1


def test_no_stale_checksum_is_left_beside_a_file_that_was_replaced(tmp_path: Path) -> None:
    """Break: the local store's `swap` leaves the sidecar: Hadoop then fails with a ChecksumException."""
    scala_at_5(tmp_path)
    folder = tmp_path / "_transaction_log"
    assert (folder / "._last_checkpoint.crc").exists()
    opened(local(tmp_path), interval=1).append([add_file("ours")])
    for sidecar in folder.rglob(".*.crc"):
        owner = sidecar.parent / sidecar.name[1 : -len(".crc")]
        assert sidecar.read_bytes() == hadoop_crc(owner.read_bytes()), owner
    assert not (folder / "._last_checkpoint.crc").exists()


def test_entries_of_rust_keep_the_fields_that_only_rust_writes(tmp_path: Path) -> None:
    """Break: `schema_for` always takes schema A: a compaction then loses opstamps, time ranges and inline mappings."""
    made = RustTable(tmp_path)
    entry = made.invented.file()
    entry |= {"deleteOpstamp": 7, "timeRangeStart": "2024", "timeRangeEnd": "2025"}
    made.commit([entry])
    store = copied(tmp_path)
    table = opened(store, interval=1)
    table.append([add_file("ours")])
    version = committed(table.compact())
    log = RawLog(store)
    (found,) = [row for row in log.entries(version) if row["path"] == entry["path"]]
    assert (found["deleteOpstamp"], found["timeRangeStart"], found["timeRangeEnd"]) == (7, "2024", "2025")
    assert avro_schemas.without_prose(log.manifest_of(version).schema) == avro_schemas.without_prose(
        avro_schemas.file_entry_b()
    )


def copied(root: Path) -> MemoryStore:
    store = MemoryStore()
    copy_to(store, root)
    return store
