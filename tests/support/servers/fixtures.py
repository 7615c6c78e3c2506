"""Fixtures of the real servers: each is started once a session, when a test first asks for it."""

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from support.servers.azurite import AzureServer, running_azurite
from support.servers.versitygw import S3Server, running_versitygw

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def versitygw() -> Iterator[S3Server]:
    with running_versitygw() as server:
        yield server


@pytest.fixture(scope="session")
def azurite() -> Iterator[AzureServer]:
    with running_azurite() as server:
        yield server


@pytest.fixture(scope="session")
def s3_client(versitygw: S3Server) -> Iterator[Any]:
    """A plain client of the server, to look behind a store's back."""
    client = versitygw.client()
    yield client
    client.close()


@pytest.fixture
def s3_bucket(s3_client: Any) -> str:
    """The name of a bucket that is new and empty."""
    name = f"test-{next(_numbers)}"
    s3_client.create_bucket(Bucket=name)
    return name


@pytest.fixture
def azure_container(azurite: AzureServer) -> str:
    """The name of a container that is new and empty."""
    name = f"test-{next(_numbers)}"
    with azurite.client() as client:
        client.create_container(name).close()
    return name
