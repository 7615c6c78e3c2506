"""The bus of a process that starts: one that doesn't answer yet is waited for, for a while."""

from typing import ClassVar

import pytest

from headgate.process import made_bus
from headgate.process.made_bus import ATTEMPTS
from headgate_bus.errors import BusError, BusUnavailable
from support.ambient import FakeAmbient
from support.bus.memory import MemoryBus


class Away(MemoryBus):
    """A bus in memory that can't be prepared so many times."""

    failures: ClassVar[list[BusError]] = []
    closings: ClassVar[int] = 0

    def prepare(self) -> None:
        if self.failures:
            raise self.failures.pop()
        super().prepare()

    def close(self) -> None:
        Away.closings += 1
        super().close()


def away(patch: pytest.MonkeyPatch, failures: list[BusError]) -> FakeAmbient:
    ambient = FakeAmbient()
    patch.setattr(Away, "failures", failures)
    patch.setattr(Away, "closings", 0)
    patch.setattr(made_bus, "open_bus", lambda *_: Away(ambient))
    return ambient


def test_a_bus_that_is_away_for_a_moment_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    ambient = away(monkeypatch, [BusUnavailable("no answer") for _ in range(ATTEMPTS - 1)])
    notes: list[str] = []
    made_bus.made_bus("memory:", ambient, notes.append).close()
    assert notes == [f"no answer. Tried {number} of {ATTEMPTS} times" for number in range(1, ATTEMPTS)]
    assert Away.closings == ATTEMPTS


def test_a_bus_that_stays_away_is_an_error_in_bounded_time(monkeypatch: pytest.MonkeyPatch) -> None:
    ambient = away(monkeypatch, [BusUnavailable("no answer") for _ in range(99)])
    began_s = ambient.monotonic_s()
    with pytest.raises(BusUnavailable, match="no answer"):
        made_bus.made_bus("memory:", ambient, lambda _: None)
    assert 1.0 < ambient.monotonic_s() - began_s < 5.0
    assert Away.closings == ATTEMPTS


def test_a_bus_that_refuses_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    ambient = away(monkeypatch, [BusError("refused")])
    with pytest.raises(BusError, match="refused"):
        made_bus.made_bus("memory:", ambient, lambda _: None)
