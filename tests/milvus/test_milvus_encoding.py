"""Raw manifests: the published library's own bytes in both directions, and what no input may do."""

import tracemalloc

import pytest
from hypothesis import given

from headgate_schemas.errors import InvalidInput
from headgate_schemas.milvus import ColumnGroup, ColumnGroupFile, DeltaLog, DeltaLogType, Index, Stat
from headgate_table.errors import CorruptTable, UnsupportedTable
from headgate_table.milvus import Manifest, ManifestForm, decode_manifest, encode_manifest
from headgate_table.milvus.format.binary import long_bytes, text_bytes
from headgate_table.milvus.format.limits import MAX_ITEMS, MAX_MANIFEST_BYTES, MAX_TEXT_BYTES
from headgate_table.milvus.format.raw import MAGIC_BYTES
from support.milvus.builders import group
from support.milvus.golden import Golden, golden_files
from support.milvus.strategies import ANY_MANIFEST

GOLDEN = golden_files()
HEADER = MAGIC_BYTES + b"\x02"
EMPTY = HEADER + b"\x00\x00\x00"


def test_the_golden_cases_are_all_there() -> None:
    assert len({golden.case for golden in GOLDEN}) == 8
    assert len(GOLDEN) == 12


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda golden: f"{golden.case}-{golden.version}")
def test_what_the_library_wrote_is_written_again_byte_for_byte(golden: Golden) -> None:
    assert encode_manifest(decode_manifest(golden.data, "golden")) == golden.data


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda golden: f"{golden.case}-{golden.version}")
def test_what_the_library_wrote_is_read_as_the_library_reads_it(golden: Golden) -> None:
    manifest = decode_manifest(golden.data, "golden")
    data_folder = f"{golden.base}/_data/"
    assert [
        {
            "cols": list(each.columns),
            "fmt": each.format,
            "files": [
                [
                    file.path if file.path.startswith("/") else data_folder + file.path,
                    file.start_index,
                    file.end_index,
                    file.metadata.hex(),
                ]
                for file in each.files
            ],
        }
        for each in manifest.column_groups
    ] == golden.values["cgs"]
    assert [[log.path, log.num_entries] for log in manifest.delta_logs] == golden.values["deltas"]
    assert manifest.get_all_stats() == golden.values["stats"]


def test_the_empty_manifest_takes_nine_bytes() -> None:
    assert encode_manifest(Manifest()) == bytes.fromhex("acb1cad40902000000")


@given(ANY_MANIFEST)
def test_every_form_gives_back_what_it_was_given(manifest: Manifest) -> None:
    assert decode_manifest(encode_manifest(manifest), "round trip") == manifest


@given(ANY_MANIFEST)
def test_the_same_values_have_the_same_bytes(manifest: Manifest) -> None:
    shuffled = Manifest(
        manifest.column_groups,
        manifest.delta_logs,
        {key: manifest.stats[key] for key in sorted(manifest.stats, reverse=True)},
        manifest.indexes,
        manifest.lob_files,
        manifest.form,
    )
    assert encode_manifest(shuffled) == encode_manifest(manifest)


def test_stats_are_written_in_the_byte_order_of_their_keys() -> None:
    manifest = Manifest(stats={"\U00010000": Stat(()), "\uffff": Stat(()), "b": Stat(()), "B": Stat(())})
    found = decode_manifest(encode_manifest(manifest), "m").stats
    assert list(found) == sorted(found, key=str.encode)


@pytest.mark.parametrize("number", [0, 63, 64, 8191, 8192, 2**20 - 1, 2**20, 2**27 - 1, 2**27, 2**34, 2**62, 2**63 - 1])
@pytest.mark.parametrize("sign", [1, -1])
def test_row_numbers_of_every_width_come_back(number: int, sign: int) -> None:
    first, second = sign * number, max(sign * number - 1, -(2**63))
    files = (("a", first, second), ("b", second, first), ("é", first, first), ("c", second, 7), ("d", 7, second))
    manifest = Manifest((group("id", files=files),))
    assert decode_manifest(encode_manifest(manifest), "m") == manifest


@pytest.mark.parametrize("length", [1, 63, 64, 8191, 8192])
def test_paths_of_every_length_come_back(length: int) -> None:
    manifest = Manifest((group("id", files=(("p" * length, 0, 1), ("q", 1, 2))),))
    assert decode_manifest(encode_manifest(manifest), "m") == manifest


def test_the_second_version_has_indexes() -> None:
    body = b"\x00\x00\x00" + b"\x02" + text_bytes("v") + text_bytes("HNSW") + text_bytes("v.idx") + b"\x02"
    data = MAGIC_BYTES + b"\x04" + body + text_bytes("M") + text_bytes("16") + b"\x00\x00"
    manifest = decode_manifest(data, "m")
    assert manifest.indexes == (Index("v", "HNSW", "v.idx", {"M": "16"}),)
    assert manifest.form is ManifestForm.RAW_V2


def test_the_third_version_has_stats_with_metadata() -> None:
    stats = b"\x02" + text_bytes("bm25") + b"\x02" + text_bytes("a.idx") + b"\x00"
    metadata = b"\x02" + text_bytes("rows") + text_bytes("7") + b"\x00"
    data = MAGIC_BYTES + b"\x06" + b"\x00\x00" + stats + metadata + b"\x00" + b"\x00"
    assert decode_manifest(data, "m").stats == {"bm25": Stat(("a.idx",), {"rows": "7"})}


def test_several_blocks_and_negative_counts_are_read() -> None:
    logs = (
        long_bytes(-1)
        + long_bytes(8)
        + text_bytes("a")
        + b"\x00\x02"
        + b"\x02"
        + text_bytes("b")
        + b"\x02\x04"
        + b"\x00"
    )
    data = HEADER + b"\x00" + logs + b"\x00"
    assert decode_manifest(data, "m").delta_logs == (DeltaLog("a", 1), DeltaLog("b", 2, DeltaLogType.POSITIONAL))


def test_a_delta_log_of_an_unknown_type_keeps_its_number() -> None:
    manifest = decode_manifest(HEADER + b"\x00\x02" + text_bytes("a") + long_bytes(9) + b"\x02\x00\x00", "m")
    assert manifest.delta_logs == (DeltaLog("a", 1, 9),)


def test_an_empty_file_is_called_empty() -> None:
    with pytest.raises(CorruptTable, match=r"s3://lake/t/manifest-1.avro is empty"):
        decode_manifest(b"", "s3://lake/t/manifest-1.avro")


@pytest.mark.parametrize("length", range(1, len(GOLDEN[-1].data)))
def test_a_truncated_file_is_called_truncated(length: int) -> None:
    with pytest.raises(CorruptTable, match="m is truncated"):
        decode_manifest(GOLDEN[-1].data[:length], "m")


@pytest.mark.parametrize("data", [b"MILV\x02\x00\x00\x00", b'{"column_groups": []}', b"\x00" * 20, b"PAR1"])
def test_a_foreign_file_is_called_no_manifest(data: bytes) -> None:
    with pytest.raises(CorruptTable, match="m is no Milvus manifest"):
        decode_manifest(data, "m")


@pytest.mark.parametrize("version", [-1, 0, 4, 7, 2**40])
def test_another_version_is_called_unsupported_before_anything_else_is_read(version: int) -> None:
    with pytest.raises(UnsupportedTable, match=rf"version {version}; known are 1, 2, 3"):
        decode_manifest(MAGIC_BYTES + long_bytes(version) + b"\xff" * 30, "m")


def test_a_text_that_is_not_utf_8_is_refused() -> None:
    with pytest.raises(CorruptTable, match="not valid UTF-8"):
        decode_manifest(HEADER + b"\x00\x02\x04\xff\xfe\x00\x02\x00\x00", "m")


def test_a_path_of_a_data_file_that_is_not_utf_8_is_refused() -> None:
    files = b"\x02" + b"\x04\xff\xfe" + b"\x00\x02\x00" + b"\x00"
    with pytest.raises(CorruptTable, match="not valid UTF-8"):
        decode_manifest(HEADER + b"\x02\x00" + files + text_bytes("parquet") + b"\x00\x00\x00", "m")


def test_a_key_that_occurs_twice_is_refused() -> None:
    entry = text_bytes("k") + b"\x00"
    with pytest.raises(CorruptTable, match="'k' occurs twice"):
        decode_manifest(HEADER + b"\x00\x00" + b"\x04" + entry + entry + b"\x00", "m")


def test_a_number_beyond_64_bits_is_refused() -> None:
    with pytest.raises(CorruptTable, match="more than 64 bits"):
        decode_manifest(HEADER + b"\x00\x02" + text_bytes("a") + b"\x00" + b"\xff" * 9 + b"\x02" + b"\x00\x00", "m")


def test_a_number_without_an_end_is_refused() -> None:
    with pytest.raises(CorruptTable, match="more than 10 bytes"):
        decode_manifest(HEADER + b"\xff" * 40, "m")


@pytest.mark.parametrize("count", [MAX_ITEMS + 1, 2**40, 2**62, -(2**62), -(2**63)])
def test_a_count_beyond_the_limit_is_refused_without_memory(count: int) -> None:
    data = HEADER + long_bytes(count) + (b"\x02" if count < 0 else b"") + b"\x00" * 64
    tracemalloc.start()
    try:
        with pytest.raises(CorruptTable, match=f"more than {MAX_ITEMS} records and texts"):
            decode_manifest(data, "m")
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_a_length_beyond_the_end_is_refused_without_memory() -> None:
    data = HEADER + b"\x00\x02" + long_bytes(2**40) + b"a"
    tracemalloc.start()
    try:
        with pytest.raises(CorruptTable, match="truncated"):
            decode_manifest(data, "m")
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_a_negative_length_is_refused() -> None:
    with pytest.raises(CorruptTable, match="a length of -3"):
        decode_manifest(HEADER + b"\x00\x02" + long_bytes(-3) + b"abc", "m")


def test_a_text_beyond_the_limit_is_refused() -> None:
    with pytest.raises(CorruptTable, match=f"more than {MAX_TEXT_BYTES} are refused"):
        decode_manifest(HEADER + b"\x00\x02" + text_bytes("a" * (MAX_TEXT_BYTES + 1)) + b"\x00\x02\x00\x00", "m")


def test_a_file_beyond_the_limit_is_refused() -> None:
    with pytest.raises(CorruptTable, match=f"more than {MAX_MANIFEST_BYTES} are refused"):
        decode_manifest(EMPTY + bytes(MAX_MANIFEST_BYTES), "m")


def test_what_stands_behind_the_end_is_no_error() -> None:
    assert decode_manifest(EMPTY + b"more", "m").column_groups == ()


def test_what_stands_behind_the_end_is_never_dropped_silently() -> None:
    manifest = decode_manifest(EMPTY + b"more", "m")
    with pytest.raises(UnsupportedTable, match="would lose 4 bytes behind its end"):
        encode_manifest(manifest)


@pytest.mark.parametrize(
    ("manifest", "form", "lost"),
    [
        (
            Manifest((ColumnGroup(("c",), (ColumnGroupFile("a", metadata=b"m"),)),)),
            ManifestForm.CONTAINER_V4,
            "metadata of data",
        ),
        (
            Manifest((ColumnGroup(("c",), (ColumnGroupFile("a", properties={"k": "v"}),)),)),
            ManifestForm.RAW_V3,
            "properties",
        ),
        (Manifest(stats={"k": Stat((), {"a": "b"})}), ManifestForm.RAW_V2, "metadata of stats"),
        (Manifest(indexes=(Index("c", "t", "p"),)), ManifestForm.RAW_V1, "indexes"),
        (Manifest(indexes=(Index("c", "t", "p", build_id=7),)), ManifestForm.CONTAINER_V5, "fields of indexes"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_form_that_would_lose_something_is_refused(manifest: Manifest, form: ManifestForm, lost: str) -> None:
    with pytest.raises(UnsupportedTable, match=f"would lose {lost}"):
        encode_manifest(manifest, form)


def test_a_manifest_that_nobody_could_read_is_not_written() -> None:
    text = "x" * MAX_TEXT_BYTES
    many = tuple(DeltaLog(text, 1) for _ in range(MAX_MANIFEST_BYTES // MAX_TEXT_BYTES + 1))
    with pytest.raises(InvalidInput, match="more than"):
        encode_manifest(Manifest(delta_logs=many))


def test_a_manifest_of_more_items_than_are_read_is_not_written() -> None:
    with pytest.raises(InvalidInput, match=f"more than {MAX_ITEMS} are refused"):
        encode_manifest(Manifest(delta_logs=(DeltaLog("a", 1),) * (MAX_ITEMS + 1)))


def test_sizes_and_counts_are_those_of_the_files() -> None:
    manifest = Manifest(
        (
            group("id", files=(("a", 0, 10), ("b", 10, 25))),
            ColumnGroup(("v",), (ColumnGroupFile("c", 0, 25, properties={"file_size": "700"}),)),
        ),
        (DeltaLog("d", 3), DeltaLog("e", 4, DeltaLogType.EQUALITY)),
    )
    assert (manifest.num_files, manifest.num_rows, manifest.num_deletes, manifest.known_bytes) == (3, 25, 7, 700)


def test_a_column_is_found_in_its_group() -> None:
    groups = (group("id", "name"), group("v"))
    manifest = Manifest(groups)
    assert [manifest.column_group(key) for key in ("name", "v", "x", 1, 2, -1)] == [
        *groups,
        None,
        groups[1],
        None,
        None,
    ]
    assert manifest.columns == ("id", "name", "v")


def test_delta_logs_are_filtered_by_type() -> None:
    logs = (
        DeltaLog("a", 1),
        DeltaLog("b", 2, DeltaLogType.POSITIONAL),
        DeltaLog("c", 3, DeltaLogType.EQUALITY),
        DeltaLog("d", 4),
    )
    manifest = Manifest(delta_logs=logs)
    assert manifest.get_delta_logs() == ["a", "d"]
    assert manifest.get_delta_logs_by_type(DeltaLogType.POSITIONAL) == (logs[1],)
    assert manifest.get_delta_logs_by_type(DeltaLogType.EQUALITY) == (logs[2],)


def test_a_stat_without_a_key_has_no_files() -> None:
    assert Manifest(stats={"bm25": Stat(("a",))}).get_stat("bloomfilter") == []
