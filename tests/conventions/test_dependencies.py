"""What the rooms import is what pyproject.toml declares, and what it declares is pinned with hashes."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
NEEDED_BY_OTHERS = {"backports-zstd": "the zstandard codec of fastavro"}
COMES_WITH = {"azure-core": "azure-storage-blob", "botocore": "boto3", "click": "typer", "requests": "azure-core"}
"""Part of what a declared library shows to its callers, and installed by it."""
PINNED = sorted((ROOT / "requirements").glob("*.txt"), key=lambda path: path.name)


def project() -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return table


def normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def distribution(requirement: str) -> str:
    found = re.match(r"[\w.-]+", requirement)
    assert found
    return normalised(found[0])


def rooms() -> list[Path]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    return [ROOT / package for package in settings["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]]


def imported(path: Path) -> Iterator[str]:
    """The dotted names that a module imports, wherever in the module it does."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        match node:
            case ast.Import(names=names):
                yield from (name.name for name in names)
            case ast.ImportFrom(module=str(module)):
                yield module


def distributions_imported() -> dict[str, str]:
    """By distribution, one module of ours that imports it."""
    own = {room.name for room in rooms()}
    providers = packages_distributions()
    found: dict[str, str] = {}
    for room in rooms():
        for path in room.rglob("*.py"):
            for name in imported(path):
                top = name.split(".")[0]
                if top in sys.stdlib_module_names or top in own:
                    continue
                for provider in providers.get(top, [top]):
                    found.setdefault(normalised(provider), f"{path.relative_to(ROOT)} imports {name}")
    return found


def test_every_library_that_a_room_imports_is_declared() -> None:
    table = project()
    declared = {distribution(line) for line in table["dependencies"]}
    declared |= {distribution(line) for extra in ("s3", "azure") for line in table["optional-dependencies"][extra]}
    declared |= set(COMES_WITH)
    assert {name: place for name, place in distributions_imported().items() if name not in declared} == {}


def test_every_declared_library_is_imported() -> None:
    declared = {distribution(line) for line in project()["dependencies"]}
    assert declared - set(distributions_imported()) - set(NEEDED_BY_OTHERS) == set()


@pytest.mark.parametrize("path", PINNED, ids=lambda path: path.name)
def test_every_pin_has_hashes(path: Path) -> None:
    pins = re.split(r"\n(?=\S)", path.read_text().strip())
    assert [pin.splitlines()[0] for pin in pins if "==" not in pin or "--hash=sha256:" not in pin] == []


def test_everything_declared_for_development_is_pinned() -> None:
    table = project()
    wanted = [*table["dependencies"]]
    for extra in ("s3", "azure", "dev"):
        wanted += table["optional-dependencies"][extra]
    pinned = {distribution(line) for line in (ROOT / "requirements/dev.txt").read_text().splitlines() if "==" in line}
    assert {distribution(line) for line in wanted} - pinned - {"headgate"} == set()
