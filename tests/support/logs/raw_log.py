"""What lies on a store, decoded by fastavro and the standard library only: for tests of what we write."""

import gzip
import hashlib
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import fastavro

from headgate_table.store.interface import Store

LOG = "_transaction_log"


@dataclass(frozen=True, slots=True)
class AvroFile:
    """An Avro container file: its header and everything in it."""

    schema: dict[str, Any]
    codec: str
    header_keys: tuple[str, ...]
    records: list[dict[str, Any]]
    block_counts: tuple[int, ...]


def read_avro(data: bytes) -> AvroFile:
    blocks = fastavro.block_reader(io.BytesIO(data))
    counts = tuple(block.num_records for block in blocks)
    reader = fastavro.reader(io.BytesIO(data))
    records = [dict(record) for record in reader]  # type: ignore[arg-type]  # our records are dicts
    header: Mapping[str, str] = reader.metadata
    schema = json.loads(header["avro.schema"])
    return AvroFile(schema, header.get("avro.codec", "null"), tuple(header), records, counts)


def read_lines(data: bytes) -> list[dict[str, Any]]:
    """The actions of a version file, in order, whether it is compressed or plain. A seal must fit what follows it."""
    text = gzip.decompress(data[2:]) if data[:2] == b"\x01\x01" else data
    if text.startswith(b'{"seal":'):
        line, _, text = text.partition(b"\n")
        seal = json.loads(line)["seal"]
        found = (seal["lines"], seal["sha256"])
        if found != (text.count(b"\n"), hashlib.sha256(text).hexdigest()):
            raise ValueError(f"the seal {seal} doesn't fit its file")
    return [json.loads(line) for line in text.decode("utf-8").splitlines()]


class RawLog:
    """One table's log."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def keys(self, folder: str = "") -> set[str]:
        """The names of all objects in the log, or in one of its folders; relative to the log."""
        return {info.key.removeprefix(f"{LOG}/") for info in self._store.list(f"{LOG}/{folder}")}

    def raw(self, name: str) -> bytes:
        return self._store.get(f"{LOG}/{name}")

    def versions(self) -> list[int]:
        return sorted(int(name[:20]) for name in self.keys() if "/" not in name and name.endswith(".json"))

    def states(self) -> list[int]:
        return sorted(int(name[7:27]) for name in self.keys("state-v") if name.endswith("/_manifest.avro"))

    def manifests(self) -> set[str]:
        return self.keys("manifests/")

    def version_bytes(self, version: int) -> bytes:
        return self.raw(f"{version:020d}.json")

    def actions(self, version: int) -> list[dict[str, Any]]:
        return read_lines(self.version_bytes(version))

    def action(self, version: int, kind: str) -> dict[str, Any]:
        """The only action of a kind in a version."""
        (found,) = [line[kind] for line in self.actions(version) if kind in line]
        assert isinstance(found, dict)
        return found

    def pointer(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.raw("_last_checkpoint"))
        return found

    def state_file(self, version: int) -> AvroFile:
        return read_avro(self.raw(f"state-v{version:020d}/_manifest.avro"))

    def state(self, version: int) -> dict[str, Any]:
        (record,) = self.state_file(version).records
        return record

    def manifest_file(self, path: str, state_version: int = 0) -> AvroFile:
        """A manifest by the path under which a state names it."""
        return read_avro(self.raw(path if "/" in path else f"state-v{state_version:020d}/{path}"))

    def manifest_of(self, version: int, place: int = -1) -> AvroFile:
        """One of the manifests that a state names; the last, which holds what was added, by default."""
        return self.manifest_file(self.state(version)["manifests"][place]["path"], version)

    def entries(self, version: int) -> list[dict[str, Any]]:
        """All entries of a state, dead ones too, in order."""
        infos = self.state(version)["manifests"]
        return [entry for info in infos for entry in self.manifest_file(info["path"], version).records]

    def live(self, version: int) -> dict[str, dict[str, Any]]:
        """The live entries of a state by path, as every known reader finds them: a tombstone hides its path."""
        gone = set(self.state(version)["tombstones"])
        return {entry["path"]: entry for entry in self.entries(version) if entry["path"] not in gone}
