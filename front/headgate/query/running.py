"""Runs a query: it opens and prunes its tables, and DataFusion does the rest, batch by batch."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
from datafusion import DataFrame, SessionContext, SQLOptions
from datafusion import Table as DataFusionTable

from headgate.query.catalog import empty_table, unpushed_table, with_tables
from headgate.query.conditions import QueriedColumns, conditions_of
from headgate.query.table_names import NamedTable, Query, parse_query
from headgate_schemas.columns.column_kinds import kinds_of
from headgate_schemas.columns.table_schema import arrow_schema, column_kinds
from headgate_schemas.errors import HeadgateError, InvalidInput
from headgate_schemas.predicates.format import format_predicate
from headgate_schemas.predicates.tree import Predicate
from headgate_table.errors import UnsupportedTable
from headgate_table.indextables.read.rows.row_filter import row_group_filter
from headgate_table.interface.snapshot import Snapshot
from headgate_table.table import Table

OpenTable = Callable[[str], Table]

_READS_ONLY = SQLOptions().with_allow_ddl(False).with_allow_dml(False).with_allow_statements(False)


@dataclass(frozen=True, slots=True)
class QueriedTable:
    """The read of one table in a query, and the files that it skips."""

    table: str
    version: int
    where: str | None
    """By which files and manifests were skipped."""
    files: int
    files_skipped: int
    manifests: int
    manifests_skipped: int


@dataclass(frozen=True, slots=True)
class _ReadTable:
    uri: str
    whole: Snapshot
    kept: Snapshot
    where: Predicate | None

    def told(self) -> QueriedTable:
        state, files = self.whole.log.state, self.kept.num_files
        return QueriedTable(
            table=self.uri,
            version=self.whole.version,
            where=None if self.where is None else format_predicate(self.where),
            files=files,
            files_skipped=self.whole.num_files - files,
            manifests=0 if state is None else len(state.manifests),
            manifests_skipped=self.kept.statistics.manifests_skipped,
        )


@dataclass(frozen=True, slots=True)
class QueryResult:
    schema: pa.Schema
    frame: DataFrame
    read: tuple["_ReadTable", ...]
    names: tuple[str, ...]
    """Of the columns, as the query writes them: without our names for tables."""

    def tables(self) -> list[QueriedTable]:
        """The skipped files. To count them, it looks at all files of the tables, which a query itself need not do."""
        return [each.told() for each in self.read]

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, as they are computed. Raises `InvalidInput` if DataFusion fails."""
        stream = _asked(self.frame.execute_stream)
        while (batch := _asked(lambda: next(stream, None))) is not None:
            yield batch.to_pyarrow().rename_columns(self.names)

    def plan(self) -> str:
        """DataFusion's physical plan."""
        return str(_asked(lambda: self.frame.execution_plan().display_indent()))


def run_query(text: str, open_table: OpenTable) -> QueryResult:
    """Opens the tables that the query names, and plans it; rows are computed on demand.

    Raises `InvalidInput` for an invalid query, and the errors of opening and reading a table.
    """
    query = parse_query(text)
    snapshots, asked = _planned(query, open_table)
    if not snapshots:
        raise InvalidInput(
            "the query names no table; write its address in quotes, as in SELECT * FROM 's3://lake/events'"
        )
    read = {}
    for name, whole in snapshots.items():
        where = asked.get(name)
        kept = whole if where is None else whole.narrowed(where)
        read[name] = _ReadTable(query.tables[name].uri, whole, kept, where)
    context = SessionContext()
    frame = with_tables(
        context,
        lambda name: unpushed_table(context, _dataset(read[name])),
        lambda: _asked(lambda: context.sql_with_options(query.text, _READS_ONLY)),
    )
    schema = frame.schema()
    repeated = [name for name in schema.names if schema.names.count(name) > 1]
    if repeated:
        raise InvalidInput(f"the result has two columns {repeated[0]!r}; give one of them another name by AS")
    names = _as_written(schema.names, read)
    renamed = pa.schema([field.with_name(name) for field, name in zip(schema, names, strict=True)])
    return QueryResult(renamed, frame, tuple(read.values()), names)


def _as_written(names: Sequence[str], tables: Iterable[str]) -> tuple[str, ...]:
    """DataFusion names an expression by its text, in which our names stand for the tables; kept where they tell two apart."""
    written = list(names)
    for table in tables:
        written = [name.replace(f"{table}.", "") for name in written]
    return tuple(written if len(set(written)) == len(written) else names)


def _planned(query: Query, open_table: OpenTable) -> tuple[dict[str, Snapshot], dict[str, Predicate]]:
    """The tables that DataFusion finds in the query, and the conditions on each; no file is looked at."""
    snapshots: dict[str, Snapshot] = {}
    columns: dict[str, QueriedColumns] = {}
    context = SessionContext()
    # It would give names to casts of columns, in which conditions are recognised.
    context.remove_optimizer_rule("common_sub_expression_eliminate")

    def described(name: str) -> DataFusionTable:
        if name not in query.tables:
            raise InvalidInput(
                f"the query names the table {name} without quotes; write its address in quotes, as in SELECT * FROM 's3://lake/events'"
            )
        found = _snapshot(query.tables[name], open_table)
        schema = arrow_schema(found.metadata.schema_string).remove_metadata()
        snapshots[name], columns[name] = found, QueriedColumns(schema, found.metadata.partition_columns)
        return empty_table(schema)

    plan = with_tables(
        context,
        described,
        lambda: _asked(lambda: context.sql_with_options(query.text, _READS_ONLY).optimized_logical_plan()),
    )
    return snapshots, conditions_of(plan, columns)


def _dataset(read: "_ReadTable") -> ds.Dataset:
    """The files that may hold a match, and of these the row groups that may."""
    try:
        data = read.kept.dataset()
    except UnsupportedTable:
        # PyArrow would read some file wrongly. Then Headgate reads the table, once, because a query may read it
        # twice.
        return ds.dataset(read.kept.to_arrow())
    if read.where is None:
        return data
    kinds = kinds_of(column_kinds(read.kept.metadata.schema_string))
    wanted = row_group_filter(read.where, data.schema, kinds, data.schema.names)
    pieces = [piece.subset(filter=wanted, schema=data.schema) for piece in data.get_fragments()]
    return ds.FileSystemDataset(
        [piece for piece in pieces if piece.row_groups], data.schema, data.format, data.filesystem
    )


def _snapshot(named: NamedTable, open_table: OpenTable) -> Snapshot:
    return open_table(named.uri).snapshot(named.version, _moment(named.timestamp))


def _moment(text: str | None) -> int | str | None:
    return int(text) if text is not None and text.isdigit() else text


def _asked(ask: Callable[[], Any]) -> Any:
    """DataFusion raises plain exceptions; their first line gives the reason."""
    try:
        return ask()
    except (HeadgateError, KeyboardInterrupt, MemoryError):
        raise
    except Exception as error:  # DataFusion has no class of its own for them
        told = str(error).removeprefix("DataFusion error: ").strip()
        raise InvalidInput(f"the query failed: {told[:2000]}") from error
