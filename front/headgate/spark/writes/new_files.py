"""Writes new files of some rows, by Spark's own Parquet writer if its files equal PyArrow's, else by PyArrow in tasks.

Batches and the sink of streams share it.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from headgate.spark.writes.copied_session import SessionCopy, SessionNotCopied
from headgate.spark.writes.native_files import native_files, why_not_native
from headgate_schemas.errors import InvalidInput
from headgate_table.data_file import DataFile
from pyspark_headgate.options import SourceOptions
from pyspark_headgate.write.plan import WritePlan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from pyspark_headgate.executor.parquet_parts import PartsPlan, WrittenFile


def new_files(
    rows: "DataFrame",
    given: SourceOptions,
    plan: WritePlan,
    *,
    native: bool | None,
    staging: str,
    copy: SessionCopy,
    tell: Callable[[str], None],
) -> list[DataFile]:
    """The written files.

    With `native` unset, Spark's own writer is used if possible. `staging` names its temporary folder, `copy` is for the
    settings that it needs, and `tell` gets the reason if PyArrow was used instead. Raises `InvalidInput` if `native` is
    true but not possible.
    """
    from pyspark_headgate.write.commit_files import data_files

    if native is not False:
        reason = why_not_native(rows.sparkSession, rows, given, plan)
        if reason is None:
            try:
                return native_files(rows, given, plan, staging, copy)
            except SessionNotCopied as error:
                reason = f"the session's settings can't be changed for this write alone: {error}"
        if native:
            raise InvalidInput(f"Spark's own writer can't write to {plan.parts.table}: {reason}. Leave native out")
        tell(reason)
    return data_files(_written_files(rows, plan.parts), plan.change.partition_columns)


def _written_files(rows: "DataFrame", plan: "PartsPlan") -> "list[WrittenFile]":
    """One job; for each task, the files of the successful attempt."""
    from pyspark_headgate.executor.map_task import COLUMNS, writing_task
    from pyspark_headgate.executor.parquet_parts import WrittenFile

    # By number: PySpark interprets dots and backquotes in names.
    numbered = rows.toDF(*(f"c{number}" for number in range(len(rows.columns))))
    found = numbered.mapInArrow(writing_task(plan, rows.columns), COLUMNS).collect()
    return [WrittenFile(row.path, row.size, row.modified_ms, tuple(row.partition), bytes(row.footer)) for row in found]
