"""How lists and objects are printed, on a terminal and elsewhere."""

import io
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from headgate.cli.terminal.output import Format, Output


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


ROWS = [
    {"path": f"date=2024-01-0{day}/part-0.parquet", "note": "n" * 30, "size": 10**day, "more": "m" * 30}
    for day in (1, 2, 3)
]
COLUMNS = ("path", "note", "size", "more")


def _printed(data: io.StringIO, form: Format, width: int, monkeypatch: pytest.MonkeyPatch, **options: Any) -> str:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("NO_COLOR", "1")
    notes = io.StringIO()
    Output(data, notes, form).rows(ROWS, COLUMNS, **options)
    return data.getvalue() + notes.getvalue()


def test_a_narrow_terminal_leaves_out_spare_columns_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = _printed(Terminal(), Format.TABLE, 80, monkeypatch, spare=("more", "note")).splitlines()
    assert "more" not in lines[0]
    assert "note" in lines[0]
    assert len(lines) == 1 + len(ROWS) + 1
    assert lines[-1] == "No room for more."


def test_a_wide_terminal_shows_every_column(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = _printed(Terminal(), Format.TABLE, 120, monkeypatch, spare=("more", "note")).splitlines()
    assert len(lines) == 1 + len(ROWS)
    assert all(name in lines[0] for name in COLUMNS)


@pytest.mark.parametrize("width", [10, 20, 30, 40])
def test_a_terminal_too_narrow_for_its_numbers_shows_them_whole(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("NO_COLOR", "1")
    rows = [{"first": 123_456_789, "second": 1_234, "time": 1_700_000_000_000, "text": "t" * 90}]
    data = Terminal()
    Output(data, io.StringIO(), Format.TABLE).rows(rows, ("first", "second", "time", "text"))
    header, line = data.getvalue().splitlines()[:2]
    assert all(name in header for name in ("first", "second", "time"))
    assert line.split()[:4] == ["123,456,789", "1,234", "2023-11-14", "22:13:20.000Z"]


def test_nothing_is_left_out_or_wrapped_where_no_terminal_is(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = _printed(io.StringIO(), Format.TABLE, 20, monkeypatch, spare=("more", "note")).splitlines()
    assert len(lines) == 1 + len(ROWS)
    assert lines[1].split() == [ROWS[0]["path"], "n" * 30, "10", "B", "m" * 30]
    assert all(line == line.rstrip() for line in lines)
    assert not any("\x1b" in line for line in lines)


@pytest.mark.parametrize("rows", [[], [{"a": 1}], [{"a": 1}, {"a": None}]], ids=len)
def test_a_list_as_json_is_one_document(rows: list[dict[str, Any]]) -> None:
    data = io.StringIO()
    Output(data, io.StringIO(), Format.JSON).rows(rows, ("a",))
    assert json.loads(data.getvalue()) == rows


def test_a_column_that_a_row_lacks_is_null() -> None:
    data = io.StringIO()
    Output(data, io.StringIO(), Format.JSON).rows([{"a": 1, "z": 9}], ("a", "b"))
    assert json.loads(data.getvalue()) == [{"a": 1, "b": None}]


def test_times_and_structs_are_json_as_iso_8601_and_objects() -> None:
    data = io.StringIO()
    value = {"when": datetime(2024, 2, 29, 12, 0, 0, 5000, tzinfo=UTC), "inner": {"list": ("ü", None)}}
    Output(data, io.StringIO(), Format.JSON).one(value)
    assert json.loads(data.getvalue()) == {"when": "2024-02-29T12:00:00.005Z", "inner": {"list": ["ü", None]}}


def test_notes_are_for_people_only() -> None:
    for form in (Format.JSON, Format.CSV):
        notes = io.StringIO()
        Output(io.StringIO(), notes, form).note("three files")
        assert notes.getvalue() == ""
