"""Writes rows to a table with any committer: rows become files, the table is created or gets columns, one operation
adds the files.

Nothing changes before the files are written, so a failure leaves only files that no log names.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, get_args

import pyarrow as pa

from headgate_schemas import arguments
from headgate_schemas.actions.actions import Metadata
from headgate_schemas.ambient import Ambient
from headgate_schemas.columns.column_kinds import kinds_of
from headgate_schemas.columns.rows_fit import RowsFit, fit_new_table, fit_rows
from headgate_schemas.columns.table_schema import arrow_schema, column_kinds, row_schema_string
from headgate_schemas.errors import InvalidInput
from headgate_schemas.messages.operations import Append, Duplicate, Operation, Overwrite, Rejected
from headgate_schemas.messages.proposal_ids import timed_id
from headgate_table.coordination.refusals import Refusal
from headgate_table.data_file import DataFile
from headgate_table.errors import TableExists, UnsupportedTable
from headgate_table.indextables.read.rows.row_shape import RowShape
from headgate_table.indextables.rules.decide import questions
from headgate_table.parquet.file_schema import told_columns
from headgate_table.rows.evolving import EvolvingTable, columns_named, make_table, widen_table
from headgate_table.rows.file_writer import FileLayout, FileLimits, FileWriter, file_layout
from headgate_table.rows.incoming import IncomingRows, gathered, incoming_rows
from headgate_table.rows.replaced_partitions import check_partitioned, where_of
from headgate_table.rows.row_columns import conformed
from headgate_table.settings.option_texts import size
from headgate_table.store.interface import Store

WriteMode = Literal["append", "overwrite", "overwrite_partitions", "error", "ignore"]

_size_of = size(1)


@dataclass(frozen=True, slots=True)
class RowsOrder:
    """The parameters of a write. `RowsOrder.of` checks them."""

    mode: WriteMode = "append"
    where: str | None = None
    partition_by: tuple[str, ...] | None = None
    schema_evolution: bool = False
    target_file_bytes: int = FileLimits().target_file_bytes

    @classmethod
    def of(
        cls,
        mode: Any,
        where: Any = None,
        partition_by: Any = None,
        schema_evolution: Any = False,
        target_file_size: Any = None,
    ) -> "RowsOrder":
        """Raises `InvalidInput`. A size is a number of bytes, or a text such as 128M."""
        if mode not in get_args(WriteMode):
            raise InvalidInput(f"mode is {mode!r}; give one of {', '.join(get_args(WriteMode))}")
        if where is not None and mode != "overwrite":
            raise InvalidInput(
                f"where says what is overwritten, but the mode is {mode}: use mode overwrite, or leave it out"
            )
        return cls(
            mode,
            None if where is None else arguments.text("where", where),
            None if partition_by is None else arguments.texts("partition_by", partition_by),
            arguments.flag("schema_evolution", schema_evolution),
            _bytes(target_file_size),
        )


def _bytes(given: Any) -> int:
    if given is None:
        return FileLimits().target_file_bytes
    try:
        return _size_of(given if isinstance(given, str) else str(arguments.whole("target_file_size", given)))
    except ValueError as error:
        raise InvalidInput(f"target_file_size is {given!r}; give {error}") from None


@dataclass(frozen=True, slots=True)
class LookedAt:
    """A table as it was when a write was planned."""

    version: int
    metadata: Metadata

    @property
    def schema_string(self) -> str:
        return self.metadata.schema_string

    @property
    def partition_columns(self) -> tuple[str, ...]:
        return tuple(self.metadata.partition_columns)


class RowsTarget(EvolvingTable, Protocol):
    """The table to which rows are written."""

    @property
    def store(self) -> Store: ...

    @property
    def ambient(self) -> Ambient: ...

    def look(self) -> LookedAt | None: ...


@dataclass(frozen=True, slots=True)
class _Plan:
    """How rows are written to a table that may not exist yet."""

    seen: LookedAt | None
    incoming: IncomingRows
    given: str
    """The columns of the rows, in Spark's JSON."""
    columns: tuple[str, ...]
    """Of partitions."""
    fit: RowsFit


def written_rows(target: RowsTarget, rows: Any, order: RowsOrder) -> Operation | Rejected | Duplicate:
    """The operation that adds the rows' files, after they are written; the table accepts them.

    Returns a `Rejected` if the table could not be created or get its columns, a `Duplicate` if mode ignore finds a
    table. Raises `InvalidInput` for rows that the table can't hold, `TableExists` in mode error, `WriteRefused` if
    other writers changed the table meanwhile, and the errors of the rows' producer.
    """
    plan = _planned(target, rows, order)
    if isinstance(plan, Duplicate):
        return plan
    seen, columns = plan.seen, plan.columns
    operation = _operation(target, _files(target, plan, order), columns, order)
    refused: Rejected | None = None
    if seen is None:
        try:
            refused = make_table(target, plan.given, columns, only_if_new=order.mode in ("error", "ignore"))
        except TableExists:
            if order.mode == "error":
                raise
            return Duplicate(0, _unused_id(target))
    if refused is None and (seen is None or plan.fit.new_columns):
        refused = widen_table(target, plan.given, columns, merge_schema=order.schema_evolution)
    return operation if refused is None else refused


def checked_rows(target: RowsTarget, rows: Any, order: RowsOrder) -> dict[str, Any]:
    """A dry run: all rows are read and compared with the table, and nothing is written. Raises the errors of
    `written_rows`.
    """
    plan = _planned(target, rows, order)
    if isinstance(plan, Duplicate):
        return {"rows": 0, "makes_table": False, "new_columns": [], "partition_columns": []}
    layout = _layout(target.address, plan, target.ambient.new_id())
    return {
        "rows": sum(table.num_rows for table in _conformed(target.address, plan, layout)),
        "makes_table": plan.seen is None,
        "new_columns": list(plan.fit.new_columns),
        "partition_columns": list(plan.columns),
    }


def table_files(store: Store, metadata: Metadata, rows: Any, name: str, limits: FileLimits) -> list[DataFile]:
    """Files for rows that fit into a table as it is. No log names them yet. `name` must be new for each attempt.

    Raises `InvalidInput` for rows that the table can't hold, and `StoreError`.
    """
    incoming = incoming_rows(rows)
    given = row_schema_string(incoming.schema)
    columns = tuple(metadata.partition_columns)
    if metadata.schema_string:
        fit = fit_rows(given, metadata.schema_string, store.uri, merge_schema=False, adds_by=None)
    else:
        fit = fit_new_table(given, columns)
    plan = _Plan(None, incoming, given, columns, fit)
    return _written(store, plan, _layout(store.uri, plan, name), limits)


def _planned(target: RowsTarget, rows: Any, order: RowsOrder) -> "_Plan | Duplicate":
    seen = target.look()
    if seen is not None:
        if order.mode == "ignore":
            return Duplicate(seen.version, _unused_id(target))
        if order.mode == "error":
            raise TableExists(
                f"there is a table at {target.address} already: write with mode append or overwrite, or elsewhere"
            )
        _check_takes_rows(target, seen, order)
    incoming = incoming_rows(rows)
    given = row_schema_string(incoming.schema)
    if seen is None:
        columns = order.partition_by or ()
        fit = fit_new_table(given, columns)
        _check_replaceable(target, Metadata("", fit.schema_string, columns), order)
        return _Plan(None, incoming, given, columns, fit)
    fit = fit_rows(
        given, seen.schema_string, target.address, merge_schema=order.schema_evolution, adds_by="schema_evolution"
    )
    return _Plan(seen, incoming, given, _agreed(target, order, seen), fit)


def _check_takes_rows(target: RowsTarget, seen: LookedAt, order: RowsOrder) -> None:
    if seen.metadata.format_provider != "parquet" or not seen.schema_string:
        raise UnsupportedTable(
            f"{target.address} is a table of {seen.metadata.format_provider} files{'' if seen.schema_string else ' without a schema'}, "
            f"and rows can be written to tables of Parquet files whose schema is known"
        )
    _check_replaceable(target, seen.metadata, order)


def _check_replaceable(target: RowsTarget, metadata: Metadata, order: RowsOrder) -> None:
    """Refuses an overwrite that the table would refuse, before files are written for it."""
    if order.where is not None:
        asked = questions(Overwrite((), order.where), metadata)
        if isinstance(asked, Refusal):
            raise InvalidInput(f"where can't say what is overwritten: {asked.reason}")
    if order.mode == "overwrite_partitions":
        check_partitioned(metadata.partition_columns, target.address)


def _agreed(target: RowsTarget, order: RowsOrder, seen: LookedAt) -> tuple[str, ...]:
    wanted = order.partition_by
    if wanted is not None and wanted != seen.partition_columns:
        raise InvalidInput(
            f"the table at {target.address} is partitioned by {columns_named(seen.partition_columns)}, and partition_by says "
            f"{columns_named(wanted)}: leave partition_by out, or write to another table"
        )
    return seen.partition_columns


def _layout(address: str, plan: _Plan, name: str) -> FileLayout:
    fit, columns = plan.fit, plan.columns
    lacking = [column for column in columns if column not in fit.sources]
    if lacking:
        raise InvalidInput(f"the rows have no column {lacking[0]!r}, by which the table at {address} is partitioned")
    whole = arrow_schema(fit.schema_string)
    kinds: Mapping[str, Any] = kinds_of(column_kinds(fit.schema_string))
    shape = RowShape(
        pa.schema([whole.field(column) for column in columns]),
        {column: kinds[column] for column in columns},
        {},
        frozenset(whole.names),
    )
    layout = file_layout(whole, list(fit.sources), columns, shape, name)
    if not layout.data.names:
        raise InvalidInput(
            f"the rows have no column beside those that the table at {address} is partitioned by: files would be empty"
        )
    return layout


def _conformed(address: str, plan: _Plan, layout: FileLayout) -> Iterator[pa.Table]:
    """The rows with the table's columns, those in files first."""
    schema = pa.schema([*layout.data, *layout.partition])
    for table in gathered(plan.incoming.batches):
        try:
            rows = conformed(table, schema, plan.fit.sources, address)
        except ValueError as error:
            raise InvalidInput(f"the rows don't fit into the table at {address}: {error}") from error
        yield rows


def _files(target: RowsTarget, plan: _Plan, order: RowsOrder) -> list[DataFile]:
    layout = _layout(target.address, plan, target.ambient.new_id())
    limits = replace(FileLimits(), target_file_bytes=order.target_file_bytes)
    return _written(target.store, plan, layout, limits)


def _written(store: Store, plan: _Plan, layout: FileLayout, limits: FileLimits) -> list[DataFile]:
    with FileWriter(store, layout, limits) as writer:
        for rows in _conformed(store.uri, plan, layout):
            writer.take(rows)
        return writer.finish()


def _operation(target: RowsTarget, files: Sequence[DataFile], columns: Sequence[str], order: RowsOrder) -> Operation:
    told = told_columns(files)
    match order.mode:
        case "overwrite":
            return Overwrite(tuple(files), order.where, told)
        case "overwrite_partitions" if files:
            where = where_of(columns, [file.partition_values for file in files], target.address)
            return Overwrite(tuple(files), where, told)
        case _:
            return Append(tuple(files), told)


def _unused_id(target: RowsTarget) -> str:
    """The id for a receipt without a proposal."""
    return timed_id(target.ambient.new_id(), target.ambient.now_ms())
