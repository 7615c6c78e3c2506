"""Milvus manifests: reading and committing one of 10,000 files beside the published library, and many writers of one table.

    python benchmarks/milvus.py [--only manifest,writers] [--files 10000] [--runs 20] [--writers 1,10,100] [--commits 400]
        [--places disk,s3]

manifest: a manifest of so many data files. `read` is opening the newest version and holding all its values: our objects
here, C structures there. `commit` adds one delta log to it: resolving, encoding, writing; ours with and without waiting for
the disk (the setting `local.durable`). The library works in a child process, on the same files and in the same minute; its
times are taken there, so that nothing of the child is in them.

The library's C interface has no function that decodes or encodes and does nothing else: reading and committing stand for them.
What is no decoding and no encoding in these shows in the rows of a manifest with a single file. Ours are also timed alone.

writers: processes that commit a delta log each, again and again, to one table by the merge resolver; the clock runs from
the moment when all are ready to the last commit. `disk` waits for the disk; the library has no merge in its C interface, and
its commit on a disk is not atomic between processes, so it has no row. By a committer, each writer waits for its receipt
before it proposes again; the bus is a file of SQLite.
"""

import argparse
import contextlib
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from headgate_schemas.milvus import ColumnGroup, ColumnGroupFile
from headgate_table.milvus import ManifestForm, Transaction, decode_manifest, encode_manifest
from support.committing.many_proposers import Proposers, proposing
from support.committing.processes import a_committer_process
from support.milvus.racing import Race, race
from support.milvus.real_library import VERSION, ask_library
from support.servers.versitygw import running_versitygw

WORKS = ("manifest", "writers")
PLACES = ("disk", "s3")
HEADGATE, LIBRARY = "Headgate", "library"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", type=_list, default=list(WORKS))
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--writers", type=_list, default=["1", "10", "100"])
    parser.add_argument("--commits", type=int, default=400)
    parser.add_argument("--places", type=_list, default=list(PLACES))
    asked = parser.parse_args()
    print(f"{platform.machine()}, Python {platform.python_version()}, library milvus-storage {VERSION}")
    if "manifest" in asked.only:
        one_manifest(asked.files, asked.runs)
    if "writers" in asked.only:
        for place in asked.places:
            for way, commits_per_second in WAYS.items():
                for writers in map(int, asked.writers):
                    each = max(asked.commits // writers, 1)
                    rate = commits_per_second(place, writers, each)
                    print(f"{way:22} {place:5} {writers:4} writers {rate:8.0f} commits/s  ({writers * each} commits)")


def one_manifest(files: int, runs: int) -> None:
    with tempfile.TemporaryDirectory(prefix="bench-milvus-") as folder:
        data = _made(folder, "many", files)
        _made(folder, "one", 1)
        manifest = decode_manifest(data, "benchmark")
        print(f"{files} files, {len(data)} bytes, {runs} runs: median (least)")
        _compare("read", _reads(folder, "many", runs), _reads(folder, "one", runs))
        _row("  decode raw", _times(runs, lambda: decode_manifest(data, "benchmark")))
        container = encode_manifest(manifest, ManifestForm.CONTAINER_V6)
        _row("  decode container", _times(runs, lambda: decode_manifest(container, "benchmark")))
        _compare("commit", _all_commits(folder, "many", runs), _all_commits(folder, "one", runs))
        _row("  encode raw", _times(runs, lambda: encode_manifest(manifest)))
        _row("  encode container", _times(runs, lambda: encode_manifest(manifest, ManifestForm.CONTAINER_V6)))


def _made(folder: str, base: str, files: int) -> bytes:
    """The manifest of a new table with so many data files."""
    append = [
        ColumnGroup(
            ("id", "vector"),
            tuple(
                ColumnGroupFile(
                    f"0_{number:08x}-7f1c-4c62-9d1f-6a5d3b7c1e11.parquet", number * 1000, number * 1000 + 1000
                )
                for number in range(files)
            ),
        )
    ]
    Transaction.open(folder, base).append_files(append).commit()
    return (Path(folder) / base / "_metadata/manifest-1.avro").read_bytes()


def _reads(folder: str, base: str, runs: int) -> dict[str, list[float]]:
    """Seconds, by engine."""
    (theirs,) = ask_library([{"do": "time_read", "root": folder, "base": base, "version": 1, "times": runs}])
    return {
        HEADGATE: _times(runs, lambda: Transaction.open(folder, base, 1).get_manifest()),
        LIBRARY: theirs["seconds"],
    }


def _all_commits(folder: str, base: str, runs: int) -> dict[str, list[float]]:
    request = {"do": "commit", "root": folder, "base": base, "updates": {"deltas": [["x.log", 1]]}}
    return {
        HEADGATE: _commits(folder, base, runs, {}),
        f"{HEADGATE}, not waiting": _commits(folder, base, runs, {"local.durable": "false"}),
        LIBRARY: [answer["seconds"] for answer in ask_library([request] * runs)],
    }


def _commits(folder: str, base: str, runs: int, storage: dict[str, str]) -> list[float]:
    taken = []
    for number in range(runs):
        transaction = Transaction.open(folder, base, storage=storage).add_delta_log(f"{number}.log", 1)
        before = time.perf_counter()
        transaction.commit()
        taken.append(time.perf_counter() - before)
    return taken


def _direct(place: str, writers: int, each: int) -> float:
    """Every writer commits by itself, and merges when another was first."""
    if place == "disk":
        with tempfile.TemporaryDirectory(prefix="bench-milvus-") as folder:
            return _rate(Race(folder, "t", {}, writers, each))
    with running_versitygw() as server:
        server.client().create_bucket(Bucket="bench")
        storage = {
            "s3.endpoint": server.endpoint,
            "s3.access-key": server.access_key,
            "s3.secret-key": server.secret_key,
        }
        return _rate(Race("s3://bench", "t", storage, writers, each))


def _rate(plan: Race) -> float:
    found = race(plan)
    if len(found.committed) != plan.processes * plan.transactions:
        raise SystemExit(f"{len(found.lost)} commits were lost")
    return len(found.committed) / found.seconds


def _coordinated(place: str, writers: int, each: int) -> float:
    """Every writer proposes, and waits for its receipt: through a bus in a file and one committer, a process of its own."""
    with tempfile.TemporaryDirectory(prefix="bench-milvus-") as folder, contextlib.ExitStack() as stack:
        uri, storage = f"{folder}/t", dict[str, str]()
        if place == "s3":
            server = stack.enter_context(running_versitygw())
            server.client().create_bucket(Bucket="bench")
            uri = "s3://bench/t"
            storage = {
                "s3.endpoint": server.endpoint,
                "s3.access-key": server.access_key,
                "s3.secret-key": server.secret_key,
            }
        bus = f"sqlite://{folder}/bus.db"
        stack.enter_context(a_committer_process(bus, storage))
        first = Proposers(
            bus, uri, storage, processes=1, each=1
        )  # until the committer is there, and has made the table
        stack.enter_context(proposing(first)).result()
        plan = Proposers(bus, uri, storage, processes=writers, each=each, one_by_one=True, prefix="w")
        told = stack.enter_context(proposing(plan)).result()
        return len(told.versions) / told.seconds


WAYS: dict[str, Callable[[str, int, int], float]] = {
    "direct, merge": _direct,
    "by a committer, merge": _coordinated,
}
"""From a place, a number of writers and the commits of each, to commits a second. Other ways to commit stand here too."""


def _times(runs: int, work: Callable[[], object]) -> list[float]:
    taken = []
    for _ in range(runs):
        before = time.perf_counter()
        work()
        taken.append(time.perf_counter() - before)
    return taken


def _row(what: str, seconds: list[float]) -> None:
    print(f"{what:32} {statistics.median(seconds) * 1000:8.2f} ms  ({min(seconds) * 1000:.2f} ms)")


def _compare(what: str, many: dict[str, list[float]], one: dict[str, list[float]]) -> None:
    for engine, seconds in many.items():
        _row(f"{what}: {engine}", seconds)
        _row("  with a single file", one[engine])


def _list(text: str) -> list[str]:
    return text.split(",")


if __name__ == "__main__":
    main()
