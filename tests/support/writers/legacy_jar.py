"""Tables in the manner of jars 0.33.0 to 0.34.0: a JSON state called `_manifest`, with its one manifest inside.

Facts in docs/format.md, section 2.5. Their version files look like those of the later Rust writer.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from support.writers import avro_schemas, rust
from support.writers.avro_bytes import RUST_BLOCK_BYTES, container
from support.writers.cases.expected import Expected, sorted_paths, total
from support.writers.invented import DOC_MAPPING, DOC_MAPPING_HASH, File, Invented, schema_string
from support.writers.log_folder import LogFolder, compact_json, lines, rust_gzip, state_name, version_name

MANIFEST_NAME = "manifest-0000.avro"


class LegacyJarTable:
    def __init__(
        self,
        table: Path,
        *,
        partition_columns: tuple[str, ...] = (),
        checkpoint_every: int = 1,
        seed: str = "jar",
    ) -> None:
        self.invented = Invented(seed)
        self.log = LogFolder(table)
        self.partition_columns = partition_columns
        self.table_id = self.invented.uuid()
        self.version = 0
        self.live: dict[str, File] = {}
        self.per_version: dict[int, tuple[str, ...]] = {0: ()}
        self._every = checkpoint_every
        self._metadata = {
            "id": self.table_id,
            "schemaString": schema_string(partition_columns),
            "partitionColumns": list(partition_columns),
            "format": {"provider": "indextables", "options": {}},
            "configuration": {f"docMappingSchema.{DOC_MAPPING_HASH}": DOC_MAPPING},
            "createdTime": self.invented.tick(),
        }
        self._protocol = {"minReaderVersion": 4, "minWriterVersion": 4}
        self._put(0, [{"protocol": self._protocol}, {"metaData": self._metadata}])

    def append(self, count: int = 2, **partition: str) -> list[File]:
        files = self.invented.files(count, partition)
        self.commit(files)
        return files

    def commit(self, adds: Iterable[File] = (), removes: Sequence[File] = ()) -> int:
        self.version += 1
        now = self.invented.tick()
        added = [{**f, "addedAtVersion": self.version, "addedAtTimestamp": f["modificationTime"]} for f in adds]
        self._put(self.version, [rust.remove(file, now) for file in removes] + [rust.add(file) for file in added])
        for file in removes:
            del self.live[file["path"]]
        self.live.update({file["path"]: file for file in added})
        self.per_version[self.version] = sorted_paths(self.live.values())
        if self.version % self._every == 0:
            self._write_state()
        return self.version

    def delete_versions_below(self, version: int) -> None:
        for number in range(version):
            self.log.delete(version_name(number))

    def expected(self, **changes: Any) -> Expected:
        found: dict[str, Any] = {
            "version": self.version,
            "paths": sorted_paths(self.live.values()),
            "total_bytes": total(self.live.values()),
            "partition_columns": self.partition_columns,
            "table_id": self.table_id,
            "per_version": dict(self.per_version),
        }
        return Expected(**{**found, **changes})

    def _write_state(self) -> None:
        files = sorted(self.live.values(), key=lambda file: str(file["path"]))
        folder = state_name(self.version)
        data = container(
            avro_schemas.file_entry_jar(),
            files,
            sync=self.invented.sync(),
            codec="null",
            block_bytes=RUST_BLOCK_BYTES,
            codec_first=True,
        )
        self.log.put(f"{folder}/{MANIFEST_NAME}", data)
        bounds = self._bounds(files)
        info: dict[str, Any] = {"path": MANIFEST_NAME, "fileCount": len(files)}
        body: dict[str, Any] = {"version": self.version, "manifests": [info]}
        if bounds is not None:
            info["partitionBounds"] = bounds
            body["partitionBounds"] = bounds
        created = self.invented.tick()
        body |= {
            "createdTime": created,
            "totalFileCount": len(files),
            "format": "avro-state",
            "protocolJson": compact_json(self._protocol),
            "metadata": compact_json(self._metadata),
            "schemaRegistry": {f"docMappingSchema.{DOC_MAPPING_HASH}": DOC_MAPPING},
        }
        self.log.put(f"{folder}/_manifest", compact_json(body).encode())
        pointer = {
            "version": self.version,
            "size": len(files),
            "sizeInBytes": total(files),
            "numFiles": len(files),
            "createdTime": created,
            "format": "avro-state",
            "stateDir": folder,
        }
        self.log.put("_last_checkpoint", compact_json(pointer).encode())

    def _bounds(self, files: list[File]) -> dict[str, Any] | None:
        if not self.partition_columns or not files:
            return None
        low = {c: min(file["partitionValues"][c] for file in files) for c in self.partition_columns}
        high = {c: max(file["partitionValues"][c] for file in files) for c in self.partition_columns}
        return {"minValues": low, "maxValues": high}

    def _put(self, version: int, actions: Iterable[Any]) -> None:
        self.log.put(version_name(version), rust_gzip(lines(actions)))
