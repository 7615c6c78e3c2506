"""`Manifest`: the contents of one manifest file, and queries on it. No bytes, no stores.

Paths are as stored in the file; `paths` interprets them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from headgate_schemas.milvus import EMPTY, ColumnGroup, DeltaLog, DeltaLogType, Index, LobFile, Stat
from headgate_table.totals import as_total


class ManifestForm(Enum):
    """The form of a manifest: bare Avro values with a version, or an Avro container with its schema.

    A container has no version number; it counts as the version of the first release with the same fields.
    """

    RAW_V1 = "raw-1"
    RAW_V2 = "raw-2"
    RAW_V3 = "raw-3"
    CONTAINER_V3 = "container-3"
    CONTAINER_V4 = "container-4"
    CONTAINER_V5 = "container-5"
    CONTAINER_V6 = "container-6"

    @property
    def is_container(self) -> bool:
        return self.value.startswith("container")

    @property
    def version(self) -> int:
        return int(self.value.rpartition("-")[2])


@dataclass(frozen=True, slots=True)
class Manifest:
    """One version of a table. A table without manifests has an empty one, in the first form."""

    column_groups: tuple[ColumnGroup, ...] = ()
    delta_logs: tuple[DeltaLog, ...] = ()
    stats: Mapping[str, Stat] = field(default_factory=dict)
    indexes: tuple[Index, ...] = ()
    lob_files: tuple[LobFile, ...] = ()
    form: ManifestForm = ManifestForm.RAW_V1
    """The form in which it was read, and in which its successor is written unless another is asked for."""
    unknown: tuple[str, ...] = ()
    """What the file holds besides, which we can't keep: such a manifest can be read, but has no successor of ours."""

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(column for group in self.column_groups for column in group.columns)

    @property
    def num_files(self) -> int:
        """Data files of all column groups; one row lies in a file of each group."""
        return sum(len(group.files) for group in self.column_groups)

    @property
    def num_rows(self) -> int:
        """Rows of the table, deleted ones included. All groups hold the same rows; the first one counts."""
        return self.column_groups[0].num_rows if self.column_groups else 0

    @property
    def num_deletes(self) -> int:
        """Entries of all delta logs."""
        return sum(log.num_entries for log in self.delta_logs)

    @property
    def known_bytes(self) -> int:
        """The sizes in the manifest: those of data files since version 4, of large values since 5."""
        sizes = (file.properties.get("file_size", "") for group in self.column_groups for file in group.files)
        data = sum(int(size) for size in sizes if size.isascii() and size.isdigit() and len(size) < 20)
        return as_total(data + sum(file.file_size_bytes for file in self.lob_files))

    @property
    def num_items(self) -> int:
        """Records, list items and map entries, counted as a reader counts them against its limit."""
        files = (file for group in self.column_groups for file in group.files)
        return (
            sum(1 + len(group.columns) + len(group.files) for group in self.column_groups)
            + sum(len(file.properties) for file in files if file.properties is not EMPTY)
            + len(self.delta_logs)
            + sum(1 + len(stat.paths) + len(stat.metadata) for stat in self.stats.values())
            + sum(1 + len(index.properties) + len(index.index_file_keys) for index in self.indexes)
            + len(self.lob_files)
        )

    def column_group(self, column: str | int) -> ColumnGroup | None:
        """The group with the column of that name, or the group at that index; None if there is none."""
        if isinstance(column, int):
            return self.column_groups[column] if 0 <= column < len(self.column_groups) else None
        return next((group for group in self.column_groups if column in group.columns), None)

    def get_delta_logs(self) -> list[str]:
        """The paths of the primary-key delta logs, oldest first."""
        return [log.path for log in self.get_delta_logs_by_type(DeltaLogType.PRIMARY_KEY)]

    def get_delta_logs_by_type(self, kind: int) -> tuple[DeltaLog, ...]:
        """The delta logs of one type, oldest first; `delta_logs` has all of them."""
        return tuple(log for log in self.delta_logs if log.type == kind)

    def get_stat(self, key: str) -> list[str]:
        """The files under a key; none if the key is unknown."""
        stat = self.stats.get(key)
        return [] if stat is None else list(stat.paths)

    def get_all_stats(self) -> dict[str, list[str]]:
        """The files of every key, in the order of the keys."""
        return {key: list(self.stats[key].paths) for key in sorted(self.stats)}
