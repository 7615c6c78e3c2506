"""What follows once files are written: the table is made or widened if need be, and the files are added to it, once.

Batch and streaming writers share it, and so does whoever has Spark write files natively. For drivers.
"""

import zlib
from collections.abc import Sequence
from typing import assert_never

from headgate_producer.errors import WriteRefused
from headgate_schemas.actions.actions import AddFile
from headgate_schemas.logs import get_logger
from headgate_schemas.messages.operations import (
    Alter,
    Append,
    Committed,
    Create,
    Duplicate,
    Operation,
    Overwrite,
    Receipt,
    RejectCode,
    Rejected,
    Writer,
)
from headgate_schemas.messages.proposal_ids import first_made, timed_id
from headgate_table.data_file import DataFile
from headgate_table.errors import TableExists
from headgate_table.parquet.bounds import column_bounds
from headgate_table.parquet.file_schema import told_columns
from headgate_table.parquet.footer import MAX_FOOTER_BYTES, read_footer
from pyspark_headgate.executor.parquet_parts import WrittenFile
from pyspark_headgate.write.change import Replaces, WriteChange
from pyspark_headgate.write.replaced_partitions import where_of
from pyspark_headgate.write.schema_fit import fit_new_table, fit_rows
from pyspark_headgate.write.table_target import TableTarget

SCHEMA_TRIES = 10
"""How often others may change the schema while we widen it."""

_log = get_logger("headgate.spark")


def data_files(written: Sequence[WrittenFile], partition_columns: Sequence[str]) -> list[DataFile]:
    """The files as the log names them, with row counts and bounds out of their footers."""
    return [_data_file(file, partition_columns) for file in written]


def put_into_table(
    target: TableTarget,
    change: WriteChange,
    files: Sequence[AddFile],
    proposal_id: str,
    writer: Writer | None = None,
) -> Receipt | None:
    """One version with all of the files, or the receipt of an earlier one. None where there was nothing to do.

    Raises `WriteRefused` when the table doesn't take them, and what `TableTarget.commit` raises.
    """
    # A repeated commit() brings the same files: nothing of it was proposed before the last of them was written.
    made_ms = first_made(proposal_id, target.ambient.now_ms())
    created_ms = max([made_ms, *(file.modification_time for file in files)]) or None
    if change.is_new:
        _make_table(target, change)
    if change.is_new or change.widens:
        _widen_table(target, change)
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


def _make_table(target: TableTarget, change: WriteChange) -> None:
    """A repetition meets the table that is there, so it needs no id by which it is known again."""
    fit = fit_new_table(change.rows, change.partition_columns)
    create = Create(fit.schema_string, change.partition_columns)
    receipt = target.commit(create, _fresh_id(target))
    if not isinstance(receipt, Rejected):
        return
    if receipt.code is not RejectCode.ALREADY_EXISTS:
        raise _refused(target, receipt, "the table was not made")
    if change.only_if_new:
        raise TableExists(f"somebody else has just made a table at {target.address}: nothing was written to it")


def _widen_table(target: TableTarget, change: WriteChange) -> None:
    """Until the rows fit. Raises `InvalidInput` where they can't.

    A repetition meets the columns that are there, so it needs no id by which it is known again.
    """
    for _ in range(SCHEMA_TRIES):
        look = target.look()
        if look is None:
            raise WriteRefused(f"the table at {target.address} is gone since it was made: nothing was written")
        if look.partition_columns != change.partition_columns:
            raise WriteRefused(
                f"the table at {target.address} is partitioned by {_named(look.partition_columns)}, but the files were written by "
                f"{_named(change.partition_columns)}: somebody else has just made it. Nothing was written; write again"
            )
        fit = fit_rows(change.rows, look.schema_string, target.address, merge_schema=change.merge_schema)
        if not fit.new_columns:
            return
        alter = Alter(look.version, schema_string=fit.schema_string)
        receipt = target.commit(alter, _fresh_id(target))
        if isinstance(receipt, Rejected) and receipt.code is not RejectCode.METADATA_CHANGED:
            raise _refused(target, receipt, f"the columns {', '.join(fit.new_columns)} were not added")
    raise WriteRefused(
        f"the schema of {target.address} was changed by others {SCHEMA_TRIES} times while columns were to be added (SCHEMA_TRIES): "
        f"nothing was written; write again when they are done"
    )


def _fresh_id(target: TableTarget) -> str:
    return timed_id(target.ambient.new_id(), target.ambient.now_ms())


def _refused(target: TableTarget, receipt: Rejected, result: str) -> WriteRefused:
    return WriteRefused(
        f"the table at {target.address} refused proposal {receipt.proposal_id} ({receipt.code.value}): {receipt.reason}; {result}"
    )


def _named(columns: Sequence[str]) -> str:
    return ", ".join(columns) if columns else "nothing"
