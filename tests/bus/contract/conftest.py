"""The buses that the contract suites run against: the one in memory, and every real one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from headgate_bus.interface import Bus
from support.bus.rigs import KafkaRig, MemoryRig, Rig, SqliteRig


@pytest.fixture(params=("memory", "sqlite", "kafka"))
def rig(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Rig]:
    opened: Rig
    if request.param == "memory":
        opened = MemoryRig()
    elif request.param == "sqlite":
        opened = SqliteRig(tmp_path)
    else:
        opened = KafkaRig(request.getfixturevalue("new_kafka_bus"))
    yield opened
    opened.close()


@pytest.fixture
def bus(rig: Rig) -> Bus:
    rig.bus.prepare()
    return rig.bus
