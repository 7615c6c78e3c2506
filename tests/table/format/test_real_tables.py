"""Tables that the Scala implementation wrote, against their answer key: through `Table` and through the command line."""

from typing import Any

import pytest

from headgate_schemas.actions.actions import Protocol, RemoveFile, SkipFile
from headgate_table.indextables.format.state_manifest import StateManifest, decode_state
from headgate_table.indextables.format.version_file import decode_actions
from headgate_table.table import Table
from support.logs.real_tables import RealTable, real_tables
from support.processes.command_line import Headgate

pytestmark = pytest.mark.real_tables


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "real" in metafunc.fixturenames:
        metafunc.parametrize("real", real_tables(), ids=lambda real: real.name)


@pytest.fixture
def table(real: RealTable) -> Table:
    return Table.open(str(real.path))


def _state(real: RealTable, version: int) -> StateManifest:
    key = f"_transaction_log/state-v{version:020d}/_manifest.avro"
    return decode_state((real.path / key).read_bytes(), key)


def _actions(real: RealTable) -> list[Any]:
    """The actions of every version file."""
    found: list[Any] = []
    for version in real.extra["versionFiles"]:
        key = f"_transaction_log/{version:020d}.json"
        found += decode_actions((real.path / key).read_bytes(), key)
    return found


# --- through Table ------------------------------------------------------------------------------------------------


def test_the_newest_version_of_a_real_table(real: RealTable, table: Table) -> None:
    assert table.version == table.snapshot().version == real.key["latestVersion"]


def test_the_live_files_of_a_real_table(real: RealTable, table: Table) -> None:
    assert table.snapshot().paths() == sorted(real.key["liveFiles"])


def test_the_totals_of_a_real_table(real: RealTable, table: Table) -> None:
    snapshot = table.snapshot()
    found = (snapshot.num_files, snapshot.total_bytes, snapshot.num_records)
    assert found == (real.key["numLive"], real.key["totalBytes"], real.extra["numRecords"])


def test_the_metadata_of_a_real_table(real: RealTable, table: Table) -> None:
    assert table.metadata.id == real.extra["tableId"]
    assert list(table.metadata.partition_columns) == real.key["partitionColumns"]


def test_the_protocol_of_a_real_table(real: RealTable, table: Table) -> None:
    wanted = real.key["protocol"]
    found = (table.protocol.min_reader_version, table.protocol.min_writer_version)
    assert found == (wanted["minReaderVersion"], wanted["minWriterVersion"])


def test_the_state_of_a_real_table(real: RealTable) -> None:
    state = _state(real, real.key["latestVersion"])
    assert len(state.manifests) == real.extra["numManifests"]
    assert len(state.tombstones) == real.extra["numTombstones"]
    assert sorted(state.schema_registry) == sorted(real.extra["schemaRegistryKeys"])
    assert (state.metadata is not None) == real.extra["stateHasMetadata"]
    assert state.protocol_version == real.extra["stateProtocolVersion"]


def test_the_listing_of_a_real_table(real: RealTable, table: Table) -> None:
    listing = table.snapshot(version=real.key["latestVersion"]).log.listing
    assert list(listing.states) == real.extra["stateVersions"]
    assert list(listing.versions) == real.extra["versionFiles"]


def test_the_history_of_a_real_table_holds_what_was_removed(real: RealTable, table: Table) -> None:
    history = [version for version in real.extra["stateVersions"] if version > 0]
    seen = {path for version in history for path in table.snapshot(version=version).paths()}
    assert sorted(seen - set(real.key["liveFiles"])) == sorted(real.extra["removedSinceV1"])


def test_a_real_table_was_empty_at_version_0(table: Table) -> None:
    """Also where a state of that number was written late, with the files of its own day."""
    assert table.snapshot(version=0).paths() == []


def test_the_actions_on_disk_of_a_real_table(real: RealTable) -> None:
    actions = _actions(real)
    features = real.extra["protocolFeaturesOnDisk"]
    wanted = (features["readerFeatures"], features["writerFeatures"])
    assert [(a.reader_features, a.writer_features) for a in actions if isinstance(a, Protocol)] == [wanted]
    assert sum(isinstance(action, RemoveFile) for action in actions) == real.extra["removeActionsOnDisk"]
    assert [action.path for action in actions if isinstance(action, SkipFile)] == real.key["skipPaths"]


def test_the_manifests_that_no_state_names_in_a_real_table(real: RealTable) -> None:
    named = {info.path for version in real.extra["stateVersions"] for info in _state(real, version).manifests}
    stored = {f"manifests/{found.name}" for found in (real.log / "manifests").glob("manifest-*.avro")}
    orphans = [path.removeprefix("manifests/") for path in stored - named]
    assert sorted(orphans) == sorted(real.extra["orphanManifests"])


def test_the_data_files_that_are_not_live_in_a_real_table(real: RealTable, table: Table) -> None:
    stored = {str(found.relative_to(real.path)) for found in real.path.rglob("*.split")}
    assert sorted(stored - set(table.snapshot().paths())) == sorted(real.extra["orphanSplitsOnDisk"])


# --- through the command line -------------------------------------------------------------------------------------


def test_table_files_lists_the_live_files_of_a_real_table(real: RealTable, headgate: Headgate) -> None:
    rows = headgate("table", "files", real.path, "--format", "json").json
    assert [row["path"] for row in rows] == sorted(real.key["liveFiles"])
    assert sum(row["size"] for row in rows) == real.key["totalBytes"]
    assert sum(row["num_records"] for row in rows) == real.extra["numRecords"]
    assert all(sorted(row["partition_values"]) == real.key["partitionColumns"] for row in rows)


def test_table_describe_sums_up_a_real_table(real: RealTable, headgate: Headgate) -> None:
    found = headgate("table", "describe", real.path, "--format", "json").json
    names = ("version", "num_files", "num_manifests", "num_tombstones", "total_bytes", "protocol_version")
    assert {name: found[name] for name in names} == {
        "version": real.key["latestVersion"],
        "num_files": real.key["numLive"],
        "num_manifests": real.extra["numManifests"],
        "num_tombstones": real.extra["numTombstones"],
        "total_bytes": real.key["totalBytes"],
        "protocol_version": real.extra["stateProtocolVersion"],
    }


def test_table_files_of_an_early_version_of_a_real_table(real: RealTable, headgate: Headgate) -> None:
    rows = headgate("table", "files", real.path, "--version", "0", "--format", "json").json
    assert rows == []
