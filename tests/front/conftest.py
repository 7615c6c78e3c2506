"""Running the `headgate` command inside the test's own process, and a small table to run it on."""

import csv
import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import structlog

from headgate.cli.main import main
from headgate_schemas.actions import AddFile
from headgate_table.table import Table
from support.committing.threaded import a_committer


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def csv(self) -> list[dict[str, str]]:
        return list(csv.DictReader(io.StringIO(self.out)))

    @property
    def lines(self) -> list[list[str]]:
        """The words of each line, for tables without blanks in their cells."""
        return [line.split() for line in self.out.splitlines()]


Headgate = Callable[..., Ran]


@pytest.fixture
def headgate(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Headgate]:
    """Run a command; the environment has no settings of ours."""
    for name in (
        "HEADGATE_CONFIG",
        "HEADGATE_STORE_LOCAL_DURABLE",
        "HEADGATE_CHECKPOINT_INTERVAL",
        "HEADGATE_BUS",
        "HEADGATE_ROOTS",
    ):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: str | Path) -> Ran:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    yield run
    structlog.reset_defaults()


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
