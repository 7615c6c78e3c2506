"""A real driver that is killed, kill -9, at each step of a micro-batch's commit, and started again from its checkpoint."""

import signal
from pathlib import Path

import pytest

from headgate_table.table import Table
from support.committing.threaded import a_committer
from support.spark.doomed_driver import STEPS, drive
from support.spark.streams import FilesToRead, rows_of


@pytest.mark.parametrize("way", STEPS)
def test_a_driver_killed_at_each_step_of_its_batches_writes_every_row_once(tmp_path: Path, way: str) -> None:
    table, bus = str(tmp_path / "table"), f"sqlite:{tmp_path / 'bus.db'}"
    Table.create(table, "id BIGINT, k STRING", ["k"])
    files = FilesToRead(tmp_path)
    expected = []
    with a_committer(bus):
        for number, step in enumerate(STEPS[way]):
            expected.append((number, f"before {step}"))
            files.add(expected[-1])
            assert drive(way, tmp_path, table, bus, step) == -signal.SIGKILL, f"nobody was killed at {step!r}"
        assert drive(way, tmp_path, table, bus, "none") == 0
    assert rows_of(table) == sorted(expected, key=repr)
    assert Table.open(table).version == len(STEPS[way]), "the table, and a version for each batch"
