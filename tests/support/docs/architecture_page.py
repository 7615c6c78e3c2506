"""docs/architecture.md as values: its folders, its lives with their stations, and every module or function that it names."""

import re
from collections.abc import Mapping

from support.docs.page_blocks import DOCS
from support.lives import ROOMS

PAGE = DOCS / "architecture.md"
TEXT = PAGE.read_text(encoding="utf-8")
HEADINGS = {
    "proposal": "The life of a proposal",
    "read": "The life of a read",
    "compaction": "The life of a compaction",
    "micro-batch": "The life of a Spark micro-batch",
}
"""By the name of the life."""
NAMED = re.compile(rf"`((?:{'|'.join(ROOMS)})(?:\.\w+)+(?::[\w.]+)?)`")
FOLDER = re.compile(r"^\| `([\w/]+)` \|", re.MULTILINE)
STATION = re.compile(r"^(\d+)\. (.*?)(?=^\d+\. |^#|\Z)", re.MULTILINE | re.DOTALL)


def part(title: str) -> str:
    """What stands under a heading of the second level."""
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL)
    assert found, f"{PAGE.name} has no part {title!r}"
    return found[1]


def folders() -> list[str]:
    return FOLDER.findall(part("Code map"))


def names() -> list[str]:
    """Modules, and functions behind a colon."""
    return NAMED.findall(TEXT)


def stations(life: str) -> list[str]:
    """What each station says, in order."""
    return [text for _, text in STATION.findall(part(HEADINGS[life]))]


def numbers(life: str) -> list[int]:
    return [int(number) for number, _ in STATION.findall(part(HEADINGS[life]))]


def passed(life: str) -> list[str]:
    """The functions that the stations of a life name."""
    return [name for station in stations(life) for name in NAMED.findall(station) if ":" in name]


def most_modules() -> Mapping[str, int]:
    rows = re.findall(r"^\| ([\w-]+) \| (\d+) \|$", part("The four lives"), re.MULTILINE)
    return {life: int(most) for life, most in rows}
