"""`import headgate`: what it offers, and that it costs nothing until it is used."""

import subprocess
import sys

import pytest

import headgate
from headgate_table.store.settings import StoreSettings
from headgate_table.table import Table

PROMISED = (
    "Table",
    "DataFile",
    "Writer",
    "Committed",
    "Duplicate",
    "Rejected",
    "RejectCode",
    "HeadgateError",
    "OutcomeUnknown",
    "StoreSettings",
    "sql",
    "__version__",
)


@pytest.mark.parametrize("name", headgate.__all__)
def test_every_listed_name_can_be_had(name: str) -> None:
    assert getattr(headgate, name) is not None


def test_the_promised_names_are_listed() -> None:
    assert set(PROMISED) <= set(dir(headgate))


def test_names_are_the_things_themselves() -> None:
    assert headgate.StoreSettings is StoreSettings


def test_the_table_of_users_is_the_table_rooms_with_upkeep_on_writes() -> None:
    assert issubclass(headgate.Table, Table)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'Tabel'"):
        headgate.Tabel  # noqa: B018 - asking for it is the test


def test_importing_loads_nothing_heavy() -> None:
    program = (
        "import sys, headgate\n"
        "heavy = {'pyarrow', 'datafusion', 'numpy', 'sqlglot', 'typer', 'rich', 'pydantic'} & set(sys.modules)\n"
        "sys.exit(str(heavy) if heavy else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
