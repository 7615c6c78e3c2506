"""Offsets of streams as they stand in checkpoints."""

import json
from typing import Any

import pytest

from pyspark_headgate.changes.offset import ChangeOffset, offset_of


def test_an_offset_comes_back_from_a_checkpoint_as_it_was() -> None:
    offset = ChangeOffset("an-id", 7, 3, is_snapshot=True)
    assert offset_of(json.loads(json.dumps(offset.to_json()))) == offset


def test_the_form_of_an_offset_in_checkpoints_stays() -> None:
    written = {"format": 1, "table": "an-id", "version": 7, "index": 3, "snapshot": False}
    assert ChangeOffset("an-id", 7, 3).to_json() == written


def test_an_offset_of_a_later_release_is_refused() -> None:
    with pytest.raises(ValueError, match="release that wrote it"):
        offset_of(ChangeOffset("an-id", 7).to_json() | {"format": 2})


@pytest.mark.parametrize(
    "damage",
    [{"version": -1}, {"index": "3"}, {"table": None}, {"snapshot": 0}, {"version": True}],
    ids=["negative", "a text", "no table", "a number", "a flag"],
)
def test_a_damaged_offset_is_refused(damage: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="damaged"):
        offset_of(ChangeOffset("an-id", 7).to_json() | damage)


def test_the_files_of_a_version_come_before_what_the_next_one_changed() -> None:
    places = [
        ChangeOffset("an-id", 7, 0, is_snapshot=True),
        ChangeOffset("an-id", 7, 4, is_snapshot=True),
        ChangeOffset("an-id", 8),
        ChangeOffset("an-id", 8, 1),
        ChangeOffset("an-id", 9),
    ]
    assert sorted(places, key=lambda offset: offset.place) == places
