"""A table of small Parquet files on this disk, written without Spark, for tests that read it with Spark."""

from pathlib import Path

import pyarrow as pa

from headgate.table import Table
from headgate_schemas.messages.operations import Committed
from headgate_table.data_file import DataFile
from headgate_table.store.settings import StoreSettings
from support.merging import put_file

COLUMNS = "id BIGINT, text STRING, region STRING"
_STORAGE = StoreSettings(local_durable=False)


class LocalLake:
    """Partitioned by region. Every file is one more, and its rows have the ids that are asked for."""

    def __init__(self, folder: Path, *, interval: int = 10) -> None:
        self.uri = str(folder)
        self.table = Table.create(
            self.uri, COLUMNS, ["region"], {"checkpoint.interval": str(interval)}, storage=_STORAGE
        )
        self._written = 0

    def file(self, *ids: int, region: str = "eu") -> DataFile:
        """A file that the log doesn't know yet."""
        self._written += 1
        rows = pa.table({"id": pa.array(ids, pa.int64()), "text": [f"text {number}" for number in ids]})
        return put_file(self.table, f"region={region}/part-{self._written:03d}.parquet", rows)

    def add(self, *ids: int, region: str = "eu") -> int:
        """Append a file with these ids; returns the version."""
        return self.append(self.file(*ids, region=region))

    def append(self, *files: DataFile) -> int:
        receipt = self.table.append(files)
        assert isinstance(receipt, Committed), receipt
        return receipt.version

    def rewrite(self, *removes: DataFile, into: DataFile) -> None:
        receipt = self.table.rewrite([file.path for file in removes], [into])
        assert isinstance(receipt, Committed), receipt

    def delete(self, where: str) -> int:
        receipt = self.table.delete(where)
        assert isinstance(receipt, Committed), receipt
        return receipt.version
