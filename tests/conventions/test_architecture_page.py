"""docs/architecture.md names what there is, and the tree is as it says: folders of a size to be read, each with its word."""

import ast
import pkgutil
import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from support.docs.architecture_page import HEADINGS, NAMED, PAGE, folders, most_modules, names, numbers, part, stations
from support.docs.page_blocks import DOCS, ROOT, Block, blocks_of

ROOM_FOLDERS = ("schemas", "table", "bus", "producer", "committer", "worker", "front")
MOST_MODULES = 16
"""In one folder of a room. What grows beyond it has a second subject."""
MOST_STATIONS = 15
LEAST_LINES = 3
MOST_LINES = 15
BOXES = {
    "headgate": "front",
    "headgate_bus": "bus",
    "headgate_committer": "committer",
    "headgate_producer": "producer",
    "headgate_schemas": "schemas",
    "headgate_table": "table",
    "headgate_worker": "worker",
    "pyspark_headgate": "spark",
}
"""What the picture calls each package."""
BEGINNING = re.compile(r"Begin with (.*?)(?:\. |\.$|\Z)", re.DOTALL)


def packages() -> list[Path]:
    """The folders of all packages of the rooms."""
    return [path.parent for folder in ROOM_FOLDERS for path in sorted((ROOT / folder).rglob("__init__.py"))]


def shown(folder: Path) -> str:
    return folder.relative_to(ROOT).as_posix()


def docstring(folder: Path) -> str:
    return ast.get_docstring(ast.parse((folder / "__init__.py").read_bytes())) or ""


def test_every_name_on_the_page_exists() -> None:
    assert len(set(names())) > 60
    unknown = []
    for name in sorted(set(names())):
        try:
            pkgutil.resolve_name(name if ":" in name else f"{name}:__doc__")
        except (ImportError, AttributeError) as error:
            unknown.append(f"{name}: {error}")
    assert unknown == []


def test_every_package_is_in_the_code_map_once() -> None:
    assert sorted(folder for folder in folders() if folder.split("/")[0] in ROOM_FOLDERS) == sorted(
        shown(folder) for folder in packages()
    )


def test_every_folder_of_the_code_map_is_there() -> None:
    assert [folder for folder in folders() if not (ROOT / folder).is_dir()] == []


def test_every_file_that_the_page_names_is_there() -> None:
    named = re.findall(r"`((?:[\w-]+/)+[\w.-]+)`", PAGE.read_text(encoding="utf-8"))
    assert [path for path in named if not (ROOT / path).exists() and not (ROOT / "producer" / path).exists()] == []


def test_every_package_says_what_it_is() -> None:
    lines = {shown(folder): len(docstring(folder).splitlines()) for folder in packages()}
    assert {folder: count for folder, count in lines.items() if not LEAST_LINES <= count <= MOST_LINES} == {}


@pytest.mark.parametrize("folder", packages(), ids=shown)
def test_a_package_says_where_to_begin_by_modules_that_it_has(folder: Path) -> None:
    found = BEGINNING.search(docstring(folder))
    assert found, "a reader isn't told where to begin"
    first = re.findall(r"`([\w/]+)`", found[1])
    assert first
    assert [name for name in first if not (folder / f"{name}.py").exists() and not (folder / name).is_dir()] == []


def test_no_folder_has_more_modules_than_can_be_taken_in() -> None:
    counts = Counter({shown(folder): len(list(folder.glob("*.py"))) - 1 for folder in packages()})
    assert {folder: count for folder, count in counts.items() if count > MOST_MODULES} == {}


@pytest.mark.parametrize("life", HEADINGS)
def test_a_life_has_at_most_fifteen_stations_and_each_names_a_function(life: str) -> None:
    assert numbers(life) == list(range(1, len(numbers(life)) + 1))
    assert 1 < len(numbers(life)) <= MOST_STATIONS
    assert [text for text in stations(life) if not any(":" in name for name in NAMED.findall(text))] == []


def test_every_life_has_a_diagram_and_a_bound() -> None:
    drawn = [block.heading for block in blocks_of(PAGE) if block.kind == "mermaid" and "sequenceDiagram" in block.body]
    assert drawn == list(HEADINGS.values())
    assert most_modules().keys() == HEADINGS.keys()


@pytest.mark.parametrize(
    "block", [block for block in blocks_of(PAGE) if "sequenceDiagram" in block.body], ids=lambda block: block.heading
)
def test_a_diagram_has_no_arrow_from_or_to_nobody(block: Block) -> None:
    body = block.body
    assert ";" not in body, "a semicolon ends a statement of Mermaid"
    known = set(re.findall(r"^ *participant (\w+) as ", body, re.MULTILINE))
    arrows = re.findall(r"^ *(\w+)--?>>(\w+): ", body, re.MULTILINE)
    assert len(arrows) == len(body.strip().splitlines()) - 1 - len(known), (
        "a line is neither a participant nor an arrow"
    )
    assert {end for arrow in arrows for end in arrow} == known


def test_the_picture_of_the_rooms_is_what_the_imports_may_be() -> None:
    (picture,) = (block.body for block in blocks_of(PAGE) if "flowchart" in block.body)
    boxes = re.findall(r"^ *(\w+)\[", picture, re.MULTILINE)
    arrows = re.findall(r"^ *(\w+) --> (\w+)$", picture, re.MULTILINE)
    assert {end for arrow in arrows for end in arrow} == set(boxes)
    layers = [
        {BOXES[name] for name in layer.split(" | ")}
        for contract in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
        if contract["type"] == "layers" and contract["layers"][0] == "headgate"
        for layer in contract["layers"]
    ]
    assert set().union(*layers) == set(boxes)
    height = {box: -place for place, layer in enumerate(layers) for box in layer}
    assert [(above, below) for above, below in arrows if height[above] <= height[below]] == []


def test_questions_have_answers_with_places() -> None:
    rows = re.findall(r"^\| ([^|]+\?) \| (.+) \|$", part("Where do I change what"), re.MULTILINE)
    assert len(rows) >= 10
    assert [question for question, answer in rows if "`" not in answer] == []


def test_the_glossary_is_in_order_and_every_term_has_its_specification() -> None:
    text = (DOCS / "glossary.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \*\*(.+?)\*\* \| (.+) \| \[.+\]\(([\w/-]+\.md)(?:#[\w-]+)?\) \|$", text, re.MULTILINE)
    assert len(rows) == text.count("\n| **")
    terms = [term for term, _, _ in rows]
    assert terms == sorted(set(terms))
    assert [page for _, _, page in rows if not (DOCS / page).is_file()] == []
