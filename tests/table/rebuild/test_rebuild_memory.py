"""What a rebuild of a log holds in memory does not grow with the number of files, beyond one version's lines."""

from support.memory import rss_growth_of

REBUILD = """
import logging
import pyarrow as pa
from headgate_schemas.ambient import SystemAmbient
from headgate_table.indextables.repair import new_log
from headgate_table.indextables.log.reader import LogReader
from headgate_table.indextables.repair.rebuild import Wishes, rebuild_into
from headgate_table.caching.resources import process_resources
from headgate_table.store.interface import Created, ObjectInfo
from support.parquet import parquet

new_log.ADDS_PER_VERSION = 2_000
DATA = parquet(pa.table({f"c{number}": [number, number + 1] for number in range(4)}))

class Made:
    # So many files, and none of them anywhere.
    uri = "made://table"

    def __init__(self, count):
        self.count = count

    def list(self, prefix="", *, after=""):
        numbers = range(0 if prefix else self.count)
        return (ObjectInfo(f"day={number % 100}/part-{number:08d}.parquet", len(DATA), 1, "") for number in numbers)

    def get_range(self, key, start, length):
        return DATA[start : start + length]

class Target:
    uri = "made://target"

    def list(self, prefix="", *, after=""):
        return iter(())

    def create(self, key, data):
        return Created("")

def rebuilt(count):
    reader = LogReader(Made(count), process_resources(4))
    return rebuild_into(reader, Target(), Wishes(), SystemAmbient()).valid_splits

logging.disable(logging.CRITICAL)
rebuilt(2_500)
settled()
assert rebuilt(20_000) == 20_000
"""

BOUND_BYTES = 6 << 20
"""The lines of all files together take about 7 MB, as objects several times that."""


def test_many_files_are_taken_in_in_bounded_memory() -> None:
    """Break: `Spool` keeps the lines of all versions, or footers are asked for without `FOOTERS_AHEAD`."""
    assert rss_growth_of(REBUILD) < BOUND_BYTES
