"""Tests of how optional suites are selected."""

from pathlib import Path

import pytest

from support.suites import REAL_TABLES


def test_a_suite_without_its_setting_is_not_selected() -> None:
    assert REAL_TABLES.folder({}) is None


def test_an_empty_setting_selects_nothing() -> None:
    assert REAL_TABLES.folder({"HEADGATE_REAL_TABLES": ""}) is None


def test_a_setting_that_names_a_folder_selects_its_suite(tmp_path: Path) -> None:
    assert REAL_TABLES.folder({"HEADGATE_REAL_TABLES": str(tmp_path)}) == tmp_path


def test_a_setting_that_names_no_folder_is_an_error_and_not_a_silent_pass(tmp_path: Path) -> None:
    with pytest.raises(pytest.UsageError, match=r"HEADGATE_REAL_TABLES names .*, which is no folder"):
        REAL_TABLES.folder({"HEADGATE_REAL_TABLES": str(tmp_path / "gone")})


def test_the_header_says_which_suites_were_selected(tmp_path: Path) -> None:
    assert REAL_TABLES.line({"HEADGATE_REAL_TABLES": str(tmp_path)}).endswith(f"selected, from {tmp_path}")


def test_the_header_says_which_suites_were_not_selected() -> None:
    assert "not selected (HEADGATE_REAL_TABLES is not set)" in REAL_TABLES.line({})
