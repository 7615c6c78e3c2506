"""A small table to run commands on, and a bus with a committer."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from headgate_schemas.actions.actions import AddFile
from headgate_table.table import Table
from support.committing.threaded import a_committer
from support.processes.command_line import Headgate


def a_file(path: str, day: str, region: str | None = "eu", size: int = 1000, records: int | None = 10) -> AddFile:
    values = {"date": day} | ({"region": region} if region is not None else {})
    return AddFile(
        path=path, partition_values=values, size=size, modification_time=1_700_000_000_000, num_records=records
    )


@pytest.fixture
def sales(tmp_path: Path) -> Path:
    """A table of four versions: created, two days appended, the first overwritten, a third appended."""
    place = tmp_path / "sales"
    table = Table.create(str(place), "id bigint, date date, region string", ["date", "region"])
    table.append([a_file("b.parquet", "2024-03-01"), a_file("a.parquet", "2024-03-02", "us", 2_500_000, None)])
    table.overwrite([a_file("c.parquet", "2024-03-01", size=500)], "date = '2024-03-01'")
    table.append([a_file("d.parquet", "2024-03-03")])
    return place


@pytest.fixture
def bus(tmp_path: Path, headgate: Headgate, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of a bus that isn't there yet; commands find it in the environment."""
    address = f"sqlite://{tmp_path}/bus.db"
    monkeypatch.setenv("HEADGATE_BUS", address)
    return address


@pytest.fixture
def committing(bus: str) -> Iterator[None]:
    """A committer works on the bus while the test runs."""
    with a_committer(bus):
        yield
