"""A producer, the bus on one machine, a committer and a table in a folder: the whole path, with threads and files."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import headgate
from headgate_producer.producer import Producer
from headgate_table.store.settings import StoreSettings
from support.tables import add_file

PATIENCE_S = 60.0
"""Only a failing test waits that long."""
STORAGE = StoreSettings(local_durable=False)


@pytest.fixture
def bus(tmp_path: Path) -> Iterator[str]:
    address = f"sqlite://{tmp_path}/bus.db"
    with headgate.committing(address, STORAGE):
        yield address


@pytest.fixture
def producer(bus: str, tmp_path: Path) -> Iterator[Producer]:
    with Producer(bus, str(tmp_path / "events"), storage=STORAGE) as made:
        made.create("id BIGINT, region STRING", ["region"]).wait(PATIENCE_S)
        yield made


def test_a_table_is_created_filled_and_read(producer: Producer) -> None:
    receipt = producer.append([add_file("a", region="eu")]).wait(PATIENCE_S)
    assert isinstance(receipt, headgate.Committed)
    assert headgate.Table.open(producer.table).snapshot(receipt.version).paths() == ["region=eu/a.parquet"]


def test_a_rejection_says_why(producer: Producer) -> None:
    producer.append([add_file("a", region="eu")]).wait(PATIENCE_S)
    receipt = producer.append([add_file("a", region="eu")]).wait(PATIENCE_S)
    assert isinstance(receipt, headgate.Rejected)
    assert (receipt.code, "is live already" in receipt.reason) == (headgate.RejectCode.PATH_IN_USE, True)


def test_a_repeated_seq_gets_the_version_of_the_first(producer: Producer) -> None:
    first = producer.append([add_file("a", region="eu")], writer=headgate.Writer("job", 1)).wait(PATIENCE_S)
    again = producer.append([add_file("b", region="eu")], writer=headgate.Writer("job", 1)).wait(PATIENCE_S)
    assert isinstance(first, headgate.Committed)
    assert again == headgate.Duplicate(first.version, again.proposal_id)


def test_a_large_proposal_commits_whole(producer: Producer) -> None:
    files = [add_file(f"{number:05d}", region="eu") for number in range(6_000)]
    receipt = producer.append(files).wait(PATIENCE_S)
    assert isinstance(receipt, headgate.Committed)
    assert headgate.Table.open(producer.table).snapshot().num_files == 6_000
    assert any((Path(producer.table) / "_headgate" / "claims").iterdir())


@pytest.mark.parametrize("writer", [None, headgate.Writer("job", 1)])
def test_another_process_learns_the_outcome_from_the_table(
    bus: str, producer: Producer, writer: headgate.Writer | None
) -> None:
    receipt = producer.append([add_file("a", region="eu")], writer=writer).wait(PATIENCE_S)
    with Producer(bus, producer.table, storage=STORAGE) as other:
        assert other.outcome(receipt.proposal_id, writer=writer) == receipt


def test_two_spellings_of_a_table_are_one(bus: str, producer: Producer) -> None:
    with Producer(bus, f"file://{producer.table}/", storage=STORAGE) as other:
        receipt = other.append([add_file("a", region="eu")]).wait(PATIENCE_S)
    assert isinstance(receipt, headgate.Committed)
    assert headgate.Table.open(producer.table).version == receipt.version
