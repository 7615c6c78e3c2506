"""What follows once files are written: the table is made or widened if need be, and the files are added to it, once.

Batch and streaming writers share it, and so does whoever has Spark write files natively. For drivers.
"""

import zlib
from collections.abc import Sequence
from typing import assert_never

from headgate_producer.errors import WriteRefused
from headgate_schemas.actions import AddFile
from headgate_schemas.logs import get_logger
from headgate_schemas.operations import (
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
from headgate_table.data_file import DataFile
from headgate_table.errors import TableExists
from headgate_table.file_schema import told_columns
from headgate_table.parquet_bounds import column_bounds
from headgate_table.parquet_footer import MAX_FOOTER_BYTES, read_footer
from pyspark_headgate.parquet_parts import WrittenFile
from pyspark_headgate.replaced_partitions import where_of
from pyspark_headgate.rows_fit import fit_new_table, fit_rows
from pyspark_headgate.table_target import TableTarget
from pyspark_headgate.write_change import Change, Replaces

SCHEMA_TRIES = 10
"""How often others may change the schema while we widen it."""

_log = get_logger("headgate.spark")


def data_files(written: Sequence[WrittenFile], partition_columns: Sequence[str]) -> list[DataFile]:
    """The files as the log names them, with row counts and bounds out of their footers."""
    return [_data_file(file, partition_columns) for file in written]


def put_into_table(
    target: TableTarget,
    change: Change,
    files: Sequence[AddFile],
    proposal_id: str,
    writer: Writer | None = None,
) -> Receipt | None:
    """One version with all of the files, or the receipt of an earlier one. None where there was nothing to do.

    Raises `WriteRefused` when the table doesn't take them, and what `TableTarget.commit` raises.
    """
    if change.is_new:
        _make_table(target, change, proposal_id)
    if change.is_new or change.widens:
        _widen_table(target, change, proposal_id)
    operation = _operation(target, change, files)
    if operation is None:
        return None
    receipt = target.commit(operation, proposal_id, writer)
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


def _operation(target: TableTarget, change: Change, files: Sequence[AddFile]) -> Operation | None:
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


def _make_table(target: TableTarget, change: Change, proposal_id: str) -> None:
    fit = fit_new_table(change.rows, change.partition_columns)
    receipt = target.commit(Create(fit.schema_string, change.partition_columns), f"{proposal_id}-create")
    if not isinstance(receipt, Rejected):
        return
    if receipt.code is not RejectCode.ALREADY_EXISTS:
        raise _refused(target, receipt, "the table was not made")
    if change.only_if_new:
        raise TableExists(f"somebody else has just made a table at {target.address}: nothing was written to it")


def _widen_table(target: TableTarget, change: Change, proposal_id: str) -> None:
    """Until the rows fit. Raises `InvalidInput` where they can't."""
    for attempt in range(SCHEMA_TRIES):
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
        receipt = target.commit(alter, f"{proposal_id}-schema-{attempt}")
        if isinstance(receipt, Rejected) and receipt.code is not RejectCode.METADATA_CHANGED:
            raise _refused(target, receipt, f"the columns {', '.join(fit.new_columns)} were not added")
    raise WriteRefused(
        f"the schema of {target.address} was changed by others {SCHEMA_TRIES} times while columns were to be added (SCHEMA_TRIES): "
        f"nothing was written; write again when they are done"
    )


def _refused(target: TableTarget, receipt: Rejected, result: str) -> WriteRefused:
    return WriteRefused(
        f"the table at {target.address} refused proposal {receipt.proposal_id} ({receipt.code.value}): {receipt.reason}; {result}"
    )


def _named(columns: Sequence[str]) -> str:
    return ", ".join(columns) if columns else "nothing"
