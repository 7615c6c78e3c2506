"""Mutated manifests by the thousand: each is read cleanly or refused cleanly, in bounded time and memory.

What is read must also be written again and then read the same, or be refused because something would be lost.
"""

import random
from functools import partial

from headgate_table.avro.container import block_bytes, header_bytes, varint
from headgate_table.errors import CorruptTable, UnsupportedTable
from headgate_table.milvus.format.container_schemas import schema_text
from headgate_table.milvus.format.encoding import decode_manifest, encode_manifest
from headgate_table.milvus.format.manifest import ManifestForm
from support.drawn.fuzz_tally import Tally
from support.milvus.golden import golden_files
from support.milvus.random_manifests import random_manifests

MAX_MEMORY_BYTES = 8 << 20
"""For files of a few hundred bytes; what a file of the largest size may take is bounded by its items."""
_NASTY = [
    varint(number)
    for number in (0, 1, -1, 2, 63, -64, 2**31, 2**40, 2**62, -(2**62), 2**63 - 1, -(2**63), 10**6, 10**6 + 1)
]
_NASTY += [b"\xff" * 10, b"\x80" * 12, b"\xac\xb1\xca\xd4\x09", b"Obj\x01", bytes(64)]


def corpus(seed: int) -> list[bytes]:
    """Whole files to begin with: golden ones, and random ones of every form."""
    found = [golden.data for golden in golden_files()]
    for form in ManifestForm:
        found += [encode_manifest(manifest) for manifest in random_manifests(seed, 6, form)]
    return found


def run(count: int, seed: int) -> Tally:
    """Try so many mutated files."""
    draw = random.Random(seed)
    whole = corpus(seed)
    tally = Tally(MAX_MEMORY_BYTES)
    for _ in range(count):
        data = mutated(draw, whole)
        tally.attempt(data, partial(_outcome, data))
    return tally


def mutated(draw: random.Random, whole: list[bytes]) -> bytes:
    data = bytearray(draw.choice(whole))
    if draw.random() < 0.2:  # past the frame, into the record of a container
        return _container_of(draw, bytes(data))
    for _ in range(draw.choice([1, 1, 1, 2, 3, 8])):
        _mutate(draw, data, whole)
    return bytes(data)


def _mutate(draw: random.Random, data: bytearray, whole: list[bytes]) -> None:
    place = draw.randrange(len(data) + 1)
    match draw.randrange(7):
        case 0:
            del data[place:]
        case 1:
            del data[place : place + draw.choice([1, 2, 5, 20])]
        case 2:
            data[place : place + draw.choice([0, 1, 2, 5])] = draw.choice(_NASTY)
        case 3:
            data[place:place] = draw.randbytes(draw.choice([1, 2, 10]))
        case 4:
            if place < len(data):
                data[place] ^= 1 << draw.randrange(8)
        case 5:
            other = draw.choice(whole)
            start = draw.randrange(len(other))
            data[place:place] = other[start : start + draw.choice([4, 20, 200])]
        case _:
            start = draw.randrange(len(data) + 1)
            data[place:place] = data[start : start + 30]


def _container_of(draw: random.Random, record: bytes) -> bytes:
    """Some bytes as the record of a container whose frame is right, its schema perhaps not."""
    body = bytearray(record)
    _mutate(draw, body, [record])
    schema = bytearray(schema_text(draw.choice([form for form in ManifestForm if form.is_container])))
    if draw.random() < 0.5:
        words = [
            b'"string"',
            b'"long"',
            b'"int"',
            b'"bytes"',
            b'"null"',
            b'"properties"',
            b'"path"',
            b'"array"',
            b'"map"',
            b"[]",
        ]
        old, new = draw.sample(words, 2)
        schema = bytearray(schema.replace(old, new, draw.choice([1, 2, -1])))
    sync = bytes(16)
    return header_bytes(bytes(schema), "null", sync) + block_bytes(1, bytes(body), "null", sync)


def _outcome(data: bytes) -> str:
    try:
        manifest = decode_manifest(data, "fuzz")
    except (CorruptTable, UnsupportedTable) as error:
        return type(error).__name__
    if manifest.unknown:
        try:
            encode_manifest(manifest)
        except UnsupportedTable:
            return "read, never to be written"
        raise AssertionError("unknown parts were dropped")
    try:
        again = encode_manifest(manifest)
    except UnsupportedTable:
        return "read, not to be written in its form"
    if decode_manifest(again, "fuzz") != manifest:
        raise AssertionError("written and read again, it is another")
    return "read and written"
