"""Tables in the manner of the Scala implementation, 0.4.5 to 0.5.4: one version file, then a state per commit.

Facts in docs/format.md, sections 1, 2 and 6. Tables with JSON checkpoints, from before, are in `scala_json`.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from support.writers import avro_schemas, scala_actions
from support.writers.avro_bytes import container
from support.writers.cases.expected import Expected, sorted_paths, total
from support.writers.invented import DOC_MAPPING, DOC_MAPPING_HASH, File, Invented
from support.writers.log_folder import LogFolder, compact_json, lines, scala_compressed, state_name, version_name

Home = Literal["shared", "state", "absolute"]

COMPACTION_RATIO = 0.10
MAX_MANIFESTS = 20
SELECTIVE_MIN_KEPT = 0.10


@dataclass(frozen=True, slots=True)
class Manifest:
    info: dict[str, Any]
    entries: tuple[File, ...]


@dataclass(frozen=True, slots=True)
class State:
    number: int
    manifests: tuple[Manifest, ...]
    tombstones: tuple[str, ...]
    num_files: int
    total_bytes: int

    def live(self) -> list[File]:
        """What a reader finds: a tombstone hides its path, and the last manifest wins over earlier ones."""
        found = {file["path"]: file for manifest in self.manifests for file in manifest.entries}
        return [file for path, file in found.items() if path not in set(self.tombstones)]


class ScalaTable:
    """Writes version 0 at once; then every `commit` writes a state and moves the pointer.

    `home` says where file manifests lie: in the shared folder (all releases), inside the state's own folder (legacy;
    the next state names them `state-v.../manifest-...`), or shared but named by absolute path.
    """

    def __init__(
        self,
        table: Path,
        *,
        release: str = "0.5.4",
        partition_columns: tuple[str, ...] = (),
        compressed: bool = True,
        manifest_codec: str = "zstandard",
        home: Home = "shared",
        sidecars: bool = True,
        entries_per_manifest: int = 50_000,
        seed: str = "scala",
    ) -> None:
        self.invented = Invented(seed)
        self.log = LogFolder(table, sidecars=sidecars)
        self.base: State | None = None
        self.table_id = self.invented.uuid()
        self.partition_columns = partition_columns
        self.per_version: dict[int, tuple[str, ...]] = {0: ()}
        old_schema = release in ("0.4.5", "0.4.6")
        self._schema = avro_schemas.file_entry_18() if old_schema else avro_schemas.file_entry_a()
        self._text_bounds = old_schema or release == "0.5.1"
        self._manifest_codec = manifest_codec
        self._home = home
        self._entries_per_manifest = entries_per_manifest
        self.metadata = scala_actions.metadata(self.table_id, self.invented.tick(), partition_columns)
        first = lines([scala_actions.protocol(), self.metadata])
        self.log.put(version_name(0), scala_compressed(first) if compressed else first)

    def append(self, count: int = 2, **partition: str) -> list[File]:
        files = self.invented.files(count, partition)
        self.commit(files)
        return files

    def remove(self, files: Iterable[File]) -> int:
        return self.commit((), [file["path"] for file in files])

    def merge(self, sources: Sequence[File]) -> File:
        """MERGE SPLITS: one file for many, no data change, no bounds."""
        merged = self.invented.file(sources[0]["partitionValues"], records=_records(sources), merged=True)
        self.commit([merged], [file["path"] for file in sources])
        return merged

    def commit(self, adds: Iterable[File] = (), removes: Sequence[str] = ()) -> int:
        started = self.invented.tick()
        number = self.base.number + 1 if self.base else 1
        added = [{**file, "addedAtVersion": 0, "addedAtTimestamp": started} for file in adds]
        if self.base is None:
            state = self._incremental(State(0, (), (), 0, 0), number, added, removes)
        elif self._must_compact(self.base, removes):
            state = self._compacted(self.base, number, added, removes)
        else:
            state = self._incremental(self.base, number, added, removes)
        self._write_state(state, metadata=None)
        self._point_at(state, started)
        self.base = state
        self.per_version[number] = sorted_paths(state.live())
        return number

    def checkpoint(self, at: int | None = None) -> int:
        """CHECKPOINT: everything rewritten, with metadata. A taken number gives way to the next free one.

        `at=0` is what happens in practice: the newest version *file* is 0, so the current files are stored under a
        number far in the past, and the pointer, which never goes back, stays.
        """
        if self.base is None:
            raise ValueError("nothing was committed yet")
        started = self.invented.tick()
        number = self.base.number if at is None else at
        while self.log.exists(f"{state_name(number)}/_manifest.avro"):
            number += 1
        stamped = [{**file, "addedAtVersion": 0, "addedAtTimestamp": started} for file in self.base.live()]
        manifests = self._chunks(number, stamped)
        state = State(number, manifests, (), len(stamped), total(stamped))
        self._write_state(state, metadata=compact_json(self.metadata))
        if number > self.base.number:
            self._point_at(state, started)
            self.base = state
            self.per_version[number] = sorted_paths(state.live())
        return number

    def expected(self, **changes: Any) -> Expected:
        live = self.base.live() if self.base else []
        found: dict[str, Any] = {
            "version": self.base.number if self.base else 0,
            "paths": sorted_paths(live),
            "total_bytes": total(live),
            "partition_columns": self.partition_columns,
            "table_id": self.table_id,
            "per_version": dict(self.per_version),
        }
        return Expected(**{**found, **changes})

    def _must_compact(self, base: State, removes: Sequence[str]) -> bool:
        if base.num_files <= 0 or len(base.manifests) > MAX_MANIFESTS:
            return True
        return (len(base.tombstones) + len(removes)) / base.num_files > COMPACTION_RATIO

    def _incremental(self, base: State, number: int, added: list[File], removes: Sequence[str]) -> State:
        kept = tuple(self._carried(base, manifest) for manifest in base.manifests)
        new = (self._write_manifest(number, added),) if added else ()
        tombstones = tuple(dict.fromkeys([*base.tombstones, *removes]))
        manifests = kept + new
        entries = sum(manifest.info["numEntries"] for manifest in manifests)
        return State(number, manifests, tombstones, entries - len(tombstones), base.total_bytes + total(added))

    def _compacted(self, base: State, number: int, added: list[File], removes: Sequence[str]) -> State:
        tombstones = set(base.tombstones) | set(removes)
        counted = {id(m): _attributed(m, tombstones) for m in base.manifests}
        clean = [m for m in base.manifests if _ratio(counted[id(m)], m) <= COMPACTION_RATIO]
        dirty = [m for m in base.manifests if _ratio(counted[id(m)], m) > COMPACTION_RATIO]
        entries = sum(len(m.entries) for m in base.manifests)
        kept_entries = sum(len(m.entries) for m in clean)
        if clean and dirty and entries and kept_entries / entries >= SELECTIVE_MIN_KEPT:
            # All tombstones are dropped, also those whose file sits in a kept manifest: such a file comes back.
            rewritten = [file for m in dirty for file in m.entries if file["path"] not in tombstones]
            manifests = tuple(self._carried(base, m) for m in clean) + self._chunks(number, rewritten + added)
            num_files = sum(m.info["numEntries"] for m in manifests)
            return State(number, manifests, (), num_files, base.total_bytes + total(added))
        live = [f for m in base.manifests for f in m.entries if f["path"] not in tombstones] + added
        return State(number, self._chunks(number, live), (), len(live), total(live))

    def _chunks(self, number: int, files: list[File]) -> tuple[Manifest, ...]:
        ordered = sorted(files, key=_partition_key)
        size = self._entries_per_manifest
        chunks = [ordered[start : start + size] for start in range(0, len(ordered), size)] or [[]]
        return tuple(self._write_manifest(number, chunk) for chunk in chunks)

    def _carried(self, base: State, manifest: Manifest) -> Manifest:
        info = {**manifest.info, "tombstoneCount": 0, "liveEntryCount": -1}
        if "/" not in info["path"]:
            info["path"] = f"{state_name(base.number)}/{info['path']}"
        return Manifest(info, manifest.entries)

    def _write_manifest(self, number: int, files: list[File]) -> Manifest:
        name = f"manifest-{self.invented.hex(8)}.avro"
        data = container(self._schema, files, sync=self.invented.sync(), codec=self._manifest_codec)
        folder = state_name(number) if self._home == "state" else "manifests"
        self.log.put(f"{folder}/{name}", data)
        path = {
            "shared": f"manifests/{name}",
            "state": name,
            "absolute": str(self.log.path / "manifests" / name),
        }[self._home]
        info = {
            "path": path,
            "numEntries": len(files),
            "minAddedAtVersion": 0,
            "maxAddedAtVersion": 0,
            "partitionBounds": self._bounds(files),
            "tombstoneCount": 0,
            "liveEntryCount": -1,
        }
        return Manifest(info, tuple(files))

    def _bounds(self, files: list[File]) -> dict[str, Any] | None:
        columns = sorted({column for file in files for column in file["partitionValues"]})
        if not columns:
            return None
        bounds = {}
        for column in columns:
            values = [v for file in files if (v := file["partitionValues"].get(column, ""))]
            ordered = sorted(values, key=str if self._text_bounds else _numeric_aware)
            bounds[column] = {"min": ordered[0], "max": ordered[-1]} if ordered else {"min": None, "max": None}
        return bounds

    def _write_state(self, state: State, metadata: str | None) -> None:
        record = {
            "formatVersion": 1,
            "stateVersion": state.number,
            "createdAt": self.invented.tick(),
            "numFiles": state.num_files,
            "totalBytes": state.total_bytes,
            "manifests": [manifest.info for manifest in state.manifests],
            "tombstones": list(state.tombstones),
            "schemaRegistry": {DOC_MAPPING_HASH: DOC_MAPPING},
            "protocolVersion": 4,
            "metadata": metadata,
        }
        data = container(avro_schemas.state_manifest(), [record], sync=self.invented.sync())
        self.log.put(f"{state_name(state.number)}/_manifest.avro", data)

    def _point_at(self, state: State, started: int) -> None:
        pointer = scala_actions.pointer(
            state.number,
            size=state.num_files,
            size_bytes=state.total_bytes,
            num_files=state.num_files,
            created_ms=started,
            state_dir=state_name(state.number),
        )
        self.log.put("_last_checkpoint", compact_json(pointer).encode())


def _records(files: Iterable[File]) -> int:
    return sum(file["numRecords"] for file in files)


def _ratio(tombstones: int, manifest: Manifest) -> float:
    return tombstones / len(manifest.entries) if manifest.entries else 0.0


def _attributed(manifest: Manifest, tombstones: Iterable[str]) -> int:
    """How many tombstones Scala believes to concern a manifest, judged by folder names against its bounds."""
    bounds = manifest.info["partitionBounds"]
    counted = Counter[bool]()
    for path in tombstones:
        segments = dict(part.split("=", 1) for part in path.split("/")[:-1] if "=" in part)
        if bounds is None:
            counted[not segments] += 1
            continue
        counted[all(_within(bounds.get(column), value) for column, value in segments.items())] += 1
    return min(counted[True], len(manifest.entries))


def _within(bound: dict[str, str | None] | None, value: str) -> bool:
    if bound is None or bound["min"] is None or bound["max"] is None:
        return True
    return _numeric_aware(bound["min"]) <= _numeric_aware(value) <= _numeric_aware(bound["max"])


def _numeric_aware(value: str) -> tuple[int, int, str]:
    """Whole numbers by value, all else as text after them."""
    if value.lstrip("-").isascii() and value.lstrip("-").isdigit():
        return (0, int(value), "")
    return (1, 0, value)


def _partition_key(file: File) -> str:
    return "|".join(value for _, value in sorted(file["partitionValues"].items()))
