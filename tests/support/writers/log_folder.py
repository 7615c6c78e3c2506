"""The folder of a log: names, Hadoop's checksum sidecars, and the ways in which version files are compressed."""

import json
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

CRC_CHUNK_BYTES = 512


def version_name(version: int) -> str:
    return f"{version:020d}.json"


def state_name(version: int) -> str:
    return f"state-v{version:020d}"


def compact_json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def lines(actions: Iterable[Any]) -> bytes:
    """One action a line, each line ended."""
    return "".join(compact_json(action) + "\n" for action in actions).encode()


def _gzip(data: bytes, os_byte: int) -> bytes:
    deflate = zlib.compressobj(6, zlib.DEFLATED, -15)
    body = deflate.compress(data) + deflate.flush()
    head = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00" + bytes([os_byte])
    return head + body + zlib.crc32(data).to_bytes(4, "little") + (len(data) & 0xFFFFFFFF).to_bytes(4, "little")


def java_gzip(data: bytes) -> bytes:
    """As Java's GZIPOutputStream: no time, no extra flags, operating system 0."""
    return _gzip(data, 0)


def rust_gzip(data: bytes) -> bytes:
    """As flate2: no time, operating system 255."""
    return _gzip(data, 255)


def scala_compressed(data: bytes) -> bytes:
    """Scala's two leading bytes (magic, codec gzip), then gzip."""
    return b"\x01\x01" + java_gzip(data)


def hadoop_crc(data: bytes) -> bytes:
    """The sidecar that Hadoop's local file system writes beside a file."""
    chunks = (data[start : start + CRC_CHUNK_BYTES] for start in range(0, len(data), CRC_CHUNK_BYTES))
    return b"crc\x00" + CRC_CHUNK_BYTES.to_bytes(4, "big") + b"".join(zlib.crc32(c).to_bytes(4, "big") for c in chunks)


class LogFolder:
    """`<table>/_transaction_log`. With `sidecars`, every file gets its `.crc`, as Hadoop does on a local disk."""

    def __init__(self, table: Path, *, sidecars: bool = False) -> None:
        self.table = table
        self.path = table / "_transaction_log"
        self.path.mkdir(parents=True, exist_ok=True)
        self._sidecars = sidecars

    def put(self, name: str, data: bytes) -> None:
        target = self.path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        if self._sidecars:
            (target.parent / f".{target.name}.crc").write_bytes(hadoop_crc(data))

    def get(self, name: str) -> bytes:
        return (self.path / name).read_bytes()

    def exists(self, name: str) -> bool:
        return (self.path / name).exists()

    def delete(self, name: str) -> None:
        target = self.path / name
        target.unlink()
        (target.parent / f".{target.name}.crc").unlink(missing_ok=True)

    def delete_state(self, version: int) -> None:
        folder = self.path / state_name(version)
        for file in folder.iterdir():
            file.unlink()
        folder.rmdir()
