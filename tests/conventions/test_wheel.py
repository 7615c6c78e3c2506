"""The wheel: it holds the rooms with their data and nothing else, and works from inside a zip file."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

from tooling.pages.message_schemas import schemas

ROOT = Path(__file__).parents[2]
HEAVY = ("azure", "boto3", "datafusion", "kafka", "numpy", "pyarrow", "sqlglot", "typer")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    [built] = WheelBuilder(str(ROOT)).build(directory=str(tmp_path_factory.mktemp("wheel")), versions=["standard"])
    return Path(built)


def run_from_wheel(wheel: Path, program: str) -> str:
    """What the program prints in a fresh interpreter that finds our packages in the wheel first."""
    start = f"import sys; sys.path.insert(0, {str(wheel)!r})\n"
    done = subprocess.run(
        [sys.executable, "-I", "-c", start + program], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_wheel_holds_the_rooms_and_nothing_else(wheel: Path) -> None:
    packages = WheelBuilder(str(ROOT)).config.packages
    expected = {
        path.relative_to((ROOT / package).parent).as_posix()
        for package in packages
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert held == expected


def test_the_wheel_holds_a_json_schema_of_every_message(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = {
            Path(name).name: archive.read(name).decode()
            for name in archive.namelist()
            if name.startswith("headgate_schemas/json_schemas/")
        }
    assert held == schemas()


def test_the_wheel_holds_the_licence(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        [licence] = [name for name in archive.namelist() if name.endswith("/LICENSE")]
        assert archive.read(licence) == (ROOT / "LICENSE").read_bytes()


def test_headgate_imports_from_inside_the_wheel(wheel: Path) -> None:
    assert run_from_wheel(wheel, "import headgate; print(headgate.__file__)").startswith(str(wheel))


def test_every_public_name_resolves_inside_the_wheel(wheel: Path) -> None:
    program = "import headgate\nprint([name for name in headgate.__all__ if getattr(headgate, name, None) is None])"
    assert run_from_wheel(wheel, program) == "[]"


def test_every_module_imports_inside_the_wheel(wheel: Path) -> None:
    packages = [Path(package).name for package in WheelBuilder(str(ROOT)).config.packages]
    program = f"""
import importlib, pkgutil
for package in map(importlib.import_module, {packages!r}):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if not module.name.endswith("__main__"):
            assert importlib.import_module(module.name).__file__.startswith({str(wheel)!r})
print("all imported")
"""
    assert run_from_wheel(wheel, program) == "all imported"


def test_importing_headgate_loads_no_heavy_library(wheel: Path) -> None:
    program = f"import headgate\nprint(sorted(name for name in {HEAVY!r} if name in sys.modules))"
    assert run_from_wheel(wheel, program) == "[]"


def test_the_source_distribution_leaves_out_what_is_not_ours(tmp_path: Path) -> None:
    config = SdistBuilder(str(ROOT)).recurse_included_files()
    tops = {Path(file.relative_path).parts[0] for file in config}
    assert tops.isdisjoint({".venv", ".git", "dist", "build", "site", ".mypy_cache", ".pytest_cache", ".ruff_cache"})
