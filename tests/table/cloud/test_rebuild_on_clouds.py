"""A lost log is rebuilt on real object store servers."""

import pyarrow as pa
import pytest

from headgate_schemas.ambient import SystemAmbient
from headgate_table.data_file import DataFile
from headgate_table.indextables.format.names import LOG
from headgate_table.indextables.repair.rebuild import rebuild_log
from headgate_table.store.open import open_store
from headgate_table.store.settings import StoreSettings
from headgate_table.table import Table
from support.parquet import parquet
from support.servers.azurite import AzureServer
from support.servers.versitygw import S3Server
from support.tables import fresh_resources


@pytest.fixture
def s3(versitygw: S3Server, s3_bucket: str) -> tuple[str, StoreSettings]:
    return f"s3://{s3_bucket}/lake/events", versitygw.settings()


@pytest.fixture
def azure(azurite: AzureServer, azure_container: str) -> tuple[str, StoreSettings]:
    return f"az://{azure_container}/lake/events", azurite.settings()


@pytest.mark.parametrize("cloud", ["s3", "azure"])
def test_a_log_that_is_lost_in_a_cloud_is_rebuilt_there(cloud: str, request: pytest.FixtureRequest) -> None:
    uri, settings = request.getfixturevalue(cloud)
    store = open_store(uri, settings, SystemAmbient())
    table = Table.create(uri, "id BIGINT, region STRING", ["region"], storage=settings, resources=fresh_resources())
    for number, folder in enumerate(("region=eu", "region=a%3Ab", "region=__HIVE_DEFAULT_PARTITION__")):
        path = f"{folder}/{number}.parquet"
        store.put(path, parquet(pa.table({"id": pa.array([number], pa.int64())})))
        table.append([DataFile.of_parquet(path, store=store)])
    before = sorted(map(repr, table.snapshot().scan().read_all().to_pylist()))
    store.delete([info.key for info in store.list(f"{LOG}/")])
    result = rebuild_log(f"{uri}/{LOG}", storage=settings, resources=fresh_resources())
    rebuilt = Table.open(uri, settings, resources=fresh_resources())
    assert (result.status, result.valid_splits) == ("SUCCESS", 3)
    assert sorted(map(repr, rebuilt.snapshot().scan().read_all().to_pylist())) == before
    assert rebuilt.snapshot(where="region = 'a:b'").paths() == ["region=a%3Ab/1.parquet"]
