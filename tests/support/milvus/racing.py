"""Many processes that commit to one table of manifests at once. Run as a program, so that the children fork from a process
that has its imports and no threads.
"""

import json
import multiprocessing
import sys
import time
from dataclasses import asdict, dataclass
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from typing import Any

from headgate_schemas.ambient import SystemAmbient
from headgate_schemas.milvus import Resolver
from headgate_table.errors import CommitConflict
from headgate_table.milvus.transaction import LATEST, Transaction
from headgate_table.store.interface import Store
from headgate_table.store.open import open_store
from headgate_table.store.settings import StoreSettings
from support.processes.isolated import run_isolated

_RETRIES = 100_000
_LIMIT_S = 300

_PROGRAM = "from support.milvus.racing import main; main()"


@dataclass(frozen=True, slots=True)
class Race:
    """Where, how many, and how. `storage` are settings of the store."""

    uri: str
    base: str
    storage: dict[str, str]
    processes: int = 16
    transactions: int = 50
    resolver: str = "merge"


@dataclass(frozen=True, slots=True)
class Finish:
    """`committed`: the path of each update and the version that its writer was told. `lost`: those told that they lost."""

    committed: dict[str, int]
    lost: list[str]
    seconds: float


def race(plan: Race) -> Finish:
    return Finish(**json.loads(run_isolated(_PROGRAM, json.dumps(asdict(plan)), timeout_s=_LIMIT_S).splitlines()[-1]))


def main() -> None:
    plan = Race(**json.loads(sys.argv[1]))
    context = multiprocessing.get_context("fork")
    told: Queue[Any] = context.Queue()
    start = context.Barrier(plan.processes + 1)
    # One for all of them: it takes a while to make, and connects to nothing before it is used.
    store = open_store(plan.uri, StoreSettings.from_mapping(plan.storage), SystemAmbient())
    children = [
        context.Process(target=_write, args=(plan, store, number, start, told)) for number in range(plan.processes)
    ]
    for child in children:
        child.start()
    start.wait(_LIMIT_S)
    before = time.monotonic()
    committed: dict[str, int] = {}
    lost: list[str] = []
    for _ in children:
        won, missed = told.get(timeout=_LIMIT_S)
        committed |= won
        lost += missed
    seconds = time.monotonic() - before
    for child in children:
        child.join(_LIMIT_S)
        if child.exitcode != 0:
            raise SystemExit(f"a writer ended with {child.exitcode}")
    json.dump({"committed": committed, "lost": lost, "seconds": seconds}, sys.stdout)


def _write(plan: Race, store: Store, number: int, start: Barrier, told: "Queue[Any]") -> None:
    resolver = Resolver(plan.resolver)
    committed: dict[str, int] = {}
    lost: list[str] = []
    transaction = Transaction.open(store, plan.base, LATEST, resolver, _RETRIES)
    start.wait(_LIMIT_S)
    for turn in range(plan.transactions):
        path = f"{number}-{turn}.log"
        try:
            committed[path] = transaction.add_delta_log(path, turn).commit()
        except CommitConflict:
            lost.append(path)
            transaction = Transaction.open(store, plan.base, LATEST, resolver, _RETRIES)
    told.put((committed, lost))
