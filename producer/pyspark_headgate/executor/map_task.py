"""What a task does that writes files in `mapInArrow`: rows come in, what was written goes out. Runs on executors."""

from collections.abc import Callable, Iterable, Iterator, Sequence

import pyarrow as pa

from pyspark_headgate.executor.parquet_parts import PartsPlan
from pyspark_headgate.write.batch_sink import written_by_task

COLUMNS = "path string, size long, modified_ms long, partition array<string>, footer binary"
"""Of what goes out, one row for each file."""

_ARROW = pa.schema(
    [
        pa.field("path", pa.string()),
        pa.field("size", pa.int64()),
        pa.field("modified_ms", pa.int64()),
        pa.field("partition", pa.list_(pa.string())),
        pa.field("footer", pa.binary()),
    ]
)


def writing_task(
    plan: PartsPlan, names: Sequence[str]
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """For `DataFrame.mapInArrow`. `names` are those of the columns, whatever the rows that come call them."""

    def write(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        files = written_by_task(plan, (batch.rename_columns(list(names)) for batch in batches))
        rows = [
            {
                "path": file.path,
                "size": file.size,
                "modified_ms": file.modified_ms,
                "partition": list(file.partition),
                "footer": file.footer,
            }
            for file in files
        ]
        yield pa.RecordBatch.from_pylist(rows, schema=_ARROW)

    return write
