"""Maintenance beside delta-rs: the same files, in one run; medians, throughput, peak memory.

    python benchmarks/maintenance.py [--runs 3] [--only compact,merge] [--compact-files 70000,1000000]
        [--merge-files 100,400] [--merge-target 1024,64]

Every measurement runs in a process of its own; the operating system's cache is warm for all. Memory is the peak above what
the process takes after its imports.
"""

import argparse
import platform
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from parts.compacting import COMPACTIONS
from parts.compacting import PATHS as COMPACTION_PATHS
from parts.measuring import Measured, in_own_process, report
from parts.merging import MERGES, PATHS, make_sources, source_bytes

WORKS = {
    "compact": "the state of a fragmented table, of which an eighth is dead, into sorted manifests without tombstones",
    "merge": "small Parquet files of one partition into files of the target size",
}


def main() -> int:
    options = _arguments()
    if options.one:
        work, engine, sources, target, runs = options.one
        if work == "compact":
            report(COMPACTIONS[engine][1](sources, int(runs)))
        else:
            report(MERGES[engine](sources, int(target), int(runs)))
        return 0
    print(f"Python {platform.python_version()} on {platform.machine()}, runs per figure: {options.runs}")
    print(", ".join(f"{name} {version(name)}" for name in ("headgate", "pyarrow", "deltalake")))
    works = options.only.split(",") if options.only else list(WORKS)
    with tempfile.TemporaryDirectory(prefix="headgate-bench-", dir=options.folder) as scratch:
        for work in works:
            print(f"\n## {work}: {WORKS[work]}\n")
            _WORKS[work](options, Path(scratch))
    return 0


def _compact(options: argparse.Namespace, scratch: Path) -> None:
    for name, path in COMPACTION_PATHS.items():
        print(f"  {name}: {path}")
    print()
    _print_row(("files", "engine", "median s", "fastest", "ratio", "processor s", "peak MB", "result"))
    for files in _numbers(options.compact_files):
        first: Measured | None = None
        for engine, (make, _) in COMPACTIONS.items():
            table = scratch / f"{make.__name__}-{files}"
            if not table.exists():
                make(str(table), files)
            measured = in_own_process(Path(__file__), "compact", engine, str(table), "0", str(options.runs))
            if isinstance(measured, str):
                _print_row((f"{files:,}", engine, "failed", "-", "-", "-", "-", measured))
                continue
            first = first or measured
            _print_row(
                (
                    f"{files:,}",
                    engine,
                    f"{measured.median_s:,.2f}",
                    f"{min(measured.seconds):,.2f}",
                    f"{measured.median_s / first.median_s:.2f}x",
                    f"{measured.processor_median_s:,.2f}",
                    f"{measured.peak_bytes / 1e6:,.0f}",
                    measured.result,
                )
            )


def _merge(options: argparse.Namespace, scratch: Path) -> None:
    for name, path in PATHS.items():
        print(f"  {name}: {path}")
    print()
    _print_row(
        (
            "files",
            "MB",
            "target MiB",
            "engine",
            "median s",
            "fastest",
            "MB/s",
            "ratio",
            "processor s",
            "peak MB",
            "result",
        )
    )
    for files in _numbers(options.merge_files):
        sources = str(scratch / f"sources-{files}")
        make_sources(sources, files)
        size = source_bytes(sources)
        for target in _numbers(options.merge_target):
            first: Measured | None = None
            for engine in MERGES:
                asked = (engine, sources, str(target << 20), str(options.runs))
                measured = in_own_process(Path(__file__), "merge", *asked)
                cells = (f"{files:,}", f"{size / 1e6:,.0f}", f"{target:,}", engine)
                if isinstance(measured, str):
                    _print_row((*cells, "failed", "-", "-", "-", "-", "-", measured))
                    continue
                first = first or measured
                _print_row(
                    (
                        *cells,
                        f"{measured.median_s:,.2f}",
                        f"{min(measured.seconds):,.2f}",
                        f"{size / 1e6 / measured.median_s:,.0f}",
                        f"{measured.median_s / first.median_s:.2f}x",
                        f"{measured.processor_median_s:,.2f}",
                        f"{measured.peak_bytes / 1e6:,.0f}",
                        measured.result,
                    )
                )


_WORKS = {"compact": _compact, "merge": _merge}


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]


def _print_row(cells: tuple[str, ...]) -> None:
    print("| " + " | ".join(cells) + " |", flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Maintenance beside delta-rs")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", default="", help=f"some of {','.join(WORKS)}")
    parser.add_argument("--compact-files", default="70000,1000000", help="numbers of files in the table")
    parser.add_argument("--merge-files", default="100,400", help="numbers of source files, of 2 MB each")
    parser.add_argument("--merge-target", default="1024,64", help="target sizes in MiB")
    parser.add_argument(
        "--folder", default=None, help="where to put the files; the system's temporary folder by default"
    )
    parser.add_argument("--one", nargs=5, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
