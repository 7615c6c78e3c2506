"""`headgate query` beside DuckDB, which reads the same table by its Delta mirror.

    python benchmarks/query.py [--rows 5000000] [--partitions 1,100] [--repeat 5] [--only pruned,grouped]

Both answer the same question of the same files, and must give the same answer. Each runs in a process of its own, which
has answered the question on a small table before, so that libraries are loaded. Then the table is opened and the question
answered, so often as `--repeat` says, by turns. Printed are the medians, and how many times as long Headgate takes.
"""

import argparse
import importlib.metadata
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from rows import WHERE_CUSTOMER, rows

QUESTIONS: Mapping[str, str] = {
    "counted": "SELECT count(*) FROM {table}",
    "summed": "SELECT count(*), min(id), max(customer) FROM {table} WHERE amount >= 50",
    "selected": f"SELECT id, note FROM {{table}} WHERE customer = {WHERE_CUSTOMER} ORDER BY id",
    "pruned": "SELECT count(*), max(id) FROM {table} WHERE id BETWEEN 1000 AND 2000",
    "one partition": "SELECT count(*), max(id) FROM {table} WHERE region = 'region-000'",
    "grouped": "SELECT region, count(*), max(id) FROM {table} GROUP BY region ORDER BY region",
    "joined": "SELECT count(*) FROM {table} a JOIN {table} b ON a.id = b.id WHERE a.customer < 1000",
}
WAYS = ("headgate", "duckdb")
SMALL = 100
Answer = list[tuple[Any, ...]]
Ask = Callable[[str, str], Answer]
"""Of the address of a table, a question."""


def by_headgate() -> Ask:
    from headgate.query.running import run_query
    from headgate.table import Table

    def ask(uri: str, question: str) -> Answer:
        result = run_query(question.format(table=f"'{uri}'"), Table.open)
        return [tuple(row.values()) for batch in result.batches() for row in batch.to_pylist()]

    return ask


def by_duckdb() -> Ask:
    import duckdb
    import duckdb_extension_delta

    [folder] = duckdb_extension_delta.__path__
    [extension] = Path(folder).rglob("*.duckdb_extension")
    connection = duckdb.connect()
    connection.execute(f"LOAD '{extension}'")
    return lambda uri, question: connection.execute(question.format(table=f"delta_scan('{uri}')")).fetchall()


def answer_forever(way: str, small: str, uri: str) -> None:
    """In a process of its own: a question a line, its seconds and answer a line."""
    ask = by_headgate() if way == "headgate" else by_duckdb()
    for line in sys.stdin:
        question = json.loads(line)
        ask(small, question)
        begun = time.perf_counter()
        found = ask(uri, question)
        print(json.dumps({"seconds": time.perf_counter() - begun, "answer": found}, default=str), flush=True)


def make(uri: str, count: int, partitions: int) -> None:
    import headgate

    headgate.write(uri, rows(count, partitions), partition_by=["region"] if partitions > 1 else None)
    headgate.Table.open(uri).mirror()


def main() -> None:
    given = _arguments()
    if given.answer:
        answer_forever(*given.answer)
        return
    print(
        f"{given.rows:,} rows of 6 columns; headgate {importlib.metadata.version('headgate')} (DataFusion"
        f" {importlib.metadata.version('datafusion')}), duckdb {importlib.metadata.version('duckdb')}; Python"
        f" {platform.python_version()}, {os.cpu_count()} cores; median of {given.repeat}"
    )
    print(f"{'partitions':>10}  {'question':<14} {'headgate s':>11} {'duckdb s':>9} {'times':>6}")
    for partitions in given.partitions:
        folder = Path(tempfile.mkdtemp(prefix="headgate-query-"))
        try:
            small, uri = str(folder / "small"), str(folder / "table")
            make(small, SMALL, partitions)
            make(uri, given.rows, partitions)
            _compare(partitions, small, uri, given)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _compare(partitions: int, small: str, uri: str, given: argparse.Namespace) -> None:
    processes = {
        way: subprocess.Popen(
            [sys.executable, "-W", "ignore", __file__, "--answer", way, small, uri],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for way in WAYS
    }
    try:
        for name in given.only:
            taken: dict[str, list[float]] = {way: [] for way in WAYS}
            for _ in range(given.repeat):
                answers = {}
                for way, process in processes.items():
                    seconds, answers[way] = _asked(process, QUESTIONS[name])
                    taken[way].append(seconds)
                if answers["headgate"] != answers["duckdb"]:
                    raise SystemExit(f"{name}: the answers differ: {str(answers)[:2000]}")
            ours, theirs = (statistics.median(taken[way]) for way in WAYS)
            print(f"{partitions:>10}  {name:<14} {ours:>11.3f} {theirs:>9.3f} {ours / theirs:>6.2f}", flush=True)
    finally:
        for process in processes.values():
            process.kill()
            process.wait()


def _asked(process: "subprocess.Popen[str]", question: str) -> tuple[float, Any]:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(question) + "\n")
    process.stdin.flush()
    line = process.stdout.readline()
    if not line:
        raise SystemExit("a process ended early; what it said is above")
    body = json.loads(line)
    return float(body["seconds"]), body["answer"]


def _some(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if not set(names) <= set(QUESTIONS):
        raise argparse.ArgumentTypeError(f"known are {', '.join(QUESTIONS)}")
    return names


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--partitions", type=lambda text: [int(each) for each in text.split(",")], default=[1, 100])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--only", type=_some, default=list(QUESTIONS), help=f"some of {', '.join(QUESTIONS)}")
    parser.add_argument("--answer", nargs=3, metavar=("WAY", "SMALL", "TABLE"), help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
