"""`HeadgateSource` implements `format("headgate")`. Each method calls the module that does the work.

Spark makes it on the driver and pickles its results for executors, where no `headgate_…` package needs to be installed.
"""

from collections.abc import MutableMapping
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource

from pyspark_headgate.options import SourceOptions
from pyspark_headgate.read.table_version import pin_if_any

if TYPE_CHECKING:
    from pyspark.sql.datasource import (
        DataSourceReader,
        DataSourceStreamReader,
        DataSourceStreamWriter,
        DataSourceWriter,
    )
    from pyspark.sql.types import StructType


class HeadgateSource(DataSource):
    """A table at the `path` of its options, for reading, writing, or both."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self.given = SourceOptions.of(options)
        # Looked up here, since Spark plans a read several times, and one DataFrame must see one version.
        self.pinned = pin_if_any(self.given)

    @classmethod
    def name(cls) -> str:
        return "headgate"

    def schema(self) -> "StructType | str":
        self.given.check_path()
        if self.given.read_change_feed:
            from pyspark_headgate.changes.stream import feed_schema

            return feed_schema(self.given, self.pinned)
        from pyspark_headgate.read.table_reader import table_schema

        return table_schema(self.given, self.pinned)

    def reader(self, schema: "StructType") -> "DataSourceReader":
        self.given.check_path()
        if self.given.read_change_feed:
            from pyspark_headgate.changes.stream import feed_reader

            return feed_reader(self.given, self.pinned, schema)
        from pyspark_headgate.changes.options import check_plain_read
        from pyspark_headgate.read.table_reader import batch_reader

        check_plain_read(self.given)
        return batch_reader(self.given, self.pinned, schema)

    def streamReader(self, schema: "StructType") -> "DataSourceStreamReader":
        self.given.check_path()
        from pyspark_headgate.changes.stream import stream_reader

        return stream_reader(self.given, self.pinned, schema)

    def writer(self, schema: "StructType", overwrite: bool) -> "DataSourceWriter":
        self.given.check_path()
        from pyspark_headgate.write.batch_sink import batch_writer

        return batch_writer(self.given, self.pinned, schema, overwrite=overwrite)

    def streamWriter(self, schema: "StructType", overwrite: bool) -> "DataSourceStreamWriter":
        self.given.check_path()
        from pyspark_headgate.write.stream_sink import stream_writer

        return stream_writer(self.given, self.pinned, schema, overwrite=overwrite)
