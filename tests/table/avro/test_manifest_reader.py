"""Reading file manifests: what foreign writers put into them is what we find. Every file here is written by fastavro."""

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from headgate_schemas.actions.entry_fields import ENTRY_FIELDS, FIELD_BY_NAME
from headgate_table.avro import decode
from headgate_table.avro.container import parse_container
from headgate_table.errors import CorruptTable
from headgate_table.indextables.format.entries import ALL_COLUMNS, decode_entries, entry_schema
from headgate_table.store.interface import Store
from headgate_table.table import Table
from support.logs.foreign_log import build_on, large_manifest, large_path, one_state
from support.stores import FaultyStore, MemoryStore
from support.tables import opened
from support.writers import avro_schemas
from support.writers.avro_bytes import CODECS, container
from support.writers.handmade import HandMade, add, file
from support.writers.invented import Invented

NAME = "_transaction_log/manifests/manifest-0a1b2c3d.avro"
SYNC = bytes(range(16))

FULL = {
    "path": "date=2024-01-01/ünï☃/part-1.parquet",
    "partitionValues": {"date": "2024-01-01", "región": "Málaga ☃"},
    "size": 2**53 + 1,
    "modificationTime": 1_775_007_200_001,
    "dataChange": False,
    "stats": '{"numRecords":5}',
    "minValues": {"id": "-9", "text": ""},
    "maxValues": {"id": "9", "text": "😀"},
    "numRecords": 5,
    "footerStartOffset": 10,
    "footerEndOffset": 20,
    "hasFooterOffsets": True,
    "deleteOpstamp": 7,
    "splitTags": ["a", "", "b"],
    "numMergeOps": 3,
    "docMappingJson": '[{"name":"id"}]',
    "docMappingRef": "gC45RGOqJ_Grt0xH",
    "uncompressedSizeBytes": 2**40,
    "timeRangeStart": "2024",
    "timeRangeEnd": "2025",
    "addedAtVersion": 41,
    "addedAtTimestamp": 1_775_007_200_002,
    "companionSourceFiles": ["s/1", "s/2"],
    "companionDeltaVersion": 12,
    "companionFastFieldMode": "HYBRID",
}


def read(data: bytes, columns: Sequence[str] = ALL_COLUMNS) -> pa.Table:
    return decode_entries(parse_container(data, NAME), columns)


def rows(table: pa.Table) -> list[dict[str, Any]]:
    """Entries keyed by the format's names, maps as dicts."""
    found = []
    for row in table.to_pylist():
        named = {field.name: row[field.column] for field in ENTRY_FIELDS if field.column in row}
        found.append({key: dict(v) if _is_map(key) and v is not None else v for key, v in named.items()})
    return found


def _is_map(name: str) -> bool:
    return FIELD_BY_NAME[name].kind.value == "map"


def manifest(records: Sequence[Mapping[str, Any]], schema: Any = None, **layout: Any) -> bytes:
    return container(schema or avro_schemas.file_entry_b(), records, sync=SYNC, **layout)


@pytest.mark.spec("testReadEmptyManifest")
@pytest.mark.parametrize("codec", CODECS)
def test_an_empty_manifest_reads_as_no_entries_with_all_columns(codec: str) -> None:
    """Break: `_empty` refuses whatever has no rows (`if not rows`)."""
    assert read(manifest([], codec=codec)).equals(entry_schema(ALL_COLUMNS).empty_table())


@pytest.mark.spec("testReadSingleEntry")
def test_a_single_entry_is_read() -> None:
    """Break: `_decode_part` selects `names[1:]`."""
    (found,) = rows(read(manifest([FULL]), ["path", "size"]))
    assert found == {"path": FULL["path"], "size": FULL["size"]}


@pytest.mark.spec("testReadMultipleEntries")
@pytest.mark.parametrize("codec", CODECS)
def test_entries_of_many_blocks_keep_their_order(codec: str) -> None:
    """Break: `_unfolded` yields the first block alone."""
    files = Invented("many").files(1500)
    for number, entry in enumerate(files):
        entry |= {"addedAtVersion": number, "addedAtTimestamp": 5}
    data = manifest(files, avro_schemas.file_entry_a(), codec=codec, block_bytes=16_000)
    assert len(parse_container(data, NAME).blocks) > 10
    found = rows(read(data))
    assert [{name: row[name] for name in files[0]} for row in found] == files


@pytest.mark.spec("testReadMultipleEntries")
def test_blocks_decoded_side_by_side_keep_their_order() -> None:
    """Break: `_split` puts a block into `parts[0]` when it should go into a later part."""
    data = large_manifest([(range(30_000), {"date": "2024-01-01"})])
    resources = opened(build_on(MemoryStore(), one_state([]))).reader.resources
    found = decode_entries(parse_container(data, NAME), ["path"], resources.splitters)
    assert found.column("path").to_pylist() == [large_path(n, {"date": "2024-01-01"}) for n in range(30_000)]


@pytest.mark.spec("testReadAllFields")
@pytest.mark.parametrize(
    "schema", [avro_schemas.file_entry_18(), avro_schemas.file_entry_a(), avro_schemas.file_entry_b()], ids=[18, 21, 25]
)
def test_every_field_of_every_known_schema_is_read(schema: Any) -> None:
    """Break: two names swapped in `ENTRY_FIELDS` (say `footerStartOffset` and `footerEndOffset`)."""
    names = [field["name"] for field in schema["fields"]]
    (found,) = rows(read(manifest([{name: FULL[name] for name in names}], schema)))
    assert {name: found[name] for name in names} == {name: FULL[name] for name in names}
    assert all(found[name] is None for name in FULL if name not in names)


@pytest.mark.spec("testReadNullableFields")
def test_every_optional_field_may_be_null() -> None:
    """Break: `_conform` fills optional columns, too (its `not field.optional` is dropped)."""
    optional = {field.name for field in ENTRY_FIELDS if field.optional}
    nulls = {name: None if name in optional else value for name, value in FULL.items()}
    assert rows(read(manifest([nulls, FULL, nulls]))) == [nulls, FULL, nulls]


def test_empty_maps_and_lists_are_not_null() -> None:
    """Break: `_nested` turns empty collections into nulls."""
    empty = {**FULL, "partitionValues": {}, "minValues": {}, "maxValues": {}, "splitTags": []}
    assert rows(read(manifest([empty, FULL]))) == [empty, FULL]


@pytest.mark.spec("testReadWithPartitionValues")
def test_partition_values_stay_with_their_entry() -> None:
    """Break: `_nested` passes `chunk.offsets[1:]`, so that each row gets its neighbour's values."""
    values: list[dict[str, str]] = [{"a": "1", "b": "x=y/z"}, {}, {"b": "ü"}, {"a": "", "c": "3", "b": "2"}]
    data = manifest([{**FULL, "partitionValues": value} for value in values])
    assert [row["partitionValues"] for row in rows(read(data, ["partition_values"]))] == values


@pytest.mark.spec("testReadWithEmptyPartitionValues")
def test_an_unpartitioned_table_has_empty_maps_and_no_nulls() -> None:
    """Break: `_absent` gives nulls to a required map."""
    column = read(manifest([{**FULL, "partitionValues": {}}] * 3)).column("partition_values")
    assert (column.null_count, column.to_pylist()) == (0, [[], [], []])


@pytest.mark.spec("testReadLargeManifest")
def test_a_large_manifest_is_decoded_in_bulk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Break: `decode_columns` always goes through `_by_records`, which takes twenty times as long."""

    def refuse(*_: object) -> list[dict[str, Any]]:
        raise AssertionError("a large manifest was read record by record")

    data = large_manifest([(range(100_000), {})])
    monkeypatch.setattr(decode, "read_records", refuse)
    found = read(data, ["path", "size"])
    assert (found.num_rows, pc.count_distinct(found.column("path")).as_py()) == (100_000, 100_000)
    assert pc.sum(found.column("size")).as_py() == 100_000 * 1_000


@pytest.mark.spec("testReadCorruptedManifest")
@pytest.mark.parametrize("codec", ["deflate", "zstandard", "snappy", "bzip2", "xz"])
def test_a_block_that_cannot_be_unpacked_names_the_file(codec: str) -> None:
    """Break: `Container.payload` catches nothing, so that the library's error gets out."""
    data = manifest([FULL] * 20, codec=codec)
    where = parse_container(data, NAME).blocks[0]
    middle = where.start + where.size // 2
    damaged = data[:middle] + bytes(byte ^ 0xFF for byte in data[middle : middle + 8]) + data[middle + 8 :]
    with pytest.raises(CorruptTable, match=NAME):
        read(damaged)


@pytest.mark.spec("testReadTruncatedManifest")
@pytest.mark.parametrize("codec", ["null", "zstandard"])
def test_a_manifest_cut_anywhere_names_the_file_or_has_fewer_whole_blocks(codec: str) -> None:
    """Break: `_read_blocks` ends quietly where a block doesn't fit into the file."""
    data = manifest([FULL] * 6, codec=codec, block_bytes=600)
    whole = [block.start + block.size + 16 for block in parse_container(data, NAME).blocks]
    header_end = parse_container(data, NAME).blocks[0].start - 3
    survived = []
    refusals = []
    for length in range(len(data)):
        try:
            survived.append((length, parse_container(data[:length], NAME).num_records))
        except CorruptTable as error:
            refusals.append(str(error))
    assert all(NAME in refusal for refusal in refusals)
    # A cut between two blocks can't be seen in the file itself: its state tells how many entries there must be.
    assert [length for length, _ in survived if length > header_end + 3] == whole[:-1]
    assert all(records < 6 for _, records in survived)


@pytest.mark.spec("testReadTruncatedManifest")
def test_a_manifest_with_fewer_entries_than_its_state_says_is_refused() -> None:
    """Break: `_fetch` doesn't compare `num_records` with `num_entries`."""

    def build(made: HandMade) -> None:
        info = made.manifest([file("a"), file("b")])
        made.state(1, [{**info, "numEntries": 3}])
        made.pointer(1)

    with pytest.raises(CorruptTable, match=r"holds 2 entries but its state says 3"):
        opened(build_on(MemoryStore(), build)).snapshot().paths()


def _added_over_time() -> Table:
    """Files added at 1, 2 and 3 by states, at 4 by a version file that says when, at 5 by one that doesn't."""

    def build(made: HandMade) -> None:
        older = [{**file(f"f{n}"), "addedAtVersion": n, "addedAtTimestamp": 1_000 * n} for n in (1, 3, 2)]
        made.state(3, [made.manifest(older[:2]), made.manifest(older[2:])])
        made.version(4, add(file("f4")), {"commitInfo": {"timestamp": 4_000}})
        made.version(5, add(file("f5"), modificationTime=5_000))
        made.pointer(3)

    return opened(build_on(MemoryStore(), build))


@pytest.mark.spec("testFilterByAddedAtVersion")
@pytest.mark.parametrize(("since", "names"), [(0, "12345"), (2, "345"), (3, "45"), (5, "")])
def test_entries_can_be_filtered_by_the_version_that_added_them(since: int, names: str) -> None:
    """Break: `Delta.apply` notes `version - 1`, or the columns of version and timestamp are swapped."""
    found = _added_over_time().snapshot().files(["path", "added_at_version"])
    later = found.filter(pc.field("added_at_version") > since)
    assert sorted(later.column("path").to_pylist()) == [f"f{name}.parquet" for name in names]


@pytest.mark.spec("testFilterByAddedAtTimestamp")
@pytest.mark.parametrize(("since", "names"), [(999, "12345"), (2_000, "345"), (3_999, "45"), (4_000, "5")])
def test_entries_can_be_filtered_by_the_time_they_were_added(since: int, names: str) -> None:
    """Break: `Delta.apply` always takes the file's modification time, or never does."""
    found = _added_over_time().snapshot().files(["path", "added_at_timestamp"])
    later = found.filter(pc.field("added_at_timestamp") > since)
    assert sorted(later.column("path").to_pylist()) == [f"f{name}.parquet" for name in names]


@pytest.mark.spec("testFilterByPartition")
def test_manifests_whose_bounds_exclude_the_partition_are_not_fetched() -> None:
    """Break: `read_entries` keeps all manifests (`kept = infos`)."""

    def build(made: HandMade) -> None:
        infos = []
        for first, last in (("a", "c"), ("d", "f"), ("b", "e")):
            info = made.manifest([file(f"{first}{last}{r}", region=r) for r in (first, last)])
            infos.append({**info, "partitionBounds": {"region": {"min": first, "max": last}}})
        made.state(1, infos)
        made.pointer(1)

    store = FaultyStore(build_on(MemoryStore(), build, "region"))
    snapshot = opened(store).snapshot(where="region = 'd'")
    assert snapshot.paths() == ["region=d/dfd.parquet"]
    assert (snapshot.statistics.manifests_read, snapshot.statistics.manifests_skipped) == (2, 1)
    assert sum("/manifests/" in step.key for step in store.steps) == 2


@pytest.mark.spec("testParallelManifestRead")
def test_manifests_are_read_side_by_side_and_listed_in_order() -> None:
    """Break: `ReadResources.each` is a plain loop; or it returns what is done first, first."""
    manifests = [[file(f"{letter}{n}") for n in range(3)] for letter in "dacb"]
    meeting = threading.Barrier(4, timeout=20)
    store = MeetingStore(build_on(MemoryStore(), one_state(*manifests)), meeting)
    found = opened(store).snapshot().files(["path"]).column("path").to_pylist()
    assert found == [f"{letter}{n}.parquet" for letter in "dacb" for n in range(3)]
    assert store.count("get") == 2 + 4


class MeetingStore(FaultyStore):
    """Answers no request for a manifest before four of them are waiting."""

    def __init__(self, inner: Store, meeting: threading.Barrier) -> None:
        super().__init__(inner)
        self._meeting = meeting

    def get(self, key: str, *, max_bytes: int | None = None) -> bytes:
        if "/manifests/" in key:
            self._meeting.wait()
        return super().get(key, max_bytes=max_bytes)
