"""Plans the tasks and the commit of a write, from its options and the schema of its rows. For drivers.

It changes nothing: a failing job leaves the table as it was, and creates none.
"""

from dataclasses import dataclass, replace

import pyarrow as pa

from headgate_schemas.actions.actions import NULL_PARTITION
from headgate_schemas.columns.rows_fit import RowsFit, fit_new_table, fit_rows
from headgate_schemas.columns.table_schema import arrow_schema
from headgate_schemas.errors import InvalidInput
from headgate_schemas.predicates.partition_text import escape_partition_text
from headgate_table.parquet.bounds import STATISTICS_NOTE, WITHOUT_NAN
from pyspark_headgate.executor.parquet_parts import PartsPlan
from pyspark_headgate.options import DEFAULT_TARGET_FILE_BYTES, SourceOptions
from pyspark_headgate.read.table_version import Pinned
from pyspark_headgate.write.change import Replaces, WriteChange
from pyspark_headgate.write.table_target import TableTarget

_ESCAPES = {code: escaped for code in range(128) if (escaped := escape_partition_text(chr(code))) != chr(code)}
"""What Spark escapes in a folder's name, for executors, which have no rules of their own."""


@dataclass(frozen=True, slots=True)
class WritePlan:
    parts: PartsPlan
    change: WriteChange
    schema_string: str
    """Of the table, once the rows are in it."""


def plan_write(
    target: TableTarget,
    given: SourceOptions,
    rows: str,
    look: Pinned | None,
    *,
    overwrite: bool,
    streaming: bool,
    job: str,
) -> WritePlan:
    """`rows` is the schema of the rows, in Spark's JSON; `look` is the present table, None if there is none.

    Raises `InvalidInput` for rows or options that can't be written.
    """
    change = replace(_replacing(given, overwrite=overwrite), rows=rows, merge_schema=given.merge_schema)
    if look is None:
        if streaming and given.partition_by is None:
            raise InvalidInput(
                f"there is no table at {target.address}, and a stream can't tell how to partition a new one: Spark drops partitionBy() on "
                f'streams without a word. Make the table first, or say .option("partitionBy", "day"); "" is for no partitions'
            )
        columns = given.partition_by or ()
        fit = fit_new_table(rows, columns)
        change = replace(change, partition_columns=columns, is_new=True)
    else:
        columns = _agreed(target, given, look)
        fit = fit_rows(rows, look.schema_string, target.address, merge_schema=given.merge_schema)
        change = replace(change, partition_columns=columns, widens=bool(fit.new_columns))
    return WritePlan(_parts(target, given, fit, columns, job), change, fit.schema_string)


def _replacing(given: SourceOptions, *, overwrite: bool) -> WriteChange:
    dynamic = given.partition_overwrite_mode == "dynamic"
    if given.replace_where is not None:
        if not overwrite:
            raise InvalidInput(
                "replaceWhere says what is overwritten, but the mode is append: use mode overwrite, or leave it out"
            )
        if dynamic:
            raise InvalidInput(
                "replaceWhere and a dynamic partitionOverwriteMode both say what is overwritten: give one of them"
            )
        return WriteChange(Replaces.MATCHING, given.replace_where)
    if not overwrite:
        return WriteChange(Replaces.NOTHING)
    return WriteChange(Replaces.PARTITIONS if dynamic else Replaces.EVERYTHING)


def _agreed(target: TableTarget, given: SourceOptions, look: Pinned) -> tuple[str, ...]:
    wanted = given.partition_by
    if wanted is not None and wanted != look.partition_columns:
        raise InvalidInput(
            f"the table at {target.address} is partitioned by {_named(look.partition_columns)}, the option partitionBy says "
            f"{_named(wanted)}: leave the option out, or write to another table"
        )
    return look.partition_columns


def _parts(
    target: TableTarget, given: SourceOptions, fit: RowsFit, partition_columns: tuple[str, ...], job: str
) -> PartsPlan:
    lacking = [column for column in partition_columns if column not in fit.sources]
    if lacking:
        raise InvalidInput(
            f"the rows have no column {lacking[0]!r}, by which the table at {target.address} is partitioned"
        )
    whole = arrow_schema(fit.schema_string)
    held = [field for field in whole if field.name in fit.sources and field.name not in partition_columns]
    if not held:
        raise InvalidInput(
            f"the rows have no column beside those that the table at {target.address} is partitioned by: files would be empty"
        )
    return PartsPlan(
        place=target.place,
        table=target.address,
        job=job,
        data=pa.schema(held),
        partition=pa.schema([whole.field(column) for column in partition_columns]),
        sources=dict(fit.sources),
        escapes=_ESCAPES,
        null_text=NULL_PARTITION,
        notes={STATISTICS_NOTE: WITHOUT_NAN},
        compression=given.compression,
        target_file_bytes=given.target_file_bytes or DEFAULT_TARGET_FILE_BYTES,
    )


def _named(columns: tuple[str, ...]) -> str:
    return ", ".join(columns) if columns else "nothing"
