"""`headgate up`: a committer and a worker in one process."""

import signal
import socket
from pathlib import Path
from typing import Any

import pytest

from headgate_producer.producer import Producer
from headgate_table.store.settings import StoreSettings
from headgate_table.table import Table
from support.processes.cli_processes import a_process, ended, heard, rest_of
from support.processes.health import Asking
from support.processes.waiting import wait_until
from support.tables import COLUMNS, add_file

STORES = StoreSettings(local_durable=False)
PATIENCE_S = 60.0
EAGER = tuple(
    word
    for limit in ("sweep-ms=200", "compact-cooldown-ms=0", "compact-delay-ms=0")
    for word in ("--worker-limit", limit)
)


@pytest.fixture(autouse=True)
def without_settings(headgate: Any) -> None:
    """The environment has none of ours."""


@pytest.fixture
def address(tmp_path: Path) -> str:
    return f"sqlite://{tmp_path}/bus.db"


def test_it_decides_and_looks_after_the_table_and_ends_both_cleanly(address: str, tmp_path: Path) -> None:
    uri = str(tmp_path / "sales")
    with a_process("up", "--bus", address, "--root", str(tmp_path), "--roles", "compact", *EAGER) as process:
        heard(process, "committer_started")
        with Producer(address, uri, storage=STORES) as producer:
            producer.create(COLUMNS, configuration={"headgate.checkpoint.interval": "1"}).wait(PATIENCE_S)
            producer.append([add_file(f"f{number}") for number in range(10)]).wait(PATIENCE_S)
            producer.delete(paths=[f"f{number}.parquet" for number in range(5)]).wait(PATIENCE_S)
        assert heard(process, "task_done", role="compact")["table"] == uri
        process.send_signal(signal.SIGTERM)
        told = [event["event"] for event in ended(process)]
    assert process.returncode == 0
    assert [name for name in told if name.endswith("_stopped")] == ["worker_stopped", "committer_stopped"]
    assert Table.open(uri, STORES).snapshot().num_files == 5


def test_the_worker_has_all_roles_unless_told_otherwise(address: str) -> None:
    with a_process("up", "--bus", address) as process:
        assert heard(process, "worker_started")["roles"] == ["clean", "compact", "merge", "mirror"]


def test_it_tells_how_both_of_them_are_at_one_address(address: str) -> None:
    with a_process("up", "--bus", address, "--listen", "127.0.0.1:0") as process:
        asking = Asking(heard(process, "tells_how_it_is")["url"])
        wait_until(lambda: asking.words() == "ready\n", "both are ready")
        assert asking.metric("headgate_ready", process="committer") == 1
        assert asking.metric("headgate_ready", process="worker") == 1


def test_an_address_that_is_taken_is_refused_in_one_sentence(address: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with a_process("up", "--bus", address, "--listen", f"127.0.0.1:{port}") as process:
            _, errors = rest_of(process)
        assert process.returncode == 1
        assert f"can't listen at 127.0.0.1:{port}" in errors


def test_without_roles_it_is_a_committer_alone(address: str) -> None:
    with a_process("up", "--bus", address, "--roles", "none") as process:
        heard(process, "committer_started")
        process.send_signal(signal.SIGTERM)
        told = ended(process)
    assert process.returncode == 0
    assert [event for event in told if event["part"] == "headgate.worker"] == []


def test_a_worker_that_is_refused_what_it_needs_ends_the_process_with_1(
    headgate: Any, address: str, tmp_path: Path
) -> None:
    ran = headgate("up", "--bus", address, "--root", tmp_path, "--watch", "/elsewhere/events", "--log", "json")
    assert ran.code == 1
    assert "the watched table /elsewhere/events lies outside of the roots" in ran.err.splitlines()[-1]
    assert "committer_stopped" in ran.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--roles", "sweep"), "which is no role"),
        (("--worker-limit", "group-proposals=5"), "no setting 'group-proposals' of the worker"),
        (("--limit", "merge-cooldown-ms=5"), "no setting 'merge-cooldown-ms' of the committer"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_settings_that_make_no_sense_end_it_with_1(
    headgate: Any, address: str, arguments: tuple[str, ...], said: str
) -> None:
    ran = headgate("up", "--bus", address, *arguments)
    assert ran.code == 1
    assert said in ran.err.splitlines()[-1]
