"""Partition columns of any name: their folders are no hidden ones, wherever a table in a local folder is listed."""

import os
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from headgate_schemas.errors import InvalidInput
from headgate_table.store.local.store import LocalStore
from headgate_table.table import Table
from support.ambient import FakeAmbient
from support.cleaning import one_thread
from support.logs.rebuilding import rebuilt
from support.tables import new_table

NAMES = st.one_of(
    st.sampled_from((".x", ".", "..", ".hoodie", "_x", "_temporary", "._", "_delta_log", "a.b")),
    st.text(alphabet="._ax-= %#", min_size=1, max_size=4),
)
YEARS = 24 * 365 * 2


def checked(root: Path, columns: tuple[str, ...]) -> None:
    """Writes two files; then the log names one of them, and both are found, by all who list the folder."""
    clock = FakeAmbient()
    store = LocalStore(str(root), clock, durable=False)
    rows = pa.table({"id": [1, 2], **{name: ["u", "v"] for name in columns}})
    try:
        table = Table.create(str(root), rows.schema, columns, ambient=clock, storage={"local.durable": "false"})
    except InvalidInput:
        assume(False)  # no table has such a column
    table.write(rows)
    live = table.snapshot().paths()
    assert len(live) == 2
    assert [str(finding) for finding in table.verify().findings] == []
    stray = f"{os.path.dirname(live[0])}/stray.parquet"
    (root / stray).write_bytes((root / live[0]).read_bytes())
    then = clock.time_ms / 1000 - YEARS * 3600
    os.utime(root / stray, (then, then))
    clock.advance(hours=48)
    report = table.purge(older_than_hours=24)
    assert (report.status, [item.key for item in report.deletions]) == ("SUCCESS", [stray])
    assert table.snapshot().paths() == live
    for path in (root / "_transaction_log").rglob("*"):
        if path.is_file():
            path.unlink()
    assert rebuilt(store).valid_splits == 2
    assert sorted(Table(store, clock, one_thread()).snapshot().paths()) == sorted(live)


@pytest.mark.parametrize("columns", [(".x",), (".",), ("..",), (".hoodie",), ("day", ".x"), ("_x", ".y")])
def test_a_partition_folder_with_a_leading_dot_is_not_hidden(tmp_path: Path, columns: tuple[str, ...]) -> None:
    checked(tmp_path / "t", columns)


@settings(max_examples=25, deadline=None)
@given(columns=st.lists(NAMES, min_size=1, max_size=2, unique_by=str.casefold).map(tuple))
def test_partition_folders_of_any_name_are_listed(columns: tuple[str, ...]) -> None:
    with tempfile.TemporaryDirectory(prefix="headgate-folders-") as folder:
        checked(Path(folder) / "t", columns)


def test_files_of_a_hudi_table_inside_of_a_local_table_are_left_alone(tmp_path: Path) -> None:
    """Its log lies in a folder with a leading dot."""
    clock = FakeAmbient()
    store = LocalStore(str(tmp_path), clock, durable=False)
    for key in ("inner/a.parquet", "inner/.hoodie/hoodie.properties", ".cache/b.parquet"):
        (tmp_path / key).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / key).write_bytes(b"x")
        os.utime(tmp_path / key, (1, 1))
    table = new_table(store, ambient=clock)
    report = table.purge(older_than_hours=24)
    assert (report.status, report.deletions) == ("SUCCESS", ())
    assert (tmp_path / "inner/a.parquet").exists()
