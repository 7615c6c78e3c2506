"""Verifies that footers and partition values of live data files fit the table's columns.

One request for each file, many at once. Rows are not read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headgate_schemas.actions.actions import Metadata
from headgate_schemas.columns.file_columns import columns_misfit, columns_text
from headgate_schemas.predicates.partition_values import misfit, partition_types
from headgate_table.indextables.log.reader import LogReader
from headgate_table.indextables.repair.footers import Footers, NoParquet, ReadFile, UnreadableFooter
from headgate_table.indextables.repair.found_files import Found
from headgate_table.interface.findings import Findings
from headgate_table.parquet.schema import StoredColumn, Unusable
from headgate_table.store.interface import ObjectInfo

_REMOVE = (
    "write it again in the table's columns, and take this one out of the table: `table.delete(paths=[…])` in Python"
)


@dataclass(frozen=True, slots=True)
class Described:
    """What a file's entry says of its content."""

    num_records: int | None
    has_bounds: bool


def verify_partition_values(metadata: Metadata, live: Mapping[str, Mapping[str, str]], findings: Findings) -> None:
    """`live` are the partition values of the files by path."""
    types = partition_types(metadata.schema_string, tuple(metadata.partition_columns))
    for path, values in live.items():
        problems = (misfit(values.get(wanted.column), wanted) for wanted in types)
        problem = next((found for found in problems if found is not None), None)
        if problem is not None:
            findings.error(
                path,
                f"{problem}: no scan that comes to the file gets past it",
                "add the file again under another name with a value that fits, and delete this one from the table",
            )


def verify_columns(
    reader: LogReader,
    metadata: Metadata,
    files: Sequence[tuple[str, ObjectInfo]],
    described: Mapping[str, Described],
    findings: Findings,
) -> None:
    """`files` are the live paths, each with its object. Reports nothing if the log has no schema.

    A file is taken for Parquet if its entry has bounds, which come from a footer, or if it begins or ends as Parquet files do.
    """
    if metadata.format_provider != "parquet" or not metadata.schema_string:
        return
    paths = {info.key: path for path, info in files}
    wanted = ((info, Found.PARQUET if described[path].has_bounds else Found.NAMELESS) for path, info in files)
    columns = _Texts()
    partition_columns = tuple(metadata.partition_columns)
    for found in Footers(reader, metadata.partition_columns).of(wanted):
        match found:
            case ReadFile():
                problem = columns_misfit(
                    columns.text(found.columns), found.nulls, metadata.schema_string, partition_columns
                )
                if problem is not None:
                    findings.error(paths[found.info.key], f"{problem}: scans fail, or don't show it", _REMOVE)
                told = described[paths[found.info.key]].num_records
                if told is not None and told != found.num_records:
                    findings.error(
                        paths[found.info.key],
                        f"it holds {found.num_records} rows, but its entry says {told}: it was replaced, or described wrongly",
                        "restore the file, or add it again under another name and delete this one from the table",
                    )
            case UnreadableFooter(path, reason):
                findings.error(
                    paths[path], f"it can't be read: {reason}", "restore the file, or delete it from the table"
                )
            case NoParquet():
                continue


class _Texts:
    """Nearly all files have the columns of the file before."""

    def __init__(self) -> None:
        self._last: tuple[tuple[StoredColumn, ...], str] = ((), "[]")

    def text(self, columns: tuple[StoredColumn, ...]) -> str:
        if columns is not self._last[0]:
            held = [(each.name, None if isinstance(each.type, Unusable) else each.type) for each in columns]
            self._last = columns, columns_text(held)
        return self._last[1]
