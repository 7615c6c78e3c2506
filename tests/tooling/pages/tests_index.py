"""Writes tests/INDEX.md: for each module of the rooms, the tests to run after a change. `make index` calls it.

A test belongs to a module if it imports it, or if a mutant of the module names it as the one that notices. A module that no
test imports has the tests of the folder that mirrors its package.
"""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from support.mutants.catalogue import MUTANTS

ROOT = Path(__file__).resolve().parents[3]
INDEX = ROOT / "tests/INDEX.md"
ROOMS = ("schemas", "table", "bus", "producer", "committer", "worker", "front")
MOST_SHOWN = 6
HEAD = f"""# Tests by module

For each module, the tests to run first after a change: at most {MOST_SHOWN}, the nearest first. `…` says that other tests import the
module, too. Paths are relative to this folder. A test belongs to a module if it imports it, or if a
[mutant](../docs/simulation.md#would-it-notice-a-bug) of the module names it. A module that no test imports has the folder that
mirrors its package. `make index` writes this file.
"""


def modules() -> Iterator[Path]:
    for room in ROOMS:
        yield from sorted(path for path in (ROOT / room).rglob("*.py") if path.name != "__init__.py")


def dotted(module: Path) -> str:
    return ".".join(module.relative_to(ROOT).with_suffix("").parts[1:])


def imported(test: Path) -> set[str]:
    """Dotted names, which may be those of modules or of what is in one."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(test.read_bytes())):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{each.name}" for each in node.names)}
        elif isinstance(node, ast.Import):
            found |= {each.name for each in node.names}
    return found


def found_tests() -> Mapping[Path, Mapping[str, bool]]:
    """By module, its tests, and whether a mutant names them."""
    by_name: dict[str, set[str]] = defaultdict(set)
    for test in sorted((ROOT / "tests").rglob("test_*.py")):
        for name in imported(test):
            by_name[name].add(test.relative_to(ROOT / "tests").as_posix())
    by_mutant: dict[str, set[str]] = defaultdict(set)
    for mutant in MUTANTS:
        by_mutant[mutant.file] |= {test.partition("::")[0].removeprefix("tests/") for test in mutant.tests}
    return {
        module: {
            test: test in by_mutant[module.relative_to(ROOT).as_posix()]
            for test in by_name[dotted(module)] | by_mutant[module.relative_to(ROOT).as_posix()]
        }
        for module in modules()
    }


def mirrored(module: Path) -> str:
    """The folder of tests that is nearest to the module's package."""
    room, _, *packages = module.relative_to(ROOT).parent.parts
    for start in range(len(packages) + 1):
        for end in range(len(packages), start, -1):
            if (ROOT / "tests").joinpath(room, *packages[start:end]).is_dir():
                return "/".join((room, *packages[start:end]))
    return room


def nearest(module: Path, tests: Mapping[str, bool]) -> list[str]:
    room, folder = module.relative_to(ROOT).parts[0], mirrored(module)
    stems = set(re.findall(r"[a-z]+", module.stem))

    def distance(test: str) -> tuple[bool, ...] | tuple[bool | str, ...]:
        named = stems <= set(re.findall(r"[a-z]+", Path(test).stem))
        return (not named, not tests[test], not test.startswith(f"{folder}/"), not test.startswith(f"{room}/"), test)

    return sorted(tests, key=distance)


def row(module: Path, tests: Mapping[str, bool]) -> str:
    shown = nearest(module, tests) or [f"{mirrored(module)}/"]
    listed = ", ".join(f"`{test}`" for test in shown[:MOST_SHOWN])
    return f"| `{'/'.join(module.relative_to(ROOT).parts[2:])}` | {listed}{', …' if len(shown) > MOST_SHOWN else ''} |"


def page() -> str:
    return "\n".join([HEAD, *_parts(found_tests())])


def _parts(found: Mapping[Path, Mapping[str, bool]]) -> Iterable[str]:
    packages = dict.fromkeys(module.relative_to(ROOT).parts[:2] for module in found)
    for package in packages:
        yield f"## {'/'.join(package)}\n\n| module | tests |\n| --- | --- |"
        yield from (
            row(module, tests) for module, tests in found.items() if module.relative_to(ROOT).parts[:2] == package
        )
        yield ""


if __name__ == "__main__":
    INDEX.write_text(page(), encoding="utf-8")
    sys.stdout.write(f"wrote {INDEX.relative_to(ROOT)}\n")
