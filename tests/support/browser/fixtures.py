"""The browser as a fixture, and the option by which its pictures of the page are kept."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.browser.chromium import ARGUMENTS, provide_chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--page-pictures",
        metavar="FOLDER",
        dest="page_pictures",
        help="keep the pictures of the live page that its tests make, of five minutes in the life of a lake",
    )


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    """It lives as long as a file's tests: its library occupies the thread's event loop meanwhile."""
    from playwright.sync_api import sync_playwright

    chromium = provide_chromium()
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(
            executable_path=chromium.program,
            args=list(ARGUMENTS),
            env={**os.environ, **chromium.environment},
            chromium_sandbox=False,
        )
        try:
            yield opened
        finally:
            opened.close()


@pytest.fixture
def pictures(tmp_path: Path, pytestconfig: pytest.Config) -> Path:
    """Where pictures of the page go: where the option says, else nowhere that lasts."""
    folder = pytestconfig.getoption("page_pictures")
    return Path(folder) if folder else tmp_path
