"""What commands say when there is no bus, or nobody who decides."""

from pathlib import Path
from typing import Any

import pytest

from headgate_table.table import Table


@pytest.mark.parametrize(
    "arguments",
    [
        ("propose", "t", "delete", "--path", "a"),
        ("events",),
        ("dead-letters", "list"),
        ("dead-letters", "show", "x"),
        ("dead-letters", "replay", "x"),
        ("table", "rebind", "t"),
        ("committer",),
    ],
    ids=lambda value: " ".join(value[:2]),
)
def test_what_needs_a_bus_says_how_to_name_one(headgate: Any, arguments: tuple[str, ...]) -> None:
    ran = headgate(*arguments)
    assert (ran.code, ran.out) == (1, "")
    assert "HEADGATE_BUS" in ran.err
    assert len(ran.err.splitlines()) == 1


def test_an_address_that_is_none_is_met_with_the_nearest(headgate: Any) -> None:
    ran = headgate("events", "--bus", "kafak://broker")
    assert ran.code == 1
    assert "Did you mean kafka:?" in ran.err


def test_a_secret_in_an_address_is_not_shown(headgate: Any) -> None:
    ran = headgate("events", "--bus", "kafak://me:hush@broker")
    assert "hush" not in ran.out + ran.err


def test_a_bus_that_is_not_there_is_not_made_by_looking(headgate: Any, bus: str, tmp_path: Path) -> None:
    ran = headgate("events")
    assert (ran.code, ran.out) == (1, "")
    assert str(tmp_path / "bus.db") in ran.err
    assert not (tmp_path / "bus.db").exists()


def test_without_a_receipt_the_outcome_is_unknown_and_the_command_ends_with_3(
    headgate: Any, bus: str, sales: Path
) -> None:
    ran = headgate("propose", sales, "delete", "--path", "a.parquet", "--wait", "50ms", "--format", "json")
    assert (ran.code, ran.json["outcome"], ran.json["version"]) == (3, "unknown", None)
    assert f"--id {ran.json['proposal_id']}" in ran.err
    assert "Traceback" not in ran.err


def test_reading_needs_no_bus_even_if_one_is_set(headgate: Any, sales: Path) -> None:
    ran = headgate("sql", f"DESCRIBE HEADGATE STATE '{sales}'", "--bus", "kafka://127.0.0.1:1", "--format", "json")
    assert ran.code == 0, ran.err


def test_an_empty_address_means_no_bus(headgate: Any, bus: str, sales: Path) -> None:
    assert headgate("table", "drop-partitions", sales, "--where", "region = 'us'", "--bus", "").code == 0
    assert Table.open(str(sales)).version == 4


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("append",), "append needs --file"),
        (("append", "--path", "a"), "append takes no --path"),
        (("delete",), "delete needs --path or --where"),
        (("delete", "--path", "a", "--where", "b = 1"), "either --path or --where"),
        (("restore",), "restore needs --version"),
        (("skip", "--path", "a"), "skip needs --reason"),
        (("alter",), "alter needs one of"),
        (("purge",), "purge needs --path"),
        (("create",), "create needs --schema"),
        (("vacuum",), "vacuum"),
        (("delete", "--path", "a", "--writer", "nightly"), "APP:SEQ"),
        (("delete", "--path", "a", "--writer", ":1"), "APP:SEQ"),
        (("delete", "--path", "a", "--wait", "soon"), "30s"),
        (("delete", "--path", "a", "--isolation", "none"), "none"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_wrong_usage_is_explained(headgate: Any, sales: Path, arguments: tuple[str, ...], said: str) -> None:
    ran = headgate("propose", sales, *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert said in " ".join(ran.err.replace("│", " ").split())
