"""What a merge holds in memory does not grow with what it merges."""

from pathlib import Path

from support.memory import rss_growth_of

MERGE = """
import sys
import pyarrow as pa, pyarrow.parquet as pq
from headgate_schemas.actions.actions import AddFile
from headgate_schemas.ambient import SystemAmbient
from headgate_table.table import Table
from headgate_worker.merge.engines.arrow import ArrowEngine
from headgate_worker.merge.orders import ArrowLimits
from headgate_worker.merge.orders import Merged, MergeOrder

folder, millions, group_rows = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
schema = pa.schema([("id", pa.int64()), ("other", pa.int64()), ("text", pa.string())])
table = Table.create(folder, schema)

def rows(first, count):
    numbers = pa.array(range(first, first + count), pa.int64())
    return pa.table({"id": numbers, "other": numbers, "text": numbers.cast(pa.string())}, schema=schema)

with pq.ParquetWriter(f"{folder}/large.parquet", schema) as writer:
    if group_rows > 1_000_000:
        writer.write_table(pa.concat_tables([rows(0, 1_000_000)] * millions), row_group_size=group_rows)
    else:
        for _ in range(millions):
            writer.write_table(rows(0, 1_000_000), row_group_size=group_rows)
pq.write_table(rows(0, 10), f"{folder}/small.parquet")

def merge(output, *names):
    engine = ArrowEngine(table.store, table.reader.resources, ArrowLimits(row_group_bytes=8 << 20))
    sources = tuple(AddFile(name, {}, 1, 0) for name in names)
    order = MergeOrder(table.uri, sources, output, table.metadata.schema_string, (), {})
    outcome = engine.merge(order)
    assert isinstance(outcome, Merged), outcome
    return outcome.add.num_records

merge("warm.parquet", "small.parquet", "small.parquet")
settled()
assert merge("merged.parquet", "large.parquet", "small.parquet") == millions * 1_000_000 + 10
"""

BOUND_BYTES = 120 << 20


def test_many_row_groups_are_merged_in_bounded_memory(tmp_path: Path) -> None:
    """Break: row groups are gathered without `row_group_bytes`."""
    assert rss_growth_of(MERGE, f"{tmp_path}/t", "10", "100000") < BOUND_BYTES


def test_one_huge_row_group_is_merged_in_bounded_memory(tmp_path: Path) -> None:
    """300 MB decoded in one row group. Break: `buffer_size` is 0, or the file is read as one table."""
    assert rss_growth_of(MERGE, f"{tmp_path}/t", "10", "10000000") < BOUND_BYTES
