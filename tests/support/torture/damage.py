"""What is done to the surroundings of the processes: servers killed, lines to them bad for a while, a disk full for a while."""

import time
from collections.abc import Callable, Sequence
from typing import Protocol

from support.torture.faults import Blow
from support.torture.stage.children import Child
from support.torture.stage.line import Weather
from support.torture.stage.scenes import Scene

BAD_LINE_S = 1.0
"""For so long at least, and as much longer as what is killed stays away."""
DISK_IS_FULL = "the disk is full"
"""What processes say then, those of the bus and those of the store."""


class Wait(Protocol):
    def __call__(self, condition: Callable[[], bool], what: str) -> None:
        """Until then, while everything else goes on."""
        ...


class Damage:
    def __init__(self, scene: Scene, children: Sequence[Child], wait: Wait) -> None:
        self._scene = scene
        self._children = children
        self._wait = wait

    def kill_server(self, name: str, blow: Blow) -> None:
        server = self._scene.servers[name]
        server.kill()
        until_s = time.monotonic() + blow.down_s
        self._wait(lambda: time.monotonic() >= until_s, f"the {name} stays away")
        server.start()

    def spoil_line(self, weather: Weather, blow: Blow) -> None:
        """Until somebody has met with it, and for a while."""
        lines = list(self._scene.lines.values())
        line = lines[int(blow.victim * len(lines))]
        met_before, until_s = line.done[weather], time.monotonic() + BAD_LINE_S + blow.down_s
        line.turn(weather)
        try:
            self._wait(
                lambda: line.done[weather] > met_before and time.monotonic() >= until_s,
                f"somebody meets with a {weather.value} line",
            )
        finally:
            line.turn(Weather.GOOD)

    def fill_disk(self) -> None:
        """Until somebody has said so."""
        disk = self._scene.disk
        assert disk is not None, "a scene with this fault has a disk that can be full"
        said_before = {child: child.said_bytes() for child in self._children}
        disk.fill()
        try:
            self._wait(
                lambda: any(DISK_IS_FULL in child.said(since) for child, since in said_before.items()),
                "somebody says that the disk is full",
            )
        finally:
            disk.make_room()
