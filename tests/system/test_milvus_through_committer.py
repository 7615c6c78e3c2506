"""Real processes propose to a Milvus table through a real committer, which is killed at times: each update is there once."""

from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from headgate_schemas.ambient import SystemAmbient
from headgate_schemas.milvus import Resolver
from headgate_table.milvus.table import MilvusTable
from headgate_table.milvus.transaction import Transaction
from headgate_table.store.interface import Store
from headgate_table.store.open import open_store
from headgate_table.store.settings import StoreSettings
from support.committing.many_proposers import Proposers, proposing
from support.committing.processes import a_committer_process
from support.committing.transactions import manifest_of, names_in, newest
from support.processes.waiting import wait_until
from support.servers.versitygw import S3Server

KILLS = 2
NO_FSYNC = {"local.durable": "false"}


@pytest.fixture
def bus(tmp_path: Path) -> str:
    return f"sqlite://{tmp_path}/bus.db"


@pytest.fixture(params=["local", "s3"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, dict[str, str]]:
    """An address without a table, and the settings of its store."""
    if request.param == "local":
        return str(tmp_path / "segment"), NO_FSYNC
    server: S3Server = request.getfixturevalue("versitygw")
    login = {"s3.endpoint": server.endpoint, "s3.access-key": server.access_key, "s3.secret-key": server.secret_key}
    return f"s3://{request.getfixturevalue('s3_bucket')}/segment", login


def _opened(uri: str, storage: dict[str, str]) -> Store:
    return open_store(uri, StoreSettings.from_mapping(storage), SystemAmbient())


def _check(store: Store, versions: dict[str, int], names: Sequence[str]) -> None:
    """Every update is in the newest manifest once, and first in the version that its receipt names."""
    assert Counter(names_in(manifest_of(store))) == Counter(names)
    seen: dict[str, int] = {}
    for version in range(1, newest(store) + 1):
        for name in names_in(manifest_of(store, version)):
            seen.setdefault(name, version)
    assert versions == seen


def test_sixteen_processes_with_fifty_transactions_each_lose_and_double_nothing(
    place: tuple[str, dict[str, str]], bus: str
) -> None:
    uri, storage = place
    plan = Proposers(bus, uri, storage, processes=16, each=50)
    with a_committer_process(bus, storage), proposing(plan) as at_work:
        told = at_work.result()
    with closing(_opened(uri, storage)) as store:
        _check(store, told.versions, plan.names)


def test_with_fail_losers_are_told_and_winners_are_all_there_in_versions_of_their_own(
    place: tuple[str, dict[str, str]], bus: str
) -> None:
    uri, storage = place
    plan = Proposers(bus, uri, storage, processes=16, each=50, fail=True)
    with a_committer_process(bus, storage), proposing(plan) as at_work:
        told = at_work.result()
    assert sorted([*told.versions, *told.lost]) == sorted(plan.names)
    assert told.lost
    with closing(_opened(uri, storage)) as store:
        _check(store, told.versions, list(told.versions))
    assert len(set(told.versions.values())) == len(told.versions)


def test_a_committer_that_is_killed_again_and_again_beside_strangers_loses_and_doubles_nothing(
    tmp_path: Path, bus: str
) -> None:
    plan = Proposers(bus, str(tmp_path / "segment"), NO_FSYNC, processes=4, each=40, one_by_one=True)
    foreign: list[int] = []
    with closing(_opened(plan.uri, plan.storage)) as store, proposing(plan) as at_work:
        for number in range(KILLS):
            before = newest(store)
            with a_committer_process(bus, plan.storage):
                wait_until(lambda before=before, number=number: newest(store) > before + 3 * number, "it is at work")  # type: ignore[misc]  # bound per turn
                stranger = Transaction.open(store, resolver=Resolver.MERGE)
                foreign.append(stranger.update_stat("theirs", [f"s{number}"]).commit())
        with a_committer_process(bus, plan.storage):
            told = at_work.result()
        _check(store, told.versions, plan.names)
        theirs = [manifest_of(store, version).get_stat("theirs") for version in foreign]
        assert theirs == [[f"s{number}"] for number in range(KILLS)]
        assert MilvusTable(store, SystemAmbient()).verify(data_files=False).ok
