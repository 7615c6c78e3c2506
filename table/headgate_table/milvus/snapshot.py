"""One version of a Milvus table as a value, by the files of its column groups; and these files as Arrow."""

from collections.abc import Iterable, Sequence
from typing import Never

import pyarrow as pa

from headgate_schemas.errors import InvalidInput
from headgate_schemas.predicates.tree import Predicate
from headgate_table.interface.snapshot import ReadStatistics, Snapshot
from headgate_table.interface.table_format import meaningless
from headgate_table.milvus.format.manifest import Manifest
from headgate_table.milvus.rules.file_changes import PlacedFile, placed_files

FILE_COLUMNS = pa.schema(
    [
        pa.field("path", pa.string()),
        pa.field("columns", pa.list_(pa.string())),
        pa.field("format", pa.string()),
        pa.field("start_index", pa.int64()),
        pa.field("end_index", pa.int64()),
        pa.field("num_records", pa.int64()),
        pa.field("size", pa.int64()),
    ]
)
"""What a manifest says of a data file. Sizes are there since version 4 of the format."""

_ROWS = "rows that Headgate could read: scan it with Milvus"


class MilvusSnapshot(Snapshot):
    """The files of one manifest. It holds all of it, so no later read is necessary."""

    def __init__(self, uri: str, version: int, manifest: Manifest) -> None:
        self._uri = uri
        self._version = version
        self._manifest = manifest

    @property
    def version(self) -> int:
        return self._version

    @property
    def manifest(self) -> Manifest:
        """The whole manifest, with delta logs and stats."""
        return self._manifest

    @property
    def num_files(self) -> int:
        return self._manifest.num_files

    @property
    def total_bytes(self) -> int:
        """As far as the manifest has sizes."""
        return self._manifest.known_bytes

    @property
    def num_records(self) -> int | None:
        """Rows, deleted ones included."""
        return self._manifest.num_rows

    def files(self, columns: Sequence[str] | None = None) -> pa.Table:
        """The data files of all column groups, in the order of the manifest, with the columns of `FILE_COLUMNS`."""
        names = FILE_COLUMNS.names if columns is None else list(columns)
        unknown = [name for name in names if name not in FILE_COLUMNS.names]
        if unknown:
            raise InvalidInput(
                f"files of a Milvus table have no column {unknown[0]!r}; the columns are {', '.join(FILE_COLUMNS.names)}"
            )
        return file_table(placed_files(self._manifest)).select(names)

    def paths(self) -> list[str]:
        return sorted(placed.file.path for placed in placed_files(self._manifest))

    @property
    def metadata(self) -> Never:
        meaningless(self._uri, "metadata: its manifests know columns by name only")

    @property
    def protocol(self) -> Never:
        meaningless(self._uri, "a protocol")

    @property
    def log(self) -> Never:
        meaningless(self._uri, "a log of versions")

    @property
    def statistics(self) -> ReadStatistics:
        return ReadStatistics()

    def scan(self, columns: Sequence[str] | None = None, where: str | Predicate | None = None) -> Never:
        meaningless(self._uri, _ROWS)

    def rows(self, columns: Sequence[str] | None = None, where: str | Predicate | None = None) -> Never:
        meaningless(self._uri, _ROWS)

    def narrowed(self, where: str | Predicate) -> Never:
        meaningless(self._uri, "partitions or bounds that a predicate could select by")

    def count(self) -> Never:
        meaningless(self._uri, _ROWS)

    def dataset(self) -> Never:
        meaningless(self._uri, _ROWS)


def file_table(files: Iterable[PlacedFile]) -> pa.Table:
    rows = list(files)
    return pa.Table.from_arrays(
        [
            pa.array([row.file.path for row in rows], pa.string()),
            pa.array([row.columns for row in rows], pa.list_(pa.string())),
            pa.array([row.format for row in rows], pa.string()),
            pa.array([row.file.start_index for row in rows], pa.int64()),
            pa.array([row.file.end_index for row in rows], pa.int64()),
            pa.array([row.file.num_rows for row in rows], pa.int64()),
            pa.array([row.size for row in rows], pa.int64()),
        ],
        schema=FILE_COLUMNS,
    )
