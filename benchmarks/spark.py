"""Tables in Spark beside plain Parquet, which is the limit, and delta-spark, where it runs on this Spark: one session, one run.

    python benchmarks/spark.py [--rows 5000000] [--runs 5] [--only write,read,plan,micro-batch,throughput]
        [--files 10000] [--batch-rows 1000] [--batches 42] [--large-batch-rows 500000] [--large-batches 9]

write, read: a DataFrame of so many rows, written by two tasks to this machine's disk, and read in four ways; plan: until Spark
knows which files of many its tasks read. Engines take turns; figures are medians. On a machine with other things to do, the
time of processors says more than the clock.

micro-batch, throughput: a stream of small batches and one of large ones. Headgate's are committed through a broker on this
machine by a committer in a process of its own, and a batch ends with its receipt.
"""

import argparse
import os
import platform
import sys
import tempfile
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from parts.commit_engines import Place
from parts.commit_services import Services
from parts.spark_batch import PARQUET, REGIONS, Figure, plans, reads, writes
from parts.spark_delta import PACKAGE, why_not
from parts.spark_session import MASTER, MEMORY, measured_session
from parts.spark_streams import TURNS, WARM_UP, streams

WORKS = {
    "write": "Write all rows to a new table or folder.",
    "read": "Read the files of one table.",
    "plan": "Find the files of a table, and plan to read them all.",
    "micro-batch": "A stream of small batches: how long one takes, with its receipt.",
    "throughput": "A stream of large batches: how long one takes, and rows a second.",
}
SETTINGS = {
    # Spark's default writes timestamps without statistics, which is why Headgate wouldn't let it write them.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.streaming.numRecentProgressUpdates": "1000",
}


def main() -> int:
    options = _arguments()
    _print_head(options)
    with tempfile.TemporaryDirectory(prefix="headgate-bench-", dir=options.folder) as folder:
        scratch = Path(folder)
        if options.peers:
            print(f"  {PACKAGE}: {_verdict(why_not(scratch / 'delta'))}")
        with Services(scratch) as services:
            bus = services.kafka_bus()
            place = Place(uri=str(scratch), scratch=str(scratch))
            with services.committer(bus, place), measured_session(scratch, SETTINGS) as spark:
                for work in options.only:
                    print(f"\n## {work}\n\n{WORKS[work]}\n")
                    if work == "write":
                        _print_table(writes(spark, scratch, options.rows, options.runs, bus))
                    elif work == "read":
                        _print_table(reads(spark, scratch, options.rows, options.runs))
                    elif work == "plan":
                        _print_table(plans(spark, scratch, options.files, options.runs))
                    elif work == "micro-batch":
                        _print_table(streams(spark, scratch, work, options.batch_rows, options.batches, bus))
                    else:
                        asked = (options.large_batch_rows, options.large_batches)
                        _print_table(streams(spark, scratch, work, *asked, bus))
    return 0


def _verdict(reason: str | None) -> str:
    return (
        "runs here, but has no figures of its own yet"
        if reason is None
        else f"not comparable, it doesn't run on this Spark ({reason})"
    )


def _print_table(figures: Iterable[Figure]) -> None:
    print(
        "| work | engine | median ms | fastest ms | ratio | processor ms | ratio | result |\n"
        "| --- | --- | --: | --: | --: | --: | --: | --- |",
        flush=True,
    )
    limits: dict[str, Figure] = {}
    for figure in figures:
        if figure.engine == PARQUET:
            limits[figure.work] = figure
        limit = limits[figure.work]
        cells = (
            figure.work,
            figure.engine,
            f"{figure.median_s * 1000:,.0f}",
            f"{min(figure.seconds) * 1000:,.0f}",
            f"{figure.median_s / limit.median_s:.2f}x",
            f"{figure.processor_median_s * 1000:,.0f}",
            f"{figure.processor_median_s / limit.processor_median_s:.2f}x",
            figure.result,
        )
        print(f"| {' | '.join(cells)} |", flush=True)


def _print_head(options: argparse.Namespace) -> None:
    print(
        f"Python {platform.python_version()} on {platform.machine()}, {os.cpu_count()} cores; Spark {MASTER} with {MEMORY}; "
        f"{options.rows:,} rows of 6 columns, {options.runs} runs per figure after one that doesn't count; "
        f"{options.files:,} files in {REGIONS} folders; "
        f"{options.batches} micro-batches of {options.batch_rows:,} rows and {options.large_batches} of "
        f"{options.large_batch_rows:,}, in {TURNS} queries, each after {WARM_UP} that don't count"
    )
    print(", ".join(f"{name} {version(name)}" for name in ("headgate", "pyspark", "pyarrow", "kafka-python")))


def _some_works(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if not set(names) <= set(WORKS):
        raise argparse.ArgumentTypeError(f"known are {', '.join(WORKS)}")
    return names


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=5_000_000, help="of batches")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", type=_some_works, default=list(WORKS), help=f"some of {', '.join(WORKS)}")
    parser.add_argument("--files", type=int, default=10_000, help="whose reading is planned")
    parser.add_argument("--batch-rows", type=int, default=1_000, help="of a small micro-batch")
    parser.add_argument("--batches", type=int, default=42, help="small ones")
    parser.add_argument("--large-batch-rows", type=int, default=500_000)
    parser.add_argument("--large-batches", type=int, default=9)
    parser.add_argument("--no-peers", dest="peers", action="store_false", help="don't try whether delta-spark runs")
    parser.add_argument("--folder", type=Path, help="where to put the files; the system's temporary folder by default")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
