"""The tables inside of a bus file, and how to recognize such a file."""

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass

from headgate_bus.errors import BusError
from headgate_bus.interface import EVENT_PARTITIONS, Topic
from headgate_schemas.ambient import Ambient

APPLICATION_ID = 0x48474255
"""Four letters that SQLite keeps for us in the file's header: HGBU."""
SCHEMA = 1
"""Grows when an older process must not touch the file any more."""

PARTITION_SHIFT = 48
"""A record's place is one integer, partition and offset: records of a partition lie side by side, in order."""
MAX_PARTITIONS = 1 << 14

TABLES: Mapping[Topic, str] = {
    Topic.PROPOSALS: "proposals",
    Topic.EVENTS: "events",
    Topic.DEAD_LETTERS: "dead_letters",
}


@dataclass(frozen=True, slots=True)
class Identity:
    """The values that stay the same as long as the file exists."""

    cluster: str
    topics: Mapping[Topic, str]
    partitions: Mapping[Topic, int]


def place_of(partition: int, offset: int) -> int:
    return partition << PARTITION_SHIFT | offset


def offset_in(place: int) -> int:
    return place & ((1 << PARTITION_SHIFT) - 1)


def is_ours(connection: sqlite3.Connection, path: str) -> bool:
    """Whether the file is a bus; False for an empty file. Raises `BusError` for a file that must not be touched."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    tables = 0
    if application != APPLICATION_ID:
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if tables and not application:
            # Another process may have created the bus between the two looks, in one transaction.
            (application,) = connection.execute("PRAGMA application_id").fetchone()
    if application != APPLICATION_ID:
        if tables or application:
            raise BusError(f"{path} is a SQLite file of another program, no bus: give another path")
        return False
    (schema,) = connection.execute("PRAGMA user_version").fetchone()
    if schema > SCHEMA:
        raise BusError(
            f"the bus {path} was made by a newer Headgate (schema {schema}; this one knows {SCHEMA}): upgrade this process"
        )
    return True


def create(connection: sqlite3.Connection, ambient: Ambient, partitions: int) -> None:
    """Create the tables inside of the caller's transaction."""
    connection.execute("CREATE TABLE identity (cluster TEXT NOT NULL)")
    connection.execute("CREATE TABLE topics (topic TEXT PRIMARY KEY, id TEXT NOT NULL) WITHOUT ROWID")
    connection.execute(
        "CREATE TABLE partitions (topic TEXT, partition INTEGER, first INTEGER NOT NULL, next_offset INTEGER NOT NULL,"
        " last_time_ms INTEGER NOT NULL, bytes INTEGER NOT NULL, PRIMARY KEY (topic, partition)) WITHOUT ROWID"
    )
    connection.execute("CREATE TABLE seats (name TEXT PRIMARY KEY, epoch INTEGER NOT NULL) WITHOUT ROWID")
    connection.execute(
        "CREATE TABLE settled (name TEXT, partition INTEGER, next_offset INTEGER NOT NULL,"
        " PRIMARY KEY (name, partition)) WITHOUT ROWID"
    )
    connection.execute("INSERT INTO identity VALUES (?)", (ambient.new_id(),))
    for topic, table in TABLES.items():
        connection.execute(
            f"CREATE TABLE {table} (place INTEGER PRIMARY KEY, time_ms INTEGER NOT NULL, key TEXT NOT NULL,"
            " headers TEXT NOT NULL, body BLOB NOT NULL)"
        )
        connection.execute("INSERT INTO topics VALUES (?, ?)", (topic.value, ambient.new_id()))
        # Committers and followers share these topics out; nobody shares out dead letters.
        count = {Topic.PROPOSALS: partitions, Topic.EVENTS: EVENT_PARTITIONS}.get(topic, 1)
        connection.executemany(
            "INSERT INTO partitions VALUES (?, ?, 0, 0, 0, 0)", [(topic.value, number) for number in range(count)]
        )
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {SCHEMA}")


def make_followed(connection: sqlite3.Connection) -> None:
    """Create the table of followers' settled offsets, which older files lack, inside of the caller's transaction."""
    connection.execute(
        "CREATE TABLE IF NOT EXISTS followed (name TEXT, partition INTEGER, next_offset INTEGER, epoch INTEGER NOT NULL,"
        " PRIMARY KEY (name, partition)) WITHOUT ROWID"
    )


def make_marks(connection: sqlite3.Connection) -> None:
    """Create the table of marks, which older files lack, inside of the caller's transaction.

    An older release moves the offset alone, so a mark counts only beside the offset that it was written with.
    """
    connection.execute(
        "CREATE TABLE IF NOT EXISTS marks (name TEXT, partition INTEGER, next_offset INTEGER NOT NULL, mark TEXT NOT NULL,"
        " PRIMARY KEY (name, partition)) WITHOUT ROWID"
    )


def make_deployments(connection: sqlite3.Connection) -> None:
    """Create the table of announcements of seats, which older files lack, inside of the caller's transaction.

    An announcement counts only beside the epoch of the seat that it was written with.
    """
    connection.execute(
        "CREATE TABLE IF NOT EXISTS deployments (name TEXT PRIMARY KEY, epoch INTEGER NOT NULL, roots TEXT NOT NULL)"
        " WITHOUT ROWID"
    )


def has_table(connection: sqlite3.Connection, name: str) -> bool:
    """Whether the file has a table that older releases didn't create."""
    found = connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (name,)).fetchone()
    return found is not None


def identity(connection: sqlite3.Connection) -> Identity:
    (cluster,) = connection.execute("SELECT cluster FROM identity").fetchone()
    ids = dict(connection.execute("SELECT topic, id FROM topics").fetchall())
    counts = dict(connection.execute("SELECT topic, count(*) FROM partitions GROUP BY topic").fetchall())
    return Identity(
        cluster, {topic: ids[topic.value] for topic in Topic}, {topic: counts[topic.value] for topic in Topic}
    )
