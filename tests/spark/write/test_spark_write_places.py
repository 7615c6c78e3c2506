"""Where a table lies, as executors are told: which file system, which path, and by which credentials."""

import pickle
from pathlib import Path
from typing import Any

import pytest

from headgate_schemas.errors import InvalidInput
from headgate_table.store.settings import StoreSettings
from pyspark_headgate.executor.arrow_store import StorePlace, store_place

KEYS = StoreSettings(s3_access_key="key", s3_secret_key="hidden", s3_endpoint="http://localhost:9000/")


def access(uri: str, **settings: Any) -> dict[str, Any]:
    return dict(store_place(uri, StoreSettings(**settings)).access)


def test_a_local_table_is_known_by_its_real_path(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    place = store_place(f"file://{tmp_path}/link/t", StoreSettings(local_durable=False))
    assert (place.kind, place.path("k=1/f.parquet"), place.durable) == ("local", f"{tmp_path}/t/k=1/f.parquet", False)


@pytest.mark.parametrize("uri", ["s3://lake/a/t", "s3a://lake/a/t/"])
def test_a_table_in_a_bucket_is_bucket_and_prefix(uri: str) -> None:
    place = store_place(uri, KEYS)
    assert (place.kind, place.path("f")) == ("s3", "lake/a/t/f")
    assert place.access == {
        "access_key": "key",
        "secret_key": "hidden",
        "endpoint_override": "localhost:9000",
        "scheme": "http",
        "region": "us-east-1",
        "force_virtual_addressing": False,
    }


def test_without_settings_the_clouds_own_credentials_are_asked() -> None:
    assert access("s3://lake/t") == {}


def test_a_container_is_found_by_the_account_in_the_address() -> None:
    place = store_place("abfss://box@lake.dfs.core.windows.net/t", StoreSettings(azure_account_key="a2V5"))
    assert (place.kind, place.path("f")) == ("azure", "box/t/f")
    assert place.access == {"account_name": "lake", "account_key": "a2V5"}


def test_a_connection_string_says_account_key_and_where() -> None:
    text = "DefaultEndpointsProtocol=http;AccountName=dev;AccountKey=a2V5==;BlobEndpoint=http://127.0.0.1:10000/dev;"
    assert access("az://box/t", azure_connection_string=text) == {
        "blob_storage_authority": "127.0.0.1:10000",
        "dfs_storage_authority": "127.0.0.1:10000",
        "blob_storage_scheme": "http",
        "dfs_storage_scheme": "http",
        "account_name": "dev",
        "account_key": "a2V5==",
    }


def test_secrets_travel_and_are_not_shown() -> None:
    place = store_place("s3://lake/t", KEYS)
    assert "hidden" not in repr(place)
    travelled: StorePlace = pickle.loads(pickle.dumps(place))  # noqa: S301  # as Spark sends it
    assert travelled == place


def test_an_address_that_no_store_knows_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no address that Spark can write to"):
        store_place("gs://lake/t", StoreSettings())
