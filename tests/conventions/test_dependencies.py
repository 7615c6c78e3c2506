"""What the rooms import is what pyproject.toml declares, and what it declares is pinned with hashes."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
EXTRAS = ("s3", "azure", "kafka", "spark", "frames")
"""What a process needs beyond the core, by what it speaks to."""
OF_OUR_OWN = ("tests", "benchmarks")
"""Folders whose modules and packages are imported by their bare names."""
NEEDED_BY_OTHERS = {"backports-zstd": "the zstandard codec of fastavro"}
COMES_WITH = {
    "azure-core": "azure-storage-blob",
    "botocore": "boto3",
    "click": "typer",
    "py4j": "pyspark",
    "pydantic-core": "pydantic",
    "requests": "azure-core",
    "sqlalchemy": "pyiceberg",
}
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


def distributions_imported(folders: Iterable[Path]) -> dict[str, str]:
    """By distribution, one module of these folders that imports it."""
    own = {room.name for room in rooms()} | {path.stem for folder in OF_OUR_OWN for path in (ROOT / folder).iterdir()}
    providers = packages_distributions()
    found: dict[str, str] = {}
    for folder in folders:
        for path in folder.rglob("*.py"):
            for name in imported(path):
                top = name.split(".")[0]
                if top in sys.stdlib_module_names or top in own:
                    continue
                for provider in providers.get(top, [top]):
                    found.setdefault(normalised(provider), f"{path.relative_to(ROOT)} imports {name}")
    return found


def declared_apart() -> set[str]:
    """The distributions that `make engines` installs into a virtual environment of their own."""
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    return {distribution(line) for line in groups["engines"]}


def declared(*extras: str) -> set[str]:
    """The distributions that are installed with these extras, and what comes with them."""
    table = project()
    lines = [*table["dependencies"], *(line for extra in extras for line in table["optional-dependencies"][extra])]
    return {distribution(line) for line in lines} | set(COMES_WITH)


def test_every_library_that_a_room_imports_is_declared() -> None:
    known = declared(*EXTRAS)
    assert {name: place for name, place in distributions_imported(rooms()).items() if name not in known} == {}


def test_every_library_that_the_tests_import_is_declared() -> None:
    known = declared(*EXTRAS, "dev") | declared_apart()
    found = distributions_imported([ROOT / "tests", ROOT / "examples", ROOT / "deploy"])
    assert {name: place for name, place in found.items() if name not in known} == {}


def test_every_library_that_the_benchmarks_import_is_declared() -> None:
    known = declared(*EXTRAS, "dev", "bench")
    assert {
        name: place for name, place in distributions_imported([ROOT / "benchmarks"]).items() if name not in known
    } == {}


def test_every_declared_library_is_imported() -> None:
    core = {distribution(line) for line in project()["dependencies"]}
    assert core - set(distributions_imported(rooms())) - set(NEEDED_BY_OTHERS) == set()


@pytest.mark.parametrize("path", PINNED, ids=lambda path: path.name)
def test_every_pin_has_hashes(path: Path) -> None:
    pins = re.split(r"\n(?=\S)", path.read_text().strip())
    assert [pin.splitlines()[0] for pin in pins if "==" not in pin or "--hash=sha256:" not in pin] == []


def test_everything_declared_for_development_is_pinned() -> None:
    table = project()
    wanted = [*table["dependencies"]]
    for extra in (*EXTRAS, "dev"):
        wanted += table["optional-dependencies"][extra]
    pinned = {distribution(line) for line in (ROOT / "requirements/dev.txt").read_text().splitlines() if "==" in line}
    assert {distribution(line) for line in wanted} - pinned - {"headgate"} == set()


def test_the_engines_that_live_apart_are_pinned() -> None:
    pins = (ROOT / "requirements/engines.txt").read_text().splitlines()
    assert declared_apart() <= {distribution(line) for line in pins if "==" in line}
