"""Streams of small files for tests of sinks: each file is a micro-batch, and a checkpoint can be made to forget its last one."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headgate_table.table import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

STREAM_LIMIT_S = 120
SCHEMA = "id BIGINT, k STRING"


class FilesToRead:
    """A folder of files for a stream, and the checkpoint of the query that reads it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "in"
        self.folder.mkdir(parents=True)
        self.checkpoint = folder / "checkpoint"
        self._files = 0

    def add(self, *rows: tuple[int, str | None]) -> None:
        """One more file."""
        lines = [json.dumps({"id": number, "k": text}) for number, text in rows]
        staged = self.folder / f".{self._files}"
        staged.write_text("\n".join(lines))
        staged.rename(self.folder / f"{self._files:05d}.json")
        self._files += 1


class FileStream(FilesToRead):
    """The same with a session that reads them, one a batch."""

    def __init__(self, session: "SparkSession", folder: Path) -> None:
        super().__init__(folder)
        self._session = session

    def rows(self) -> "DataFrame":
        reader = self._session.readStream.schema(SCHEMA).option("maxFilesPerTrigger", "1")
        return reader.json(str(self.folder))

    def run(self, write: "Callable[[DataFrame], DataStreamWriter]") -> None:
        """Until all files are read. Raises what ends the query."""
        query = write(self.rows()).option("checkpointLocation", str(self.checkpoint)).trigger(availableNow=True).start()
        try:
            assert query.awaitTermination(STREAM_LIMIT_S), "the stream doesn't end"
        finally:
            query.stop()

    def forget_last_batch(self) -> None:
        """As if the driver had died after the sink's commit, and before Spark's own."""
        commits = self.checkpoint / "commits"
        last = max((path for path in commits.iterdir() if path.name.isdigit()), key=lambda path: int(path.name))
        last.unlink()
        (commits / f".{last.name}.crc").unlink(missing_ok=True)


def rows_of(uri: str) -> list[tuple[Any, ...]]:
    """All rows of the newest version, sorted."""
    rows: Iterable[dict[str, Any]] = Table.open(uri).snapshot().scan().read_all().to_pylist()
    return sorted((tuple(row.values()) for row in rows), key=repr)
