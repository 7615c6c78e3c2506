"""Merging small Parquet files: the same files to Headgate's Arrow engine and to delta-rs, for `maintenance.py`.

Both write Snappy, as the sources have it, and the same target size; each begins with a fresh log over the same files.
"""

import os
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from parts.measuring import Measured, repeat

PATHS = {
    "headgate": "Merging(table, ArrowEngine(...), ambient).merge(MergeLimits(target), ThreadPoolExecutor(2))",
    "delta-rs": "DeltaTable(uri).optimize.compact(target_size, writer_properties=WriterProperties('SNAPPY'))",
}
ROWS_PER_FILE = 50_000
SEED = 20_240_506


def make_sources(folder: str, files: int) -> None:
    """So many files of about 2 MB: numbers in order, random ones, texts, a few repeated texts, times."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    os.makedirs(folder)
    draw = np.random.default_rng(SEED)
    names = np.array(["eu-west-1", "eu-central-1", "us-east-1", "ap-south-1"])
    for number in range(files):
        first = number * ROWS_PER_FILE
        rows = pa.table(
            {
                "id": pa.array(np.arange(first, first + ROWS_PER_FILE), pa.int64()),
                "value": pa.array(draw.random(ROWS_PER_FILE), pa.float64()),
                "user": pa.array(
                    [f"user-{drawn:x}" for drawn in draw.integers(0, 1 << 40, ROWS_PER_FILE)], pa.string()
                ),
                "region": pa.array(names[draw.integers(0, len(names), ROWS_PER_FILE)], pa.string()),
                "at": pa.array(first * 1000 + draw.integers(0, 1 << 40, ROWS_PER_FILE), pa.timestamp("us", tz="UTC")),
            }
        )
        pq.write_table(rows, f"{folder}/small-{number:05d}.parquet", compression="snappy")


def merge_headgate(sources: str, target_bytes: int, runs: int) -> Measured:
    import pyarrow.parquet as pq

    from headgate_schemas.ambient import SystemAmbient
    from headgate_table.data_file import DataFile
    from headgate_table.table import Table
    from headgate_worker.merge.engines.arrow import ArrowEngine
    from headgate_worker.merge.merging import Merging
    from headgate_worker.merge.plan import MergeLimits

    folder = f"{sources}-headgate"
    names = sorted(os.listdir(sources))

    def prepare() -> None:
        _link(sources, folder)
        table = Table.create(folder, pq.read_schema(f"{sources}/{names[0]}"))
        table.append([DataFile.of_parquet(name, root=folder) for name in names])

    def work() -> str:
        table = Table.open(folder)
        merging = Merging(table, ArrowEngine(table.store, table.reader.resources), SystemAmbient())
        with ThreadPoolExecutor(2) as executor:
            report = merging.merge(MergeLimits(target_bytes=target_bytes), executor)
        assert report.merged_files == len(names), report.message
        return f"{report.merge_groups} outputs, {report.merged_size_bytes / 1e6:,.0f} MB"

    return repeat(runs, prepare, work)


def merge_delta(sources: str, target_bytes: int, runs: int) -> Measured:
    from deltalake import DeltaTable, WriterProperties, convert_to_deltalake

    folder = f"{sources}-delta"
    count = len(os.listdir(sources))

    def prepare() -> None:
        _link(sources, folder)
        convert_to_deltalake(folder)

    def work() -> str:
        metrics = DeltaTable(folder).optimize.compact(
            target_size=target_bytes, writer_properties=WriterProperties(compression="SNAPPY")
        )
        assert metrics["numFilesRemoved"] == count, metrics
        size = sum(path.stat().st_size for path in Path(folder).glob("part-*"))
        return f"{metrics['numFilesAdded']} outputs, {size / 1e6:,.0f} MB"

    return repeat(runs, prepare, work)


MERGES: dict[str, Callable[[str, int, int], Measured]] = {"headgate": merge_headgate, "delta-rs": merge_delta}


def source_bytes(sources: str) -> int:
    return sum(path.stat().st_size for path in Path(sources).iterdir())


def _link(sources: str, folder: str) -> None:
    """A fresh folder that holds the sources and nothing else."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    for name in os.listdir(sources):
        os.link(f"{sources}/{name}", f"{folder}/{name}")
