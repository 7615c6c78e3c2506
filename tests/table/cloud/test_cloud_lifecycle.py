"""A table's whole life on real object store servers: create, write, read, compact, travel, clean."""

from dataclasses import dataclass

import pytest

from headgate_schemas.ambient import SystemAmbient
from headgate_schemas.messages.operations import Committed, Receipt
from headgate_table.store.settings import StoreSettings
from headgate_table.table import Table
from support.ambient import FakeAmbient
from support.logs.raw_log import RawLog
from support.servers.azurite import AzureServer
from support.servers.versitygw import S3Server
from support.tables import COLUMNS, add_file, fresh_resources, opened

DAY_MS = 24 * 3_600_000


@dataclass(frozen=True, slots=True)
class Place:
    uri: str
    settings: StoreSettings

    def created(self) -> Table:
        return Table.create(
            self.uri,
            COLUMNS,
            ["region"],
            {"checkpoint.interval": "3"},
            storage=self.settings,
            resources=fresh_resources(),
        )

    def opened(self, days_later: int = 0) -> Table:
        """As a new process sees it, perhaps days later by its own clock and the server's."""
        if not days_later:
            return Table.open(self.uri, self.settings, resources=fresh_resources())
        ambient = FakeAmbient("later", SystemAmbient().now_ms() + days_later * DAY_MS)
        table = Table.open(self.uri, self.settings, ambient=ambient, resources=fresh_resources())
        table.store.clock_ms = ambient.now_ms  # type: ignore[method-assign]  # objects age by it, and no server's can be set
        return table


@pytest.fixture
def s3(versitygw: S3Server, s3_bucket: str) -> Place:
    return Place(f"s3://{s3_bucket}/lake/events", versitygw.settings())


@pytest.fixture
def azure(azurite: AzureServer, azure_container: str) -> Place:
    return Place(f"az://{azure_container}/lake/events", azurite.settings())


@pytest.fixture(
    params=[
        pytest.param("s3", marks=pytest.mark.spec("testS3FullLifecycle")),
        pytest.param("azure", marks=pytest.mark.spec("testAzureFullLifecycle")),
    ]
)
def place(request: pytest.FixtureRequest) -> Place:
    found: Place = request.getfixturevalue(str(request.param))
    return found


def committed(receipt: Receipt) -> int:
    assert isinstance(receipt, Committed), receipt
    return receipt.version


def test_a_table_lives_from_creation_to_cleaning(place: Place) -> None:
    """Break: `create`, `swap`, `list_folder` or `delete` of the cloud's store does nothing, or answers for another key."""
    table = place.created()
    for number in range(6):
        added = [add_file(f"{number}-{region}", region=region) for region in ("eu", "us")]
        for file in added:
            table.store.put(file.path, b"rows")
        assert committed(table.append(added)) == number + 1
    log = RawLog(table.store)
    assert log.versions() == list(range(7))
    assert log.states() == [3, 6]
    assert log.pointer()["version"] == 6

    reader = place.opened()
    assert reader.snapshot().num_files == 12
    assert reader.snapshot(where="region = 'us'").paths() == [f"region=us/{n}-us.parquet" for n in range(6)]
    assert reader.snapshot(version=2).num_files == 4

    assert committed(table.delete(where="region = 'us'")) == 7
    assert committed(place.opened().compact()) == 8
    state = log.state(8)
    assert (state["numFiles"], state["tombstones"], len(state["manifests"])) == (6, [], 1)
    assert place.opened().snapshot().paths() == [f"region=eu/{n}-eu.parquet" for n in range(6)]

    later = place.opened(days_later=40)
    for version in (9, 10):  # two states that know nothing of the deleted files
        assert committed(later.append([add_file(f"later-{version}", region="eu")])) == version
        assert later.checkpoint() == version
    live = later.snapshot().paths()
    report = later.purge()
    assert (report.status, report.orphaned_files_deleted, report.expired_states_deleted) == ("SUCCESS", 6, 4)
    assert [info.key for info in later.store.list("region=")] == [f"region=eu/{n}-eu.parquet" for n in range(6)]
    assert log.states() == [9, 10]
    last = place.opened()
    assert last.snapshot().paths() == live
    assert committed(last.append([add_file("after", region="eu")])) == newest_version(place)
    assert place.opened().snapshot().num_files == 9


def newest_version(place: Place) -> int:
    """The newest version that the store shows, whoever wrote it."""
    return max(RawLog(place.opened().store).versions())


@pytest.mark.spec("testIncrementalWriteToS3")
def test_an_incremental_state_on_s3_adds_one_manifest_and_changes_none(s3: Place) -> None:
    """Break: `_plan` rewrites the manifests of the base; or `S3Store.create` overwrites."""
    store = s3.created().store
    table = opened(store, interval=1)
    table.append([add_file(f"f{number}", region="eu") for number in range(10)])
    etags = {info.key: info.etag for info in store.list("_transaction_log/")}
    assert committed(table.append([add_file("g", region="us")])) == 2
    assert committed(table.delete(paths=["region=eu/f3.parquet"])) == 3
    after = {info.key: info.etag for info in store.list("_transaction_log/")}
    assert {key: after[key] for key in etags if not key.endswith("_last_checkpoint")} == {
        key: etag for key, etag in etags.items() if not key.endswith("_last_checkpoint")
    }
    log = RawLog(store)
    assert len(log.manifests()) == 2
    assert [info["numEntries"] for info in log.state(3)["manifests"]] == [10, 1]
    assert log.state(3)["tombstones"] == ["region=eu/f3.parquet"]
    assert s3.opened().snapshot().num_files == 10
