"""Processes of their own on a bus file, to be killed."""

import subprocess
from contextlib import AbstractContextManager

from support.processes.isolated import a_program

_PROLOGUE = """
import sys
from headgate_bus.interface import Message, Topic
from headgate_bus.sqlite.bus import SqliteBus
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


def running(program: str, path: str) -> AbstractContextManager["subprocess.Popen[str]"]:
    """The program on the bus file at `path`; killed at the end, where it still runs."""
    return a_program(_PROLOGUE + program, path)
