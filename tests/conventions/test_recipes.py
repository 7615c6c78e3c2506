"""The recipes of CONTRIBUTING.md name files that exist, and each has the files that its own example goes through."""

import functools
import re
from collections.abc import Collection
from pathlib import Path

import pytest

from support.docs.page_blocks import ROOT

TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
ROOMS = ("schemas", "table", "bus", "producer", "committer", "worker", "front")
NO_FILES = {"__init__.py", "benchmarks/NAME.py", "build/soak"}
"""Any of its kind, and a folder that a program makes."""
SUFFIXES = (".py", ".md", ".lark", ".yaml", ".toml")
EXAMPLES: dict[str, tuple[str, ...]] = {
    "Add an operation": (r"\bSkip\b",),
    "Add a reason for a rejection": (r"\bSOURCE_GONE\b",),
    "Add a metric": (r"\bMIRROR_VERSIONS\b",),
    "Add a store": (r"\baz://|[\"']az[\"']|azure\.storage|AzureStore\b",),
    "Add a worker role": (r"\bCompactRole\b|(?<!type )[\"']compact[\"'](?=[,:)\]]| +\"\"\")",),
    "Add an operator statement": (r"\bDropPartitions\b|^drop_partitions:|Partitions are never dropped",),
    "Add a setting": (r"\bmerge_min_sources\b", r"\blag_proposals\b|lag-proposals"),
}
"""By recipe, how its example is written in the code."""
NOT_OF_THE_RECIPE: dict[str, Collection[str]] = {
    # The statement COMPACT, and the command.
    "Add a worker role": {"front/headgate/statements/parse.py", "front/headgate/cli/table/maintenance.py"},
}


def recipe(title: str) -> str:
    found = re.search(rf"^### {re.escape(title)}\n(.*?)(?=^##)", TEXT, re.MULTILINE | re.DOTALL)
    assert found, title
    return found[1]


def paths(text: str) -> list[str]:
    """The files and folders between backquotes."""
    quoted = re.findall(r"`([^`\s]+)`", text)
    told = {each for each in quoted if ("/" in each or each.endswith(SUFFIXES)) and "://" not in each}
    return sorted(told - NO_FILES)


@functools.cache
def sources() -> dict[str, str]:
    return {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for room in ROOMS
        for kind in ("*.py", "*.lark")
        for path in (ROOT / room).rglob(kind)
    }


def test_every_path_is_there() -> None:
    named = paths(TEXT)
    assert len(named) > 60
    assert [each for each in named if not (ROOT / each).exists()] == []


def test_every_recipe_has_an_example() -> None:
    assert re.findall(r"^### (Add .*)$", TEXT, re.MULTILINE) == list(EXAMPLES)


@pytest.mark.parametrize("title", EXAMPLES)
def test_a_recipe_names_its_files_in_order_and_its_tests(title: str) -> None:
    steps, _, tests = recipe(title).partition("Tests, in order:")
    numbers = [int(number) for number in re.findall(r"^(\d+)\. ", steps, re.MULTILINE)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert [each for each in paths(tests) if not each.startswith("tests/")] == []
    assert len([each for each in paths(tests) if Path(each).name.startswith("test_")]) >= 3


@pytest.mark.parametrize("title", EXAMPLES)
def test_the_example_goes_through_the_files_of_the_recipe(title: str) -> None:
    """Break: a file is split or a new place must be told, and who follows the recipe forgets it."""
    named = set(paths(recipe(title)))
    written = {
        path
        for path, text in sources().items()
        for pattern in EXAMPLES[title]
        if re.search(pattern, text, re.MULTILINE)
    }
    assert len(written) >= 2
    assert sorted(written - named - set(NOT_OF_THE_RECIPE.get(title, ()))) == []
