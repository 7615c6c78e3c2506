"""Writing file manifests: what fastavro finds in the files that we wrote."""

import io
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from headgate_schemas.actions.actions import Metadata
from headgate_schemas.actions.entry_fields import ENTRY_FIELDS
from headgate_schemas.ambient import SystemAmbient
from headgate_schemas.columns.table_schema import schema_string_of
from headgate_table.avro.encode import DEFAULT_BLOCK_BYTES, BlockSettings, EntryEncoder, encode_manifest
from headgate_table.indextables.write.manifest_writer import write_manifest
from headgate_table.settings.options import TableOptions, table_options
from support.logs.raw_log import AvroFile, RawLog, read_avro
from support.memory import rss_growth_of
from support.stores import MemoryStore
from support.tables import (
    COLUMNS,
    SCHEMA_A,
    SCHEMA_B,
    SYNC,
    SteadyAmbient,
    arrow_entries,
    entries,
    text_of,
)

METADATA = Metadata("an-id", schema_string_of(COLUMNS))

FULL: Mapping[str, Any] = {
    "path": "region=eu/ünï☃/part-1.parquet",
    "partition_values": {"region": "eu", "date": ""},
    "size": 2**53 + 1,
    "modification_time": 1_775_007_200_001,
    "data_change": False,
    "stats": '{"numRecords":5}',
    "min_values": {"id": "-9", "text": ""},
    "max_values": {"text": "😀"},
    "num_records": 5,
    "footer_start_offset": 10,
    "footer_end_offset": -20,
    "has_footer_offsets": True,
    "delete_opstamp": 7,
    "split_tags": ["a", "", "b"],
    "num_merge_ops": 3,
    "doc_mapping_json": '[{"name":"id"}]',
    "doc_mapping_ref": "gC45RGOqJ_Grt0xH",
    "uncompressed_size_bytes": 2**63 - 1,
    "time_range_start": "2024",
    "time_range_end": "",
    "added_at_version": 41,
    "added_at_timestamp": 1_775_007_200_002,
    "companion_source_files": ["s/1", "s/2"],
    "companion_delta_version": -(2**63),
    "companion_fast_field_mode": "HYBRID",
}


def written(rows: Sequence[Mapping[str, Any]], fields: Any = SCHEMA_A, codec: str = "zstandard") -> AvroFile:
    return read_avro(encode_manifest(arrow_entries(rows, fields), fields, text_of(fields), SYNC, codec=codec))


def named(row: Mapping[str, Any], fields: Any = SCHEMA_A) -> dict[str, Any]:
    return {field.name: row.get(field.column) for field in fields}


def store_manifest(store: MemoryStore, count: int, options: TableOptions, ambient: Any = None) -> AvroFile:
    info = write_manifest(store, ambient or SteadyAmbient(), options, entries(count), METADATA)
    return RawLog(store).manifest_file(info.path)


@pytest.mark.spec("testWriteEmptyManifest")
def test_an_empty_manifest_is_a_header_without_blocks() -> None:
    """Break: `_end_block` writes a block of no records."""
    found = written([])
    assert (found.records, found.block_counts, found.codec) == ([], (), "zstandard")


@pytest.mark.spec("testWriteSingleEntry")
def test_a_single_entry_is_written() -> None:
    """Break: `finish` doesn't write the block that is held back."""
    assert written([FULL]).records == [named(FULL)]


@pytest.mark.spec("testWriteMultipleEntries")
def test_many_entries_keep_their_order_over_blocks() -> None:
    """Break: `_append_slice` doesn't advance past the row that ended a block, and repeats it."""
    rows = [{**FULL, "path": f"p{n}" * (1 + n % 40), "size": n, "num_records": n * 7} for n in range(3000)]
    found = written(rows)
    assert found.records == [named(row) for row in rows]
    assert len(found.block_counts) > 5


@pytest.mark.spec("testWriteAllFields")
@pytest.mark.parametrize("fields", [SCHEMA_A, SCHEMA_B], ids=["A", "B"])
def test_every_field_survives(fields: Any) -> None:
    """Break: two fields of `file_entry_b.avsc` change places while `ENTRY_FIELDS` keeps its order."""
    assert written([FULL], fields).records == [named(FULL, fields)]


@pytest.mark.spec("testWriteNullableFields")
@pytest.mark.parametrize("pattern", ["all", "none", "mixed"])
def test_nulls_are_written_as_nulls(pattern: str) -> None:
    """Break: `_optional` returns the filled values without the choice of `if_else`."""
    nulls = {field.column: None for field in ENTRY_FIELDS if field.optional}
    row_of_nulls = {**FULL, **nulls}
    patterns: dict[str, list[Mapping[str, Any]]] = {
        "all": [row_of_nulls] * 3,
        "none": [FULL] * 3,
        "mixed": [FULL, row_of_nulls, FULL],
    }
    rows = patterns[pattern]
    assert written(rows, SCHEMA_B).records == [named(row, SCHEMA_B) for row in rows]


def test_an_optional_column_that_the_entries_lack_is_null() -> None:
    """Break: `encode_records` skips the field instead of writing a null, and shifts all that follows."""
    table = entries(2).drop_columns(["stats", "doc_mapping_ref", "min_values"])
    found = read_avro(encode_manifest(table, SCHEMA_A, text_of(SCHEMA_A), SYNC)).records
    assert [(row["stats"], row["docMappingRef"], row["minValues"], row["size"]) for row in found] == [
        (None, None, None, 10_000),
        (None, None, None, 10_001),
    ]


def test_a_required_column_that_holds_a_null_is_refused() -> None:
    """Break: `_required` doesn't look at `null_count`."""
    with pytest.raises(ValueError, match="'size' holds a null"):
        written([{**FULL, "size": None}])


def test_a_null_inside_of_a_map_is_refused() -> None:
    """Break: `_strings` doesn't look at `null_count`; known readers drop such a map, or the whole table."""
    with pytest.raises(ValueError, match="a string inside of a map or list is null"):
        written([{**FULL, "partition_values": {"region": None}}])


def test_a_slice_of_a_table_is_written_as_if_it_were_a_table() -> None:
    """Break: `_values` takes `column.keys` of a map instead of what `flatten` gives."""
    whole = arrow_entries(
        [{**FULL, "path": f"p{n}", "partition_values": {"region": f"r{n}"}, "split_tags": [str(n)]} for n in range(9)]
    )
    data = encode_manifest(whole.slice(4, 3), SCHEMA_A, text_of(SCHEMA_A), SYNC)
    found = read_avro(data).records
    assert [(row["path"], row["partitionValues"], row["splitTags"]) for row in found] == [
        (f"p{n}", {"region": f"r{n}"}, [str(n)]) for n in (4, 5, 6)
    ]


@pytest.mark.spec("testWriteWithZstdCompression")
def test_manifests_are_zstandard_by_default_and_the_level_counts() -> None:
    """Break: `TableOptions.codec` gives another name; or `write_manifest` leaves out the level."""
    sizes = {}
    for level in ("1", "19"):
        store = MemoryStore()
        found = store_manifest(store, 2000, table_options({"indextables.state.compressionLevel": level}))
        assert (found.codec, len(found.records)) == ("zstandard", 2000)
        (name,) = RawLog(store).manifests()
        sizes[level] = len(RawLog(store).raw(name))
    assert sizes["19"] < sizes["1"] < 2000 * 60


@pytest.mark.spec("testWriteWithSnappyCompression")
def test_manifests_are_snappy_when_the_table_says_so() -> None:
    """Break: `compress` leaves out snappy's checksum."""
    found = store_manifest(MemoryStore(), 2000, table_options({"indextables.state.compression": "snappy"}))
    assert (found.codec, [row["size"] for row in found.records]) == ("snappy", list(range(10_000, 12_000)))


@pytest.mark.spec("testWriteWithNoCompression")
def test_manifests_are_uncompressed_when_the_table_says_so() -> None:
    """Break: `TableOptions.codec` maps "none" to zstandard."""
    store = MemoryStore()
    found = store_manifest(store, 50, table_options({"indextables.state.compression": "none"}))
    assert (found.codec, len(found.records)) == ("null", 50)
    (name,) = RawLog(store).manifests()
    assert b"part-00000049.parquet" in RawLog(store).raw(name)


_ENCODE_LARGE = """
from headgate_table.avro.encode import BlockSettings, EntryEncoder
from support.tables import SCHEMA_A, SYNC, entries, text_of
table = entries(5000)
written = 0
def sink(piece):
    global written
    written += len(piece)
def work(appends):
    encoder = EntryEncoder(sink, SCHEMA_A, text_of(SCHEMA_A), SYNC, blocks=BlockSettings("null"))
    for _ in range(appends):
        encoder.append(table)
    encoder.finish()
    return encoder.num_entries
work(4)
settled()
assert work(40) == 200_000 and written > 20_000_000
"""


@pytest.mark.spec("testWriteLargeManifest")
def test_writing_200000_entries_takes_no_more_memory_than_writing_20000() -> None:
    """Break: `_emit` keeps the pieces (`self._kept.append(piece)`), or `_end_block` keeps what was held."""
    assert rss_growth_of(_ENCODE_LARGE) < 16 << 20


@pytest.mark.spec("testWriteStreamingAppend")
def test_at_most_one_block_is_held_back_while_entries_come_in() -> None:
    """Break: `_append_slice` ends no block before `finish`."""
    out = io.BytesIO()
    encoder = EntryEncoder(out.write, SCHEMA_A, text_of(SCHEMA_A), SYNC, blocks=BlockSettings("null"))
    start = out.tell()
    appended = 0
    for number in range(40):
        table = entries(100, first=number * 100)
        encoder.append(table)
        appended += len(encode_manifest(table, SCHEMA_A, text_of(SCHEMA_A), SYNC, codec="null")) - start
        assert appended - (out.tell() - start) < DEFAULT_BLOCK_BYTES + 40 * 32
    assert encoder.finish() == len(out.getvalue())
    assert [row["size"] for row in read_avro(out.getvalue()).records] == list(range(10_000, 14_000))


@pytest.mark.spec("testManifestFileSizeEstimation")
@pytest.mark.parametrize("codec", ["zstandard", "null"])
@pytest.mark.parametrize("count", [900, 1_700, 6_000])
def test_the_size_estimate_is_close_to_the_file_that_ends_there(codec: str, count: int) -> None:
    """Break: `size_estimate` leaves out what is held back, or counts it uncompressed, or at a ratio with the header in."""
    encoder = EntryEncoder(
        lambda piece: None, SCHEMA_A, text_of(SCHEMA_A), SYNC, blocks=BlockSettings(codec, size=50_000)
    )
    encoder.append(entries(count))
    estimate = encoder.size_estimate
    assert abs(estimate - encoder.finish()) < 0.05 * estimate


@pytest.mark.spec("testConcurrentWrites")
def test_writers_side_by_side_write_whole_manifests_of_their_own() -> None:
    """Break: `write_manifest` takes its name from the entries (or any constant) instead of a new id."""
    store = MemoryStore()
    with ThreadPoolExecutor(8) as threads:
        infos = list(
            threads.map(
                lambda number: write_manifest(
                    store, SystemAmbient(), TableOptions(), entries(200, first=number * 1000), METADATA
                ),
                range(24),
            )
        )
    assert len({info.path for info in infos}) == 24
    for number, info in enumerate(infos):
        found = RawLog(store).manifest_file(info.path).records
        assert [row["size"] for row in found] == list(range(10_000 + number * 1000, 10_200 + number * 1000))
