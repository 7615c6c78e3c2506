"""Scenes for system tests: a bus and a bucket of its own for each test, on the servers that the whole session shares."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from support.servers.versitygw import S3Server
from support.torture.stage.scenes import Scene, shared_servers
from support.torture.stage.stage import Stage, stage_on

NewScene = Callable[..., Scene]


@pytest.fixture
def new_scene(kafka_address: str, versitygw: S3Server, s3_bucket: str) -> Iterator[NewScene]:
    """Keyword arguments are settings of the bus's address. Once a test, since there is one bucket."""
    with ExitStack() as stack:
        yield lambda **settings: stack.enter_context(shared_servers(kafka_address, versitygw, s3_bucket, **settings))


@pytest.fixture
def kafka_stage(new_scene: NewScene) -> Iterator[Stage]:
    """One table, on one partition."""
    with stage_on(new_scene(partitions=1)) as stage:
        yield stage
