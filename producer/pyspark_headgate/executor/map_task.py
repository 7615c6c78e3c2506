"""A task that writes files, called by Spark or in `mapInArrow`: it takes rows and returns descriptions of files. For
executors.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

import pyarrow as pa
from pyspark import TaskContext

from pyspark_headgate.executor.parquet_parts import PartsPlan, WrittenFile, write_parts

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
    """For `DataFrame.mapInArrow`. `names` are the names of the columns, whatever the incoming rows call them."""

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


def written_by_task(plan: PartsPlan, batches: Iterator[pa.RecordBatch]) -> list[WrittenFile]:
    """The files of this attempt of a task, under names that no other attempt has."""
    context = TaskContext.get()
    assert context is not None, "Spark calls this inside of a task"
    return write_parts(plan, batches, context.partitionId(), context.taskAttemptId())
