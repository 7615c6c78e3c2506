"""Processes that propose Milvus transactions to one committer at the same time. Run as a program, so that the children fork from
a process that has its imports and no threads.
"""

import json
import multiprocessing
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from typing import Any

from headgate_producer.producer import Producer
from headgate_schemas.ambient import SystemAmbient
from headgate_schemas.messages.operations import Committed, Duplicate, RejectCode, Rejected
from headgate_schemas.milvus import Resolver
from headgate_table.milvus.transaction import Transaction
from headgate_table.store.open import open_store
from headgate_table.store.settings import StoreSettings
from support.committing.transactions import deleting
from support.processes.isolated import a_program

WAIT_S = 120.0
_PROGRAM = "from support.committing.many_proposers import main; main()"


@dataclass(frozen=True, slots=True)
class Proposers:
    """Each of the processes proposes so many delta logs: at once, or each after the receipt of the one before."""

    bus: str
    uri: str
    storage: dict[str, str]
    processes: int = 16
    each: int = 50
    one_by_one: bool = False
    fail: bool = False
    """One by one, and each only if nobody else has committed since it looked; those who lose don't try again."""
    prefix: str = "p"

    @property
    def names(self) -> list[str]:
        return [self.name(number, turn) for number in range(self.processes) for turn in range(self.each)]

    def name(self, process: int, turn: int) -> str:
        return f"{self.prefix}{process:03d}-{turn:03d}"


@dataclass(frozen=True, slots=True)
class Told:
    versions: dict[str, int]
    """By name, the version that its proposer was told."""
    lost: list[str]
    """Those who were told that somebody else was first."""
    seconds: float
    """From when all were ready to the last receipt."""


class Proposing:
    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def result(self) -> Told:
        """Wait for the last receipt."""
        output, _ = self._process.communicate(timeout=2 * WAIT_S)
        assert self._process.returncode == 0, output[-4_000:]
        return Told(**json.loads(output.splitlines()[-1]))


@contextmanager
def proposing(plan: Proposers) -> Iterator[Proposing]:
    """They are at work during the block."""
    with a_program(_PROGRAM, json.dumps(asdict(plan)), stderr=subprocess.STDOUT) as process:
        yield Proposing(process)


def main() -> None:
    plan = Proposers(**json.loads(sys.argv[1]))
    context = multiprocessing.get_context("fork")
    told: Queue[Any] = context.Queue()
    start = context.Barrier(plan.processes + 1)
    children = [context.Process(target=_propose, args=(plan, number, start, told)) for number in range(plan.processes)]
    for child in children:
        child.start()
    start.wait(WAIT_S)
    before = time.monotonic()
    versions: dict[str, int] = {}
    lost: list[str] = []
    for _ in children:
        said = told.get(timeout=WAIT_S)
        if isinstance(said, str):
            raise SystemExit(said)
        versions |= said[0]
        lost += said[1]
    seconds = time.monotonic() - before
    sys.stdout.write(json.dumps({"versions": versions, "lost": lost, "seconds": seconds}) + "\n")


def _propose(plan: Proposers, number: int, start: Barrier, told: "Queue[Any]") -> None:
    try:
        told.put(_failing(plan, number, start) if plan.fail else (_proposed(plan, number, start), []))
    except BaseException:
        told.put(traceback.format_exc())
        raise


def _proposed(plan: Proposers, number: int, start: Barrier) -> dict[str, int]:
    versions: dict[str, int] = {}
    names = [plan.name(number, turn) for turn in range(plan.each)]
    at_once = 1 if plan.one_by_one else plan.each
    with _producer(plan) as producer:
        start.wait(WAIT_S)
        for first in range(0, plan.each, at_once):
            tickets = {name: producer.milvus(deleting(name)) for name in names[first : first + at_once]}
            for name, ticket in tickets.items():
                receipt = ticket.wait(timeout=WAIT_S)
                assert isinstance(receipt, Committed | Duplicate), receipt
                versions[name] = receipt.version
    return versions


def _failing(plan: Proposers, number: int, start: Barrier) -> tuple[dict[str, int], list[str]]:
    versions: dict[str, int] = {}
    lost: list[str] = []
    store = open_store(plan.uri, StoreSettings.from_mapping(plan.storage), SystemAmbient())
    with closing(store), _producer(plan) as producer:
        start.wait(WAIT_S)
        for turn in range(plan.each):
            name = plan.name(number, turn)
            ticket = producer.milvus(deleting(name), Resolver.FAIL, Transaction.open(store).read_version)
            match ticket.wait(timeout=WAIT_S):
                case Committed(version):
                    versions[name] = version
                case Rejected(code):
                    assert code is RejectCode.RESOLVER_REFUSED
                    lost.append(name)
                case other:
                    raise AssertionError(other)
    return versions, lost


def _producer(plan: Proposers) -> Producer:
    return Producer(plan.bus, plan.uri, storage=StoreSettings.from_mapping(plan.storage), threads=False)
