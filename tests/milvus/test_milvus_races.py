"""Processes that commit to one table at once, without a coordinator: on a local disk and on an S3 server."""

from pathlib import Path

from headgate_table.milvus import Manifest, Transaction
from headgate_table.store.settings import StoreSettings
from support.milvus.racing import Finish, Race, race
from support.servers.versitygw import S3Server

PROCESSES = 16
TRANSACTIONS = 50


def _newest(uri: str, base: str, storage: dict[str, str]) -> tuple[int, Manifest]:
    with Transaction.open(uri, base, storage=StoreSettings.from_mapping(storage)) as transaction:
        return transaction.read_version, transaction.get_stored_manifest()


def _check_all_are_there(found: Finish, version: int, manifest: Manifest) -> None:
    every = {f"{number}-{turn}.log" for number in range(PROCESSES) for turn in range(TRANSACTIONS)}
    assert set(found.committed) == every
    assert sorted(log.path for log in manifest.delta_logs) == sorted(every)
    assert sorted(found.committed.values()) == list(range(1, version + 1))
    # In the order in which the versions say that they were committed.
    assert [found.committed[log.path] for log in manifest.delta_logs] == list(range(1, version + 1))


def test_sixteen_processes_merge_eight_hundred_updates_on_a_local_disk(tmp_path: Path) -> None:
    storage = {"local.durable": "false"}
    found = race(Race(str(tmp_path), "t", storage, PROCESSES, TRANSACTIONS))
    _check_all_are_there(found, *_newest(str(tmp_path), "t", storage))


def test_sixteen_processes_merge_eight_hundred_updates_on_an_s3_server(versitygw: S3Server, s3_bucket: str) -> None:
    storage = _s3(versitygw)
    found = race(Race(f"s3://{s3_bucket}", "a/t", storage, PROCESSES, TRANSACTIONS))
    _check_all_are_there(found, *_newest(f"s3://{s3_bucket}", "a/t", storage))


def test_with_fail_losers_are_told_and_winners_are_all_there_on_a_local_disk(tmp_path: Path) -> None:
    storage = {"local.durable": "false"}
    found = race(Race(str(tmp_path), "t", storage, PROCESSES, TRANSACTIONS, "fail"))
    assert len(found.committed) + len(found.lost) == PROCESSES * TRANSACTIONS
    _check_winners_are_there(found, *_newest(str(tmp_path), "t", storage))


def test_with_fail_losers_are_told_and_winners_are_all_there_on_an_s3_server(
    versitygw: S3Server, s3_bucket: str
) -> None:
    storage = _s3(versitygw)
    found = race(Race(f"s3://{s3_bucket}", "a/t", storage, PROCESSES, TRANSACTIONS, "fail"))
    assert len(found.committed) + len(found.lost) == PROCESSES * TRANSACTIONS
    _check_winners_are_there(found, *_newest(f"s3://{s3_bucket}", "a/t", storage))


def _check_winners_are_there(found: Finish, version: int, manifest: Manifest) -> None:
    assert found.lost
    assert {log.path for log in manifest.delta_logs} == set(found.committed)
    assert sorted(found.committed.values()) == list(range(1, version + 1))


def _s3(server: S3Server) -> dict[str, str]:
    return {"s3.endpoint": server.endpoint, "s3.access-key": server.access_key, "s3.secret-key": server.secret_key}
