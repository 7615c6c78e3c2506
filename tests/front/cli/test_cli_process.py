"""The `headgate` command as a process of its own: pipes, signals, environment, what it imports."""

import json
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from headgate_bus.interface import Topic
from headgate_bus.open import open_bus
from headgate_schemas.actions.actions import AddFile
from headgate_schemas.ambient import SystemAmbient
from headgate_schemas.messages.cloud_events import subject_of
from headgate_schemas.version import __version__
from headgate_table.table import Table

COMMAND = [sys.executable, "-m", "headgate"]


def run(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["env", *(f"{name}={value}" for name, value in environment.items()), *COMMAND, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_version_is_printed_without_loading_arrow_or_datafusion() -> None:
    program = (
        "import sys\n"
        "from headgate.cli.main import main\n"
        "code = main(['--version'])\n"
        "heavy = {'pyarrow', 'datafusion', 'sqlglot', 'boto3', 'azure', 'numpy', 'pydantic', 'structlog'}\n"
        "sys.exit(str(heavy & set(sys.modules)) if heavy & set(sys.modules) else code)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"headgate {__version__}\n", "")


def test_help_names_every_command() -> None:
    done = run("table", "--help")
    assert done.returncode == 0
    for name in ("create", "files", "describe", "log", "history", "changes", "checkpoint", "compact", "purge"):
        assert f"\n  {name} " in done.stdout
    for name in ("truncate-history", "drop-partitions", "repair", "verify"):
        assert f"\n  {name} " in done.stdout


def test_no_arguments_show_the_help_and_count_as_wrong_usage() -> None:
    done = run()
    assert done.returncode == 2
    assert "Usage: headgate" in done.stdout + done.stderr


def test_a_closed_pipe_ends_quietly(sales: Path) -> None:
    """As in `headgate table files … | head -1`, with more data than a pipe holds."""
    table = Table.open(str(sales))
    long_name = "x" * 200
    values = {"date": "2024-04-01", "region": "eu"}
    table.append([AddFile(f"{number:05}-{long_name}.parquet", values, 1, 1) for number in range(1500)])
    process = subprocess.Popen(
        [*COMMAND, "table", "files", str(sales), "--format", "csv"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline().startswith(b"path,")
    process.stdout.close()
    error = process.stderr.read()
    process.stderr.close()
    assert (process.wait(60), error) == (0, b"")


def test_settings_come_from_environment_file_and_options_in_that_order(tmp_path: Path) -> None:
    """The last one given wins: one version file and a state prove which interval was in force."""
    (tmp_path / "headgate.toml").write_text(
        '[store]\nlocal.durable = false\n[table]\nstate.compression = "snappy"\n"state.entriesPerManifest" = 1\n'
    )
    place = tmp_path / "t"
    Table.create(str(place), "id bigint").append([AddFile(f"{name}.parquet", {}, 1, 1) for name in "abcd"])
    done = run(
        *("table", "checkpoint", place, "--set", "indextables.state.compression=none"),
        HEADGATE_CONFIG=str(tmp_path / "headgate.toml"),
        HEADGATE_STATE_ENTRIES_PER_MANIFEST="2",
    )
    assert done.returncode == 0, done.stderr
    manifests = [path.read_bytes() for path in (place / "_transaction_log/manifests").iterdir()]
    assert len(manifests) == 2
    assert all(b"avro.codec" not in data or b"null" in data[:2000] for data in manifests)


def test_an_unreachable_store_of_the_environment_is_named(tmp_path: Path) -> None:
    done = run(
        "table",
        "files",
        "s3://lake/events",
        HEADGATE_STORE_S3_ENDPOINT="http://127.0.0.1:9",
        HEADGATE_STORE_S3_REGION="us-east-1",
        HEADGATE_STORE_S3_ACCESS_KEY="a",
        HEADGATE_STORE_S3_SECRET_KEY="b",
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "127.0.0.1:9" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_settings_file_that_is_missing_or_wrong_is_named(tmp_path: Path, sales: Path) -> None:
    missing = run("table", "files", sales, "--config", tmp_path / "none.toml")
    assert missing.returncode == 1
    assert "none.toml" in missing.stderr
    (tmp_path / "odd.toml").write_text("[stroe]\nx = 1\n")
    odd = run("table", "files", sales, "--config", tmp_path / "odd.toml")
    assert odd.returncode == 1
    assert "stroe" in odd.stderr


def test_ctrl_c_ends_with_130_and_one_line(tmp_path: Path) -> None:
    """The demo is interrupted as soon as it has said something."""
    process = subprocess.Popen(
        [*COMMAND, "demo", "--keep", str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline().startswith(b"1. ")
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=60)
    assert process.returncode == 130, out
    assert error == b"Interrupted.\n"


@pytest.mark.parametrize(
    "arguments",
    [("propose", "t", "create", "--schema", "id bigint"), ("table", "create", "t", "--schema", "id bigint")],
    ids=lambda value: value[0],
)
def test_whoever_interrupts_the_waiting_is_told_which_proposal_is_on_its_way(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    address = f"sqlite://{tmp_path}/bus.db"
    with closing(open_bus(address, SystemAmbient())) as bus:
        bus.prepare()
        process = subprocess.Popen(
            [*COMMAND, *arguments, "--bus", address],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
        )
        everywhere = dict.fromkeys(range(bus.partitions(Topic.PROPOSALS)), 0)
        with closing(bus.reader(Topic.PROPOSALS, everywhere)) as reader:
            [record] = reader.read(60.0)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 3
    assert f"no receipt of proposal {subject_of(record.headers)} came before this was interrupted" in error
    assert "Traceback" not in error


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_data_is_utf_8_whatever_the_locale_says(tmp_path: Path, encoding: str) -> None:
    table = Table.create(str(tmp_path / "t"), "id bigint")
    table.append([AddFile("東京.parquet", {}, 1, 1)])
    done = subprocess.run(
        ["env", f"PYTHONIOENCODING={encoding}", *COMMAND, "table", "files", table.uri, "--format", "json"],
        capture_output=True,
        timeout=60,
        check=True,
    )
    assert json.loads(done.stdout.decode())[0]["path"] == "東京.parquet"
