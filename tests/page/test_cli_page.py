"""`headgate page` and `headgate up --page` as processes: where they are served, how they end, what they refuse."""

import signal
import subprocess
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from headgate_table.table import Table
from support.processes.cli_processes import a_process, heard, printed, rest_of
from support.processes.command_line import Headgate

DEADLINE_S = 60.0


@pytest.fixture(autouse=True)
def without_settings(headgate: Headgate) -> None:
    """The environment has none of ours."""


def told_url(process: "subprocess.Popen[bytes]") -> str:
    return printed(process, r"The page is (\S+)")[1]


def status_of(url: str, token: str = "") -> int:
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"} if token else {})
    try:
        with urllib.request.urlopen(request, timeout=DEADLINE_S) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def ends(process: "subprocess.Popen[bytes]") -> int:
    process.send_signal(signal.SIGTERM)
    rest_of(process)
    return process.returncode


def test_a_page_of_a_bus_that_is_not_there_yet_is_served_until_it_is_told_to_stop(tmp_path: Path) -> None:
    with a_process("page", "--bus", f"sqlite://{tmp_path}/bus.db", "--listen", "127.0.0.1:0") as process:
        assert status_of(told_url(process)) == 200
        assert ends(process) == 0
    assert list(tmp_path.iterdir()) == []


def test_tables_alone_are_shown_without_a_bus(tmp_path: Path) -> None:
    Table.create(str(tmp_path / "events"), "id BIGINT")
    with a_process("page", str(tmp_path / "events"), "--listen", "0") as process:
        assert status_of(told_url(process)) == 200


def test_beyond_this_machine_a_token_is_made_and_printed_once(tmp_path: Path) -> None:
    with a_process("page", "--bus", f"sqlite://{tmp_path}/bus.db", "--listen", "0.0.0.0:0") as process:
        url = told_url(process)
        token = printed(process, r"(\S+)$")[1]
        assert [status_of(url), status_of(url, "wrong"), status_of(url, token)] == [401, 401, 200]
        process.send_signal(signal.SIGTERM)
        rest = "".join(rest_of(process))
    assert len(token) == 32
    assert token not in rest


def test_a_token_that_is_set_is_printed_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADGATE_PAGE_TOKEN", "a-token-that-is-long-enough")
    with a_process("page", "--bus", f"sqlite://{tmp_path}/bus.db", "--listen", "0.0.0.0:0") as process:
        url = told_url(process)
        assert [status_of(url), status_of(url, "a-token-that-is-long-enough")] == [401, 200]
        process.send_signal(signal.SIGTERM)
        assert "a-token" not in "".join(rest_of(process))


def test_up_serves_the_page_beside_a_committer_and_a_worker(tmp_path: Path) -> None:
    with a_process("up", "--bus", f"sqlite://{tmp_path}/bus.db", "--page", "127.0.0.1:0") as process:
        assert status_of(told_url(process)) == 200
        heard(process, "worker_started")
        assert ends(process) == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "there is nothing to show: give --bus"),
        (["--bus", "sqlite:bus.db", "--listen", "somewhere"], "is no address to listen at"),
        (["--bus", "sqlite:bus.db", "--listen", "192.0.2.1:0"], "can't listen at 192.0.2.1:0"),
        (["/srv/lake/events", "--root", "/srv/other", "--listen", "0"], "lies outside of the roots /srv/other"),
    ],
)
def test_what_can_not_be_served_is_said_in_one_line(headgate: Headgate, arguments: list[str], said: str) -> None:
    ran = headgate("page", *arguments)
    assert (ran.code, said in ran.err) == (1, True), ran.err


def test_a_short_token_is_refused_without_showing_it(headgate: Headgate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADGATE_PAGE_TOKEN", "hunter2")
    ran: Any = headgate("page", "--bus", "sqlite:bus.db")
    assert ran.code == 1
    assert "16 to 200 visible ASCII characters" in ran.err
    assert "hunter2" not in ran.err + ran.out
