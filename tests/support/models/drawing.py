"""A plugin of pytest: of the files that are given, the tests that draw their cases, with so many cases in all.

The tests share the cases as they do in the suite. Cases that were stored by earlier runs, and those that tests name, are left
out, so that the seed alone says what is tried.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, settings
from hypothesis.statistics import collector

_DRAWN = (Phase.generate, Phase.target)
_SETTINGS = "_hypothesis_internal_use_settings"
"""Where hypothesis keeps the settings of a test. It has no other way to change what a test's own decorator says."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("models")
    group.addoption("--draw-cases", type=int, help="of all tests together (default: as many as in the suite)")
    group.addoption("--draw-once", action="store_true", help="end at the first failure, as it was found")
    group.addoption("--drawn-into", type=Path, help="a file for what was tried, by test, as JSON")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(_Drawing(config), "headgate-drawing")


class _Drawing:
    def __init__(self, config: pytest.Config) -> None:
        self._cases: int | None = config.getoption("--draw-cases")
        self._is_once: bool = config.getoption("--draw-once")
        self._into: Path | None = config.getoption("--drawn-into")
        self._drawn: dict[str, dict[str, int | None]] = {}

    @pytest.hookimpl(trylast=True)  # behind the one that marks them
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        drawing = [item for item in items if item.get_closest_marker("hypothesis")]
        config.hook.pytest_deselected(items=[item for item in items if item not in set(drawing)])
        items[:] = drawing
        own = [_settings_of(item).max_examples for item in drawing]
        all_own = sum(own)
        for place, cases in _places(drawing, own).items():
            wanted = cases if self._cases is None else max(1, round(cases * self._cases / all_own))
            place.set(self._changed(place.get(), wanted))

    def _changed(self, given: settings, cases: int) -> settings:
        phases = _DRAWN if self._is_once else (*_DRAWN, Phase.shrink)
        return settings(given, max_examples=cases, database=None, phases=phases, report_multiple_bugs=False)

    @pytest.hookimpl(wrapper=True, trylast=True)  # within the one that collects for the terminal
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        def note(told: Any) -> None:
            statuses = [
                case["status"] for phase in _DRAWN for case in told.get(f"{phase.name}-phase", {}).get("test-cases", [])
            ]
            failed = statuses.index("interesting") + 1 if "interesting" in statuses else None
            self._drawn[item.nodeid] = {"cases": len(statuses), "failed": failed}

        with collector.with_value(note):  # type: ignore[arg-type]  # by its first value, None, it has no other type
            return (yield)

    def pytest_sessionfinish(self) -> None:
        if self._into is not None:
            self._into.write_text(json.dumps(self._drawn), encoding="utf-8")


class _Place:
    """Where the settings of a test are kept: at its function, or at the class of a state machine."""

    def __init__(self, owner: Any, name: str) -> None:
        self._owner, self._name = owner, name

    def __hash__(self) -> int:
        return hash((id(self._owner), self._name))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Place) and self._owner is other._owner and self._name == other._name

    def get(self) -> settings:
        found = getattr(self._owner, self._name)
        assert isinstance(found, settings)
        return found

    def set(self, changed: settings) -> None:
        setattr(self._owner, self._name, changed)


def _place_of(item: pytest.Item) -> _Place:
    assert isinstance(item, pytest.Function)
    if item.cls is not None and isinstance(getattr(item.cls, "settings", None), settings):
        return _Place(item.cls, "settings")
    return _Place(getattr(item.obj, "__func__", item.obj), _SETTINGS)


def _settings_of(item: pytest.Item) -> settings:
    return _place_of(item).get()


def _places(items: Sequence[pytest.Item], own: Sequence[int]) -> dict[_Place, int]:
    """Tests that differ in a parameter share a place."""
    return {_place_of(item): cases for item, cases in zip(items, own, strict=True)}
