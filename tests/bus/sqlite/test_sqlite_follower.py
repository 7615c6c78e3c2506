"""Followers of a bus file as processes see them: members that are killed, locks that are removed, files of earlier releases."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from headgate_bus.errors import Fenced
from headgate_bus.interface import Follower, Message, Topic
from headgate_bus.sqlite.bus import SqliteBus
from headgate_bus.sqlite.follower import share_path, slot_path
from headgate_schemas.ambient import SystemAmbient
from headgate_schemas.errors import InvalidInput
from support.bus.sqlite_processes import FOLLOWING, running

AMBIENT = SystemAmbient()
EVENTS = Topic.EVENTS
WORKERS = "workers"
PATIENCE_S = 60.0


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "bus.db")


@pytest.fixture
def bus(path: str) -> Iterator[SqliteBus]:
    with closing(SqliteBus(path, AMBIENT)) as opened:
        opened.prepare()
        yield opened


def holding(follower: Follower, partitions: int) -> Follower:
    deadline_s = AMBIENT.monotonic_s() + PATIENCE_S
    while len(follower.held()) != partitions:
        assert AMBIENT.monotonic_s() < deadline_s, f"it holds {sorted(follower.held())}"
        follower.poll(0.05)
    return follower


def test_a_member_that_is_killed_leaves_everything_to_the_others(path: str, bus: SqliteBus) -> None:
    everything = bus.partitions(EVENTS)
    with running(FOLLOWING, path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        other = bus.follow(WORKERS)
        other.poll(0.0)
        assert other.held() == frozenset()
        process.kill()
        process.wait()
        holding(other, everything)


def test_members_beyond_the_partitions_wait(bus: SqliteBus) -> None:
    everything = bus.partitions(EVENTS)
    members = [bus.follow(WORKERS) for _ in range(everything + 1)]
    deadline_s = AMBIENT.monotonic_s() + PATIENCE_S
    while [len(member.held()) for member in members] != [1] * everything + [0]:
        assert AMBIENT.monotonic_s() < deadline_s
        for member in members:
            member.poll(0.02)
    members[0].close()
    holding(members[-1], 1)


def test_a_member_whose_locks_were_removed_settles_nothing_more(path: str, bus: SqliteBus) -> None:
    bus.append(EVENTS, [Message("t", {}, b"x")])
    partition = bus.partition_of("t", EVENTS)
    first = holding(bus.follow(WORKERS), bus.partitions(EVENTS))
    for number in range(bus.partitions(EVENTS)):
        os.unlink(share_path(path, WORKERS, number))
        os.unlink(slot_path(path, WORKERS, number))
    with closing(SqliteBus(path, AMBIENT)) as other:
        holding(other.follow(WORKERS), bus.partitions(EVENTS))
        with pytest.raises(Fenced):
            first.settle(partition, 1)


def test_a_file_of_an_earlier_release_is_followed_in_the_partitions_that_it_has(path: str, bus: SqliteBus) -> None:
    bus.close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM partitions WHERE topic = 'events' AND partition > 0")
    with closing(SqliteBus(path, AMBIENT)) as opened:
        opened.prepare()
        follower = holding(opened.follow(WORKERS), 1)
        opened.append(EVENTS, [Message("t", {}, b"x")])
        deadline_s = AMBIENT.monotonic_s() + PATIENCE_S
        found = list(follower.poll(0.0))
        while not found:
            assert AMBIENT.monotonic_s() < deadline_s
            found += follower.poll(0.1)
        follower.settle(0, 1)


@pytest.mark.parametrize("group", ["", "a/b", "..", "x" * 101])
def test_a_group_that_can_name_no_file_is_refused(bus: SqliteBus, group: str) -> None:
    with pytest.raises(InvalidInput, match="group"):
        bus.follow(group)
