"""Avro container files, assembled by hand so that every byte of header, codec and block layout can be chosen."""

import bz2
import io
import json
import lzma
import zlib
from collections.abc import Iterable, Mapping
from typing import Any

import cramjam
import fastavro
import zstandard

from support.writers.avro_schemas import Schema

MAGIC = b"Obj\x01"
CODECS = ("null", "deflate", "snappy", "zstandard", "bzip2", "xz")
JAVA_BLOCK_BYTES = 64_000
RUST_BLOCK_BYTES = 16_000


def zigzag(number: int) -> bytes:
    """An Avro int or long."""
    value = (number << 1) ^ (number >> 63)
    out = bytearray()
    while value > 0x7F:
        out.append((value & 0x7F) | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def avro_bytes(data: bytes) -> bytes:
    return zigzag(len(data)) + data


def avro_string(text: str) -> bytes:
    return avro_bytes(text.encode())


def compress(codec: str, data: bytes) -> bytes:
    """One block in the given codec. zstandard frames carry neither content size nor checksum, as Java's and Rust's."""
    match codec:
        case "null":
            return data
        case "deflate":
            deflate = zlib.compressobj(6, zlib.DEFLATED, -15)
            return deflate.compress(data) + deflate.flush()
        case "snappy":
            return bytes(cramjam.snappy.compress_raw(data)) + zlib.crc32(data).to_bytes(4, "big")
        case "zstandard":
            stream = zstandard.ZstdCompressor(level=3, write_content_size=False, write_checksum=False).compressobj()
            return stream.compress(data) + stream.flush()
        case "bzip2":
            return bz2.compress(data)
        case "xz":
            return lzma.compress(data)
    raise ValueError(f"no such codec: {codec}")


def header(entries: Iterable[tuple[str, bytes]], sync: bytes) -> bytes:
    pairs = list(entries)
    body = b"".join(avro_string(key) + avro_bytes(value) for key, value in pairs)
    return MAGIC + zigzag(len(pairs)) + body + zigzag(0) + sync


def block(codec: str, count: int, data: bytes, sync: bytes) -> bytes:
    return zigzag(count) + avro_bytes(compress(codec, data)) + sync


def encode_record(schema: Schema, record: Mapping[str, Any]) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), record)
    return out.getvalue()


def container(
    schema: Schema,
    records: Iterable[Mapping[str, Any]],
    *,
    sync: bytes,
    codec: str = "zstandard",
    block_bytes: int = JAVA_BLOCK_BYTES,
    codec_key: bool = True,
    codec_first: bool = False,
    extra_header: Iterable[tuple[str, bytes]] = (),
) -> bytes:
    """A whole file. A block ends once it holds `block_bytes` of uncompressed data; no records means no blocks."""
    parsed = fastavro.parse_schema(schema)
    entries = [("avro.schema", json.dumps(schema, separators=(",", ":"), ensure_ascii=False).encode())]
    if codec_key:
        entries.insert(0 if codec_first else 1, ("avro.codec", codec.encode()))
    out = [header([*entries, *extra_header], sync)]
    pending, count = io.BytesIO(), 0
    for record in records:
        fastavro.schemaless_writer(pending, parsed, record)
        count += 1
        if pending.tell() >= block_bytes:
            out.append(block(codec, count, pending.getvalue(), sync))
            pending, count = io.BytesIO(), 0
    if count:
        out.append(block(codec, count, pending.getvalue(), sync))
    return b"".join(out)
