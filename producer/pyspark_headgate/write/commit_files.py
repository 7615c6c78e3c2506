"""Commits written files: it creates the table or adds columns if necessary, and adds the files, once.

Batch and streaming writers share it, and so do callers of Spark's native writer. For drivers.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from headgate_producer.errors import WriteRefused
from headgate_schemas.actions.actions import AddFile
from headgate_schemas.logs import get_logger
from headgate_schemas.messages.operations import (
    Append,
    Committed,
    Duplicate,
    Operation,
    Overwrite,
    Receipt,
    Rejected,
    Writer,
)
from headgate_schemas.messages.proposal_ids import first_made, timed_id
from headgate_table.data_file import DataFile
from headgate_table.parquet.bounds import column_bounds
from headgate_table.parquet.file_schema import told_columns
from headgate_table.parquet.footer import MAX_FOOTER_BYTES, read_footer
from headgate_table.rows.evolving import make_table, widen_table
from headgate_table.rows.replaced_partitions import where_of
from pyspark_headgate.executor.parquet_parts import WrittenFile
from pyspark_headgate.read.table_version import Pinned
from pyspark_headgate.write.change import Replaces, WriteChange
from pyspark_headgate.write.table_target import TableTarget

_log = get_logger("headgate.spark")


@dataclass(frozen=True, slots=True)
class _EvolvingTarget:
    """The table while it is created and gets columns. If the driver's clock is behind, the files' times are used, as
    for the rows.
    """

    target: TableTarget
    written_ms: int

    @property
    def address(self) -> str:
        return self.target.address

    def look(self) -> Pinned | None:
        return self.target.look()

    def change(self, operation: Operation) -> Receipt:
        now_ms = self.target.ambient.now_ms()
        identity = timed_id(self.target.ambient.new_id(), now_ms)
        return self.target.commit(operation, identity, created_ms=max(now_ms, self.written_ms))


def data_files(written: Sequence[WrittenFile], partition_columns: Sequence[str]) -> list[DataFile]:
    """The files as entries of the log, with row counts and bounds from their footers."""
    return [_data_file(file, partition_columns) for file in written]


def put_into_table(
    target: TableTarget,
    change: WriteChange,
    files: Sequence[AddFile],
    proposal_id: str,
    writer: Writer | None = None,
) -> Receipt | None:
    """One version with all of the files, or the receipt of an earlier one. None if there was nothing to do.

    Raises `WriteRefused` if the table refuses them, and the errors of `TableTarget.commit`.
    """
    # A repeated commit() has the same files, and nothing was proposed before the last of them was written.
    made_ms = first_made(proposal_id, target.ambient.now_ms())
    created_ms = max([made_ms, *(file.modification_time for file in files)]) or None
    evolving = _EvolvingTarget(target, created_ms or 0)
    if change.is_new:
        refused = make_table(evolving, change.rows, change.partition_columns, only_if_new=change.only_if_new)
        if refused is not None:
            raise _refused(target, refused, "the table was not made")
    if change.is_new or change.widens:
        refused = widen_table(evolving, change.rows, change.partition_columns, merge_schema=change.merge_schema)
        if refused is not None:
            raise _refused(target, refused, "the columns that it lacks were not added")
    operation = _operation(target, change, files)
    if operation is None:
        return None
    receipt = target.commit(operation, proposal_id, writer, created_ms=created_ms)
    match receipt:
        case Committed(version) | Duplicate(version):
            _log.info(
                "rows_written",
                table=target.address,
                version=version,
                proposal=proposal_id,
                files=len(files),
                rows=sum(file.num_records or 0 for file in files),
                duplicate=isinstance(receipt, Duplicate),
                writer=None if writer is None else f"{writer.app}:{writer.seq}",
            )
            return receipt
        case Rejected():
            raise _refused(target, receipt, "nothing was written")
        case _:
            assert_never(receipt)


def _data_file(file: WrittenFile, partition_columns: Sequence[str]) -> DataFile:
    inflater = zlib.decompressobj()
    footer_file = inflater.decompress(file.footer, MAX_FOOTER_BYTES)
    footer = read_footer(file.path, len(footer_file), lambda start, length: footer_file[start : start + length])
    lower, upper = column_bounds(footer)
    return DataFile.of_footer(
        footer,
        path=file.path,
        size=file.size,
        modification_time=file.modified_ms,
        partition_values=dict(zip(partition_columns, file.partition, strict=True)),
        min_values=lower or None,
        max_values=upper or None,
    )


def _operation(target: TableTarget, change: WriteChange, files: Sequence[AddFile]) -> Operation | None:
    columns = told_columns(files)
    match change.replaces:
        case Replaces.NOTHING:
            return Append(tuple(files), columns) if files else None
        case Replaces.EVERYTHING:
            return Overwrite(tuple(files), columns=columns)
        case Replaces.MATCHING:
            return Overwrite(tuple(files), change.where, columns)
        case Replaces.PARTITIONS:
            if not files:
                return None
            where = where_of(change.partition_columns, [file.partition_values for file in files], target.address)
            return Overwrite(tuple(files), where, columns)
        case _:
            assert_never(change.replaces)


def _refused(target: TableTarget, receipt: Rejected, result: str) -> WriteRefused:
    return WriteRefused(
        f"the table at {target.address} refused proposal {receipt.proposal_id} ({receipt.code.value}): {receipt.reason}; {result}"
    )
