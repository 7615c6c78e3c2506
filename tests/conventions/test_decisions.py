"""Each decision fits on one screen, has the same three parts, and is listed under its own title."""

import re
from pathlib import Path

import pytest

from support.docs.page_blocks import DOCS, ROOT

PAGES = sorted((DOCS / "decisions").glob("*.md"))
MOST_LINES = 45
MOST_COLUMNS = 140
MOST_WORDS = 600


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_decision_fits_on_one_screen(page: Path) -> None:
    """Break: a page grows with every change, until nobody reads it. Details go to the page of the subject."""
    text = page.read_text(encoding="utf-8")
    lines = text.splitlines()
    assert len(lines) <= MOST_LINES
    assert max(map(len, lines)) <= MOST_COLUMNS
    assert len(text.split()) <= MOST_WORDS


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_decision_says_context_decision_and_consequences(page: Path) -> None:
    parts = re.findall(r"^\*\*(Context|Decision|Consequences)[.:]", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert list(dict.fromkeys(parts)) == ["Context", "Decision", "Consequences"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_decision_is_listed_under_its_title(page: Path) -> None:
    title = page.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
    assert title.startswith(f"{int(page.name[:4])}. ")
    assert f"- [{title}](decisions/{page.name})" in (DOCS / "index.md").read_text(encoding="utf-8")
    assert f'- "{title}": decisions/{page.name}' in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
