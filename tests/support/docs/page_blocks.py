"""The fenced blocks of a page of documentation, in lists, too, and the pages that there are."""

import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
DOCS = ROOT / "docs"
_BLOCK = re.compile(r"^(?P<margin> *)```(?P<info>[^\n`]*)\n(?P<body>.*?)^(?P=margin)```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#{1,6} (.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block: the word behind the fence, the words after it, the text, and the heading that it is under."""

    page: str
    kind: str
    words: tuple[str, ...]
    body: str
    heading: str


def pages() -> list[Path]:
    """Everything that is documentation, the README included."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found = []
    for match in _BLOCK.finditer(text):
        headings = _HEADING.findall(_without_blocks(text[: match.start()]))
        kind, *words = match["info"].split() or [""]
        name = page.relative_to(ROOT).as_posix()
        found.append(Block(name, kind, tuple(words), textwrap.dedent(match["body"]), headings[-1] if headings else ""))
    return found


def _without_blocks(text: str) -> str:
    return _BLOCK.sub("", text)
