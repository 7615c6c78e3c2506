"""The rows of changed files, on executors: those of `executor.file_rows`, with a hint about files that were cleaned
since.
"""

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from pyspark_headgate.executor.file_rows import FileRows, FileSlices, UnreadableFile


class ChangeRows:
    """The form in which readers of changes reach executors."""

    def __init__(self, rows: FileRows) -> None:
        self._rows = rows

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        # A batch without files has one empty partition.
        if not isinstance(partition, FileSlices):
            return
        try:
            yield from self._rows.read(partition.table())
        except UnreadableFile as error:
            if not isinstance(error.__cause__, FileNotFoundError):
                raise
            raise UnreadableFile(
                f"{error}. Changes also need files that were removed from the table since: where cleaning has deleted one, its "
                f"rows can't be read as changes any more. Start a query with a new checkpoint, and keep files longer than "
                f"queries lag behind (PURGE ... OLDER THAN)"
            ) from error
