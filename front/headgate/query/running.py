"""Runs a query: it opens and prunes its tables, and DataFusion does the rest, batch by batch."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
from datafusion import DataFrame, SessionContext, SQLOptions, col
from datafusion import functions as f
from pyarrow import types

from headgate.query.conditions import conditions_of
from headgate.query.table_names import STAND_IN, NamedTable, parse_query
from headgate_schemas.columns.column_kinds import kinds_of
from headgate_schemas.columns.table_schema import column_kinds
from headgate_schemas.errors import HeadgateError, InvalidInput
from headgate_schemas.predicates.format import format_predicate
from headgate_schemas.predicates.tree import Predicate
from headgate_table.errors import UnsupportedTable
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

    def tables(self) -> list[QueriedTable]:
        """The skipped files. To count them, it looks at all files of the tables, which a query itself need not do."""
        return [each.told() for each in self.read]

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, as they are computed. Raises `InvalidInput` if DataFusion fails."""
        stream = _asked(self.frame.execute_stream)
        while (batch := _asked(lambda: next(stream, None))) is not None:
            yield batch.to_pyarrow()

    def plan(self) -> str:
        """DataFusion's physical plan."""
        return str(_asked(lambda: self.frame.execution_plan().display_indent()))


def run_query(text: str, open_table: OpenTable) -> QueryResult:
    """Opens the tables that the query names, and plans it; rows are computed on demand.

    Raises `InvalidInput` for an invalid query, and the errors of opening and reading a table.
    """
    query = parse_query(text)
    snapshots = {named.name: _snapshot(named, open_table) for named in query.tables}
    kinds = {name: kinds_of(column_kinds(found.metadata.schema_string)) for name, found in snapshots.items()}
    asked = conditions_of(query.text, kinds)
    context = SessionContext()
    read = []
    for named in query.tables:
        whole, where = snapshots[named.name], asked.get(named.name)
        kept = whole if where is None else whole.narrowed(where)
        _register(context, named.name, kept)
        read.append(_ReadTable(named.uri, whole, kept, where))
    frame = _asked(lambda: context.sql_with_options(query.text, _READS_ONLY))
    schema = frame.schema()
    repeated = [name for name in schema.names if schema.names.count(name) > 1]
    if repeated:
        raise InvalidInput(f"the result has two columns {repeated[0]!r}; give one of them another name by AS")
    return QueryResult(schema, frame, tuple(read))


def _snapshot(named: NamedTable, open_table: OpenTable) -> Snapshot:
    return open_table(named.uri).snapshot(named.version, _moment(named.timestamp))


def _moment(text: str | None) -> int | str | None:
    return int(text) if text is not None and text.isdigit() else text


def _register(context: SessionContext, name: str, snapshot: Snapshot) -> None:
    try:
        data = snapshot.dataset()
    except UnsupportedTable:
        # PyArrow would read some file wrongly. Then Headgate reads the table, once, because a query may read it
        # twice.
        data = ds.dataset(snapshot.to_arrow())
    floating = [field.name for field in data.schema if types.is_floating(field.type)]
    if not floating:
        context.register_dataset(name, data)
        return
    # DataFusion passes conditions on to PyArrow, in which NaN matches none; it keeps computed columns for itself.
    context.register_dataset(f"{name}_files", data)
    columns = [
        (f.nanvl(col(f'"{item}"'), col(f'"{item}"')) if item in floating else col(f'"{item}"')).alias(item)
        for item in data.schema.names
    ]
    context.register_view(name, context.table(f"{name}_files").select(*columns))


def _asked(ask: Callable[[], Any]) -> Any:
    """DataFusion raises plain exceptions; their first line gives the reason."""
    try:
        return ask()
    except (HeadgateError, KeyboardInterrupt, MemoryError):
        raise
    except Exception as error:  # DataFusion has no class of its own for them
        told = STAND_IN.sub("", str(error).removeprefix("DataFusion error: ").strip())
        raise InvalidInput(f"the query failed: {told[:2000]}") from error
