"""The table log beside delta-rs and pyiceberg: the same work, the same files, in one run; medians, ratios, peak memory.

    python benchmarks/table.py [--sizes 1000,10000,70000,100000,1000000] [--runs 7] [--only load,…]
        [--folder DIR] [--figures FILE] [--plots DIR]

Every measurement runs in a process of its own with a cold cache in the library (the operating system's cache is warm for
all). Memory is the peak above what the process takes after its imports, `processor` the median of what all its threads take
of the processors, in milliseconds. Each library is used by its documented fast path,
which is printed. Only the works of cleaning need data files: all three work on the log alone. The works are in
`table_works`. At the end stands what was promised, and what was measured of it.

A run may be made in pieces: `--folder` keeps the tables, and `--figures` what was measured, for the targets and the plots.
"""

import argparse
import contextlib
import json
import os
import platform
import sys
import tempfile
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from parts.figures import Figure, Figures
from parts.measuring import LIMIT_S, Measured, in_own_process, report
from parts.targets import HEAD, measured_targets
from table_works.registry import WORKS
from table_works.work import DELTA, HEADGATE, ICEBERG, HasNone, Task, Work

PATHS = {
    HEADGATE: "Table.open(uri).snapshot(version, where).files([...]); append, changes, compact, purge",
    DELTA: "DeltaTable(uri, version).get_add_actions(flatten=True); file_uris(partition_filters); "
    "create_write_transaction, create_checkpoint, vacuum(full=True)",
    ICEBERG: "StaticTable.from_metadata(...).scan(filter, snapshot_id).plan_files(); incremental_append_scan; fast_append",
}
WIDTHS = (9, 10, 10, 9, 8, 9, 8, 4, 0)


def main() -> int:
    options = _arguments()
    if options.one:
        return _measure_one(*options.one)
    _print_head(options)
    figures = Figures(options.figures)
    with _scratch(options.folder) as scratch:
        for name in options.only:
            work = WORKS[name]
            print(f"\n## {name}: {work.title}\n")
            _print_row(("files", "engine", "median ms", "fastest", "ratio", "processor", "peak MB", "runs", "result"))
            with work.server() as server:
                for files in work.sizes(options.sizes):
                    _compare(name, files, options, scratch, server, figures)
    print("\n## targets\n")
    for row in (HEAD, *measured_targets(figures)):
        print(f"| {' | '.join(row)} |")
    if options.plots:
        from parts.plots import TABLE_CURVES, draw  # matplotlib, which only plots need

        for path in draw(TABLE_CURVES, figures, options.plots):
            print(f"drew {path}")
    return 0


def _measure_one(name: str, engine: str, folder: str, files: str, runs: str, server: str) -> int:
    measure = WORKS[name].engines[engine]
    assert not isinstance(measure, HasNone), "those are never asked for"
    report(measure(Task(folder, int(files), int(runs), json.loads(server))))
    return 0


def _compare(
    name: str, files: int, options: argparse.Namespace, scratch: Path, server: Mapping[str, str], figures: Figures
) -> None:
    work = WORKS[name]
    first: Measured | None = None
    for engine, measure in work.engines.items():
        if isinstance(measure, HasNone):
            _print_row((f"{files:,}", engine, "-", "-", "-", "-", "-", "-", f"has {measure.reason}"))
            continue
        if engine == ICEBERG and files > options.pyiceberg_files:
            _print_row((f"{files:,}", engine, "-", "-", "-", "-", "-", "-", "not run: --pyiceberg-files"))
            continue
        folder = _made(work, engine, files, scratch)
        asked = (name, engine, str(folder), str(files), str(options.runs), json.dumps(dict(server)))
        measured = in_own_process(Path(__file__), *asked)
        if isinstance(measured, str):
            _print_row((f"{files:,}", engine, "failed", "-", "-", "-", "-", "-", measured))
            continue
        first = first or measured
        figures.add(Figure(name, engine, files, measured.median_s * 1000, measured.peak_bytes / 1e6))
        _print_row(
            (
                f"{files:,}",
                engine,
                f"{measured.median_s * 1000:,.1f}",
                f"{min(measured.seconds) * 1000:,.1f}",
                f"{measured.median_s / first.median_s:.1f}x",
                f"{measured.processor_median_s * 1000:,.1f}",
                f"{measured.peak_bytes / 1e6:,.0f}",
                str(len(measured.seconds)),
                measured.result,
            )
        )


def _made(work: Work, engine: str, files: int, scratch: Path) -> Path:
    """The engine's table of so many files. It is there in whole or not at all."""
    make = work.maker(engine)
    folder = scratch / f"{make.__name__}-{files}"
    done = folder.with_suffix(".made")
    if not done.exists():
        make(str(folder), files)
        done.touch()
    return folder


@contextlib.contextmanager
def _scratch(kept: Path | None) -> Iterator[Path]:
    if kept is not None:
        kept.mkdir(parents=True, exist_ok=True)
        yield kept.resolve()
        return
    with tempfile.TemporaryDirectory(prefix="headgate-bench-") as scratch:
        yield Path(scratch)


def _print_head(options: argparse.Namespace) -> None:
    print(
        f"Python {platform.python_version()} on {platform.machine()}, {os.cpu_count()} cores, runs per figure: "
        f"{options.runs} after one that warms up, and no further ones after {LIMIT_S:.0f} s"
    )
    packages = ((HEADGATE, "headgate"), (DELTA, "deltalake"), (ICEBERG, "pyiceberg"), ("datafusion", "datafusion"))
    print(", ".join(f"{name} {version(package)}" for name, package in packages))
    for name, path in PATHS.items():
        print(f"  {name}: {path}")


def _print_row(cells: tuple[str, ...]) -> None:
    print(
        "  ".join(
            cell.rjust(width) if place != 1 else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(cells, WIDTHS, strict=True))
        ),
        flush=True,
    )


def _some_works(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")] if text else list(WORKS)
    if not set(names) <= set(WORKS):
        raise argparse.ArgumentTypeError(f"known are {', '.join(WORKS)}")
    return names


def _sizes(text: str) -> list[int]:
    return [int(size) for size in text.split(",")]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--sizes", type=_sizes, default=[1_000, 10_000, 70_000, 100_000, 1_000_000], help="numbers of files"
    )
    parser.add_argument("--runs", type=int, default=7, help="timed runs per figure; the median is printed")
    parser.add_argument("--only", type=_some_works, default=list(WORKS), help=f"some of {', '.join(WORKS)}")
    parser.add_argument("--folder", type=Path, help="where tables are made and kept; a temporary folder by default")
    parser.add_argument(
        "--figures", type=Path, help="a file that figures are added to, and those of earlier pieces read from"
    )
    parser.add_argument("--plots", type=Path, help="a folder for plots of growth")
    parser.add_argument(
        "--pyiceberg-files",
        type=int,
        default=1_000_000,
        help="the largest table that pyiceberg is measured with: to make one of a million takes it many minutes",
    )
    parser.add_argument("--one", nargs=6, metavar="X", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
