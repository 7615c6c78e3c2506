"""Tables of real Parquet files, and what their rows are, for tests that merge them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa

from headgate_schemas.actions.actions import AddFile
from headgate_schemas.columns.table_schema import schema_string_of
from headgate_schemas.messages.operations import Committed, Create
from headgate_table.data_file import DataFile
from headgate_table.indextables.log.reader import LogReader
from headgate_table.indextables.write.create import create_table
from headgate_table.store.interface import Store
from headgate_table.table import Table
from headgate_worker.merge.engines.arrow import ArrowEngine
from headgate_worker.merge.merging import Merging
from headgate_worker.merge.orders import ArrowLimits, Merged, MergeOrder, MergeOutcome
from headgate_worker.merge.plan import MergeLimits
from headgate_worker.merge.report import MergeReport
from support.parquet import parquet
from support.stores.memory import MemoryStore
from support.tables import SteadyAmbient, fresh_resources

COLUMNS = "id BIGINT, text STRING, day STRING"
TARGET_BYTES = 1 << 20


def rows_table(first: int, count: int = 10) -> pa.Table:
    """Rows of the test schema, all different, some null."""
    numbers = range(first, first + count)
    return pa.table(
        {
            "id": pa.array([None if number % 7 == 3 else number for number in numbers], pa.int64()),
            "text": pa.array([None if number % 5 == 4 else f"text {number}" for number in numbers], pa.string()),
        }
    )


def new_parquet_table(
    store: Store | None = None, columns: str | pa.Schema = COLUMNS, partition_by: Sequence[str] = ()
) -> Table:
    place = MemoryStore() if store is None else store
    ambient = SteadyAmbient("creator")
    create = Create(schema_string_of(columns), partition_columns=tuple(partition_by))
    create_table(LogReader(place, fresh_resources()), ambient, create)
    return Table(place, ambient, fresh_resources(), {"checkpoint.interval": "4"})


def put_file(
    table: Table,
    path: str,
    rows: pa.Table,
    partition_values: Mapping[str, str | None] | None = None,
    /,
    **options: Any,
) -> DataFile:
    """Write a file to the table's store, without telling the log."""
    table.store.put(path, parquet(rows, **options))
    return DataFile.of_parquet(path, store=table.store, partition_values=partition_values)


def append(table: Table, *files: AddFile) -> None:
    receipt = table.append(files)
    assert isinstance(receipt, Committed), receipt


def append_small(table: Table, count: int, *, rows: int = 10) -> list[DataFile]:
    """So many files of different rows in the root of an unpartitioned table, in one version."""
    files = [put_file(table, f"small-{number}.parquet", rows_table(number * rows, rows)) for number in range(count)]
    append(table, *files)
    return files


def rows_of(table: Table) -> Counter[str]:
    """The rows of the newest version as a multiset."""
    return counted(table.snapshot().scan().read_all())


def counted(rows: pa.Table) -> Counter[str]:
    return Counter(repr(row) for row in rows.to_pylist())


def merge_order(
    table: Table, *sources: AddFile, output: str, partition_values: Mapping[str, str] | None = None, **options: Any
) -> MergeOrder:
    """As for a group of these files. `options` are further fields of the order."""
    metadata = table.metadata
    return MergeOrder(
        table=table.uri,
        sources=sources,
        output=output,
        schema_string=metadata.schema_string,
        partition_columns=metadata.partition_columns,
        partition_values=dict(partition_values or {}),
        **options,
    )


def merged(outcome: MergeOutcome) -> AddFile:
    assert isinstance(outcome, Merged), outcome
    return outcome.add


def merging(table: Table, *, seed: str = "worker", codec: str | None = None, **limits: Any) -> Merging:
    engine = ArrowEngine(table.store, table.reader.resources, ArrowLimits(**limits))
    return Merging(table, engine, SteadyAmbient(seed), codec=codec)


def merge(table: Table, limits: MergeLimits | None = None, where: str | None = None, **options: Any) -> MergeReport:
    with ThreadPoolExecutor(2) as executor:
        return merging(table, **options).merge(limits or MergeLimits(target_bytes=TARGET_BYTES), executor, where)


def data_files(store: Store) -> list[str]:
    """Every object that is not in the log."""
    return [info.key for info in store.list() if not info.key.startswith("_transaction_log/")]
