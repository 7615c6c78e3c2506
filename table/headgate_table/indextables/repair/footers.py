"""Reads the footers of many files, several at once, in the order of the files, in bounded memory."""

import threading
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

from headgate_schemas.errors import InvalidInput
from headgate_table.data_file import partition_folders
from headgate_table.errors import ObjectMissing
from headgate_table.indextables.log.reader import LogReader
from headgate_table.indextables.repair.found_files import Found
from headgate_table.parquet.bounds import column_bounds
from headgate_table.parquet.file_schema import columns_with_nulls
from headgate_table.parquet.fine_times import time_misfit
from headgate_table.parquet.footer import Footer, read_footer
from headgate_table.parquet.schema import StoredColumn, stored_columns
from headgate_table.parquet.thrift import Struct as Element
from headgate_table.store.interface import ObjectInfo, Store

FOOTERS_AHEAD = 128
"""Footers asked for before the first of them is needed. With the largest footers one at a time, this bounds memory."""

LARGE_FOOTER_BYTES = 1 << 20
"""Footers from this size on are decoded one at a time: decoded they take twenty times as much."""

_MAGICS = (b"PAR1", b"PARE")


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A data file, without its partition values."""

    info: ObjectInfo
    columns: tuple[StoredColumn, ...]
    num_records: int
    lower: Mapping[str, str]
    upper: Mapping[str, str]
    nulls: tuple[str, ...]
    """The columns that hold a null."""


@dataclass(frozen=True, slots=True)
class UnreadableFooter:
    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class NoParquet:
    """A file without an extension that isn't Parquet."""


class Footers:
    """Reads the footers of files, many at once, and gives them in the order of the files."""

    def __init__(self, reader: LogReader, partition_columns: Sequence[str] | None) -> None:
        """Without `partition_columns`, every `key=value` folder is one: a column with that name has no bounds."""
        self._partition_columns = partition_columns
        self._store = reader.store
        self._fetchers = reader.resources.fetchers
        self._large = threading.Lock()
        self._last: tuple[tuple[Element, ...], tuple[StoredColumn, ...]] = ((), ())

    def of(self, files: Iterable[tuple[ObjectInfo, Found]]) -> Iterator[ReadFile | UnreadableFooter | NoParquet]:
        ahead: deque[Future[ReadFile | UnreadableFooter | NoParquet]] = deque()
        rest = iter(files)
        try:
            while True:
                while len(ahead) < FOOTERS_AHEAD and (item := next(rest, None)) is not None:
                    ahead.append(self._fetchers.submit(self._read, *item))
                if not ahead:
                    return
                yield ahead.popleft().result()
        finally:
            for future in ahead:
                future.cancel()

    def _read(self, info: ObjectInfo, found: Found) -> ReadFile | UnreadableFooter | NoParquet:
        reading = _Reading(self._store, info.key, self._large)
        try:
            footer = read_footer(f"file {info.key}", info.size, reading.read)
            columns = self._columns(footer)
            fine = time_misfit(footer)
            if fine is not None:
                return UnreadableFooter(info.key, fine)
            lower, upper = column_bounds(footer, without=self._partitioning(info.key))
        except InvalidInput as error:
            if found is Found.NAMELESS and not (reading.ends_like_parquet or reading.begins_like_parquet(info.size)):
                return NoParquet()
            return UnreadableFooter(info.key, str(error))
        except ObjectMissing:
            return UnreadableFooter(info.key, "it was deleted while the files were read")
        finally:
            reading.close()
        return ReadFile(info, columns, footer.num_rows, lower, upper, columns_with_nulls(footer))

    def _columns(self, footer: Footer) -> tuple[StoredColumn, ...]:
        """Nearly all files have the schema of the file before. Other threads may replace the remembered one as a whole."""
        elements, columns = self._last
        if footer.elements != elements:
            columns = stored_columns(footer)
            self._last = (footer.elements, columns)
        return columns

    def _partitioning(self, path: str) -> Collection[str]:
        if self._partition_columns is not None:
            return self._partition_columns
        return [key for key, _ in partition_folders(path)]


class _Reading:
    """The reads of one footer. Other footers wait for a large one."""

    def __init__(self, store: Store, key: str, large: threading.Lock) -> None:
        self._store = store
        self._key = key
        self._large = large
        self._is_alone = False
        self.ends_like_parquet = False

    def read(self, start: int, length: int) -> bytes:
        if length > LARGE_FOOTER_BYTES and not self._is_alone:
            self._large.acquire()
            self._is_alone = True
        data = self._store.get_range(self._key, start, length)
        self.ends_like_parquet = data.endswith(_MAGICS)
        return data

    def begins_like_parquet(self, size: int) -> bool:
        """Whether it is a Parquet file that has lost its end."""
        length = len(_MAGICS[0])
        return size >= length and self._store.get_range(self._key, 0, length) in _MAGICS

    def close(self) -> None:
        if self._is_alone:
            self._large.release()
            self._is_alone = False
