"""A bus in a file that is opened by several names: through symbolic links to the file or its folder, and by itself."""

import os
from contextlib import closing
from pathlib import Path

import pytest

from headgate_bus.interface import Extent, Message, Topic
from headgate_bus.sqlite.bus import SqliteBus
from headgate_schemas.ambient import SystemAmbient

AMBIENT = SystemAmbient()
MESSAGE = Message("lake/events", {}, b"body")


@pytest.fixture
def names(tmp_path: Path) -> dict[str, str]:
    """All of one file, which isn't there yet."""
    real, links = tmp_path / "real", tmp_path / "links"
    real.mkdir()
    links.mkdir()
    (links / "bus.db").symlink_to(real / "bus.db")
    (links / "again.db").symlink_to(Path("bus.db"))
    (tmp_path / "folder").symlink_to(real)
    return {
        "itself": str(real / "bus.db"),
        "link": str(links / "bus.db"),
        "link to a link": str(links / "again.db"),
        "in a linked folder": str(tmp_path / "folder" / "bus.db"),
        "relative": os.path.relpath(links / "bus.db"),
    }


@pytest.mark.parametrize("name", ["itself", "link", "link to a link", "in a linked folder", "relative"])
def test_a_bus_is_made_and_used_by_any_of_its_names(name: str, names: dict[str, str]) -> None:
    with closing(SqliteBus(names[name], AMBIENT)) as bus:
        bus.prepare()
        bus.append(Topic.PROPOSALS, [MESSAGE])
        assert bus.address == f"sqlite://{os.path.realpath(names['itself'])}"
    for other in names.values():
        with closing(SqliteBus(other, AMBIENT)) as again:
            assert again.extent(Topic.PROPOSALS, 0) == Extent(0, 1)


def test_a_seat_is_one_place_by_whatever_name_it_is_taken(names: dict[str, str]) -> None:
    with closing(SqliteBus(names["itself"], AMBIENT)) as first, closing(SqliteBus(names["link"], AMBIENT)) as second:
        first.prepare()
        holder, waiter = first.seat("committer"), second.seat("committer")
        holder.poll(0.0)
        waiter.poll(0.0)
        assert (holder.held(), waiter.held()) == (frozenset({0}), frozenset())
        holder.publish(0, [], [], None)


def test_a_link_that_is_turned_to_another_file_leaves_those_who_use_the_first_alone(
    names: dict[str, str], tmp_path: Path
) -> None:
    with closing(SqliteBus(names["link"], AMBIENT)) as bus:
        bus.prepare()
        link = Path(names["link"])
        link.unlink()
        link.symlink_to(tmp_path / "other.db")
        bus.append(Topic.PROPOSALS, [MESSAGE])
    with closing(SqliteBus(names["itself"], AMBIENT)) as real:
        assert real.extent(Topic.PROPOSALS, 0) == Extent(0, 1)
