"""`headgate worker`: the process that looks after tables, what it is told, and what ends it."""

import json
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from headgate.process import roots
from headgate_producer.producer import Producer
from headgate_schemas.messages.operations import Committed
from headgate_table.store.local.store import LocalStore
from headgate_table.store.probe import ProbeReport
from headgate_table.store.settings import StoreSettings
from headgate_table.table import Table
from support.processes.cli_processes import a_process, ended, heard, printed, rest_of
from support.tables import COLUMNS, add_file

STORES = StoreSettings(local_durable=False)
EAGER = ("--limit", "sweep-ms=200", "--limit", "compact-cooldown-ms=0", "--limit", "compact-delay-ms=0")
PATIENCE_S = 60.0


@pytest.fixture
def worn(bus: str, committing: None, tmp_path: Path) -> str:
    """A table whose newest state has many tombstones."""
    uri = str(tmp_path / "worn")
    with Producer(bus, uri, storage=STORES) as producer:
        producer.create(COLUMNS, configuration={"headgate.checkpoint.interval": "1"}).wait(PATIENCE_S)
        producer.append([add_file(f"f{number}") for number in range(10)]).wait(PATIENCE_S)
        receipt = producer.delete(paths=[f"f{number}.parquet" for number in range(5)]).wait(PATIENCE_S)
    assert isinstance(receipt, Committed)
    return uri


def test_a_table_is_compacted_of_its_own_accord_and_sigterm_ends_it_with_0(bus: str, worn: str, tmp_path: Path) -> None:
    with a_process("worker", "--bus", bus, "--root", str(tmp_path), "--id", "first", *EAGER) as process:
        done = heard(process, "task_done", role="compact")
        process.send_signal(signal.SIGTERM)
        out, errors = rest_of(process)
    assert (process.returncode, out) == (0, ""), errors
    assert (done["table"], done["part"]) == (worn, "headgate.worker")
    assert "CompactState" in [entry.operation for entry in Table.open(worn, STORES).history()]
    ended = json.loads(errors.splitlines()[-1])
    assert (ended["event"], ended["worker"].rpartition("-")[0]) == ("worker_stopped", "first")


def test_ctrl_c_ends_it_with_0_as_well(bus: str) -> None:
    with a_process("worker", "--bus", bus) as process:
        heard(process, "worker_started")
        process.send_signal(signal.SIGINT)
        ended(process)
    assert process.returncode == 0


def test_a_table_outside_of_the_roots_is_left_alone(bus: str, worn: str, tmp_path: Path) -> None:
    """One inside is worn as well, so that something shows when the worker has been there."""
    inside = str(tmp_path / "lake" / "worn")
    with Producer(bus, inside, storage=STORES) as producer:
        producer.create(COLUMNS, configuration={"headgate.checkpoint.interval": "1"}).wait(PATIENCE_S)
        producer.append([add_file("f1"), add_file("f2")]).wait(PATIENCE_S)
        producer.delete(paths=["f1.parquet"]).wait(PATIENCE_S)
    with a_process("worker", "--bus", bus, "--root", str(tmp_path / "lake"), "--roles", "compact", *EAGER) as process:
        assert heard(process, "task_done")["table"] == inside
        process.send_signal(signal.SIGTERM)
        _, errors = rest_of(process)
    told = [json.loads(line) for line in errors.splitlines()]
    assert {event["table"] for event in told if "table" in event} <= {inside}
    assert "CompactState" not in [entry.operation for entry in Table.open(worn, STORES).history()]


def test_a_watched_table_is_looked_after_without_an_event(bus: str, committing: None, tmp_path: Path) -> None:
    """It is written directly, so nobody announces anything."""
    uri = str(tmp_path / "direct")
    table = Table.create(uri, COLUMNS, configuration={"checkpoint.interval": "1"}, storage=STORES)
    table.append([add_file(f"f{number}") for number in range(10)])
    table.delete(paths=[f"f{number}.parquet" for number in range(5)])
    with a_process("worker", "--bus", bus, "--watch", uri, "--roles", "compact", *EAGER) as process:
        assert heard(process, "task_done")["table"] == uri
        process.send_signal(signal.SIGTERM)
        ended(process)
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--roles", "sweep"), "no role. Known are: compact, merge, clean"),
        (("--roles", "compactt"), "Did you mean 'compact'"),
        (("--roles", "none"), "a worker needs a role"),
        (("--limit", "merge-cooldwn-ms=5"), "Did you mean 'merge-cooldown-ms'"),
        (("--limit", "drain-ms=soon"), "drain-ms of the worker is 'soon'"),
        (("--limit", "compact-at-once-after=Rewritten"), "Did you mean 'rewrite'"),
        (("--log", "xml"), "auto, console, json"),
        (("--root", "missing/folder"), "is no folder"),
        (("--root", "s4://lake"), "Did you mean s3://"),
        (("--watch", "s4://lake/t"), "Did you mean s3://"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
@pytest.mark.usefixtures("bus")
def test_a_worker_that_cannot_work_says_why_and_ends_with_1(
    headgate: Any, arguments: tuple[str, ...], said: str
) -> None:
    ran = headgate("worker", *arguments)
    assert ran.code == 1
    assert said in ran.err.splitlines()[-1]


def test_a_watched_table_outside_of_the_roots_is_refused(headgate: Any, bus: str, tmp_path: Path) -> None:
    ran = headgate("worker", "--root", tmp_path, "--watch", "/elsewhere/events")
    assert ran.code == 1
    assert "/elsewhere/events lies outside of the roots" in ran.err.splitlines()[-1]


def test_a_limit_that_is_no_pair_is_wrong_usage(headgate: Any, bus: str) -> None:
    assert headgate("worker", "--limit", "drain-ms").code == 2


def test_without_a_bus_it_says_how_to_name_one(headgate: Any) -> None:
    ran = headgate("worker")
    assert ran.code == 1
    assert "HEADGATE_BUS" in ran.err


def test_roots_of_the_environment_are_tried(headgate: Any, bus: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADGATE_ROOTS", "missing/folder")
    ran = headgate("worker")
    assert ran.code == 1
    assert "the root missing/folder is no folder" in ran.err


@pytest.mark.usefixtures("bus")
def test_a_store_that_would_overwrite_commits_is_not_served(
    headgate: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def probed(store: LocalStore, _: object) -> ProbeReport:
        return ProbeReport(store.uri, False, True, ("it created the same object twice",))

    monkeypatch.setattr(roots, "probe_conditional_writes", probed)
    ran = headgate("worker", "--root", tmp_path)
    assert ran.code == 1
    assert "it created the same object twice" in ran.err


HANGS = """\
import sys, threading
from headgate_worker.roles import compact

def hang(role, table, now_ms):
    print("it hangs", flush=True)
    threading.Event().wait()

compact.CompactRole.plan = hang
from headgate.__main__ import main
sys.exit(main())
"""


def test_a_task_that_hangs_does_not_keep_the_process_alive(bus: str, worn: str) -> None:
    arguments = ("--bus", bus, "--roles", "compact", "--limit", "drain-ms=100")
    with a_process("worker", *arguments, program=[sys.executable, "-c", HANGS]) as process:
        printed(process, "^it hangs$")
        process.send_signal(signal.SIGTERM)
        told = ended(process)
    assert (process.returncode, told[-1]["event"], told[-1]["abandoned"]) == (0, "worker_stopped", 1)
