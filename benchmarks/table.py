"""The table log beside delta-rs and pyiceberg: the same work, the same files, in one run; medians, ratios, peak memory.

    python benchmarks/table.py [--sizes 1000,10000,70000,100000,1000000] [--runs 7] [--only load,…]

Every measurement runs in a process of its own with a cold cache in the library (the operating system's cache is warm for
all). Memory is the peak above what the process takes after its imports. Each library is used by its documented fast path,
which is printed. Nothing here needs data files: all three work on the log alone.
"""

import argparse
import json
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from _measuring import Measured, in_own_process, repeat, report
from _tables import (
    PARTITION,
    iceberg_append,
    make_delta,
    make_headgate,
    make_iceberg,
    partition_of,
    path_of,
)

HEADGATE, DELTA, ICEBERG = "headgate", "delta-rs", "pyiceberg"
SLOW_PEER_LIMIT = 100_000
"""pyiceberg takes minutes to make and to read larger tables; it is measured up to here."""

WORKS = {
    "load": "list all live files with path, partition, size, records and statistics",
    "partition": "list the files of one partition",
    "append": "add 100 files, table kept open (delta-rs, pyiceberg: the same)",
    "append-cold": "open the table, then add 100 files",
    "compact": "headgate compact; delta-rs create_checkpoint",
    "changes": "what 10 commits of 100 files added and removed",
    "s3": "open and list all live files on an S3 server on loopback",
}

PATHS = {
    HEADGATE: "Table.open(uri).snapshot(where).files([...])",
    DELTA: "DeltaTable(uri).get_add_actions(flatten=True); file_uris(partition_filters)",
    ICEBERG: "StaticTable.from_metadata(...).scan(filter).plan_files()",
}

LOAD_COLUMNS = ("path", "partition_values", "size", "modification_time", "num_records", "min_values", "max_values")
APPENDED = 100


def main() -> int:
    options = _arguments()
    if options.one:
        work, engine, folder, files, runs, extra = options.one
        measure: _Measure = _MEASURES[work, engine]
        report(measure(folder, int(files), int(runs), json.loads(extra)))
        return 0
    sizes = [int(size) for size in options.sizes.split(",")]
    works = options.only.split(",") if options.only else list(WORKS)
    print(
        f"Python {platform.python_version()} on {platform.machine()}, {_cores()} cores, runs per figure: {options.runs}"
    )
    print(
        ", ".join(
            f"{name} {version(package)}"
            for name, package in (
                (HEADGATE, "headgate"),
                (DELTA, "deltalake"),
                (ICEBERG, "pyiceberg"),
                ("datafusion", "datafusion"),
            )
        )
    )
    for name, path in PATHS.items():
        print(f"  {name}: {path}")
    with tempfile.TemporaryDirectory(prefix="headgate-bench-") as scratch:
        for work in works:
            print(f"\n## {work}: {WORKS[work]}\n")
            _print_row(("files", "engine", "median ms", "fastest", "ratio", "peak MB", "result"))
            for files in _sizes_for(work, sizes):
                _compare(work, files, options.runs, Path(scratch))
    return 0


def _compare(work: str, files: int, runs: int, scratch: Path) -> None:
    engines = [engine for (name, engine) in _MEASURES if name == work]
    first: Measured | None = None
    with _server(work, scratch) as extra:
        for engine in engines:
            if engine == ICEBERG and files > SLOW_PEER_LIMIT:
                _print_row((f"{files:,}", engine, "-", "-", "-", "-", f"not run above {SLOW_PEER_LIMIT:,} files"))
                continue
            folder = scratch / f"{engine}-{files}"
            if not folder.exists():
                _MAKERS[engine](str(folder), files)
            measured = in_own_process(
                Path(__file__), work, engine, str(folder), str(files), str(runs), json.dumps(extra)
            )
            if isinstance(measured, str):
                _print_row((f"{files:,}", engine, "failed", "-", "-", "-", measured))
                continue
            first = first or measured
            _print_row(
                (
                    f"{files:,}",
                    engine,
                    f"{measured.median_s * 1000:,.1f}",
                    f"{min(measured.seconds) * 1000:,.1f}",
                    f"{measured.median_s / first.median_s:.1f}x",
                    f"{measured.peak_bytes / 1e6:,.0f}",
                    measured.result,
                )
            )


class _server:
    """An S3 server for the works that need one; nothing for the others."""

    def __init__(self, work: str, scratch: Path) -> None:
        self._wanted = work == "s3"
        self._scratch = scratch

    def __enter__(self) -> dict[str, str]:
        if not self._wanted:
            return {}
        from support.servers.versitygw import running_versitygw

        self._context = running_versitygw()
        server = self._context.__enter__()
        server.client().create_bucket(Bucket="bench")
        return {
            "endpoint": server.endpoint,
            "access": server.access_key,
            "secret": server.secret_key,
            "folder": str(server.folder),
        }

    def __exit__(self, *details: object) -> None:
        if self._wanted:
            self._context.__exit__(None, None, None)


def _fresh_resources() -> object:
    """The threads of the process, and an empty cache."""
    from headgate_schemas.ambient import SystemAmbient
    from headgate_table.indextables.cache import ObjectCache
    from headgate_table.indextables.path_orders import PathOrders
    from headgate_table.indextables.resources import process_resources

    return replace(process_resources(), cache=ObjectCache(SystemAmbient().monotonic_s), orders=PathOrders())


def _headgate(uri: str, storage: dict[str, str] | None = None):  # type: ignore[no-untyped-def]  # imported late, to be timed apart
    from headgate_table.table import Table

    return Table.open(uri, storage, resources=_fresh_resources())  # type: ignore[arg-type]


def _load_headgate(folder: str, files: int, runs: int, extra: dict[str, str]) -> Measured:
    import headgate_table.table  # noqa: F401  # imports are not part of the work

    def work() -> str:
        return f"{_headgate(folder).snapshot().files(LOAD_COLUMNS).num_rows:,} files"

    return repeat(runs, lambda: None, work)


def _load_delta(folder: str, files: int, runs: int, extra: dict[str, str]) -> Measured:
    from deltalake import DeltaTable

    def work() -> str:
        return f"{DeltaTable(folder).get_add_actions(flatten=True).num_rows:,} files"

    return repeat(runs, lambda: None, work)


def _load_iceberg(folder: str, files: int, runs: int, extra: dict[str, str]) -> Measured:
    from pyiceberg.table import StaticTable

    location = (Path(folder) / "metadata_location").read_text()

    def work() -> str:
        return f"{sum(1 for _ in StaticTable.from_metadata(location).scan().plan_files()):,} files"

    return repeat(runs, lambda: None, work)


def _partition_headgate(folder: str, files: int, runs: int, extra: dict[str, str]) -> Measured:
    import headgate_table.table  # noqa: F401  # imports are not part of the work

    where = f"{PARTITION} = '{partition_of(files // 2)}'"

    def work() -> str:
        snapshot = _headgate(folder).snapshot(where=where)
        found = len(snapshot.paths())
        return f"{found:,} files; {snapshot.statistics.manifests_read} of {snapshot.statistics.manifests_read + snapshot.statistics.manifests_skipped} manifests"

    return repeat(runs, lambda: None, work)


def _partition_delta(folder: str, files: int, runs: int, extra: dict[str, str]) -> Measured:
    from deltalake import DeltaTable

    wanted = partition_of(files // 2)

    def work() -> str:
        return f"{len(DeltaTable(folder).file_uris(partition_filters=[(PARTITION, '=', wanted)])):,} files"

    return repeat(runs, lambda: None, work)


def _partition_iceberg(folder: str, files: int, runs: int, extra: dict[str, str]) -> Measured:
    from pyiceberg.table import StaticTable

    location = (Path(folder) / "metadata_location").read_text()
    where = f"{PARTITION} == '{partition_of(files // 2)}'"

    def work() -> str:
        scan = StaticTable.from_metadata(location).scan(row_filter=where)
        return f"{sum(1 for _ in scan.plan_files()):,} files"

    return repeat(runs, lambda: None, work)


def _copied(folder: str) -> str:
    """A copy that a measurement may change."""
    target = tempfile.mkdtemp(prefix="copy-", dir=Path(folder).parent)
    shutil.rmtree(target)
    shutil.copytree(folder, target)
    return target


def _new_files(number: int) -> list:  # type: ignore[type-arg]  # of AddFile, imported late
    from headgate_schemas.actions import AddFile

    return [
        AddFile(
            path=path_of(index, f"new{number}"),
            partition_values={PARTITION: partition_of(index)},
            size=1000,
            modification_time=1,
            num_records=100,
            min_values={"id": "1"},
            max_values={"id": "9"},
        )
        for index in range(APPENDED)
    ]


def _append_headgate(folder: str, files: int, runs: int, extra: dict[str, str], *, cold: bool = False) -> Measured:
    place = _copied(folder)
    kept = [_headgate(place)]
    kept[0].append(_new_files(-1))
    count = iter(range(10_000))

    def work() -> str:
        table = _headgate(place) if cold else kept[0]
        receipt = table.append(_new_files(next(count)))
        return f"version {receipt.version}"

    try:
        return repeat(runs, lambda: None, work)
    finally:
        shutil.rmtree(place)


def _append_delta(folder: str, files: int, runs: int, extra: dict[str, str], *, cold: bool = False) -> Measured:
    from deltalake import DeltaTable
    from deltalake.transaction import AddAction

    place = _copied(folder)
    kept = [DeltaTable(place)]
    count = iter(range(10_000))

    def work() -> str:
        table = DeltaTable(place) if cold else kept[0]
        number = next(count)
        adds = [
            AddAction(
                path_of(index, f"new{number}"),
                1000,
                {PARTITION: partition_of(index)},
                1,
                True,
                json.dumps({"numRecords": 100, "minValues": {"id": 1}, "maxValues": {"id": 9}}),
            )
            for index in range(APPENDED)
        ]
        table.create_write_transaction(adds, "append", table.schema(), [PARTITION])
        return f"version {table.version()}"

    try:
        return repeat(runs, lambda: None, work)
    finally:
        shutil.rmtree(place)


def _append_iceberg(folder: str, files: int, runs: int, extra: dict[str, str]) -> Measured:
    from pyiceberg.catalog.memory import InMemoryCatalog

    location = (Path(folder) / "metadata_location").read_text()
    catalog = InMemoryCatalog("append", warehouse=f"file://{folder}")
    catalog.create_namespace("lake")
    table = catalog.register_table("lake.events", location)
    count = iter(range(10_000))

    def work() -> str:
        iceberg_append(table, folder, range(APPENDED), f"new{next(count)}")
        return f"snapshot {len(table.metadata.snapshots)}"

    return repeat(runs, lambda: None, work)


def _compact_headgate(folder: str, files: int, runs: int, extra: dict[str, str]) -> Measured:
    place: list[str] = []

    def prepare() -> None:
        if place:
            shutil.rmtree(place.pop())
        place.append(_copied(folder))
        table = _headgate(place[0])
        table.delete(paths=[path_of(number) for number in range(0, files, 50)])
        table.checkpoint()

    def work() -> str:
        table = _headgate(place[0])
        receipt = table.compact()
        state = table.snapshot().log.state
        return f"version {receipt.version}: {state.num_files:,} files in {len(state.manifests)} manifests"

    try:
        return repeat(runs, prepare, work)
    finally:
        shutil.rmtree(place[0])


def _compact_delta(folder: str, files: int, runs: int, extra: dict[str, str]) -> Measured:
    from deltalake import DeltaTable

    def work() -> str:
        table = DeltaTable(folder)
        table.create_checkpoint()
        return f"checkpoint at {table.version()}"

    return repeat(runs, lambda: None, work)


def _changes_headgate(folder: str, files: int, runs: int, extra: dict[str, str]) -> Measured:
    place = _copied(folder)
    table = _headgate(place)
    start = table.version
    for number in range(10):
        table.append(_new_files(number))

    def work() -> str:
        changes = _headgate(place).changes(start)
        return f"{changes.added.num_rows:,} added, {changes.removed.num_rows} removed"

    try:
        return repeat(runs, lambda: None, work)
    finally:
        shutil.rmtree(place)


def _s3_headgate(folder: str, files: int, runs: int, extra: dict[str, str]) -> Measured:
    _upload(folder, "headgate", extra)
    storage = {"s3.endpoint": extra["endpoint"], "s3.access-key": extra["access"], "s3.secret-key": extra["secret"]}

    def work() -> str:
        return f"{_headgate('s3://bench/headgate', storage).snapshot().files(LOAD_COLUMNS).num_rows:,} files"

    return repeat(runs, lambda: None, work)


def _s3_delta(folder: str, files: int, runs: int, extra: dict[str, str]) -> Measured:
    from deltalake import DeltaTable

    _upload(folder, "delta", extra)
    storage = {
        "AWS_ENDPOINT_URL": extra["endpoint"],
        "AWS_ACCESS_KEY_ID": extra["access"],
        "AWS_SECRET_ACCESS_KEY": extra["secret"],
        "AWS_REGION": "us-east-1",
        "AWS_ALLOW_HTTP": "true",
    }

    def work() -> str:
        table = DeltaTable("s3://bench/delta", storage_options=storage)
        return f"{table.get_add_actions(flatten=True).num_rows:,} files"

    return repeat(runs, lambda: None, work)


def _upload(folder: str, name: str, extra: dict[str, str]) -> None:
    import boto3

    client = boto3.client(
        "s3",
        endpoint_url=extra["endpoint"],
        region_name="us-east-1",
        aws_access_key_id=extra["access"],
        aws_secret_access_key=extra["secret"],
    )
    root = Path(folder)
    for path in sorted(root.rglob("*")):
        if path.is_file():
            client.upload_file(str(path), "bench", f"{name}/{path.relative_to(root).as_posix()}")
    client.close()


_Measure = Callable[[str, int, int, dict[str, str]], Measured]

_MEASURES: dict[tuple[str, str], _Measure] = {
    ("load", HEADGATE): _load_headgate,
    ("load", DELTA): _load_delta,
    ("load", ICEBERG): _load_iceberg,
    ("partition", HEADGATE): _partition_headgate,
    ("partition", DELTA): _partition_delta,
    ("partition", ICEBERG): _partition_iceberg,
    ("append", HEADGATE): _append_headgate,
    ("append", DELTA): _append_delta,
    ("append", ICEBERG): _append_iceberg,
    ("append-cold", HEADGATE): lambda *a: _append_headgate(*a, cold=True),
    ("append-cold", DELTA): lambda *a: _append_delta(*a, cold=True),
    ("compact", HEADGATE): _compact_headgate,
    ("compact", DELTA): _compact_delta,
    ("changes", HEADGATE): _changes_headgate,
    ("s3", HEADGATE): _s3_headgate,
    ("s3", DELTA): _s3_delta,
}

_MAKERS: dict[str, Callable[..., None]] = {HEADGATE: make_headgate, DELTA: make_delta, ICEBERG: make_iceberg}


def _sizes_for(work: str, sizes: list[int]) -> list[int]:
    match work:
        case "load":
            return sizes
        case "partition" | "append" | "append-cold" | "compact":
            return [size for size in sizes if size >= 70_000] or sizes[-1:]
        case _:
            return [size for size in sizes if size in (70_000, 100_000)] or sizes[-1:]


def _print_row(cells: tuple[str, ...]) -> None:
    widths = (9, 10, 10, 9, 8, 8, 0)
    print(
        "  ".join(
            cell.rjust(width) if place != 1 else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ),
        flush=True,
    )


def _cores() -> int:
    import os

    return os.cpu_count() or 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1000,10000,70000,100000,1000000", help="numbers of files")
    parser.add_argument("--runs", type=int, default=7, help="timed runs per figure; the median is printed")
    parser.add_argument("--only", default="", help=f"some of {', '.join(WORKS)}")
    parser.add_argument("--one", nargs=6, metavar="X", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
