"""Suites that need something outside the tree: each is selected by its setting, and the run's header says which are."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True, slots=True)
class OptionalSuite:
    """Tests with this marker run when the setting names a folder."""

    title: str
    marker: str
    setting: str

    def folder(self, environment: Mapping[str, str]) -> Path | None:
        """Where the setting points; `UsageError` when that is no folder. None: not selected."""
        value = environment.get(self.setting, "").strip()
        if not value:
            return None
        folder = Path(value)
        if not folder.is_dir():
            raise pytest.UsageError(f"{self.setting} names {value!r}, which is no folder; correct it, or unset it.")
        return folder

    def line(self, environment: Mapping[str, str]) -> str:
        folder = self.folder(environment)
        if folder is None:
            return f"optional suite: {self.title}: not selected ({self.setting} is not set)"
        return f"optional suite: {self.title}: selected, from {folder}"


REAL_TABLES = OptionalSuite(title="real tables", marker="real_tables", setting="HEADGATE_REAL_TABLES")
SUITES = (REAL_TABLES,)


def pytest_report_header() -> list[str]:
    return [suite.line(os.environ) for suite in SUITES]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left_out = {suite.marker for suite in SUITES if suite.folder(os.environ) is None}
    deselected = [item for item in items if any(item.get_closest_marker(marker) for marker in left_out)]
    if deselected:
        config.hook.pytest_deselected(items=deselected)
        items[:] = [item for item in items if item not in set(deselected)]


@pytest.fixture(scope="session")
def real_tables() -> Path:
    """The folder of real tables; only tests that carry the marker `real_tables` may ask for it."""
    folder = REAL_TABLES.folder(os.environ)
    assert folder is not None, f"{REAL_TABLES.setting} is not set, but a test without its marker needs it"
    return folder
