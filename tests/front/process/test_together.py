"""A committer and a worker in one process: in which order they end, and whose error the process ends with."""

import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from headgate.process import combined_process as together
from headgate.settings.loading import load_settings
from headgate_bus.interface import Bus
from headgate_bus.open import open_bus
from headgate_schemas.ambient import SystemAmbient
from headgate_schemas.errors import HeadgateError

Serve = Callable[..., None]
AMBIENT = SystemAmbient()
LOOK_S = 0.01


@pytest.fixture
def bus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bus]:
    for name in ("HEADGATE_CONFIG", "HEADGATE_BUS", "HEADGATE_ROOTS"):
        monkeypatch.delenv(name, raising=False)
    with closing(open_bus(f"sqlite://{tmp_path}/bus.db", AMBIENT)) as opened:
        opened.prepare()
        yield opened


def works_until_told(name: str, ends: list[str]) -> Serve:
    def serve(bus: Bus, settings: object, ambient: object, stopping: Callable[[], bool], monitoring: object) -> None:
        while not stopping():
            AMBIENT.sleep(LOOK_S)
        ends.append(name)

    return serve


def fails(error: Exception) -> Serve:
    def serve(*_: Any) -> None:
        raise error

    return serve


def run(bus: Bus, stopping: Callable[[], bool] = lambda: False) -> None:
    together.run_together(bus, bus.address, load_settings({}, {}, None, bus=bus.address), AMBIENT, stopping)


def test_told_to_stop_the_worker_ends_first(bus: Bus, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it has proposed by then is still decided."""
    ends: list[str] = []
    monkeypatch.setattr(together, "serve_committer", works_until_told("committer", ends))
    monkeypatch.setattr(together, "serve_worker", works_until_told("worker", ends))
    told = threading.Event()
    told.set()
    run(bus, told.is_set)
    assert ends == ["worker", "committer"]


def test_a_committer_that_fails_takes_the_worker_with_it(bus: Bus, monkeypatch: pytest.MonkeyPatch) -> None:
    ends: list[str] = []
    monkeypatch.setattr(together, "serve_committer", fails(HeadgateError("overtaken")))
    monkeypatch.setattr(together, "serve_worker", works_until_told("worker", ends))
    with pytest.raises(HeadgateError, match="overtaken"):
        run(bus)
    assert ends == ["worker"]


@pytest.mark.parametrize(
    "error", [HeadgateError("refused"), ValueError("a defect")], ids=lambda error: type(error).__name__
)
def test_a_worker_that_fails_takes_the_committer_with_it(
    bus: Bus, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    ends: list[str] = []
    monkeypatch.setattr(together, "serve_committer", works_until_told("committer", ends))
    monkeypatch.setattr(together, "serve_worker", fails(error))
    with pytest.raises(type(error), match=str(error)):
        run(bus)
    assert ends == ["committer"]


def test_when_both_fail_the_committers_error_tells_of_the_other(bus: Bus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(together, "serve_committer", fails(HeadgateError("overtaken")))
    monkeypatch.setattr(together, "serve_worker", fails(HeadgateError("refused")))
    with pytest.raises(HeadgateError, match="overtaken") as told:
        run(bus)
    assert told.value.__notes__ == ["the worker of this process had ended, too: refused"]
