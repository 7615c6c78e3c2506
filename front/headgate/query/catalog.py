"""The tables that DataFusion knows. What a query names as a table is found out by DataFusion's own parser, which asks for it."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.dataset as ds
from datafusion import SessionContext, Table
from datafusion.catalog import CatalogProvider, SchemaProvider

_CATALOG, _SCHEMA = "datafusion", "public"
_ALL_ROWS = 2**62

T = TypeVar("T")


def with_tables(context: SessionContext, find: Callable[[str], Table], plan: Callable[[], T]) -> T:
    """Plans, and finds each table that DataFusion asks for.

    They are found outside of DataFusion's own threads, which must not wait for a store.
    """
    tables: dict[str, Table] = {}
    catalog = _Catalog(tables)
    context.register_catalog_provider(_CATALOG, catalog)
    while True:
        catalog.missing = None
        try:
            return plan()
        except Exception:
            if catalog.missing is None:
                raise
        tables[catalog.missing] = find(catalog.missing)


def empty_table(schema: pa.Schema) -> Table:
    """For planning: DataFusion keeps each condition on it in the plan."""
    holder = SessionContext()
    holder.register_record_batches("t", [schema.empty_table().to_batches() or [_no_rows(schema)]])
    return holder.catalog().schema().table("t")


def unpushed_table(context: SessionContext, data: ds.Dataset) -> Table:
    """The rows of a dataset, which DataFusion filters by itself.

    Its conditions mean something else to PyArrow: a null is in the complement of a list, NaN matches nothing, and a constant
    is no condition. It passes none through a limit.
    """
    return Table(context.read_table(Table(data)).limit(_ALL_ROWS))


def _no_rows(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.nulls(0, field.type) for field in schema], schema=schema)


class _Catalog(CatalogProvider, SchemaProvider):
    """One catalog with one schema, as the names of tables have no dots."""

    def __init__(self, tables: Mapping[str, Table]) -> None:
        self._tables = tables
        self.missing: str | None = None

    def schema_names(self) -> set[str]:
        return {_SCHEMA}

    def schema(self, name: str) -> Any:
        return self if name == _SCHEMA else None

    def table_names(self) -> set[str]:
        return set(self._tables)

    def table(self, name: str) -> Table | None:
        if name not in self._tables:
            self.missing = name
        return self._tables.get(name)

    def table_exist(self, name: str) -> bool:
        return name in self._tables
