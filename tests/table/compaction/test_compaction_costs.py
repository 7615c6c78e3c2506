"""What compacting a large table costs, counted: objects, bytes, entries, Python steps, memory. Times are in the benchmarks.

The tables are foreign: their manifests are put together by `support.logs.foreign_log`, not by our encoders.
"""

from collections import Counter
from pathlib import Path

import pytest

from headgate_schemas.messages.operations import Committed
from support.calls import python_calls
from support.logs.foreign_log import build_on, day, large_path, large_table
from support.logs.raw_log import RawLog
from support.memory import rss_growth_of
from support.stores import FaultyStore, MemoryStore
from support.tables import opened
from support.writers.handmade import HandMade

MANIFESTS = 28
DAYS = 25
MEMORY_LIMIT = 400 << 20


def fragmented(files_a_day: int) -> tuple[FaultyStore, list[str]]:
    """Every manifest has files of every day; a fifth of the days is dead. The store counts."""
    runs = [
        [
            (range((place * DAYS + d) * files_a_day, (place * DAYS + d + 1) * files_a_day), {"date": day(d)})
            for d in range(DAYS)
        ]
        for place in range(MANIFESTS)
    ]
    dead = [large_path(number, part) for run in runs for numbers, part in run[:5] for number in numbers]
    return FaultyStore(build_on(MemoryStore(), lambda made: large_table(made, runs, tombstones=dead), "date")), dead


@pytest.mark.spec("testCompactionPerformance70K")
@pytest.mark.spec("testCompaction70KFilesLatency")
def test_compacting_70000_entries_fetches_and_writes_each_object_once() -> None:
    """Every old manifest once, every new one once, to be checked.

    Break: `Compactor.plan` reads paths only, and the rest is fetched again; or `prepare` writes a manifest for each partition.
    """
    store, dead = fragmented(100)
    table = opened(store, interval=1)
    before = {f"_transaction_log/{name}" for name in RawLog(store.inner).manifests()}
    receipt = table.compact()
    assert isinstance(receipt, Committed)
    fetched = Counter(step.key for step in store.steps if step.operation == "get" and "/manifests/" in step.key)
    log = RawLog(store.inner)
    new = {f"_transaction_log/{info['path']}" for info in log.state(receipt.version)["manifests"]}
    assert (len(before), len(new), len(dead)) == (28, 2, 14_000)
    assert {fetched[key] for key in before | new} == {1}
    assert sorted(step.key.split("/")[1][:9] for step in store.steps if step.writes) == [
        "000000000",
        "_last_che",
        "manifests",
        "manifests",
        "state-v00",
    ]
    assert [info["numEntries"] for info in log.state(receipt.version)["manifests"]] == [50_000, 6_000]
    assert store.count("list_folder") <= 10


@pytest.mark.spec("testCompactionPerformance70K")
@pytest.mark.spec("testCompaction70KFilesLatency")
def test_compaction_takes_few_python_steps_for_each_entry() -> None:
    """Looking up tombstones takes a few each; live entries go through in bulk.

    Break: `encode_manifest` writes entries one by one; or `last_of_each_path` looks for repeated paths in Python.
    """
    small, few = fragmented(4)
    large, many = fragmented(40)
    first = python_calls(lambda: opened(small, interval=1).compact())
    second = python_calls(lambda: opened(large, interval=1).compact())
    live = 28 * 20 * (40 - 4)
    assert second - first < 4 * (len(many) - len(few)) + 0.1 * live


_COMPACT = """
import sys
from headgate_schemas.messages.operations import Committed
from headgate_table.table import Table
import pyarrow.compute, numpy
from headgate_table.avro import decode, encode
settled()
table = Table.open(sys.argv[1], {"local.durable": "false"})
receipt = table.compact()
assert isinstance(receipt, Committed), receipt
assert table.snapshot().num_files == int(sys.argv[2])
"""


@pytest.mark.spec("testCompactionMemoryEfficiency")
@pytest.mark.spec("testMemoryUsageDuringCompaction")
def test_compacting_70000_entries_takes_less_than_400_megabytes(tmp_path: Path) -> None:
    """Above a process with the same imports. Break: `prepare` turns entries into Python values (`to_pylist`)."""
    made = HandMade(tmp_path, ("date",))
    made.start()
    runs = [
        [(range((p * 25 + d) * 100, (p * 25 + d + 1) * 100), {"date": day(d)}) for d in range(25)] for p in range(28)
    ]
    dead = [large_path(number, part) for run in runs for numbers, part in run[:5] for number in numbers]
    large_table(made, runs, tombstones=dead)
    growth = rss_growth_of(_COMPACT, str(tmp_path), "56000")
    assert growth < MEMORY_LIMIT
