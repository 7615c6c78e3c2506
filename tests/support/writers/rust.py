"""Tables in the manner of the Rust implementation: a version file per commit, and states beside them.

Plain gzip, absent values omitted, maps in random order, uncompressed manifests. Facts in docs/format.md, sections 1 to 3
and 6.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from support.writers import avro_schemas
from support.writers.avro_bytes import RUST_BLOCK_BYTES, container
from support.writers.cases.expected import Expected, sorted_paths, total
from support.writers.invented import DOC_MAPPING, DOC_MAPPING_HASH, File, Invented, schema_string
from support.writers.log_folder import LogFolder, compact_json, lines, rust_gzip, state_name, version_name

COMPACTION_RATIO = 0.10
MAX_MANIFESTS = 20
ENTRIES_PER_MANIFEST = 50_000

ADD_ALWAYS = ("path", "partitionValues", "size", "modificationTime", "dataChange")
ADD_IF_SET = (
    "stats",
    "minValues",
    "maxValues",
    "numRecords",
    "footerStartOffset",
    "footerEndOffset",
    "hasFooterOffsets",
    "deleteOpstamp",
    "splitTags",
    "numMergeOps",
    "docMappingJson",
    "docMappingRef",
    "uncompressedSizeBytes",
    "timeRangeStart",
    "timeRangeEnd",
    "companionSourceFiles",
    "companionDeltaVersion",
    "companionFastFieldMode",
)


def shuffled(values: Mapping[str, Any], salt: str) -> dict[str, Any]:
    """The same map in another order, as a hash map would give it."""
    return dict(sorted(values.items(), key=lambda item: hashlib.sha256(f"{salt}/{item[0]}".encode()).digest()))


def add(file: File) -> dict[str, Any]:
    body = {key: file[key] for key in ADD_ALWAYS}
    body |= {key: file[key] for key in ADD_IF_SET if file.get(key) is not None}
    for key in ("partitionValues", "minValues", "maxValues"):
        if key in body:
            body[key] = shuffled(body[key], file["path"])
    return {"add": body}


def remove(file: File, deleted_ms: int) -> dict[str, Any]:
    return {
        "remove": {
            "path": file["path"],
            "deletionTimestamp": deleted_ms,
            "dataChange": True,
            "partitionValues": file["partitionValues"],
            "size": file["size"],
        }
    }


class RustTable:
    """Writes version 0 at once; every commit writes a version file, and a state every `checkpoint_every` (0: never)."""

    def __init__(
        self,
        table: Path,
        *,
        partition_columns: tuple[str, ...] = (),
        checkpoint_every: int = 1,
        codec_key: bool = True,
        configuration: Mapping[str, str] | None = None,
        seed: str = "rust",
    ) -> None:
        self.invented = Invented(seed)
        self.log = LogFolder(table)
        self.partition_columns = partition_columns
        self.table_id = self.invented.uuid()
        self.version = 0
        self.state_version: int | None = None
        self.manifests: list[tuple[dict[str, Any], list[File]]] = []
        self.tombstones: list[str] = []
        self.live: dict[str, File] = {}
        self.per_version: dict[int, tuple[str, ...]] = {0: ()}
        self.configuration = {
            f"docMappingSchema.{DOC_MAPPING_HASH}": DOC_MAPPING,
            **(configuration or {}),
        }
        self.metadata = {
            "metaData": {
                "id": self.table_id,
                "schemaString": schema_string(partition_columns),
                "partitionColumns": list(partition_columns),
                "format": {"provider": "indextables", "options": {}},
                "configuration": shuffled(self.configuration, "configuration"),
                "createdTime": self.invented.tick(),
            }
        }
        self._every = checkpoint_every
        self._codec_key = codec_key
        self._since_state: list[tuple[int, list[File], list[str]]] = []
        protocol = {"protocol": {"minReaderVersion": 4, "minWriterVersion": 4}}
        self._put_version(0, [protocol, self.metadata])

    def file(self, partition: Mapping[str, str] | None = None) -> File:
        """A file as this writer describes it: the document mapping inline, time ranges, no reference."""
        file = self.invented.file(partition)
        del file["docMappingRef"]
        file |= {
            "docMappingJson": DOC_MAPPING,
            "deleteOpstamp": 0,
            "timeRangeStart": "1775007200",
            "timeRangeEnd": "1775007300",
        }
        return file

    def append(self, count: int = 2, **partition: str) -> list[File]:
        files = [self.file(partition) for _ in range(count)]
        self.commit(files)
        return files

    def commit(self, adds: Iterable[File] = (), removes: Sequence[File] = ()) -> int:
        now = self.invented.tick()
        added = [{**f, "addedAtVersion": self.version + 1, "addedAtTimestamp": f["modificationTime"]} for f in adds]
        actions = [remove(file, now) for file in removes] + [add(file) for file in added]
        return self._commit(actions, added, [file["path"] for file in removes])

    def skip(self, path: str) -> int:
        """`skipFile`: one mergeskip line, no change to the files."""
        now = self.invented.tick()
        body = {
            "path": path,
            "skipTimestamp": now,
            "reason": "unreadable footer",
            "operation": "merge",
            "retryAfter": now + 86_400_000,
            "skipCount": 1,
        }
        return self._commit([{"mergeskip": body}], [], [])

    def _commit(self, actions: list[Any], added: list[File], removed: list[str]) -> int:
        self.version += 1
        self._put_version(self.version, actions)
        for path in removed:
            self.live.pop(path, None)
        self.live.update({file["path"]: file for file in added})
        self._since_state.append((self.version, added, removed))
        if self._every and self.version % self._every == 0:
            self._checkpoint()
        self.per_version[self.version] = sorted_paths(self.live.values())
        return self.version

    def expected(self, **changes: Any) -> Expected:
        found: dict[str, Any] = {
            "version": self.version,
            "paths": sorted_paths(self.live.values()),
            "total_bytes": total(self.live.values()),
            "partition_columns": self.partition_columns,
            "table_id": self.table_id,
            "per_version": dict(self.per_version),
            "configuration": self.configuration,
        }
        return Expected(**{**found, **changes})

    def _checkpoint(self) -> None:
        removes = [path for _, _, removed in self._since_state for path in removed]
        num_files = sum(info["numEntries"] for info, _ in self.manifests) - len(set(self.tombstones))
        if (
            self.state_version is None
            or num_files <= 0
            or (len(self.tombstones) + len(removes)) / num_files > COMPACTION_RATIO
            or len(self.manifests) > MAX_MANIFESTS
        ):
            # A full replay, later re-adds included.
            self.manifests = [self._manifest(group) for group in self._groups()]
            self.tombstones = []
        else:
            adds: dict[str, File] = {}
            for _, added, removed in self._since_state:
                for path in removed:
                    adds.pop(path, None)
                adds.update({file["path"]: file for file in added})
            if adds:
                self.manifests.append(self._manifest(list(adds.values())))
            self.tombstones = list(dict.fromkeys([*self.tombstones, *removes]))
            found = {file["path"]: file for _, files in self.manifests for file in files}
            # A path both tombstoned and added again is hidden from here on.
            self.live = {path: file for path, file in found.items() if path not in set(self.tombstones)}
        self._since_state = []
        self.state_version = self.version
        self._write_state()

    def _groups(self) -> list[list[File]]:
        files = sorted(self.live.values(), key=lambda file: str(file["path"]))
        if len(files) <= ENTRIES_PER_MANIFEST or not self.partition_columns:
            return [files]
        groups: dict[str, list[File]] = {}
        for file in files:
            groups.setdefault(compact_json(sorted(file["partitionValues"].items())), []).append(file)
        return list(groups.values())

    def _manifest(self, files: list[File]) -> tuple[dict[str, Any], list[File]]:
        name = f"manifests/manifest-{self.invented.hex(16)}.avro"
        data = container(
            avro_schemas.file_entry_b(),
            [{**file, "partitionValues": shuffled(file["partitionValues"], file["path"])} for file in files],
            sync=self.invented.sync(),
            codec="null",
            block_bytes=RUST_BLOCK_BYTES,
            codec_key=self._codec_key,
            codec_first=True,
        )
        self.log.put(name, data)
        versions = [file["addedAtVersion"] for file in files] or [0]
        info = {
            "path": name,
            "numEntries": len(files),
            "minAddedAtVersion": min(versions),
            "maxAddedAtVersion": max(versions),
            "partitionBounds": self._bounds(files),
            "tombstoneCount": 0,
            "liveEntryCount": len(files),
        }
        return info, files

    def _bounds(self, files: list[File]) -> dict[str, Any] | None:
        bounds = {}
        for column in self.partition_columns:
            values = [file["partitionValues"][column] for file in files if column in file["partitionValues"]]
            if values:
                numeric = all(value.isascii() and value.isdigit() for value in values)
                ordered = sorted(values, key=int if numeric else str)
                bounds[column] = {"min": ordered[0], "max": ordered[-1]}
        return bounds or None

    def _write_state(self) -> None:
        num_files = sum(info["numEntries"] for info, _ in self.manifests) - len(set(self.tombstones))
        total_bytes = sum(total(files) for _, files in self.manifests)
        record = {
            "formatVersion": 1,
            "stateVersion": self.version,
            "createdAt": self.invented.tick(),
            "numFiles": num_files,
            "totalBytes": total_bytes,
            "manifests": [info for info, _ in self.manifests],
            "tombstones": self.tombstones,
            "schemaRegistry": {f"docMappingSchema.{DOC_MAPPING_HASH}": DOC_MAPPING},
            "protocolVersion": 4,
            "metadata": compact_json(self.metadata),
        }
        schema = avro_schemas.state_manifest()
        data = container(
            schema,
            [record],
            sync=self.invented.sync(),
            codec_first=True,
            extra_header=[("avro.codec.compression_level", b"\x00")],
        )
        self.log.put(f"{state_name(self.version)}/_manifest.avro", data)
        pointer = {
            "version": self.version,
            "size": num_files,
            "sizeInBytes": total_bytes,
            "numFiles": num_files,
            "createdTime": self.invented.tick(),
            "format": "avro-state",
            "stateDir": state_name(self.version),
        }
        self.log.put("_last_checkpoint", compact_json(pointer).encode())

    def _put_version(self, version: int, actions: Iterable[Any]) -> None:
        self.log.put(version_name(version), rust_gzip(lines(actions)))
