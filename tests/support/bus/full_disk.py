"""A bus on a disk that its own proposals fill, as a program of its own: `python -m support.bus.full_disk FOLDER`.

The disk is a small file system in memory. Where nobody may mount one, the bus is told of a small disk.
"""

import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from headgate_bus.interface import Message, Topic
from headgate_bus.sqlite import bus as sqlite_bus
from headgate_bus.sqlite.bus import SqliteBus
from headgate_bus.sqlite.room import Disk, NoRoom
from headgate_schemas.ambient import SystemAmbient
from support.torture.stage.small_disk import as_root_of_a_namespace

DISK_BYTES = 48 << 20
BODY = bytes(200_000)
SMALL_BODY = bytes(2_000)


def mount(folder: Path) -> bool:
    command = ("mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "headgate-small", str(folder))
    return os.geteuid() == 0 and subprocess.run(command, capture_output=True, check=False).returncode == 0


def told_of_a_small_disk(folder: Path) -> None:
    def disk_of(path: str) -> Disk:
        return Disk(DISK_BYTES - sum(each.stat().st_size for each in folder.iterdir()), DISK_BYTES)

    sqlite_bus.disk_of = disk_of  # type: ignore[attr-defined]  # imported there for its own use


def main(folder: Path) -> None:
    folder.mkdir()
    is_mounted = mount(folder)
    if not is_mounted:
        told_of_a_small_disk(folder)
    try:
        for _ in range(3):
            play(folder, BODY, 1)
        play(folder, SMALL_BODY, 50)
    finally:
        if is_mounted:
            subprocess.run(("umount", "--lazy", str(folder)), check=True)


def play(folder: Path, body: bytes, at_once: int) -> None:
    """Fill the disk with such proposals, settle so many of them at a time, and propose once more."""
    with closing(SqliteBus(str(folder / "bus.db"), SystemAmbient())) as bus:
        bus.prepare()
        begin = bus.extent(Topic.PROPOSALS, 0).next_offset
        while True:
            try:
                bus.append(Topic.PROPOSALS, [Message("lake/events", {}, body)] * at_once)
            except NoRoom as refused:
                sys.stdout.write(f"refused: {refused}\n")
                break
        end = bus.extent(Topic.PROPOSALS, 0).next_offset
        seat = bus.seat("committer")
        while not seat.held():
            seat.poll(1.0)
        for settled in range(begin + at_once, end + at_once, at_once):
            seat.publish(0, [Message("lake/events", {}, bytes(300))] * at_once, [], min(settled, end))
        bus.append(Topic.PROPOSALS, [Message("lake/events", {}, body)])
        seat.publish(0, [], [], end + 1)
        sys.stdout.write(f"took {end - begin} and went on\n")


if __name__ == "__main__":
    as_root_of_a_namespace("support.bus.full_disk", sys.argv[1:])
    main(Path(sys.argv[1]))
