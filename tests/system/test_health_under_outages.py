"""The store stops, then the bus, then both come back, all under load: health and page flip and say why, nothing is lost."""

import ctypes
import os
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from support.page.asking import AskingPage
from support.processes.health import Asking
from support.processes.waiting import wait_until
from support.servers.processes import free_port
from support.torture.stage.children import Child
from support.torture.stage.scenes import kafka_and_s3, one_machine
from support.torture.stage.stage import Stage, stage_on, stopped

START_S = 60.0
SECONDS = 60.0
"""What an outage takes to show: 3 s of silence and a second between two questions. Of a bus that is locked while the store comes
back, 20 s: up to ten until the store is tried again, and ten more in which the publication hangs. And room for a busy machine."""
RECOVERY_S = 60.0
AT_FDCWD, RENAME_EXCHANGE = -100, 2
"""Of Linux."""


@contextmanager
def under_load(stage: Stage) -> Iterator[tuple[Asking, AskingPage, Child, Child]]:
    """A committer that tells how it is, a page beside it, and a producer that has had answers."""
    port = free_port()
    committer = stage.committer(environment={"HEADGATE_LISTEN": f"127.0.0.1:{port}"})
    asking = Asking(f"http://127.0.0.1:{port}")
    wait_until(lambda: asking.reasons() == {}, "the committer is ready", START_S)
    producer = stage.proposing("producer", steps=None)
    goes_on(stage, 20)
    page = stage.page()
    wait_until(lambda: page.shown().is_well(stage.table), "the page shows the table", START_S)
    yield asking, page, committer, producer


def goes_on(stage: Stage, more: int) -> None:
    before = stage.answered("producer")
    wait_until(lambda: stage.answered("producer") >= before + more, "proposals are answered", RECOVERY_S)


def recovers(asking: Asking, page: AskingPage, stage: Stage) -> None:
    wait_until(lambda: asking.reasons() == {}, "the committer is ready again", RECOVERY_S)
    goes_on(stage, 20)
    wait_until(lambda: asking.metric("headgate_lag_seconds") < 5, "it has caught up", RECOVERY_S)
    wait_until(lambda: page.shown().is_well(stage.table), "the page shows that all is well", RECOVERY_S)


def shows_all_that_was_committed(page: AskingPage, stage: Stage) -> None:
    """Once everybody has left: the newest version with its files, and what became of each proposal."""
    snapshot = stage.opened().snapshot()

    def is_shown() -> bool:
        shown = page.shown()
        row = shown.tables[stage.table]
        newest = (row["version"], row["files"]) == (snapshot.version, snapshot.num_files)
        return newest and "waiting" not in shown.outcomes

    wait_until(is_shown, "the page shows what was committed", RECOVERY_S)
    assert page.shown().outcomes <= {"committed", "rejected", "duplicate"}


def test_store_and_broker_stop_and_come_back() -> None:
    with (
        kafka_and_s3(partitions=1) as scene,
        stage_on(scene) as stage,
        under_load(stage) as (asking, page, committer, producer),
    ):
        scene.servers["store"].kill()
        wait_until(lambda: "store_silent" in asking.reasons(), "the silent store shows", SECONDS)
        assert f"committer: the store of {scene.root} has not answered for" in asking.words()
        assert asking.metric("headgate_store_silent_seconds") > 0
        wait_until(lambda: page.shown().trouble_of(stage.table) != "", "the page says that the store is away", SECONDS)
        assert scene.storage["s3_endpoint"] in page.shown().trouble_of(stage.table)

        scene.servers["broker"].kill()
        wait_until(lambda: {"store_silent", "bus_silent"} <= asking.reasons().keys(), "the silent bus shows", SECONDS)
        assert "committer: the bus kafka://" in asking.words()
        assert asking.metric("headgate_ready", process="committer") == 0
        assert asking.status("/healthz") == 200
        wait_until(lambda: page.shown().bus_trouble != "", "the page says that the bus is away", SECONDS)
        assert urlsplit(scene.bus).netloc in page.shown().bus_trouble
        assert page.shown().trouble_of(stage.table)

        scene.servers["broker"].start()
        scene.servers["store"].start()
        recovers(asking, page, stage)
        stopped(producer)
        stopped(committer)
        shows_all_that_was_committed(page, stage)
        assert stage.problems() == []


@contextmanager
def folder_gone(root: Path) -> Iterator[None]:
    """As when a disk is not mounted; something else lies there, at the same moment, so that nobody makes the folder anew."""
    other = root.with_name("other")
    other.touch()
    exchange(root, other)
    try:
        yield
    finally:
        exchange(root, other)
        other.unlink()


def exchange(one: Path, other: Path) -> None:
    """Each takes the other's name in one step, for which Python has no function."""
    library = ctypes.CDLL(None, use_errno=True)
    if library.renameat2(AT_FDCWD, bytes(one), AT_FDCWD, bytes(other), RENAME_EXCHANGE):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(one))


@contextmanager
def bus_locked(address: str) -> Iterator[None]:
    """Somebody else writes to the file of the bus, and doesn't come to an end."""
    file = urlsplit(address).path
    with closing(sqlite3.connect(f"file:{file}?mode=rw", uri=True, isolation_level=None)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        try:
            yield
        finally:
            connection.execute("ROLLBACK")


def test_folder_and_file_are_taken_away_and_given_back() -> None:
    with (
        one_machine(partitions=1) as scene,
        stage_on(scene) as stage,
        under_load(stage) as (asking, page, committer, producer),
    ):
        with folder_gone(scene.root_folder):
            wait_until(lambda: "store_silent" in asking.reasons(), "the missing folder shows", SECONDS)
            assert "is no folder any more: is its disk mounted?" in asking.words()
            wait_until(
                lambda: "is its disk mounted?" in page.shown().trouble_of(stage.table), "so says the page", SECONDS
            )
        recovers(asking, page, stage)
        without_folder = ExitStack()
        with without_folder:
            without_folder.enter_context(folder_gone(scene.root_folder))
            wait_until(lambda: "store_silent" in asking.reasons(), "the missing folder shows again", SECONDS)
            with bus_locked(scene.bus):
                # What was proposed meanwhile is decided now, and can't be announced.
                without_folder.close()
                wait_until(
                    lambda: bool({"unannounced", "stuck", "bus_silent"} & asking.reasons().keys()),
                    "the locked bus shows",
                    SECONDS,
                )
                assert asking.status("/healthz") == 200
                # Who only reads is not kept out by who writes.
                assert page.shown().bus_trouble == ""
        recovers(asking, page, stage)
        stopped(producer)
        stopped(committer)
        shows_all_that_was_committed(page, stage)
        assert stage.problems() == []
