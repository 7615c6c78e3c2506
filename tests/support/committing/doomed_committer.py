"""Real committers in processes of their own that kill themselves, kill -9, at one of their steps with the store or the bus.

Run as a program, so that they fork from a process that has its imports and no threads.
"""

import json
import multiprocessing
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from unittest.mock import patch

from headgate_bus.interface import Bus, Mark, Message, Topic
from headgate_bus.open import open_bus
from headgate_committer import tables
from headgate_committer.committer import DEFAULT_GROUP, Committer
from headgate_committer.serving import serving
from headgate_schemas.ambient import Ambient, SystemAmbient
from headgate_table.store.interface import Store
from headgate_table.store.open import open_store
from headgate_table.store.settings import StoreSettings
from support.committing.rig import NO_LINGER
from support.processes.fuse import DeadlyFuse, DeadlyStore
from support.processes.isolated import a_program

LIMIT_S = 60.0
_ROUND_S = 0.02
_PROGRAM = "from support.committing.doomed_committer import main; main()"


@dataclass(frozen=True, slots=True)
class Order:
    """Decide what is on the bus until all of it is announced, or die before or after the effect of that step."""

    bus: str
    dies_at: int | None = None
    after: bool = False


@dataclass(frozen=True, slots=True)
class Run:
    """How a process ended, and the steps that it took; of one that was killed, they aren't known."""

    exit_code: int | None
    steps: Sequence[str] = ()


class Committers:
    def __init__(self, program: "subprocess.Popen[str]") -> None:
        self._program = program

    def run(self, order: Order) -> Run:
        """One process from its beginning to its end."""
        assert self._program.stdin is not None
        assert self._program.stdout is not None
        self._program.stdin.write(json.dumps(asdict(order)) + "\n")
        self._program.stdin.flush()
        return Run(**json.loads(self._program.stdout.readline()))


@contextmanager
def committers(table: str, storage: Mapping[str, str]) -> Iterator[Committers]:
    """Any number, one after the other, during the block: all of this table, on a store with these settings."""
    with a_program(_PROGRAM, table, json.dumps(dict(storage))) as program:
        yield Committers(program)


def main() -> None:
    # One for all of them: it takes a while to make, and connects to nothing before it is used.
    store = open_store(sys.argv[1], StoreSettings.from_mapping(json.loads(sys.argv[2])), SystemAmbient())
    for line in sys.stdin:
        sys.stdout.write(json.dumps(asdict(_run(Order(**json.loads(line)), store))) + "\n")
        sys.stdout.flush()


def _run(order: Order, store: Store) -> Run:
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_decide, args=(order, store, theirs))
    process.start()
    theirs.close()
    try:
        process.join(LIMIT_S)
        return Run(process.exitcode, ours.recv() if process.exitcode == 0 else ())
    finally:
        process.kill()
        process.join()
        ours.close()


def _decide(order: Order, store: Store, tells: Connection) -> None:
    ambient, fuse = SystemAmbient(), DeadlyFuse(order.dies_at, after=order.after)

    def doomed(uri: str, settings: StoreSettings, ambient: Ambient) -> Store:
        assert uri == sys.argv[1]
        return DeadlyStore(store, fuse)

    with (
        patch.object(tables, "open_store", doomed),
        closing(open_bus(order.bus, ambient)) as bus,
        serving(bus, StoreSettings(), ambient, NO_LINGER) as committer,
    ):
        _fuse_publishing(committer, fuse)
        while not _all_is_announced(bus):
            committer.step(_ROUND_S)
    tells.send(fuse.steps)


def _fuse_publishing(committer: Committer, fuse: DeadlyFuse) -> None:
    publish = committer._seat.publish

    def fused(
        partition: int,
        events: Sequence[Message],
        dead_letters: Sequence[Message],
        next_offset: int | None,
        mark: Mark | None = None,
    ) -> None:
        fuse.run("publish", lambda: publish(partition, events, dead_letters, next_offset, mark))

    committer._seat.publish = fused  # type: ignore[method-assign]  # a function in its place


def _all_is_announced(bus: Bus) -> bool:
    ends = [bus.extent(Topic.PROPOSALS, partition).next_offset for partition in range(bus.partitions(Topic.PROPOSALS))]
    return all(not end or bus.committed(DEFAULT_GROUP, partition) == end for partition, end in enumerate(ends))
