"""The page's view of a version's files: the largest partitions, and one page of the files. Pure, over Arrow."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headgate_table.totals import as_total, exact, total_of

MAX_PARTITIONS = 30
PAGE_FILES = 50

Values = tuple[str | None, ...]
"""Of the partition columns, in their order."""


@dataclass(frozen=True, slots=True)
class VersionView:
    """The files of one version. `files` has path, size and num_records, and a column p0, p1, … for each partition
    column.
    """

    version: int
    partition_columns: tuple[str, ...]
    files: pa.Table

    @property
    def weight_bytes(self) -> int:
        return int(self.files.nbytes)

    def summary(self) -> dict[str, Any]:
        counts = self.files.column("num_records")
        return {
            "version": self.version,
            "files": self.files.num_rows,
            "bytes": total_of(self.files.column("size")),
            "records": None if counts.null_count else total_of(counts),
            "columns": list(self.partition_columns),
        }

    def partitions(self) -> dict[str, Any]:
        """The partitions with the most bytes, and the number of all partitions."""
        keys = _keys(self.partition_columns)
        if not keys:
            return {"count": 0, "heaviest": []}
        sized = self.files.set_column(self.files.column_names.index("size"), "size", exact(self.files.column("size")))
        grouped = sized.group_by(keys).aggregate([("size", "sum"), ("path", "count")])
        order = pc.sort_indices(grouped, [("size_sum", "descending"), *((key, "ascending") for key in keys)])
        heaviest = grouped.take(order[:MAX_PARTITIONS]).to_pylist()
        return {
            "count": grouped.num_rows,
            "heaviest": [
                {
                    "values": [row[key] for key in keys],
                    "bytes": as_total(int(row["size_sum"] or 0)),
                    "files": row["path_count"],
                }
                for row in heaviest
            ],
        }

    def page(self, offset: int, partition: Values | None = None) -> dict[str, Any]:
        """A page of the files by path, from an index on; of one partition only, if its values are given."""
        found = self.files if partition is None else self.files.filter(self._mask(partition))
        shown = found.slice(offset, PAGE_FILES).select(["path", "size", "num_records"]).to_pylist()
        return {
            "offset": offset,
            "count": found.num_rows,
            "files": [{"path": row["path"], "bytes": row["size"], "records": row["num_records"]} for row in shown],
        }

    def _mask(self, partition: Values) -> Any:
        mask: Any = pa.array([True]).take(pa.array([0] * self.files.num_rows, pa.int64()))
        for key, value in zip(_keys(self.partition_columns), partition, strict=True):
            column = self.files.column(key)
            mask = pc.and_(mask, pc.is_null(column) if value is None else pc.fill_null(pc.equal(column, value), False))
        return mask


def version_view(version: int, partition_columns: Sequence[str], files: pa.Table) -> VersionView:
    """The view of a snapshot's files with path, size and num_records, and partition_values if there are any."""
    columns = {name: files.column(name) for name in ("path", "size", "num_records")}
    for key, name in zip(_keys(partition_columns), partition_columns, strict=True):
        columns[key] = pc.map_lookup(files.column("partition_values"), name, "first")
    table = pa.table(columns)
    return VersionView(version, tuple(partition_columns), table.take(pc.sort_indices(table, [("path", "ascending")])))


def _keys(partition_columns: Sequence[str]) -> list[str]:
    """Numbered names, because a table may have a partition column `path`."""
    return [f"p{place}" for place in range(len(partition_columns))]
