"""Tables in the manner of the Scala implementation before Avro states: a version file per commit, JSON checkpoints.

Facts in docs/format.md, sections 1.4 and 3.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from support.writers import scala_actions
from support.writers.cases.expected import Expected, sorted_paths, total
from support.writers.invented import DOC_MAPPING, DOC_MAPPING_HASH, File, Invented
from support.writers.log_folder import LogFolder, compact_json, lines, scala_compressed, version_name

EARLY_ADD_KEYS = ("path", "partitionValues", "size", "modificationTime", "dataChange", "stats", "tags", "numRecords")


def checkpoint_name(version: int) -> str:
    return f"{version:020d}.checkpoint.json"


class ScalaJsonTable:
    """`protocol=None` writes none at all, which means version 1. Protocols below 3 know no schema deduplication."""

    def __init__(
        self,
        table: Path,
        *,
        protocol: tuple[int, int] | None = (3, 3),
        reader_features: list[str] | None = None,
        writer_features: list[str] | None = None,
        partition_columns: tuple[str, ...] = (),
        compressed: bool = True,
        checkpoint_every: int = 10,
        actions_per_part: int = 100_000,
        seed: str = "scala-json",
    ) -> None:
        self.invented = Invented(seed)
        self.log = LogFolder(table, sidecars=True)
        self.partition_columns = partition_columns
        self.table_id = self.invented.uuid()
        self.version = 0
        self.live: dict[str, File] = {}
        self.per_version: dict[int, tuple[str, ...]] = {0: ()}
        self.parts: list[str] = []
        """Names of the parts of the newest multi-part checkpoint."""
        self._protocol = protocol
        self._compressed = compressed
        self._every = checkpoint_every
        self._actions_per_part = actions_per_part
        self._deduplicates = protocol is not None and protocol[0] >= 3
        configuration = {f"docMappingSchema.{DOC_MAPPING_HASH}": DOC_MAPPING} if self._deduplicates else {}
        self.configuration = configuration
        self._head: list[dict[str, Any]] = [
            scala_actions.metadata(self.table_id, self.invented.tick(), partition_columns, configuration)
        ]
        if protocol is not None:
            self._head.insert(0, scala_actions.protocol(*protocol, reader_features, writer_features))
        self._put(version_name(0), self._head)

    def append(self, count: int = 2, **partition: str) -> list[File]:
        files = self.invented.files(count, partition)
        self.commit(files)
        return files

    def commit(self, adds: Iterable[File] = (), removes: Sequence[File] = ()) -> int:
        self.version += 1
        now = self.invented.tick()
        added = list(adds)
        self._put(version_name(self.version), [scala_actions.remove(f, now) for f in removes] + self._adds(added))
        for file in removes:
            del self.live[file["path"]]
        self.live.update({file["path"]: file for file in added})
        self.per_version[self.version] = sorted_paths(self.live.values())
        if self._every and self.version % self._every == 0:
            self.checkpoint()
        return self.version

    def checkpoint(self) -> None:
        actions = [*self._head, *self._adds(self.live.values())]
        checkpoint_id, self.parts = None, []
        created = self.invented.tick()
        if len(actions) > self._actions_per_part:
            checkpoint_id = self.invented.hex(12)
            size = self._actions_per_part
            for number, start in enumerate(range(0, len(actions), size), 1):
                name = f"{self.version:020d}.checkpoint.{checkpoint_id}.{number:05d}.json"
                self._put(name, actions[start : start + size])
                self.parts.append(name)
            index = {
                "version": self.version,
                "checkpointId": checkpoint_id,
                "parts": self.parts,
                "createdTime": created,
                "format": "json",
            }
            self.log.put(checkpoint_name(self.version), compact_json(index).encode())
        else:
            self._put(checkpoint_name(self.version), actions)
        pointer = scala_actions.pointer(
            self.version,
            size=len(actions),
            size_bytes=total(self.live.values()),
            num_files=len(self.live),
            created_ms=created,
            parts=len(self.parts) or None,
            checkpoint_id=checkpoint_id,
            format_name="json-multipart" if checkpoint_id else "json",
        )
        self.log.put("_last_checkpoint", compact_json(pointer).encode())

    def delete_versions_below(self, version: int) -> None:
        """What TRUNCATE TIME TRAVEL does."""
        for number in range(version):
            self.log.delete(version_name(number))
            del self.per_version[number]

    def expected(self, **changes: Any) -> Expected:
        found: dict[str, Any] = {
            "version": self.version,
            "paths": sorted_paths(self.live.values()),
            "total_bytes": total(self.live.values()),
            "partition_columns": self.partition_columns,
            "protocol": self._protocol or (1, 1),
            "table_id": self.table_id,
            "per_version": dict(self.per_version),
            "configuration": self.configuration,
        }
        return Expected(**{**found, **changes})

    def _adds(self, files: Iterable[File]) -> list[dict[str, Any]]:
        if self._deduplicates:
            return [scala_actions.add(file) for file in files]
        return [{"add": {key: file.get(key) for key in EARLY_ADD_KEYS}} for file in files]

    def _put(self, name: str, actions: Iterable[Any]) -> None:
        data = lines(actions)
        self.log.put(name, scala_compressed(data) if self._compressed else data)
