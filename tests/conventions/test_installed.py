"""Wheel and source distribution, each installed into an environment of its own, away from the tree: they need nothing of it."""

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

from tooling.pages.message_schemas import schemas

ROOT = Path(__file__).parents[2]
LIMIT_S = 300

WITNESS = """
import os, sys
_rooms, _log = {rooms!r}, {log!r}
def _seen(event, arguments):
    if event == "open" and isinstance(arguments[0], str) and os.path.abspath(arguments[0]).startswith(_rooms):
        with os.fdopen(os.open(_log, os.O_WRONLY | os.O_CREAT | os.O_APPEND), "a") as log:
            print(arguments[0], file=log)
sys.addaudithook(_seen)
"""
"""Runs first in every Python of the environment, those of subprocesses too: which files of the tree's rooms are opened."""

EVERY_MODULE = """
import importlib, pkgutil, sys
for package in map(importlib.import_module, {packages!r}):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
ours = [module.__file__ for name, module in sys.modules.items() if name.split(".")[0] in {packages!r}]
print(len(ours), *sorted(file for file in ours if not file.startswith(sys.prefix)))
"""


@dataclass(frozen=True, slots=True)
class Installed:
    """An environment with Headgate in it; the libraries are those of the test's own."""

    folder: Path
    log: Path

    def run(self, *command: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [str(self.folder / "bin" / command[0]), *command[1:]],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
            env={"HOME": str(self.folder), "PATH": f"{self.folder / 'bin'}{os.pathsep}{os.defpath}", "LANG": "C.UTF-8"},
        )

    @property
    def own(self) -> Path:
        return Path(sysconfig.get_path("purelib", vars={"base": str(self.folder), "platbase": str(self.folder)}))


def built(kind: str, folder: Path) -> Path:
    """The distribution that is handed to pip."""
    if kind == "wheel":
        [path] = WheelBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"])
    else:
        [path] = SdistBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"])
    return Path(path)


@pytest.fixture(scope="module", params=["wheel", "sdist"])
def installed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    folder = tmp_path_factory.mktemp(request.param)
    environment = Installed(folder / "environment", folder / "opened.log")
    venv.create(environment.folder, symlinks=True)
    distribution = built(request.param, folder)
    if distribution.suffix == ".gz":
        pip("wheel", "--no-build-isolation", "--wheel-dir", str(folder / "made"), str(distribution))
        [distribution] = (folder / "made").iterdir()
    pip("--python", str(environment.folder / "bin/python"), "install", "--no-compile", str(distribution))
    # The libraries come from where the tests find theirs. Files of paths in there are not followed, among them that of the
    # editable installation of the tree.
    libraries = [place for place in sys.path if place.endswith(("site-packages", "dist-packages"))]
    (environment.own / "libraries.pth").write_text("\n".join(libraries))
    rooms = tuple(f"{(ROOT / package).parent}{os.sep}" for package in WheelBuilder(str(ROOT)).config.packages)
    (environment.own / "witness.py").write_text(WITNESS.format(rooms=rooms, log=str(environment.log)))
    (environment.own / "witness.pth").write_text("import witness")
    yield environment
    assert not environment.log.exists(), environment.log.read_text()


def pip(*arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pip", *arguments, "--no-deps", "--no-index", "--quiet", "--disable-pip-version-check"],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_the_source_distribution_makes_the_same_wheel_as_the_tree(tmp_path: Path) -> None:
    """So what is shown of one below is shown of both."""
    tree, source = built("wheel", tmp_path), built("sdist", tmp_path)
    pip("wheel", "--no-build-isolation", "--wheel-dir", str(tmp_path / "made"), str(source))
    assert held(tmp_path / "made" / tree.name) == held(tree)


def held(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_witness_sees_a_file_of_the_tree(installed: Installed) -> None:
    module = ROOT / "schemas/headgate_schemas/version.py"
    assert installed.run("python", "-c", f"open({str(module)!r}).close()").returncode == 0
    assert installed.log.read_text() == f"{module}\n"
    installed.log.unlink()


def test_the_command_is_there_and_tells_what_it_does(installed: Installed) -> None:
    ran = installed.run("headgate", "--help")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "demo" in ran.stdout


def test_every_module_is_the_installed_one(installed: Installed) -> None:
    packages = [Path(package).name for package in WheelBuilder(str(ROOT)).config.packages]
    ran = installed.run("python", "-c", EVERY_MODULE.format(packages=packages))
    assert ran.returncode == 0, ran.stderr
    count, *elsewhere = ran.stdout.split()
    assert elsewhere == []
    assert int(count) > 100


def test_everything_that_is_no_module_came_along(installed: Installed) -> None:
    """Avro and JSON Schemas, grammars, the Java of the Spark reader, marks of types, and what pages are made of."""
    wanted = {
        path.relative_to((ROOT / package).parent)
        for package in WheelBuilder(str(ROOT)).config.packages
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".py"
    }
    assert {".avsc", ".json", ".lark", ".java", ".typed"} <= {path.suffix or f".{path.name}" for path in wanted}
    assert [str(path) for path in sorted(wanted) if not (installed.own / path).is_file()] == []


def test_the_schemas_of_messages_are_found_as_resources(installed: Installed) -> None:
    program = """
from importlib.resources import files
print(*sorted(found.name for found in (files("headgate_schemas") / "json_schemas").iterdir()))
"""
    assert installed.run("python", "-c", program).stdout.split() == sorted(schemas())


@pytest.mark.parametrize("installed", ["wheel"], indirect=True)
def test_a_table_is_made_checkpointed_and_asked_by_a_statement(installed: Installed) -> None:
    """By Avro schemas and grammars that lie beside the modules."""
    place = str(installed.folder / "events")
    assert installed.run("headgate", "table", "create", place, "--schema", "id bigint").returncode == 0
    assert installed.run("headgate", "table", "checkpoint", place).returncode == 0
    ran = installed.run("headgate", "sql", f"DESCRIBE INDEXTABLES STATE '{place}'", "--format", "json")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert '"avro-state"' in ran.stdout


@pytest.mark.parametrize("installed", ["wheel"], indirect=True)
def test_the_demo_runs(installed: Installed) -> None:
    ran = installed.run("headgate", "demo")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "lost: 0   doubled: 0   gaps: 0" in ran.stdout


def test_the_distribution_says_what_it_is(installed: Installed) -> None:
    program = """
from importlib.metadata import distribution
import headgate
found = distribution("headgate")
assert found.version == headgate.__version__, found.version
print(found.locate_file("headgate"))
"""
    ran = installed.run("python", "-c", program)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip() == str(installed.own / "headgate")
