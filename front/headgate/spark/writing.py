"""`write`: a DataFrame into a table in one version, with every mode that Spark knows, errors of Headgate, and a receipt."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, get_args

from headgate.spark.session_settings import session_options
from headgate_schemas.errors import InvalidInput
from headgate_schemas.operations import Receipt
from headgate_table.errors import TableExists
from pyspark_headgate.options import SourceOptions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from headgate_table.data_file import DataFile
    from pyspark_headgate.parquet_parts import PartsPlan, WrittenFile
    from pyspark_headgate.write_plan import WritePlan

Mode = Literal["append", "overwrite", "errorifexists", "error", "ignore"]


def write(
    df: "DataFrame",
    uri: str,
    mode: Mode = "append",
    *,
    bus: str | None = None,
    native: bool = False,
    options: Mapping[str, str] | None = None,
    **more: str,
) -> Receipt | None:
    """The rows in the table at `uri`, which is made where there is none. Commits through `bus`, or directly without one.

    `options` and keywords are those of `format("headgate")`, such as `partitionBy="day"`. Modes `errorifexists` and
    `ignore` write only where there is no table. None where there was nothing to do.

    `native`: Spark's own Parquet writer, which is faster, on file systems. It leaves `_headgate/spark/batch-…` below the table
    where the program is killed before the files have come into their places, and cleaning doesn't look there. Raises
    `InvalidInput` where its files wouldn't be as ours, and says why.

    Raises `WriteRefused` where the table doesn't take the rows, `TableExists` in mode errorifexists, `OutcomeUnknown`
    where no receipt came in time.
    """
    from pyspark_headgate.after_written import data_files, put_into_table
    from pyspark_headgate.table_target import TableTarget
    from pyspark_headgate.write_plan import plan_write

    if mode not in get_args(Mode):
        raise InvalidInput(f"mode is {mode!r}; give one of {', '.join(get_args(Mode))}")
    named = {**(options or {}), **more} | ({} if bus is None else {"bus": bus})
    given = SourceOptions.of(session_options(df.sparkSession, uri, named))
    target = TableTarget(given)
    only_new = mode in ("errorifexists", "error", "ignore")
    look = target.look()
    if only_new and look is not None:
        if mode == "ignore":
            return None
        raise TableExists(
            f"there is a table at {target.address} already: write with mode append or overwrite, or elsewhere"
        )
    job = target.ambient.new_id()
    plan = plan_write(target, given, df.schema.json(), look, overwrite=mode == "overwrite", streaming=False, job=job)
    change = replace(plan.change, only_if_new=only_new)
    if native:
        files = _native(df, given, plan, job)
    else:
        files = data_files(written_files(df, plan.parts), change.partition_columns)
    try:
        return put_into_table(target, change, files, job)
    except TableExists:
        if mode == "ignore":
            return None
        raise


def _native(df: "DataFrame", given: SourceOptions, plan: "WritePlan", job: str) -> "list[DataFile]":
    from headgate.spark.native_files import native_files, why_not_native

    reason = why_not_native(df.sparkSession, df, given, plan)
    if reason is not None:
        raise InvalidInput(f"Spark's own writer can't write to {plan.parts.table}: {reason}. Leave native out")
    return native_files(df, given, plan, f"batch-{job}")


def written_files(df: "DataFrame", plan: "PartsPlan") -> "list[WrittenFile]":
    """One job; of each task, the files of the attempt that won."""
    from pyspark_headgate.map_task import COLUMNS, writing_task
    from pyspark_headgate.parquet_parts import WrittenFile

    found = df.mapInArrow(writing_task(plan), COLUMNS).collect()
    return [WrittenFile(row.path, row.size, row.modified_ms, tuple(row.partition), bytes(row.footer)) for row in found]
