"""A bank: the files of a table carry amounts, and every transfer rewrites two accounts by what it has read of them.

Nobody makes money: what all accounts hold together is the same in every version, or two transfers did not see each other.
"""

import random
from collections import deque
from dataclasses import dataclass, field

from headgate_producer.errors import NotSent
from headgate_producer.producer import Producer
from headgate_schemas.errors import HeadgateError
from headgate_schemas.messages.operations import Append, Isolation, Operation, Overwrite, Restore
from headgate_table.errors import OutcomeUnknown
from support.simulation.actors.operations import REGIONS, added_file
from support.simulation.judge.asked import ask_of
from support.simulation.world.data_files import amount_of, rows_in
from support.simulation.world.executors import resources_of
from support.simulation.world.scheduler import Process
from support.simulation.world.world import World

BANK = "memory://lake/bank"
DEPOSIT = 100
"""Of each account, at the beginning."""
MOST_MOVED = 40
RECEIPT_S = 20.0


def found_bank(world: World) -> None:
    """A table in which every account holds the same."""
    model = world.new_table(BANK)
    process = world.process("setup")
    files = tuple(added_file(_file(world, account, DEPOSIT), account) for account in REGIONS)
    for file in files:
        world.put_file(BANK, file.path, file.size)
    world.complete(process, lambda: world.table(process, BANK).commit(Append(files)))
    model.balance = DEPOSIT * len(REGIONS)


@dataclass(frozen=True, slots=True)
class _Transfer:
    """As its teller means it; it survives its death."""

    id: str
    operation: Operation
    based_on: int | None
    reads: str | None


@dataclass
class Teller:
    """Reads two accounts, and proposes what they hold after a transfer. What was read must still stand when it is decided."""

    world: World
    name: str
    count: int
    made: int = 0
    open: deque[_Transfer] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self.drawn = random.Random(f"teller/{self.world.seed}/{self.name}")

    @property
    def is_done(self) -> bool:
        return self.made >= self.count and not self.open

    def live(self, process: Process) -> None:
        world = self.world
        ambient = world.ambient(process)
        producer = Producer(
            world.bus(process),
            BANK,
            author=self.name,
            ambient=ambient,
            threads=False,
            store=world.store(process, BANK),
            resources=resources_of(ambient),
        )
        while not self.is_done:
            if not self.open:
                self.open.append(self._begin(process))
            transfer = self.open[0]
            isolation = Isolation.SNAPSHOT if transfer.based_on is None else Isolation.SERIALIZABLE
            try:
                ticket = producer.propose(
                    transfer.operation,
                    proposal_id=transfer.id,
                    based_on=transfer.based_on,
                    reads=transfer.reads,
                    isolation=isolation,
                )
                world.receipts.seen(ticket.wait(RECEIPT_S), BANK)
                self.open.popleft()
            except (OutcomeUnknown, NotSent) as error:
                world.scheduler.note(process.name, f"{type(error).__name__}: {error}")
            process.sleep(self.drawn.random())

    def _begin(self, process: Process) -> _Transfer:
        """What it reads may be gone before it is read, so each try is another."""
        world = self.world
        while True:
            process.sleep(self.drawn.random() * 2)
            try:
                return self._planned(process)
            except HeadgateError as error:
                world.scheduler.note(process.name, f"{type(error).__name__}: {error}")

    def _planned(self, process: Process) -> _Transfer:
        world = self.world
        identity = f"{self.name}-{self.made + 1}"
        if self.drawn.random() < 0.1:
            # Every version from the first deposit on is as rich.
            version = self.drawn.randrange(1, world.models[BANK].newest + 1)
            transfer = _Transfer(identity, Restore(version), None, None)
        else:
            transfer = self._moved(process, identity)
        self.made += 1
        world.asks.add(ask_of(identity, BANK, transfer.operation))
        return transfer

    def _moved(self, process: Process, identity: str) -> _Transfer:
        world = self.world
        payer, payee = self.drawn.sample(REGIONS, 2)
        where = f"region IN ('{payer}', '{payee}')"
        snapshot = world.table(process, BANK).snapshot(where=where)
        store = world.store(process, BANK)
        held = {payer: 0, payee: 0}
        for path in snapshot.paths():
            account = path.partition("/")[0].removeprefix("region=")
            held[account] += sum(amount_of(row) for row in rows_in(store.get(path)))
        moved = self.drawn.randrange(1, MOST_MOVED)
        files = []
        for account, amount in ((payer, held[payer] - moved), (payee, held[payee] + moved)):
            file = added_file(_file(world, account, amount), account)
            store.put(file.path, world.content(file.path, file.size))
            files.append(file)
        return _Transfer(identity, Overwrite(tuple(files), where), snapshot.version, where)


def _file(world: World, account: str, amount: int) -> str:
    return world.file_name(account, f"a{amount}")
