"""Bytes that follow the end of what was written: damage in a file of ours, whatever its form; ignored in others' version files."""

import bz2
import gzip
import lzma
import zlib

import pytest
import zstandard

from headgate_table.avro.container import block_bytes, header_bytes, parse_container
from headgate_table.errors import CorruptTable
from headgate_table.indextables.format.names import version_key
from headgate_table.indextables.format.version_file import decode_actions, pack
from support.cleaning import World
from support.damage.damages import damages
from support.damage.kinds import KINDS, objects_named
from support.damage.run import judged

TAILS = pytest.mark.parametrize("tail", [b"\x00", b"\x00" * 512, b"rubbish", b"\n{}\n"])


@TAILS
def test_bytes_behind_a_version_file_of_ours_are_damage_to_readers_and_verify(tail: bytes) -> None:
    world = World()
    world.appends(5)
    key = version_key(5)
    world.store.put(key, world.store.get(key) + tail)
    with pytest.raises(CorruptTable, match=rf"{key} is damaged: {len(tail)} bytes follow"):
        world.reopened().snapshot().paths()
    assert any(item.object == key for item in world.reopened().verify().findings)


@pytest.mark.parametrize("kind", [kind.name for kind in KINDS if kind.is_ours])
def test_bytes_behind_any_object_of_ours_are_named_or_change_nothing(kind: str) -> None:
    tails = [damage for damage in damages(objects_named(kind)) if damage.way == "tail"]
    verdicts = {damage.key: judged(kind, damage) for damage in tails}
    assert [problem for verdict in verdicts.values() for problem in verdict.problems] == []
    silent = {key for key, verdict in verdicts.items() if verdict.outcome.startswith("excused")}
    assert silent == set()


def test_a_member_after_the_first_is_read_and_what_is_none_is_refused() -> None:
    line = b'{"remove":{"path":"a","deletionTimestamp":1,"dataChange":true}}\n'
    info = b'{"commitInfo":{"operation":"Append"}}\n'
    assert len(decode_actions(gzip.compress(line) + gzip.compress(info), "f")) == 2
    assert len(decode_actions(gzip.compress(line) + b"rubbish", "f")) == 1, "other readers ignore it in foreign files"
    with pytest.raises(CorruptTable, match=r"7 bytes follow"):
        decode_actions(gzip.compress(line) + gzip.compress(info) + b"rubbish", "f")


def test_a_checkpoint_of_ours_ends_where_its_text_ends() -> None:
    name = f"{3:020d}.checkpoint.json"
    packed = pack(b'{"protocol":{"minReaderVersion":1,"minWriterVersion":1}}\n', name)
    assert len(decode_actions(packed, name)) == 1
    with pytest.raises(CorruptTable, match=r"1 bytes follow"):
        decode_actions(packed + b"\x00", name)


def test_a_deflate_block_of_another_library_is_read_and_its_end_is_checked_too() -> None:
    plain = b"record" * 50_000
    sync = bytes(16)
    data = header_bytes(b'"string"', "deflate", sync)
    for behind in range(5):
        packed = zlib.compress(plain)[2:]
        packed = packed[: len(packed) - behind]
        container = parse_container(data + _block(packed, sync), "file")
        assert container.payload(container.blocks[0]) == plain
    for tail in (b"\x00", b"rubbish"):
        container = parse_container(data + _block(zlib.compress(plain)[2:-1] + tail, sync), "file")
        with pytest.raises(CorruptTable, match=f"{3 + len(tail)} bytes follow"):
            container.payload(container.blocks[0])


def deflated(plain: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(plain) + packer.flush()


CODECS = {
    "deflate": deflated,
    "zstandard": zstandard.ZstdCompressor(write_content_size=False, write_checksum=True).compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
}


@TAILS
@pytest.mark.parametrize("codec", CODECS)
def test_bytes_behind_the_stream_in_an_avro_block_are_damage(codec: str, tail: bytes) -> None:
    plain = b"record" * 50_000
    for packed, is_whole in ((CODECS[codec](plain), True), (CODECS[codec](plain) + tail, False)):
        sync = bytes(16)
        data = header_bytes(b'"string"', "null", sync).replace(b"\x08null", bytes([2 * len(codec)]) + codec.encode())
        container = parse_container(data + _block(packed, sync), "file")
        if is_whole:
            assert container.payload(container.blocks[0]) == plain
        else:
            with pytest.raises(CorruptTable, match="can't be decompressed"):
                container.payload(container.blocks[0])


def _block(packed: bytes, sync: bytes) -> bytes:
    """The block's bytes are as they are: the codec of `block_bytes` adds nothing."""
    return block_bytes(1, packed, "null", sync)


@pytest.mark.parametrize("size", [0, 1, 5, 100_000, 700_000])
@pytest.mark.parametrize(("told", "checked"), [(True, False), (False, False), (True, True)])
def test_the_end_of_a_zstandard_frame_is_found_in_every_form(size: int, told: bool, checked: bool) -> None:
    for plain in (bytes(size), bytes(range(256)) * (size // 256 + 1)):
        packed = zstandard.ZstdCompressor(write_content_size=told, write_checksum=checked).compress(plain)
        sync = bytes(16)
        header = header_bytes(b'"string"', "zstandard", sync)
        whole = parse_container(header + _counted(packed, sync), "file")
        assert whole.payload(whole.blocks[0]) == plain
        longer = parse_container(header + _counted(packed + b"\x00", sync), "file")
        with pytest.raises(CorruptTable, match="1 bytes follow"):
            longer.payload(longer.blocks[0])


def _counted(packed: bytes, sync: bytes) -> bytes:
    return block_bytes(0, packed, "null", sync)
