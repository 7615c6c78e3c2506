"""Finds times in a Parquet file that a table's columns can't hold, by the footer's statistics.

A table's timestamps are microseconds. A file may hold nanoseconds, or milliseconds far in the past or future: readers
accept them only without loss, so one such value would end each scan.
"""

from collections.abc import Iterator

from headgate_table.parquet.footer import ChunkStatistics, Footer, Meaning, ParquetColumn, Physical

_MICROS = range(-(2**63), 2**63)


def time_misfit(footer: Footer) -> str | None:
    """The fault of a time in the file; None if the statistics show none. They contain extremes only."""
    for column in footer.columns:
        if column.leaf < 0 or column.physical is not Physical.INT64:
            continue
        for value in _told(footer, column):
            if column.meaning is Meaning.NANOS and value % 1000:
                return (
                    f"its column {column.name!r} holds {value} ns, and a table's times are whole microseconds. Write it in "
                    f"microseconds (PyArrow: coerce_timestamps='us', allow_truncated_timestamps=True)"
                )
            if column.meaning is Meaning.MILLIS and value * 1000 not in _MICROS:
                return f"its column {column.name!r} holds {value} ms, which is beyond what microseconds can tell"
    return None


def _told(footer: Footer, column: ParquetColumn) -> Iterator[int]:
    for statistics in footer.statistics(column):
        for stored in _extremes(statistics):
            if stored is not None and len(stored) == 8:
                yield int.from_bytes(stored, "little", signed=True)


def _extremes(chunk: ChunkStatistics) -> tuple[bytes | None, ...]:
    return chunk.lowest, chunk.highest, chunk.older_lowest, chunk.older_highest
