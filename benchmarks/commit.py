"""Many writers of one table: committed proposals a second and waits for the answer, beside delta-rs and pyiceberg.

    python benchmarks/commit.py [--only writers,stream] [--proposers 1,10,100,200] [--files 1,100] [--places disk,s3,s3+60ms]
        [--engines …] [--seconds 10] [--runs 3] [--figures FILE] [--plots DIR]

writers: each proposer commits, waits for the answer, and commits again. Proposers are threads of several processes. Every
engine starts from a new empty table in the same kind of place, with the same proposers, and after a warm-up that doesn't
count. A commit that fails for good (after the engine's own retries, as many for each) is counted as failed, not as a wait.

stream: one program proposes as fast as it is let, one file each; from the first proposal to the last receipt.

The object store is a real S3 server on this machine; `+60ms` puts a proxy before it that delays every answer by that much.
Nothing here needs data files: all engines commit entries of a log alone.
"""

import argparse
import contextlib
import os
import platform
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from parts.commit_engines import (
    DELTA,
    ENGINES,
    HEADGATE_KAFKA,
    HEADGATE_SQLITE,
    ICEBERG,
    PATHS,
    Place,
    live_files,
    make,
    round_trip_ms,
)
from parts.commit_services import Services
from parts.figures import Figure, Figures
from parts.loads import shared_out, together
from parts.proposers import Load, Tally, percentile

PACKAGES = {HEADGATE_KAFKA: "kafka-python", DELTA: "deltalake", ICEBERG: "pyiceberg"}
WORKS = ("writers", "stream")
PLACES = ("disk", "s3", "s3+60ms")
STREAM_TABLES = ("disk", "s3")
STREAM_PROPOSALS = 20_000
GRACE_S = 30.0
"""How long proposers may go on waiting for answers when the time is over."""


@dataclass(frozen=True)
class Case:
    """One figure: who commits what, from how many threads, where."""

    engine: str
    place: str
    proposers: int
    files: int


def main() -> int:
    options = _arguments()
    _print_head(options)
    figures = Figures(options.figures)
    with Services(options.folder) as services:
        for work in options.only:
            print(f"\n## {work}\n")
            if work == "writers":
                _writers(services, options, figures)
            else:
                _stream(services, options)
    if options.plots:
        from parts.plots import commit_curves, draw  # matplotlib, which only plots need

        for path in draw(commit_curves(PLACES), figures, options.plots):
            print(f"drew {path}")
    return 0


def _writers(services: Services, options: argparse.Namespace, figures: Figures) -> None:
    _print_row(WRITER_COLUMNS)
    for place in options.places:
        _print_round_trip(services, place)
        for files in options.files:
            for proposers in options.proposers:
                rates: dict[str, float] = {}
                for engine in options.engines:
                    tally = _median(services, Case(engine, place, proposers, files), options)
                    rates[engine] = tally.committed / tally.seconds
                    if files == 1:
                        figures.add(Figure(f"writers, {place}", engine, proposers, rates[engine]))
                    peers = [rates[peer] for peer in (DELTA, ICEBERG) if peer in rates]
                    _print_row(_writer_cells(Case(engine, place, proposers, files), tally, peers))
                _print_verdict(rates)


def _print_round_trip(services: Services, where: str) -> None:
    with services.table(where) as place:
        trip_ms = round_trip_ms(place)
    print(f"{where}: a small write takes {trip_ms:,.1f} ms; three of them and 100 ms are {3 * trip_ms + 100:,.0f} ms")


def _stream(services: Services, options: argparse.Namespace) -> None:
    _print_row(WRITER_COLUMNS)
    for place in [name for name in options.places if name in STREAM_TABLES]:
        for engine in [name for name in options.engines if name in (HEADGATE_SQLITE, HEADGATE_KAFKA)]:
            case = Case(engine, place, 1, 1)
            _print_row(_writer_cells(case, _median(services, case, options, options.stream), []))


def _median(services: Services, case: Case, options: argparse.Namespace, stream: int = 0) -> Tally:
    """The run whose throughput is the median; failures and answers that never came are of all runs."""
    tallies = [_run(services, case, options, stream) for _ in range(options.runs)]
    ordered = sorted(tallies, key=lambda tally: tally.committed / tally.seconds)
    chosen = ordered[(len(ordered) - 1) // 2]
    chosen.failed = sum(tally.failed for tally in tallies)
    chosen.unanswered = sum(tally.unanswered for tally in tallies)
    chosen.last_failure = next((tally.last_failure for tally in tallies if tally.last_failure), "")
    return chosen


def _run(services: Services, case: Case, options: argparse.Namespace, stream: int) -> Tally:
    """One engine on a new table. The load is spread over processes, and starts in all of them at the same time."""
    with services.table(case.place) as place, _bus(services, case.engine, place) as bus:
        make(case.engine, place)
        load = Load(
            engine=case.engine,
            place=place,
            bus=bus,
            first=0,
            proposers=case.proposers,
            files=case.files,
            warm_up_s=options.warm_up,
            seconds=options.seconds,
            grace_s=GRACE_S,
            stream=stream,
        )
        tally = together(shared_out(load, 1 if stream else options.processes))
        _check(case, place, tally)
        return tally


def _check(case: Case, place: Place, tally: Tally) -> None:
    """Fast and wrong doesn't count: every acknowledged commit is in the table, once."""
    found = live_files(case.engine, place)
    # One that failed may have been committed all the same, by an engine that can't say.
    most = tally.acknowledged + tally.unanswered + tally.failed_in_all
    if not tally.acknowledged * case.files <= found <= most * case.files:
        raise SystemExit(
            f"{case}: {tally.acknowledged} commits of {case.files} files were acknowledged, "
            f"{tally.unanswered + tally.failed_in_all} not, and the table has {found} files"
        )


@contextlib.contextmanager
def _bus(services: Services, engine: str, place: Place) -> Iterator[str]:
    """The address of a new bus with a committer at it, for engines that need one."""
    if engine not in (HEADGATE_SQLITE, HEADGATE_KAFKA):
        yield ""
        return
    bus = services.kafka_bus() if engine == HEADGATE_KAFKA else f"sqlite://{place.scratch}/bus.db"
    Path(place.scratch).mkdir(parents=True, exist_ok=True)
    with services.committer(bus, place):
        yield bus


WRITER_COLUMNS = ("place", "proposers", "files", "engine", "commits/s", "p50 ms", "p99 ms", "failed", "no answer", "")
_WIDTHS = (8, 9, 5, 15, 11, 10, 10, 7, 9, 0)


def _writer_cells(case: Case, tally: Tally, peers: list[float]) -> tuple[str, ...]:
    waits = tally.latencies_ms
    return (
        case.place,
        str(case.proposers),
        str(case.files),
        case.engine,
        f"{tally.committed / tally.seconds:,.1f}",
        f"{percentile(waits, 0.5):,.1f}" if waits else "-",
        f"{percentile(waits, 0.99):,.1f}" if waits else "-",
        f"{tally.failed:,}",
        f"{tally.unanswered:,}",
        tally.last_failure[:100],
    )


def _print_verdict(rates: dict[str, float]) -> None:
    """How many times the better peer Headgate commits."""
    best = max((rate for engine, rate in rates.items() if engine in (DELTA, ICEBERG)), default=0.0)
    for engine in (HEADGATE_SQLITE, HEADGATE_KAFKA):
        if engine in rates and best:
            print(f"{'':>24}  {engine}: {rates[engine] / best:,.1f} times the better peer")


def _print_row(cells: tuple[str, ...]) -> None:
    print(
        "  ".join(
            cell.ljust(w) if place in (0, 3, 9) else cell.rjust(w)
            for place, (cell, w) in enumerate(zip(cells, _WIDTHS, strict=True))
        ).rstrip(),
        flush=True,
    )


def _print_head(options: argparse.Namespace) -> None:
    print(
        f"Python {platform.python_version()} on {platform.machine()}, {os.cpu_count()} cores; {options.seconds:g} s after "
        f"{options.warm_up:g} s of warm-up, {options.runs} runs per figure (the median one is shown, failures are of all), "
        f"proposers in {options.processes} processes"
    )
    packages = ["headgate", *(PACKAGES[engine] for engine in options.engines if engine in PACKAGES)]
    print(", ".join(f"{name} {version(name)}" for name in packages))
    for engine in options.engines:
        print(f"  {engine}: {PATHS[engine]}")


def _some_of(known: tuple[str, ...]):  # type: ignore[no-untyped-def]  # a parser for argparse
    def parse(text: str) -> list[str]:
        names = [name.strip() for name in text.split(",")]
        if not set(names) <= set(known):
            raise argparse.ArgumentTypeError(f"known are {', '.join(known)}")
        return names

    return parse


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", type=_some_of(WORKS), default=list(WORKS), help=f"some of {', '.join(WORKS)}")
    parser.add_argument(
        "--engines", type=_some_of(ENGINES), default=list(ENGINES), help=f"some of {', '.join(ENGINES)}"
    )
    parser.add_argument("--places", type=_some_of(PLACES), default=list(PLACES), help=f"some of {', '.join(PLACES)}")
    parser.add_argument("--proposers", type=_numbers, default=[1, 10, 100, 200], help="at the same time")
    parser.add_argument("--files", type=_numbers, default=[1, 100], help="in a proposal")
    parser.add_argument("--seconds", type=float, default=10.0, help="that count, of each run")
    parser.add_argument("--warm-up", type=float, default=3.0, help="seconds before them")
    parser.add_argument("--runs", type=int, default=3, help="per figure")
    parser.add_argument("--processes", type=int, default=2, help="among which the proposers are spread")
    parser.add_argument("--stream", type=int, default=STREAM_PROPOSALS, help="proposals of the stream")
    parser.add_argument(
        "--folder", type=Path, default=None, help="a folder on the disk to measure (else a temporary one)"
    )
    parser.add_argument(
        "--figures", type=Path, help="a file that commits/s of one file are added to, for a run in pieces"
    )
    parser.add_argument("--plots", type=Path, help="a folder for plots of growth")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
