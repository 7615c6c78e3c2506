"""`write` and `read`: rows from Python into a table, and back. The table room and the producer do the work."""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from headgate_schemas import arguments
from headgate_schemas.ambient import SystemAmbient
from headgate_schemas.arguments import checked
from headgate_schemas.errors import InvalidInput
from headgate_schemas.messages.operations import Create, Duplicate, Receipt, Rejected, Writer
from headgate_schemas.predicates.tree import Predicate
from headgate_table.store.settings import StoreSettings

if TYPE_CHECKING:
    from headgate_table.interface.snapshot import Rows
    from headgate_table.rows.incoming import ArrowRows
    from headgate_table.rows.writing import RowsOrder, WriteMode

RECEIPT_WITHIN_S = 120.0
"""How long a receipt is waited for where `timeout` doesn't say. A committer that restarts or moves is back before."""


@checked(
    uri=arguments.address,
    bus=arguments.text,
    writer=arguments.instance(Writer),
    storage=arguments.either(StoreSettings, arguments.text_map),
    timeout=arguments.seconds,
)
def write(
    uri: str | os.PathLike[str],
    rows: "ArrowRows",
    *,
    mode: "WriteMode" = "append",
    where: str | None = None,
    partition_by: Sequence[str] | None = None,
    bus: str | None = None,
    writer: Writer | None = None,
    schema_evolution: bool = False,
    target_file_size: int | str | None = None,
    storage: Mapping[str, str] | StoreSettings | None = None,
    timeout: float | None = None,
) -> Receipt:
    """Rows into the table at `uri`, in one version. The table is made where there is none, partitioned by `partition_by`.

    `rows` is anything with Arrow's C stream or array interface (of PyArrow, Polars, DuckDB, DataFusion and others), a frame of
    pandas or a lazy one of Polars, or an iterable of batches. It is read once, in bounded memory, into Parquet files of about
    `target_file_size` (bytes, or a text such as 128M). A float of pandas that is NaN is null.

    Modes: `append`; `overwrite` replaces everything, or the partitions that match `where`; `overwrite_partitions` replaces those
    that the rows have; `error` raises `TableExists` where there is a table, and `ignore` leaves one alone and returns a `Duplicate`.
    With `schema_evolution`, columns that the table lacks are added.

    Commits through `bus`, or directly without one. A `writer` and its counter are known to committers alone, and so need a bus. A
    receipt is waited for up to `timeout` seconds (120). A failure leaves only files that no log names.

    Raises `InvalidInput` for rows that the table can't hold, `WriteRefused` where the table changed meanwhile or can't be made, and
    `OutcomeUnknown` where no receipt came in time.

    Examples:
        >>> import pyarrow as pa
        >>> headgate.write("lake/events", pa.table({"id": [1, 2], "day": ["mon", "tue"]}), partition_by=["day"])
        Committed(version=1, proposal_id='...')
        >>> headgate.Table.open("lake/events").snapshot(where="day = 'tue'").num_records
        1
    """
    from headgate_table.rows.writing import RowsOrder

    order = RowsOrder.of(mode, where, partition_by, schema_evolution, target_file_size)
    settings = StoreSettings.of(storage)
    if bus is not None:
        from headgate_producer.producer import Producer
        from headgate_producer.proposed_rows import propose_rows

        within_s = RECEIPT_WITHIN_S if timeout is None else timeout
        with Producer(bus, os.fspath(uri), storage=settings, threads=False) as producer:
            return propose_rows(producer, rows, order, within_s, {"writer": writer}).wait(within_s)
    if writer is not None:
        raise InvalidInput(
            "a writer's counter is kept by committers: give bus= as well, or leave writer out for a direct commit"
        )
    return _write_directly(os.fspath(uri), rows, order, settings)


@checked(
    uri=arguments.address,
    where=arguments.predicate,
    columns=arguments.texts,
    version=arguments.whole,
    timestamp=arguments.time,
    storage=arguments.either(StoreSettings, arguments.text_map),
)
def read(
    uri: str | os.PathLike[str],
    *,
    where: str | Predicate | None = None,
    columns: Sequence[str] | None = None,
    version: int | None = None,
    timestamp: int | str | None = None,
    storage: Mapping[str, str] | StoreSettings | None = None,
) -> "Rows":
    """The rows of the table at `uri`: at a version, at a time (ISO 8601 or epoch ms), or now.

    The result is read when it is asked for: by `to_arrow()`, `to_pandas()` or `to_polars()`, or by any library that takes Arrow's C
    stream, such as DuckDB. Files and row groups that hold no match are skipped.

    Examples:
        >>> import pyarrow as pa
        >>> headgate.write("lake/events", pa.table({"id": [1, 2], "day": ["mon", "tue"]}), partition_by=["day"]).version
        1
        >>> headgate.read("lake/events", where="day = 'tue'").to_arrow().to_pylist()
        [{'id': 2, 'day': 'tue'}]
    """
    from headgate.table import Table

    return Table.open(uri, storage).snapshot(version, timestamp).rows(columns, where)


def _write_directly(uri: str, rows: "ArrowRows", order: "RowsOrder", settings: StoreSettings) -> Receipt:
    from headgate.table import Table
    from headgate_table.rows.writing import written_rows
    from headgate_table.rows.written_table import WrittenTable
    from headgate_table.store.open import open_store

    ambient = SystemAmbient()

    def made(operation: Create) -> Table:
        return Table.create(
            uri, operation.schema_string, operation.partition_columns, operation.configuration, storage=settings
        )

    target = WrittenTable(open_store(uri, settings, ambient), ambient, lambda: Table.open(uri, settings), made)
    result = written_rows(target, rows, order)
    return result if isinstance(result, Duplicate | Rejected) else target.change(result)
