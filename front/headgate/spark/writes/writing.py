"""`write`: a DataFrame into a table in one version, with all of Spark's modes, Headgate's errors, and a receipt."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, get_args

from headgate.spark.session_settings import session_options
from headgate_schemas import arguments
from headgate_schemas.arguments import checked
from headgate_schemas.errors import InvalidInput
from headgate_schemas.logs import get_logger
from headgate_schemas.messages.operations import Receipt
from headgate_table.errors import TableExists
from pyspark_headgate.options import SourceOptions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_log = get_logger("headgate.spark")

Mode = Literal["append", "overwrite", "errorifexists", "error", "ignore"]


@checked(uri=arguments.address, bus=arguments.text, native=arguments.flag)
def write(
    df: "DataFrame",
    uri: str,
    mode: Mode = "append",
    *,
    bus: str | None = None,
    native: bool | None = None,
    options: Mapping[str, str] | None = None,
    **more: str,
) -> Receipt | None:
    """The rows in the table at `uri`, which is made where there is none. Commits through `bus`, or directly without one.

    `options` and keywords are those of `format("headgate")`, such as `partitionBy="day"`. Modes `errorifexists` and
    `ignore` write only where there is no table. None where there was nothing to do.

    `native`: Spark's own Parquet writer; where it is left open, wherever that does. With True, raises `InvalidInput` where
    it doesn't, and says why.

    Raises `WriteRefused` where the table doesn't take the rows, `TableExists` in mode errorifexists, `OutcomeUnknown`
    where no receipt came in time.
    """
    from headgate.spark.writes.copied_session import SessionCopy
    from headgate.spark.writes.new_files import new_files
    from pyspark_headgate.write.commit_files import put_into_table
    from pyspark_headgate.write.plan import plan_write
    from pyspark_headgate.write.table_target import TableTarget

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

    def tell(reason: str) -> None:
        _log.info("batch_written_by_arrow", table=target.address, proposal=job, reason=reason)

    files = new_files(df, given, plan, native=native, staging=f"batch-{job}", copy=SessionCopy(), tell=tell)
    try:
        return put_into_table(target, change, files, job)
    except TableExists:
        if mode == "ignore":
            return None
        raise
