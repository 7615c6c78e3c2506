"""From an address to a bus, and what is said about an address that can't be understood."""

import os
import sys
from pathlib import Path

import pytest

from headgate_bus.errors import BusError
from headgate_bus.interface import Topic
from headgate_bus.open import open_bus
from headgate_bus.sqlite.bus import SqliteBus
from headgate_schemas.errors import InvalidInput
from support.ambient import FakeAmbient
from support.processes.isolated import run_isolated

AMBIENT = FakeAmbient()


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("sqlite:///srv/bus.db", "sqlite:///srv/bus.db"),
        ("sqlite:////srv/bus.db", "sqlite:///srv/bus.db"),
        ("sqlite:/srv/bus.db", "sqlite:///srv/bus.db"),
        ("SQLite:///srv/bus.db", "sqlite:///srv/bus.db"),
        ("sqlite:///srv/a%20b%3F.db", "sqlite:///srv/a%20b%3F.db"),
        ("sqlite:///srv/a b.db", "sqlite:///srv/a%20b.db"),
        ("sqlite:///srv/bus.db?partitions=4", "sqlite:///srv/bus.db"),
    ],
)
def test_three_slashes_are_an_absolute_path(address: str, shown: str) -> None:
    assert open_bus(address, AMBIENT).address == shown


@pytest.mark.parametrize("address", ["sqlite:bus.db", "sqlite:./bus.db"])
def test_no_slash_is_a_path_in_the_current_folder(address: str) -> None:
    assert open_bus(address, AMBIENT).address == f"sqlite://{os.getcwd()}/bus.db"


def test_the_address_of_a_bus_opens_the_same_bus(tmp_path: Path) -> None:
    bus = SqliteBus(str(tmp_path / "a b%?#ü.db"), AMBIENT)
    bus.prepare()
    again = open_bus(bus.address, AMBIENT)
    assert again.source(0) == bus.source(0)
    again.close()
    bus.close()


def test_partitions_are_given_in_the_address(tmp_path: Path) -> None:
    bus = open_bus(f"sqlite://{tmp_path}/bus.db?partitions=3", AMBIENT)
    bus.prepare()
    assert bus.partitions(Topic.PROPOSALS) == 3
    bus.close()


@pytest.mark.parametrize(
    ("address", "hint"),
    [
        ("sqllite:///srv/bus.db", "Did you mean sqlite:?"),
        ("kafak://broker:9092", "Did you mean kafka:?"),
        ("broker:9092", "Did you mean kafka://broker:9092?"),
        ("broker-1.example.com:9092/lake", "Did you mean kafka://broker-1.example.com:9092/lake?"),
        ("/srv/bus.db", "Did you mean sqlite:///srv/bus.db?"),
        ("bus.db", "Did you mean sqlite:bus.db?"),
        ("", "sqlite:///path/to/bus.db"),
        ("postgres://db/bus", "Known are kafka://host:9092 and sqlite:///path/to/bus.db"),
        ("sqlite://srv/bus.db", "write sqlite:///srv/bus.db"),
        ("sqlite://", "names a"),
        ("sqlite:", "names no file"),
        ("sqlite:///", "names no file"),
        ("sqlite:///srv/", "names no file"),
        ("sqlite::memory:", "processes share a file"),
        ("sqlite:///:memory:", "processes share a file"),
        ("sqlite:///srv/bus.db?partition=3", "Did you mean partitions?"),
        ("sqlite:///srv/bus.db?partitions=none", "positive whole number"),
        ("sqlite:///srv/bus.db?partitions=0", "positive whole number"),
        ("kafka:broker:9092", "kafka://host:9092"),
        ("kafka://", "kafka://host:9092"),
    ],
)
def test_an_address_that_can_not_be_understood_is_told_with_what_was_meant(address: str, hint: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        open_bus(address, AMBIENT)
    assert hint in str(caught.value)


def test_a_password_in_an_address_is_never_shown() -> None:
    with pytest.raises(InvalidInput) as caught:
        open_bus("kafak://user:hunter2@broker:9092", AMBIENT)
    assert "hunter2" not in str(caught.value)


def test_without_its_library_kafka_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "headgate_bus.kafka.bus", raising=False)
    for name in [name for name in sys.modules if name == "kafka" or name.startswith(("kafka.", "headgate_bus.kafka"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "kafka", None)
    with pytest.raises(BusError, match=r"pip install 'headgate\[kafka\]'"):
        open_bus("kafka://127.0.0.1:9", AMBIENT)


def test_a_bus_in_a_file_loads_nothing_of_kafka() -> None:
    program = """
import sys
from headgate_bus.open import open_bus
from headgate_schemas.ambient import SystemAmbient
open_bus("sqlite:///nowhere/bus.db", SystemAmbient())
print(sorted(name for name in sys.modules if name.split(".")[0] == "kafka"))
"""
    assert run_isolated(program) == "[]\n"
