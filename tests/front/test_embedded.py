"""`headgate.committing`: how a committer inside of another program begins and ends."""

import threading
from pathlib import Path

import pytest

from headgate.embedded import committing
from headgate_bus.errors import BusError
from headgate_schemas.errors import InvalidInput


def test_a_bus_that_cannot_be_opened_is_said_before_the_block_begins(tmp_path: Path) -> None:
    entered = False
    with pytest.raises(BusError, match="nowhere"), committing(f"sqlite://{tmp_path}/nowhere/bus.db"):
        entered = True
    assert not entered


def test_roots_are_a_list(tmp_path: Path) -> None:
    """The letters of a text would be roots, too, below which there is no table."""
    with pytest.raises(InvalidInput, match="give a list"), committing(f"sqlite://{tmp_path}/bus.db", roots="lake"):
        pass


def lose_the_bus_and_fail(folder: Path) -> None:
    with committing(f"sqlite://{folder}/bus.db"):
        (folder / "bus.db").unlink()
        for thread in threading.enumerate():
            if thread.name == "headgate-committer":
                thread.join(60)
        raise ValueError("theirs")


def test_a_block_that_fails_after_its_committer_says_so(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="theirs") as told:
        lose_the_bus_and_fail(tmp_path)
    assert any("the committer of this block had ended before" in note for note in told.value.__notes__)
