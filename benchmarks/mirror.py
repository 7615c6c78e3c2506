"""The Delta mirror beside many writers: versions that it publishes a second, how far behind it is, and what it costs.

    python benchmarks/mirror.py [--proposers 100] [--seconds 30] [--runs 3] [--places disk,s3] [--bus sqlite|kafka]

Each run makes a new table and starts a committer and the proposers, once without a mirror and once with a worker that keeps
one. The two take turns, so that what else the machine does strikes both. Printed are the medians, then the ratios.

behind: from the time that the store gives a version's file to the time that it gives the mirror's commit of this version.
Versions from before the mirror's first commit don't count: the worker was still starting.
until level: from the last version to the last commit of the mirror.
processor: what the committer's process takes for 1,000 accepted proposals. The worker is a process of its own.

At the end, delta-rs reads the mirror, and must find as many files as the table has.
"""

import argparse
import contextlib
import os
import platform
import re
import statistics
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

import psutil

from headgate_schemas.ambient import SystemAmbient
from headgate_table.store.interface import ObjectInfo
from headgate_table.store.open import open_store
from headgate_table.store.settings import StoreSettings
from parts.commit_engines import HEADGATE_KAFKA, HEADGATE_SQLITE, Place, live_files, make
from parts.commit_services import Services
from parts.loads import shared_out, together
from parts.proposers import Load, Tally, percentile

PLACES = ("disk", "s3")
ENGINES = {"sqlite": HEADGATE_SQLITE, "kafka": HEADGATE_KAFKA}
LEVEL_WITHIN_S = 120.0
VERSION_FILE = re.compile(r"_transaction_log/(\d{20})\.json")
COMMIT_FILE = re.compile(r"_delta_log/(\d{20})\.json")


@dataclass(frozen=True)
class Run:
    """What came of one run. Of one without a mirror, `behind_s` is empty."""

    proposals_per_s: float
    versions_per_s: float
    processor_s: float
    """Of the committer, for 1,000 accepted proposals."""
    latency_ms: float
    """The median, from a proposal to its receipt."""
    behind_s: tuple[float, ...] = ()
    mirrored_per_s: float = 0.0
    until_level_s: float = 0.0


def main() -> int:
    options = _arguments()
    _print_head(options)
    with Services(options.folder) as services:
        for where in options.places:
            without, mirrored = [], []
            for _ in range(options.runs):
                without.append(_run(services, where, options, mirror=False))
                mirrored.append(_run(services, where, options, mirror=True))
            _print_place(where, without, mirrored)
    return 0


def _run(services: Services, where: str, options: argparse.Namespace, *, mirror: bool) -> Run:
    engine = ENGINES[options.bus]
    with services.table(where) as place:
        bus = services.kafka_bus() if engine == HEADGATE_KAFKA else f"sqlite://{place.scratch}/bus.db"
        make(engine, place)
        load = Load(
            engine=engine,
            place=place,
            bus=bus,
            first=0,
            proposers=options.proposers,
            files=1,
            warm_up_s=options.warm_up,
            seconds=options.seconds,
            grace_s=30.0,
        )
        worker = services.mirror_worker(bus, place) if mirror else contextlib.nullcontext(0)
        with services.committer(bus, place) as committer, worker:
            tally = together(shared_out(load, options.processes))
            spent_s = _processor_s(committer)
            if mirror:
                _wait_until_level(place)
        if not tally.acknowledged:
            raise SystemExit(f"nothing was accepted: {tally.last_failure}")
        found = live_files(engine, place)
        if found < tally.acknowledged:
            raise SystemExit(f"{tally.acknowledged} appends were acknowledged, and the table has {found} files")
        if mirror:
            _check_mirror(place, found)
        return _measured(place, tally, spent_s, options)


def _processor_s(process: int) -> float:
    times = psutil.Process(process).cpu_times()
    return float(times.user + times.system)


def _measured(place: Place, tally: Tally, spent_s: float, options: argparse.Namespace) -> Run:
    written, published = _times(place)
    seconds = options.warm_up + options.seconds
    run = Run(
        proposals_per_s=tally.committed / tally.seconds,
        versions_per_s=len(written) / seconds,
        processor_s=spent_s / tally.acknowledged * 1000,
        latency_ms=percentile(tally.latencies_ms, 0.5),
    )
    if not published:
        return run
    begun_ms = min(published.values())
    behind_s = tuple(
        (at_ms - written[number]) / 1000 for number, at_ms in published.items() if written[number] >= begun_ms
    )
    return Run(
        run.proposals_per_s,
        run.versions_per_s,
        run.processor_s,
        run.latency_ms,
        behind_s,
        len(published) / ((max(published.values()) - min(published.values())) / 1000 or 1.0),
        (max(published.values()) - max(written.values())) / 1000,
    )


def _times(place: Place) -> tuple[dict[int, int], dict[int, int]]:
    """When each version and each commit of the mirror was written, by the store's clock."""
    store = open_store(place.uri, StoreSettings.from_mapping(place.headgate), SystemAmbient())
    try:
        found = [*store.list("_transaction_log/"), *store.list("_delta_log/")]
    finally:
        store.close()
    return _by_number(found, VERSION_FILE), _by_number(found, COMMIT_FILE)


def _by_number(objects: Iterable[ObjectInfo], pattern: re.Pattern[str]) -> dict[int, int]:
    return {int(found[1]): each.modified_ms for each in objects if (found := pattern.fullmatch(each.key))}


def _wait_until_level(place: Place) -> None:
    limit_s = time.monotonic() + LEVEL_WITHIN_S
    while True:
        written, published = _times(place)
        if published and max(published) == max(written):
            return
        if time.monotonic() > limit_s:
            newest = max(published, default=-1)
            raise SystemExit(
                f"the mirror is at {newest} of {max(written)}, {LEVEL_WITHIN_S:g} s after the last version"
            )
        time.sleep(0.1)


def _check_mirror(place: Place, files: int) -> None:
    from deltalake import DeltaTable

    found = len(DeltaTable(place.uri, storage_options=place.delta).file_uris())
    if found != files:
        raise SystemExit(f"delta-rs finds {found} files in the mirror, and the table has {files}")


def _print_place(where: str, without: list[Run], mirrored: list[Run]) -> None:
    print(f"\n## {where}\n")
    print(f"{'':>16}{'proposals/s':>13}{'versions/s':>12}{'p50 ms':>9}{'processor s per 1,000':>23}")
    for name, runs in (("without mirror", without), ("with mirror", mirrored)):
        rate, versions, wait, cost = (
            statistics.median(getattr(run, part) for run in runs)
            for part in ("proposals_per_s", "versions_per_s", "latency_ms", "processor_s")
        )
        print(f"{name:>16}{rate:>13,.0f}{versions:>12,.1f}{wait:>9,.1f}{cost:>23,.3f}")
    cost = _ratio(mirrored, without, "processor_s")
    rate = _ratio(mirrored, without, "proposals_per_s")
    print(f"with a mirror: {rate:.2f} of the proposals a second, {cost:.2f} of the committer's processor time")
    behind = [each for run in mirrored for each in run.behind_s]
    print(
        f"mirror: {statistics.median(run.mirrored_per_s for run in mirrored):,.1f} versions a second;"
        f" behind by {percentile(behind, 0.5):,.2f} s (median), {percentile(behind, 0.95):,.2f} s (95 %),"
        f" {max(behind):,.2f} s (most); level {max(run.until_level_s for run in mirrored):,.2f} s after the last version",
        flush=True,
    )


def _ratio(these: list[Run], those: list[Run], part: str) -> float:
    return float(
        statistics.median(getattr(one, part) / getattr(other, part) for one, other in zip(these, those, strict=True))
    )


def _print_head(options: argparse.Namespace) -> None:
    print(
        f"Python {platform.python_version()} on {platform.machine()}, {os.cpu_count()} cores; headgate {version('headgate')},"
        f" delta-rs {version('deltalake')}; {options.proposers} proposers in {options.processes} processes, bus in"
        f" {options.bus}; {options.seconds:g} s after {options.warm_up:g} s of warm-up, {options.runs} runs of each kind"
    )


def _places(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if not set(names) <= set(PLACES):
        raise argparse.ArgumentTypeError(f"known are {', '.join(PLACES)}")
    return names


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--places", type=_places, default=["disk"], help=f"some of {', '.join(PLACES)}")
    parser.add_argument("--bus", choices=sorted(ENGINES), default="sqlite")
    parser.add_argument("--proposers", type=int, default=100, help="at the same time")
    parser.add_argument("--processes", type=int, default=2, help="among which the proposers are spread")
    parser.add_argument("--seconds", type=float, default=30.0, help="that count, of each run")
    parser.add_argument("--warm-up", type=float, default=3.0, help="seconds before them")
    parser.add_argument("--runs", type=int, default=3, help="of each kind")
    parser.add_argument(
        "--folder", type=Path, default=None, help="a folder on the disk to measure (else a temporary one)"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
