"""64 processes commit to one table at once, without a coordinator: every commit is there once, and no number is missing."""

import multiprocessing
import queue
import traceback
from collections.abc import Mapping, Sequence
from multiprocessing.process import BaseProcess
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest

from headgate_schemas.messages.operations import Committed
from headgate_table.store.open import StoreSettings
from headgate_table.table import Table
from support.servers.versitygw import S3Server
from support.tables import COLUMNS, add_file

PROCESSES = 64
PATIENCE = {
    "transaction.retry.maxAttempts": "500",
    "transaction.retry.baseDelayMs": "2",
    "transaction.retry.maxDelayMs": "200",
    "checkpoint.interval": "10",
}
"""Far more attempts than usual: with 64 writers most attempts lose, which is what the coordinator is for."""


def commit_some(
    number: int,
    commits: int,
    uri: str,
    storage: StoreSettings,
    start: Barrier,
    results: "Queue[tuple[int, Mapping[int, str] | str]]",
) -> None:
    """One process: commits its files and tells in which versions they went. Any failure is told, too."""
    try:
        table = Table.open(uri, storage, settings=PATIENCE)
        start.wait(timeout=120)
        done: dict[int, str] = {}
        for count in range(commits):
            name = f"p{number}-{count}"
            receipt = table.append([add_file(name)])
            assert isinstance(receipt, Committed), receipt
            done[receipt.version] = f"{name}.parquet"
        results.put((number, done))
    except BaseException:
        results.put((number, traceback.format_exc()))
        raise


def next_result(
    results: "Queue[tuple[int, Mapping[int, str] | str]]", processes: Sequence[BaseProcess]
) -> tuple[int, Mapping[int, str] | str]:
    """What the next process says; fails as soon as one has died without a word, or after four minutes."""
    for _ in range(240):
        try:
            return results.get(timeout=1)
        except queue.Empty:
            silent = [process.exitcode for process in processes if process.exitcode not in (None, 0)]
            assert not silent, f"processes ended with {silent} and said nothing"
    raise AssertionError("the processes took more than four minutes")


def run_processes(commits: int, uri: str, storage: StoreSettings) -> dict[int, str]:
    """What the processes say they committed, by version."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["headgate_table.table", "support.tables", "boto3"])
    start = context.Barrier(PROCESSES)
    results: Queue[tuple[int, Mapping[int, str] | str]] = context.Queue()
    processes = [
        context.Process(target=commit_some, args=(number, commits, uri, storage, start, results))
        for number in range(PROCESSES)
    ]
    for process in processes:
        process.start()
    try:
        said: dict[int, str] = {}
        for _ in processes:
            number, outcome = next_result(results, processes)
            assert not isinstance(outcome, str), f"process {number} failed:\n{outcome}"
            assert not said.keys() & outcome.keys(), "two processes were told the same version"
            said.update(outcome)
        return said
    finally:
        for process in processes:
            process.join(timeout=30)
            if process.is_alive():
                process.kill()
                process.join()


def check(commits: int, uri: str, storage: StoreSettings) -> None:
    Table.create(uri, COLUMNS, storage=storage)
    said = run_processes(commits, uri, storage)
    assert sorted(said) == list(range(1, PROCESSES * commits + 1)), "the versions have no gaps"
    table = Table.open(uri, storage)
    assert table.snapshot().paths() == sorted(said.values())
    for version in (1, PROCESSES // 2, PROCESSES * commits):
        expected = sorted(path for number, path in said.items() if number <= version)
        assert table.snapshot(version=version).paths() == expected


@pytest.mark.spec("testConcurrentStateUpdate")
def test_64_processes_commit_to_one_local_table(tmp_path: Path) -> None:
    check(2, str(tmp_path / "table"), StoreSettings())


def test_64_processes_commit_to_one_table_on_s3(versitygw: S3Server, s3_bucket: str) -> None:
    check(1, f"s3://{s3_bucket}/table", versitygw.settings())
