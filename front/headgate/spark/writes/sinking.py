"""`sink`: a function for `foreachBatch` that makes each micro-batch one version of a table, exactly once.

Spark writes Parquet natively if that makes the same files, which is faster than through Python. Everything else is
shared with `writeStream.format("headgate")`.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from headgate.spark.session_settings import session_options
from headgate.spark.writes.copied_session import SessionCopy
from headgate_schemas import arguments
from headgate_schemas.arguments import checked
from headgate_schemas.errors import InvalidInput
from headgate_schemas.logs import get_logger
from headgate_schemas.messages.operations import Writer
from pyspark_headgate.options import SourceOptions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_log = get_logger("headgate.spark")


@checked(uri=arguments.address, bus=arguments.text, native=arguments.flag)
def sink(
    uri: str,
    bus: str | None = None,
    *,
    native: bool | None = None,
    options: Mapping[str, str] | None = None,
    **more: str,
) -> "Callable[[DataFrame, int], None]":
    """For `df.writeStream.foreachBatch(sink(uri, bus))`; `options` and keywords are those of `format("headgate")`.

    `native`: Spark's own Parquet writer; where it is left open, wherever that does. With True, raises `InvalidInput` where
    it doesn't, and says why. A batch raises `WriteRefused` where the table doesn't take it, `OutcomeUnknown` where no
    receipt came in time: the query fails then, and is started again as it is.
    """
    named = {**(options or {}), **more} | ({} if bus is None else {"bus": bus})
    SourceOptions.of({**named, "path": uri})  # a wrong name or value is reported now, not at the first batch

    told: set[str] = set()
    copy = SessionCopy()

    def put_batch(rows: "DataFrame", batch_id: int) -> None:
        _put_batch(rows, batch_id, uri, named, native, copy, told)

    return put_batch


def _put_batch(
    rows: "DataFrame",
    batch_id: int,
    uri: str,
    named: Mapping[str, str],
    native: bool | None,
    copy: SessionCopy,
    told: set[str],
) -> None:
    from headgate.spark.writes.new_files import new_files
    from pyspark_headgate.write.commit_files import put_into_table
    from pyspark_headgate.write.plan import plan_write
    from pyspark_headgate.write.stream_sink import check_stream, writer_name
    from pyspark_headgate.write.table_target import TableTarget

    query = _query_of(rows, uri)
    given = SourceOptions.of(session_options(rows.sparkSession, uri, named))
    target = TableTarget(given)
    check_stream(given, target)
    job = target.ambient.new_id()
    plan = plan_write(target, given, rows.schema.json(), target.look(), overwrite=False, streaming=True, job=job)

    def tell(reason: str) -> None:
        if reason not in told:  # once, and not with every batch
            told.add(reason)
            _log.info("stream_written_by_arrow", table=target.address, query=query, reason=reason)

    files = new_files(rows, given, plan, native=native, staging=query, copy=copy, tell=tell)
    put_into_table(target, plan.change, files, job, Writer(writer_name(query), batch_id))


def _query_of(rows: "DataFrame", uri: str) -> str:
    """The stream's id, which its checkpoint keeps."""
    from pyspark_headgate.write.stream_sink import QUERY_ID

    context = getattr(rows.sparkSession, "sparkContext", None)
    query = None if context is None else context.getLocalProperty(QUERY_ID)
    if not query:
        raise InvalidInput(
            f"the sink of {uri} is called outside of a stream's foreachBatch, or on Spark Connect, which doesn't tell it the query: "
            f'use writeStream.format("headgate") there, or headgate.spark.write for a batch'
        )
    return str(query)
