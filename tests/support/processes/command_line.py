"""Running the `headgate` command inside the test's own process."""

import csv
import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest


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
    # Every run of pytest loads this module, and only some need the command.
    import structlog

    from headgate.cli.main import main

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
