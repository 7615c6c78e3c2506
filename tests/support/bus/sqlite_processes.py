"""Processes of their own on a bus file, to be killed."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_PROLOGUE = """
import sys
from headgate_bus.interface import Message, Topic
from headgate_bus.sqlite_bus import SqliteBus
from headgate_schemas.ambient import SystemAmbient

bus = SqliteBus(sys.argv[1], SystemAmbient())
"""

APPENDING = """
number = 0
while True:
    (place,) = bus.append(Topic.PROPOSALS, [Message("t", {}, str(number).encode())])
    print(place.offset, flush=True)
    number += 1
"""

HOLDING = """
seat = bus.seat("committers")
while not seat.held():
    seat.poll(1)
print("held", flush=True)
sys.stdin.read()
"""


FOLLOWING = """
follower = bus.follow("workers")
while len(follower.held()) < bus.partitions(Topic.EVENTS):
    follower.poll(1)
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def running(program: str, path: str) -> Iterator["subprocess.Popen[str]"]:
    """The program on the bus file at `path`; killed at the end, where it still runs."""
    process = subprocess.Popen(
        [sys.executable, "-c", _PROLOGUE + program, path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": ":".join(place for place in sys.path if place)},
    )
    with process:
        try:
            yield process
        finally:
            process.kill()
