"""Logs that are cut, damaged or made to hurt: version files, states, pointers and JSON checkpoints."""

import gzip
import json
import zlib
from typing import Any

import pytest

from headgate_schemas.errors import HeadgateError
from headgate_table.errors import CorruptTable, UnsupportedTable
from headgate_table.indextables.format import json_checkpoint, version_file
from headgate_table.indextables.format.pointer import BrokenPointer, Pointer, parse_pointer
from headgate_table.indextables.format.state_manifest import decode_legacy_state, decode_state
from headgate_table.indextables.format.version_file import decode_actions
from headgate_table.store.interface import Store
from support.logs.foreign_log import build_on, one_state
from support.memory import rss_growth_of
from support.stores import FaultyStore, MemoryStore
from support.tables import opened
from support.writers import avro_schemas
from support.writers.avro_bytes import container
from support.writers.handmade import HandMade, add, file, metadata, protocol, remove
from support.writers.log_folder import java_gzip, lines, rust_gzip, scala_compressed

NAME = "_transaction_log/00000000000000000007.json"
SYNC = bytes(range(16))
ACTIONS = [
    protocol(),
    metadata("an-id", ("region",), configuration={"k": "ü☃"}),
    remove("region=eu/old.parquet"),
    add(file("a", region="eu"), minValues={"id": "1"}, numRecords=5),
    {"commitInfo": {"timestamp": 5, "nested": {"any": [1, None]}}},
]
TEXT = lines(ACTIONS)

# --- version files --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pack", [scala_compressed, rust_gzip, java_gzip], ids=["01 01", "rust", "java"])
def test_every_prefix_of_a_compressed_version_file_is_refused_by_name(pack: Any) -> None:
    """Break: `_gunzip` doesn't look at `eof`; a cut file then loses its last actions."""
    data = pack(TEXT)
    whole = decode_actions(data, NAME)
    assert len(whole) == len(ACTIONS)
    for length in range(1, len(data)):
        with pytest.raises(CorruptTable, match=NAME):
            decode_actions(data[:length], NAME)


def test_every_prefix_of_a_plain_version_file_is_refused_or_ends_with_a_line() -> None:
    """Break: `iterate_actions` passes over lines that it can't read."""
    whole = decode_actions(TEXT, NAME)
    refusals: list[str] = []
    for length in range(1, len(TEXT)):
        prefix = TEXT[:length]
        try:
            found = decode_actions(prefix, NAME)
        except CorruptTable as error:
            refusals.append(str(error))
            continue
        # Only at the end of a line, with or without its newline, is a prefix a version file of its own.
        assert found == whole[: len(found)]
        assert prefix.count(b"\n") + (not prefix.endswith(b"\n") and bool(prefix)) == len(found)
        assert not prefix or TEXT[length : length + 1] == b"\n" or prefix.endswith(b"\n")
    assert all(NAME in refusal and ("line" in refusal or "UTF-8" in refusal) for refusal in refusals)


def test_a_flipped_bit_in_a_compressed_version_file_is_refused_or_changes_nothing() -> None:
    """Break: the checksum of gzip isn't verified (a raw deflate reader)."""
    data = scala_compressed(TEXT)
    whole = decode_actions(data, NAME)
    refusals: list[str] = []
    for bit in range(len(data) * 8):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        try:
            assert decode_actions(bytes(flipped), NAME) == whole
        except CorruptTable as error:
            refusals.append(str(error))
    assert len(refusals) > len(data) * 7
    assert all(NAME in refusal for refusal in refusals)


def _line(text: bytes) -> bytes:
    return lines(ACTIONS[:2]) + text + b"\n"


LINES = {
    "a list": b"[1]",
    "a number": b"5",
    "a text": b'"add"',
    "null": b"null",
    "cut": b'{"add":{"path":"a"',
    "add of a list": b'{"add":[]}',
    "no path": b'{"add":{"partitionValues":{},"size":1,"modificationTime":1,"dataChange":true}}',
    "path of a number": b'{"add":{"path":5,"partitionValues":{},"size":1,"modificationTime":1,"dataChange":true}}',
    "size beyond 64 bits": b'{"add":{"path":"a","partitionValues":{},"size":%d,"modificationTime":1}}' % 2**64,
    "size of 5000 digits": b'{"add":{"path":"a","partitionValues":{},"size":'
    + b"9" * 5000
    + b',"modificationTime":1}}',
    "deep": b'{"commitInfo":' + b"[" * 200_000 + b"]" * 200_000 + b"}",
    "deep objects": b'{"commitInfo":' + b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"}",
    "deep and cut": b'{"add":' * 100_000,
    "not UTF-8": b'{"add":{"path":"\xff"}}',
    "NUL": b"\x00\x00",
}


@pytest.mark.parametrize("case", LINES)
@pytest.mark.parametrize("pack", [bytes, scala_compressed], ids=["plain", "compressed"])
def test_a_line_that_is_no_action_is_refused_with_file_and_line(case: str, pack: Any) -> None:
    """Break: `iterate_actions` lets RecursionError, ValueError or UnicodeDecodeError out; or it skips the line."""
    with pytest.raises(CorruptTable, match=NAME) as caught:
        decode_actions(pack(_line(LINES[case])), NAME)
    assert len(str(caught.value)) < 2000


def test_an_object_of_a_million_keys_is_read_in_one_go() -> None:
    """Break: the check for repeated keys compares each with each."""
    body = ",".join(f'"k{number}":{number}' for number in range(1_000_000)).encode()
    found = decode_actions(b'{"commitInfo":{' + body + b"}}\n", NAME)
    assert len(found) == 1


@pytest.mark.parametrize("wrap", [bytes, lambda data: b"\x01\x01" + data], ids=["gzip", "01 01 gzip"])
def test_a_bomb_of_gzip_is_refused(wrap: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Break: `_gunzip` counts only the last member."""
    monkeypatch.setattr(version_file, "MAX_TEXT_BYTES", 1 << 20)
    one = gzip.compress(b"\n" * (4 << 20))
    many = gzip.compress(b"\n" * (1 << 18)) * 5
    for data in (one, many):
        with pytest.raises(CorruptTable, match=f"{NAME}.*more than"):
            decode_actions(wrap(data), NAME)


_BOMB = """
import gzip
from headgate_table.errors import CorruptTable
from headgate_table.indextables.format import json_checkpoint, version_file
version_file.MAX_TEXT_BYTES = 1 << 20
bomb = gzip.compress(bytes(256 << 20))
version_file.unpack(gzip.compress(bytes(1 << 10)), "small")
settled()
try:
    version_file.unpack(bomb, "f")
except CorruptTable:
    pass
else:
    raise SystemExit("the bomb went off")
"""


def test_a_bomb_of_gzip_takes_little_memory() -> None:
    """Break: `_gunzip` decompresses without a limit and looks at the size afterwards."""
    assert rss_growth_of(_BOMB) < 16 << 20


def test_a_file_of_more_lines_than_actions_can_be_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Break: `iterate_actions` doesn't count lines, or only those with an action."""
    monkeypatch.setattr(version_file, "MAX_LINES", 5)
    assert len(decode_actions(b'{"x":{}}\n' * 5, NAME)) == 5
    for text in (b"{}\n" * 6, b"\n" * 6):
        with pytest.raises(CorruptTable, match=f"{NAME} has more than 5 lines"):
            decode_actions(scala_compressed(text), NAME)


def test_the_bound_on_lines_refuses_nothing_that_the_bound_on_bytes_lets_through() -> None:
    path = "0e21b1a2-7d1f-4c5e-9d8a-0a1b2c3d4e5f.split"
    least = version_file.MAX_TEXT_BYTES // version_file.MAX_LINES
    assert len(lines([remove(path)])) > least
    assert len(lines([{"add": {**add(file("a"))["add"], "path": path}}])) > least


_LINES = """
from headgate_table.errors import CorruptTable
from headgate_table.indextables.format import json_checkpoint, version_file
text = {text}
list(version_file.iterate_actions(b"{{}}", "small"))
settled()
try:
    for action in version_file.iterate_actions(text, "f"):
        pass
except CorruptTable:
    pass
"""


@pytest.mark.parametrize("text", ['b"{}\\n" * (1 << 20)', 'b"\\n" * (24 << 20)'], ids=["actions", "empty lines"])
def test_short_lines_take_the_memory_of_one(text: str) -> None:
    """Break: `iterate_actions` makes a list of all lines before it looks at the first."""
    assert rss_growth_of(_LINES.format(text=text)) < 16 << 20


@pytest.mark.parametrize(
    "data",
    [
        b"\x01",
        b"\x01\x01",
        b"\x01\x01plain",
        b"\x01\x01" + zlib.compress(TEXT),
        b"\x1f\x8b",
        b"\x1f\x8b\x08" + bytes(30),
        rust_gzip(TEXT) + rust_gzip(TEXT)[:20],
        b"\xff\xfe\x00",
    ],
    ids=["01", "01 01", "01 01 text", "01 01 zlib", "1f 8b", "empty gzip", "second member cut", "utf-16"],
)
def test_a_compression_that_is_none_is_refused(data: bytes) -> None:
    """Break: `unpack` takes what it doesn't know for text."""
    with pytest.raises(CorruptTable, match=NAME):
        decode_actions(data, NAME)


# --- states ---------------------------------------------------------------------------------------------------------


def state_bytes(**changes: Any) -> bytes:
    record = {
        "formatVersion": 1,
        "stateVersion": 7,
        "createdAt": 1,
        "numFiles": 1,
        "totalBytes": 1,
        "manifests": [],
        "tombstones": [],
        "schemaRegistry": {},
        "protocolVersion": 4,
        "metadata": None,
        **changes,
    }
    return container(avro_schemas.state_manifest(), [record], sync=SYNC, codec="null")


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        "5",
        "null!",
        '{"metaData":[]}',
        '{"metaData":{}}',
        '{"metaData":' + "[" * 100_000 + "]" * 100_000 + "}",
        '{"metaData":' + '{"a":' * 100_000,
    ],
    ids=["cut", "list", "number", "word", "a list", "empty", "deep", "deep and cut"],
)
def test_a_state_whose_metadata_cannot_be_read_is_refused_by_name(text: str) -> None:
    """Break: `decode_state` lets RecursionError out; or takes unreadable metadata for none."""
    with pytest.raises(CorruptTable, match="state-x"):
        decode_state(state_bytes(metadata=text), "state-x")


@pytest.mark.parametrize("changes", [{"protocolVersion": 5}, {"formatVersion": 2}], ids=str)
def test_a_state_of_a_newer_format_is_unsupported_rather_than_damaged(changes: dict[str, int]) -> None:
    """Break: `_checked` compares with `>=` (refuses today's states) or not at all."""
    with pytest.raises(UnsupportedTable, match=r"state-x.*Upgrade Headgate"):
        decode_state(state_bytes(**changes), "state-x")
    assert decode_state(state_bytes(), "state-x").version == 7


LEGACY = json.dumps(
    {
        "version": 3,
        "manifests": [{"path": "manifest-0000.avro", "fileCount": 2}],
        "createdTime": 5,
        "totalFileCount": 2,
        "format": "avro-state",
    }
).encode()


def test_every_prefix_of_an_early_json_state_is_refused_by_name() -> None:
    """Break: `decode_legacy_state` lets the JSON library's error out."""
    assert decode_legacy_state(LEGACY, NAME).version == 3
    for length in range(len(LEGACY)):
        with pytest.raises(CorruptTable, match=NAME):
            decode_legacy_state(LEGACY[:length], NAME)


@pytest.mark.parametrize(
    "data",
    [
        b"[" * 100_000,
        b"5",
        b"[]",
        b'{"version":"x","manifests":[]}',
        b'{"version":1,"manifests":5}',
        b'{"version":1,"manifests":[5]}',
        b'{"version":1,"manifests":[],"protocolJson":"[5]"}',
        b'{"version":1,"manifests":[],"schemaRegistry":[5]}',
        b'{"version":1e999,"manifests":[]}',
        b'{"version":1,"manifests":[],"totalFileCount":%d}' % 2**63,
        b'{"version":1,"manifests":[{"path":"m","fileCount":%d}]}' % 2**63,
    ],
    ids=range(11),
)
def test_an_early_json_state_that_makes_no_sense_is_refused(data: bytes) -> None:
    """Break: one of the errors that such JSON provokes is missing from the list in `decode_legacy_state`."""
    with pytest.raises(CorruptTable, match=NAME):
        decode_legacy_state(data, NAME)


def _table_with(state_changes: dict[str, Any], **info_changes: Any) -> Store:
    def build(made: HandMade) -> None:
        info = made.manifest([file("a")])
        made.state(1, [{**info, **info_changes}], **state_changes)
        made.pointer(1)

    return build_on(MemoryStore(), build)


@pytest.mark.parametrize(
    "path",
    [
        "manifests/../../secret.avro",
        "../manifest-x.avro",
        "/elsewhere/manifest-x.avro",
        "s3://other/manifest-x.avro",
        "",
        "manifests/",
        "manifests/\x00.avro",
        "manifests/" + "x" * 5000,
    ],
    ids=["dots", "parent", "absolute", "other store", "empty", "folder", "nul", "long"],
)
def test_a_manifest_path_that_leads_elsewhere_is_refused_with_a_reason(path: str) -> None:
    """Break: `resolve_manifest` joins whatever it is given; `check_key` isn't asked."""
    with pytest.raises(HeadgateError) as caught:
        opened(_table_with({}, path=path)).snapshot().paths()
    assert len(str(caught.value)) > 20


@pytest.mark.parametrize("count", [0, 2, -1, 2**50], ids=str)
def test_a_state_that_counts_otherwise_than_its_manifest_is_refused(count: int) -> None:
    """Break: `_fetch` looks at `num_entries` only when it is positive."""
    with pytest.raises(CorruptTable, match="holds 1 entries but its state says"):
        opened(_table_with({}, numEntries=count)).snapshot().paths()


# --- pointers -------------------------------------------------------------------------------------------------------

POINTER = json.dumps(
    {
        "version": 1,
        "size": 1,
        "sizeInBytes": 1000,
        "numFiles": 1,
        "createdTime": 5,
        "parts": None,
        "checkpointId": None,
        "format": "avro-state",
        "stateDir": "state-v00000000000000000001",
    }
).encode()

POINTERS = {
    "list": b"[]",
    "number": b"5",
    "deep": b"[" * 60_000,
    "deep value": b'{"version":' + b"[" * 30_000 + b"}",
    "text version": b'{"version":"1"}',
    "negative": b'{"version":-1}',
    "fraction": b'{"version":1.5}',
    "infinite": b'{"version":1e999}',
    "true": b'{"version":true}',
    "many digits": b'{"version":' + b"9" * 5000 + b"}",
    "NUL": bytes(100),
    "not UTF-8": b"\xff\xfe{}",
    "beyond 64 bits": b'{"version":%d}' % 2**64,
    "beyond 20 digits": b'{"version":%d}' % 10**30,
}


def test_every_prefix_of_a_pointer_is_broken() -> None:
    """Break: `parse_pointer` lets ValueError out."""
    assert isinstance(parse_pointer(POINTER), Pointer)
    assert all(isinstance(parse_pointer(POINTER[:length]), BrokenPointer) for length in range(len(POINTER)))


@pytest.mark.parametrize("case", POINTERS)
def test_a_table_is_read_by_listing_when_its_pointer_says_nothing_usable(case: str) -> None:
    """Break: `latest` takes the version of a pointer for granted, however large; or `parse_pointer` raises."""
    store = build_on(MemoryStore(), one_state([file("a")]))
    store.put("_transaction_log/_last_checkpoint", POINTERS[case])
    snapshot = opened(store).snapshot()
    assert (snapshot.version, snapshot.paths()) == (1, ["a.parquet"])


def test_a_pointer_beyond_its_bound_is_refused_without_being_read() -> None:
    """Break: `pointer` asks for the object without `max_bytes`."""
    store = FaultyStore(build_on(MemoryStore(), one_state([file("a")])))
    store.put("_transaction_log/_last_checkpoint", b" " * (1 << 20) + POINTER)
    with pytest.raises(HeadgateError, match="_last_checkpoint"):
        opened(store).snapshot().paths()


# --- JSON checkpoints -------------------------------------------------------------------------------------------------

CHECKPOINT = f"{5:020d}.checkpoint.json"


def _checkpointed(data: bytes, **parts: bytes) -> Store:
    def build(made: HandMade) -> None:
        (made.log.path / f"{0:020d}.json").unlink()
        made.log.put(CHECKPOINT, data)
        for name, part in parts.items():
            made.log.put(name, part)
        made.pointer(5, format="json", stateDir=None)

    return build_on(MemoryStore(), build)


def test_every_prefix_of_a_json_checkpoint_is_refused_by_name() -> None:
    """Break: `read_checkpoint` passes over a line that it can't read: files vanish without a word."""
    data = scala_compressed(lines([protocol(), metadata("an-id"), add(file("a")), add(file("b"))]))
    store = _checkpointed(data)
    assert opened(store).snapshot().paths() == ["a.parquet", "b.parquet"]
    for length in range(1, len(data)):
        store.put(f"_transaction_log/{CHECKPOINT}", data[:length])
        with pytest.raises(CorruptTable, match="checkpoint"):
            opened(store).snapshot().paths()


def _parts(*names: Any, **changes: Any) -> bytes:
    return json.dumps(
        {"version": 5, "checkpointId": "a" * 12, "parts": list(names), "format": "json", **changes}
    ).encode()


@pytest.mark.parametrize(
    "data",
    [
        _parts("../../secret.json"),
        _parts("/etc/passwd"),
        _parts(5),
        _parts(None),
        _parts(["x"]),
        _parts(*["p.json"] * 10_001),
        _parts("missing.json"),
        _parts(""),
        _parts(".."),
        _parts(CHECKPOINT),
        _parts(parts={"a": 1}),
        b'{"parts":' + b"[" * 100_000,
    ],
    ids=[
        "dots",
        "absolute",
        "number",
        "null",
        "list",
        "many",
        "missing",
        "empty",
        "parent",
        "itself",
        "object",
        "deep",
    ],
)
def test_a_list_of_parts_that_makes_no_sense_is_refused(data: bytes) -> None:
    """Break: `_part_names` checks neither names nor their number; or opens what lies outside of the log."""
    with pytest.raises(HeadgateError):
        opened(_checkpointed(data)).snapshot().paths()


PART = f"{5:020d}.checkpoint.{'a' * 12}.{1:05d}.json"


def test_a_part_that_is_listed_twice_is_refused() -> None:
    """Break: `_part_names` lets one part be read ten thousand times."""
    store = _checkpointed(_parts(PART), **{PART: lines([protocol(), metadata("an-id"), add(file("a"))])})
    assert opened(store).snapshot().paths() == ["a.parquet"]
    store.put(f"_transaction_log/{CHECKPOINT}", _parts(PART, PART))
    with pytest.raises(CorruptTable, match="lists a part twice"):
        opened(store).snapshot().paths()


def test_parts_are_bounded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Break: `read_checkpoint_files` bounds each part alone."""
    other = PART.replace("00001.json", "00002.json")
    parts = {PART: lines([protocol(), metadata("an-id")]), other: lines([add(file("a")), add(file("b"))])}
    store = _checkpointed(_parts(PART, other), **parts)
    monkeypatch.setattr(json_checkpoint, "MAX_ACTIONS", 4)
    assert opened(store).snapshot().num_files == 2
    monkeypatch.setattr(json_checkpoint, "MAX_ACTIONS", 3)
    with pytest.raises(CorruptTable, match="more than 3 actions"):
        opened(store).snapshot().paths()


def test_a_list_of_parts_is_not_read_beyond_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Break: `_part_names` hands any text to the JSON library, which makes gigabytes of half of one."""
    data = _parts(PART, filler=[{}] * 1000)
    store = _checkpointed(data, **{PART: lines([protocol(), metadata("an-id"), add(file("a"))])})
    assert opened(store).snapshot().num_files == 1
    monkeypatch.setattr(json_checkpoint, "MAX_LIST_BYTES", len(data) - 1)
    with pytest.raises(CorruptTable, match="list of parts takes more than"):
        opened(store).snapshot().paths()
