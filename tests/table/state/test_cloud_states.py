"""Manifests and states on real object store servers: read as a foreign client put them there, written as it finds them."""

from pathlib import Path
from typing import Any

import pytest
from azure.storage.blob import BlobServiceClient

from headgate_schemas.actions.actions import Metadata
from headgate_schemas.ambient import SystemAmbient
from headgate_schemas.columns.table_schema import schema_string_of
from headgate_table.indextables.write.manifest_writer import write_manifest
from headgate_table.settings.options import TableOptions
from headgate_table.store.open import open_store
from headgate_table.table import Table
from support.logs.raw_log import RawLog, read_avro
from support.servers.azurite import AzureServer
from support.servers.versitygw import S3Server
from support.stores import FaultyStore
from support.tables import COLUMNS, add_file, entries, files, new_table
from support.writers.scala import ScalaTable

METADATA = Metadata("an-id", schema_string_of(COLUMNS))
PLACE = "lake/table"


def scala_objects(root: Path) -> tuple[ScalaTable, dict[str, bytes]]:
    """A Scala table, as the objects that its writer would put into a bucket."""
    made = ScalaTable(root, partition_columns=("date",), sidecars=False)
    made.append(40, date="2024-01-01")
    made.append(20, date="2024-01-02")
    objects = {f"{PLACE}/{path.relative_to(root).as_posix()}": path.read_bytes() for path in root.rglob("*.*")}
    objects[f"{PLACE}/_transaction_log/_last_checkpoint"] = made.log.get("_last_checkpoint")
    return made, objects


@pytest.mark.spec("testReadManifestFromS3")
def test_manifests_that_another_client_put_on_s3_are_read(
    tmp_path: Path, s3_bucket: str, s3_client: Any, versitygw: S3Server
) -> None:
    """Break: `resolve_manifest` leaves out the log's folder; or the S3 store forgets the prefix of the table."""
    made, objects = scala_objects(tmp_path)
    for key, data in objects.items():
        s3_client.put_object(Bucket=s3_bucket, Key=key, Body=data)
    snapshot = Table.open(f"s3://{s3_bucket}/{PLACE}", versitygw.settings()).snapshot()
    assert snapshot.paths() == sorted(made.expected().paths)
    assert snapshot.statistics.manifests_read == 2


@pytest.mark.spec("testReadManifestFromAzure")
def test_manifests_that_another_client_put_on_azure_are_read(
    tmp_path: Path, azure_container: str, azurite: AzureServer
) -> None:
    """Break: the Azure store forgets the prefix of the table."""
    made, objects = scala_objects(tmp_path)
    with azurite.client() as client:
        for key, data in objects.items():
            client.get_blob_client(azure_container, key).upload_blob(data)
    snapshot = Table.open(f"az://{azure_container}/{PLACE}", azurite.settings()).snapshot()
    assert snapshot.paths() == sorted(made.expected().paths)


@pytest.mark.spec("testWriteToS3")
def test_another_client_finds_the_manifest_that_we_wrote_to_s3(
    s3_bucket: str, s3_client: Any, versitygw: S3Server
) -> None:
    """Break: `write_manifest` puts the manifest beside the log instead of into it."""
    store = open_store(f"s3://{s3_bucket}/{PLACE}", versitygw.settings(), SystemAmbient())
    info = write_manifest(store, SystemAmbient(), TableOptions(), entries(500), METADATA)
    store.close()
    body = s3_client.get_object(Bucket=s3_bucket, Key=f"{PLACE}/_transaction_log/{info.path}")["Body"].read()
    assert [row["size"] for row in read_avro(body).records] == list(range(10_000, 10_500))


@pytest.mark.spec("testWriteToAzure")
def test_another_client_finds_the_manifest_that_we_wrote_to_azure(azure_container: str, azurite: AzureServer) -> None:
    """Break: `write_manifest` puts the manifest beside the log instead of into it."""
    store = open_store(f"az://{azure_container}/{PLACE}", azurite.settings(), SystemAmbient())
    info = write_manifest(store, SystemAmbient(), TableOptions(), entries(500), METADATA)
    store.close()
    with azurite.client() as client:
        body = _blob(client, azure_container, f"{PLACE}/_transaction_log/{info.path}")
    assert [row["size"] for row in read_avro(body).records] == list(range(10_000, 10_500))


def _blob(client: BlobServiceClient, container: str, key: str) -> bytes:
    found = client.get_blob_client(container, key).download_blob().readall()
    assert isinstance(found, bytes)
    return found


@pytest.mark.spec("testIncrementalWriteToS3")
def test_states_on_s3_are_incremental(s3_bucket: str, s3_client: Any, versitygw: S3Server) -> None:
    """Break: `_plan` writes the entries of the base again."""
    store = FaultyStore(open_store(f"s3://{s3_bucket}/{PLACE}", versitygw.settings(), SystemAmbient()))
    table = new_table(store, interval=1)
    table.append(files("a", 30))
    before = _objects(s3_client, s3_bucket)
    table.append([add_file("b")])
    table.delete(paths=["a-00004.parquet"])
    after = _objects(s3_client, s3_bucket)
    kept = {key: etag for key, etag in after.items() if key in before and not key.endswith("_last_checkpoint")}
    assert kept == {key: etag for key, etag in before.items() if not key.endswith("_last_checkpoint")}
    log = RawLog(store)
    assert log.states() == [1, 2, 3]
    assert len(log.manifests()) == 2
    assert sorted(log.live(3)) == sorted(["b.parquet", *(f"a-{n:05d}.parquet" for n in range(30) if n != 4)])
    assert log.pointer()["version"] == 3
    store.close()


def _objects(client: Any, bucket: str) -> dict[str, str]:
    listed = client.list_objects_v2(Bucket=bucket, Prefix=f"{PLACE}/_transaction_log/")["Contents"]
    return {item["Key"]: item["ETag"] for item in listed}
