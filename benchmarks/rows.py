"""Writing rows and reading them back: Headgate beside delta-rs and PyIceberg, time and peak memory, each in a process of its own.

Every contender gets the same Arrow table, in memory, and the defaults that its own documentation recommends. Memory is the growth of
the peak of the resident set over what the process held with its imports and its rows. On a local disk; without `--durable` Headgate
leaves the disk's confirmation out, as the others do.
"""

import argparse
import ctypes
import gc
import importlib.metadata
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

WAYS = ("headgate", "deltalake", "pyiceberg")
PARTITIONS = (1, 100)
TASKS = ("write", "read all", "read one column", "read selected rows")
WHERE_CUSTOMER = 777


def rows(count: int, partitions: int) -> pa.Table:
    """Orders: numbers, times, short texts, and a region to partition by."""
    random = np.random.default_rng(7)
    moments = (1_700_000_000_000_000 + random.integers(0, 10**12, count)).astype("datetime64[us]")
    regions = np.array([f"region-{number:03d}" for number in range(partitions)])
    return pa.table(
        {
            "id": pa.array(np.arange(count)),
            "moment": pa.array(moments, pa.timestamp("us", tz="UTC")),
            "customer": pa.array(random.integers(0, 100_000, count)),
            "amount": pa.array(random.random(count) * 100),
            "note": pa.array(np.char.add("order ", random.integers(0, 10**7, count).astype(str))),
            "region": pa.array(regions[random.integers(0, partitions, count)]),
        }
    )


def headgate_ways(folder: Path, by: list[str] | None, *, durable: bool) -> Mapping[str, Callable[[Any], Any]]:
    import headgate

    uri, storage = str(folder / "table"), {"local.durable": str(durable).lower()}
    return {
        "write": lambda given: headgate.write(uri, given, partition_by=by, storage=storage),
        "read all": lambda _: headgate.read(uri).to_arrow().num_rows,
        "read one column": lambda _: headgate.read(uri, columns=["amount"]).to_arrow().num_rows,
        "read selected rows": lambda _: headgate.read(uri, where=f"customer = {WHERE_CUSTOMER}").to_arrow().num_rows,
    }


def deltalake_ways(folder: Path, by: list[str] | None) -> Mapping[str, Callable[[Any], Any]]:
    import pyarrow.dataset as ds
    from deltalake import DeltaTable, write_deltalake

    uri = str(folder / "table")
    return {
        "write": lambda given: write_deltalake(uri, given, partition_by=by),
        "read all": lambda _: DeltaTable(uri).to_pyarrow_table().num_rows,
        "read one column": lambda _: DeltaTable(uri).to_pyarrow_table(columns=["amount"]).num_rows,
        "read selected rows": lambda _: (
            DeltaTable(uri).to_pyarrow_dataset().to_table(filter=ds.field("customer") == WHERE_CUSTOMER).num_rows
        ),
    }


def pyiceberg_ways(folder: Path, by: list[str] | None) -> Mapping[str, Callable[[Any], Any]]:
    from pyiceberg.catalog.sql import SqlCatalog
    from pyiceberg.transforms import IdentityTransform

    catalog = SqlCatalog("local", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}/warehouse")

    def write(given: Any) -> None:
        catalog.create_namespace_if_not_exists("bench")
        table = catalog.create_table("bench.events", schema=given.schema)
        if by:
            with table.update_spec() as spec:
                for column in by:
                    spec.add_field(column, IdentityTransform(), f"by_{column}")
        table.append(given)

    def scan(**how: Any) -> int:
        return int(catalog.load_table("bench.events").scan(**how).to_arrow().num_rows)

    return {
        "write": write,
        "read all": lambda _: scan(),
        "read one column": lambda _: scan(selected_fields=("amount",)),
        "read selected rows": lambda _: scan(row_filter=f"customer = {WHERE_CUSTOMER}"),
    }


def ways_of(way: str, folder: Path, by: list[str] | None, *, durable: bool) -> Mapping[str, Callable[[Any], Any]]:
    if way == "headgate":
        return headgate_ways(folder, by, durable=durable)
    return (deltalake_ways if way == "deltalake" else pyiceberg_ways)(folder, by)


def _status(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) * 1024
    raise SystemExit(f"this system doesn't tell {name}")


def measured(work: Callable[[], Any]) -> tuple[float, int]:
    """Seconds, and the bytes by which the peak exceeds what was held before."""
    gc.collect()
    pa.default_memory_pool().release_unused()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    before, start = _status("VmRSS"), time.perf_counter()
    kept = work()
    took = time.perf_counter() - start
    del kept
    return took, max(0, _status("VmHWM") - before)


def run_one(way: str, task: str, count: int, partitions: int, folder: Path, *, durable: bool) -> dict[str, Any]:
    """In this process: one task of one contender."""
    by = ["region"] if partitions > 1 else None
    (folder / "warehouse").mkdir(exist_ok=True)
    given = rows(count, partitions) if task == "write" else None
    # Whatever is loaded at the first use is loaded by a small table elsewhere.
    with tempfile.TemporaryDirectory() as other:
        (Path(other) / "warehouse").mkdir()
        warm = ways_of(way, Path(other), by, durable=durable)
        for name in ("write", *([task] if task != "write" else [])):
            warm[name](rows(100, partitions))
    work = ways_of(way, folder, by, durable=durable)[task]
    seconds, grown = measured(lambda: work(given))
    return {"seconds": seconds, "bytes": grown}


def files_of(folder: Path) -> tuple[int, int]:
    found = [path for path in folder.rglob("*.parquet") if path.is_file()]
    return len(found), sum(path.stat().st_size for path in found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--repeat", type=int, default=3, help="the best time and the smallest growth of so many runs")
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--durable", action="store_true", help="Headgate waits for the disk")
    parser.add_argument("--one", nargs=4, metavar=("WAY", "TASK", "PARTITIONS", "FOLDER"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        way, task, partitions, folder = given.one
        result = run_one(way, task, given.rows, int(partitions), Path(folder), durable=given.durable)
        print(json.dumps(result), flush=True)
        os._exit(0)  # some libraries leave threads that end a process badly
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in (*given.ways.split(","), "pyarrow"))
    print(f"{given.rows:,} rows of 6 columns; {versions}; Python {platform.python_version()}; best of {given.repeat}")
    print(f"{'partitions':>10}  {'way':<10} {'task':<19} {'seconds':>8} {'memory':>9} {'files':>6} {'stored':>8}")
    for partitions in PARTITIONS:
        for way in given.ways.split(","):
            for line in lines_of(way, partitions, given):
                print(line, flush=True)


def lines_of(way: str, partitions: int, given: argparse.Namespace) -> list[str]:
    lines = []
    folder = Path(tempfile.mkdtemp(prefix="headgate-rows-"))
    try:
        for task in TASKS:
            runs = []
            for _ in range(given.repeat):
                if task == "write":
                    shutil.rmtree(folder)
                    folder.mkdir()
                runs.append(_in_a_process(way, task, partitions, folder, given))
            files, size = files_of(folder)
            seconds, grown = min(run["seconds"] for run in runs), min(run["bytes"] for run in runs)
            stored = f"{files:>6} {size / 2**20:>5.0f} MB" if task == "write" else ""
            lines.append(f"{partitions:>10}  {way:<10} {task:<19} {seconds:>8.2f} {grown / 2**20:>6.0f} MB {stored}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return lines


def _in_a_process(way: str, task: str, partitions: int, folder: Path, given: argparse.Namespace) -> dict[str, Any]:
    words = [sys.executable, __file__, f"--rows={given.rows}", *(["--durable"] if given.durable else [])]
    done = subprocess.run(
        [*words, "--one", way, task, str(partitions), str(folder)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{way} could not {task}: {done.stderr[-2000:]}")
    result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return result


if __name__ == "__main__":
    main()
