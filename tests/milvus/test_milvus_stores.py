"""One short history of transactions on every kind of store."""

from pathlib import Path

import pytest

from headgate_schemas.ambient import SystemAmbient
from headgate_table.errors import CommitConflict
from headgate_table.milvus import FAIL, MERGE, Transaction
from headgate_table.store.interface import Store
from headgate_table.store.open import StoreSettings, open_store
from support.milvus.builders import rows
from support.servers.azurite import AzureServer
from support.servers.versitygw import S3Server


def _plays(store: Store) -> None:
    first = Transaction.open(store, "a/t", resolver=FAIL).append_files([rows("id", "a/t/_data/one")])
    late = Transaction.open(store, "a/t", resolver=FAIL).append_files([rows("id", "two")])
    merged = Transaction.open(store, "a/t", resolver=MERGE).append_files([rows("id", "three")])
    assert first.commit() == 1
    with pytest.raises(CommitConflict):
        late.commit()
    assert merged.commit() == 2
    found = Transaction.open(store, "a/t").get_manifest()
    assert [file.path for file in found.column_groups[0].files] == ["a/t/_data/one", "a/t/_data/three"]
    assert Transaction.open(store, "a/t", 1).read_version == 1


def test_transactions_play_on_a_local_disk(tmp_path: Path) -> None:
    store = open_store(str(tmp_path), StoreSettings(), SystemAmbient())
    _plays(store)
    assert sorted(path.name for path in (tmp_path / "a/t/_metadata").iterdir()) == [
        "manifest-1.avro",
        "manifest-2.avro",
    ]


def test_transactions_play_on_an_s3_server(versitygw: S3Server, s3_bucket: str) -> None:
    store = open_store(f"s3://{s3_bucket}/lake", versitygw.settings(), SystemAmbient())
    _plays(store)
    store.close()


def test_transactions_play_on_an_azure_server(azurite: AzureServer, azure_container: str) -> None:
    store = open_store(f"az://{azure_container}/lake", azurite.settings(), SystemAmbient())
    _plays(store)
    store.close()
