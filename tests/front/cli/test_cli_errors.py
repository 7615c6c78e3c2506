"""How commands fail: one clear message on standard error, the right exit code, nothing on standard output."""

import io
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from headgate.__main__ import main as command
from headgate.cli.main import main
from headgate.cli.terminal import session as cli_session
from headgate_table.errors import OutcomeUnknown
from headgate_table.table import Table


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def _state_file(table: Path) -> Path:
    (found,) = table.glob("_transaction_log/state-v*/_manifest.avro")
    return found


def _manifest_file(table: Path) -> Path:
    (found,) = table.glob("_transaction_log/manifests/*.avro")
    return found


def test_a_missing_table_is_said_to_be_missing(headgate: Any, tmp_path: Path) -> None:
    ran = headgate("table", "files", tmp_path / "nowhere")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith(f"Error: there is no table at {tmp_path}/nowhere")
    assert len(ran.err.splitlines()) == 1


def test_a_typo_in_where_is_pointed_at(headgate: Any, sales: Path) -> None:
    ran = headgate("table", "files", sales, "--where", "region == 'eu' AN date = '2024-03-01'")
    assert (ran.code, ran.out) == (1, "")
    _, text, caret = ran.err.splitlines()
    assert text.strip() == "region == 'eu' AN date = '2024-03-01'"
    assert text[caret.index("^") :].startswith("AN")


def test_an_unknown_column_in_where_is_named(headgate: Any, sales: Path) -> None:
    ran = headgate("table", "files", sales, "--where", "regon = 'eu'")
    assert ran.code == 1
    assert "regon" in ran.err
    assert "region" in ran.err


def test_an_unknown_column_of_files_is_named(headgate: Any, sales: Path) -> None:
    ran = headgate("table", "files", sales, "--columns", "path,sise")
    assert ran.code == 1
    assert "'sise'" in ran.err


def test_an_unknown_scheme_is_met_with_the_nearest(headgate: Any) -> None:
    ran = headgate("table", "files", "s4://lake/events")
    assert ran.code == 1
    assert "Did you mean s3://?" in ran.err


def test_a_folder_that_may_not_be_read_is_named(headgate: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    ran = headgate("table", "files", tmp_path / "file" / "table")
    assert ran.code == 1
    assert len(ran.err.splitlines()) == 1
    assert str(tmp_path / "file") in ran.err


@pytest.mark.parametrize("find", [_state_file, _manifest_file], ids=["state", "manifest"])
def test_a_truncated_object_is_named_in_one_line(headgate: Any, sales: Path, find: Any) -> None:
    Table.open(str(sales)).checkpoint()
    damaged = find(sales)
    damaged.write_bytes(damaged.read_bytes()[:-20])
    ran = headgate("table", "files", sales, "--version", "3")
    assert (ran.code, ran.out) == (1, "")
    assert damaged.name in ran.err
    assert len(ran.err.splitlines()) == 1


def test_describe_of_a_damaged_table_fails(headgate: Any, sales: Path) -> None:
    Table.open(str(sales)).checkpoint()
    damaged = _manifest_file(sales)
    damaged.write_bytes(b"Obj\x01")
    ran = headgate("table", "describe", sales)
    assert (ran.code, ran.out) == (1, "")
    assert damaged.name in ran.err


def test_a_version_that_never_was_is_refused_with_what_there_is(headgate: Any, sales: Path) -> None:
    ran = headgate("table", "files", sales, "--version", "17")
    assert ran.code == 1
    assert "17" in ran.err
    assert "0" in ran.err
    assert "3" in ran.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("table", "files"),
        ("table", "files", "t", "--format", "xml"),
        ("table", "files", "t", "--version", "-1"),
        ("table", "files", "t", "--version", "two"),
        ("table", "changes", "t"),
        ("table", "purge", "t", "--older-than", "7x"),
        ("table", "purge", "t", "--older-than", "90m"),
        ("table", "files", "t", "--store", "s3.endpoint"),
        ("table", "files", "t", "--set", "=3"),
        ("table", "create", "t", "--schema", "id bigint", "--config", "lonely"),
        ("table", "drop-partitions", "t"),
        ("tabel", "files"),
        ("table", "nonsense"),
        ("--nonsense",),
    ],
    ids=" ".join,
)
def test_wrong_usage_ends_with_2(headgate: Any, arguments: tuple[str, ...]) -> None:
    ran = headgate(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert "Error" in ran.err
    assert "Traceback" not in ran.err


def test_version_and_timestamp_exclude_each_other(headgate: Any, sales: Path) -> None:
    ran = headgate("table", "files", sales, "--version", "1", "--timestamp", "2024-01-01")
    assert ran.code == 1
    assert "not by both" in ran.err


def test_an_unknown_store_setting_is_named(headgate: Any, sales: Path) -> None:
    ran = headgate("table", "files", sales, "--store", "s3.endpiont=http://localhost")
    assert ran.code == 1
    assert "s3.endpiont" in ran.err
    assert "Did you mean 's3.endpoint'" in ran.err


def test_an_unknown_table_setting_is_named(headgate: Any, sales: Path) -> None:
    ran = headgate("table", "files", sales, "--set", "checkpoint.intervall=3")
    assert ran.code == 1
    assert "Did you mean 'checkpoint.interval'" in ran.err


def test_a_table_setting_with_a_wrong_value_is_named(headgate: Any, sales: Path) -> None:
    ran = headgate("table", "files", sales, "--set", "indextables.checkpoint.interval=often")
    assert ran.code == 1
    assert "checkpoint.interval" in ran.err
    assert "'often'" in ran.err


def test_an_unknown_outcome_ends_with_3(headgate: Any, monkeypatch: pytest.MonkeyPatch, sales: Path) -> None:
    def lost(_: Table) -> int:
        raise OutcomeUnknown("nobody knows")

    monkeypatch.setattr(Table, "checkpoint", lost)
    ran = headgate("table", "checkpoint", sales)
    assert (ran.code, ran.out, ran.err) == (3, "", "Error: nobody knows\n")


def test_an_interruption_ends_with_130_and_one_line(
    headgate: Any, monkeypatch: pytest.MonkeyPatch, sales: Path
) -> None:
    def interrupted(_: Any, __: str) -> Table:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli_session.Session, "open", interrupted)
    ran = headgate("table", "files", sales)
    assert (ran.code, ran.out, ran.err) == (130, "", "Interrupted.\n")


def test_a_fault_of_ours_is_one_line_too(headgate: Any, monkeypatch: pytest.MonkeyPatch, sales: Path) -> None:
    def broken(_: Any, __: str) -> Table:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(cli_session.Session, "open", broken)
    ran = headgate("table", "files", sales)
    assert ran.code == 1
    assert ran.err == "Error: ZeroDivisionError: division by zero. This should not happen; --debug shows where it did\n"


def test_debug_shows_where_an_error_arose(headgate: Any, tmp_path: Path) -> None:
    ran = headgate("table", "files", tmp_path / "nowhere", "--debug")
    assert ran.code == 1
    assert "Traceback" in ran.err
    assert ran.err.splitlines()[-1].startswith("Error: there is no table")


def test_debug_logs_to_standard_error_alone(headgate: Any, sales: Path) -> None:
    ran = headgate("table", "checkpoint", sales, "--debug", "--format", "json")
    assert "state_written" in ran.err
    assert ran.json["status"] == "SUCCESS"


def test_messages_with_brackets_are_printed_as_they_are(headgate: Any, tmp_path: Path) -> None:
    ran = headgate("table", "files", tmp_path / "[red]t")
    assert f"there is no table at {tmp_path}/[red]t" in ran.err


def test_output_that_finds_no_room_is_said_to(headgate: Any, monkeypatch: pytest.MonkeyPatch, sales: Path) -> None:
    with open("/dev/full", "w", encoding="utf-8") as output:
        monkeypatch.setattr(sys, "stdout", output)
        ran = headgate("table", "history", sales)
    assert ran.code == 1
    assert ran.err == "Error: the output can't be written: No space left on device. Send it to a place that has room\n"


def test_closed_streams_are_no_failure(headgate: Any, monkeypatch: pytest.MonkeyPatch, sales: Path) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    assert main(["table", "history", str(sales)]) == 0


@pytest.mark.parametrize(("no_color", "red"), [("", True), ("1", False)])
def test_an_error_is_red_unless_no_color_is_wanted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, no_color: str, red: bool
) -> None:
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert main(["table", "files", str(tmp_path)]) == 1
    assert ("\x1b[31m" in sys.stderr.getvalue()) is red  # type: ignore[union-attr]  # it is the terminal above


def test_an_interruption_while_the_command_is_loaded_ends_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted(ModuleType):
        def __getattr__(self, name: str) -> Any:
            raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "headgate.cli.main", Interrupted("headgate.cli.main"))
    assert command() == 130
