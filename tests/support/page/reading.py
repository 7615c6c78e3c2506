"""The page in a browser, as tests read it: where the parts are, and what the browser had to say against them."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Locator, Page

DEADLINE_MS = 90_000


@dataclass
class Reading:
    """One page in one window."""

    page: Page
    url: str
    said: list[str] = field(default_factory=list)
    """Errors, warnings and dialogs."""
    elsewhere: list[str] = field(default_factory=list)
    """Requests to others than the page's own server."""

    @property
    def link(self) -> Locator:
        return self.page.locator("#link-text")

    @property
    def notices(self) -> Locator:
        return self.page.locator("#notices")

    @property
    def flow(self) -> Locator:
        return self.page.locator("#flow tbody tr")

    @property
    def letters(self) -> Locator:
        return self.page.locator("#letters li")

    @property
    def tasks(self) -> Locator:
        return self.page.locator("#tasks li")

    @property
    def slider(self) -> Locator:
        return self.page.get_by_role("slider", name="Version")

    def table(self, uri: str) -> Locator:
        """Its row."""
        return self.page.locator("#tables tbody tr").filter(has=self.page.locator(f'button[title="{uri}"]'))

    def cell(self, uri: str, column: str) -> Locator:
        return self.table(uri).locator(f'td[data-word="{column}"]')

    def open_history(self, uri: str) -> None:
        self.table(uri).get_by_role("button").click()


@contextmanager
def reading(browser: Browser, url: str, *, path: str = "/", expected: str = "", **options: Any) -> Iterator[Reading]:
    """A new window at the page. At the end it must have said nothing but what is `expected`, and asked nobody else."""
    options = {"viewport": {"width": 1280, "height": 900}, "locale": "en-GB", "timezone_id": "UTC", **options}
    context = browser.new_context(**options)
    try:
        context.set_default_timeout(DEADLINE_MS)
        page = context.new_page()
        found = Reading(page, url)
        page.on("console", lambda message: _heard(found, message.type, message.text))
        page.on("pageerror", lambda error: found.said.append(f"error: {error}"))
        page.on("dialog", lambda dialog: found.said.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: _note(found, request.url))
        page.goto(f"{url}{path}")
        yield found
        unexpected = [text for text in found.said if not expected or expected not in text]
        if found.elsewhere or unexpected:
            raise AssertionError(f"it asked others for {found.elsewhere}, and the browser said {unexpected}")
    finally:
        context.close()


def _heard(found: Reading, kind: str, text: str) -> None:
    """Advice is no complaint."""
    if kind in ("error", "warning"):
        found.said.append(f"{kind}: {text}")


def _note(found: Reading, asked: str) -> None:
    if urlsplit(asked).netloc != urlsplit(found.url).netloc:
        found.elsewhere.append(asked)
