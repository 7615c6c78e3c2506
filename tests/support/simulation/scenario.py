"""Scripted histories: a world without random faults, in which processes are stopped at named steps and let go again."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from headgate_bus.interface import Message, Topic
from headgate_committer.limits import CommitterLimits
from headgate_schemas.actions.actions import AddFile
from headgate_schemas.messages.operations import Append, Operation, Receipt, Writer
from support.simulation.actors.committers import SETTINGS, CommitterSeat
from support.simulation.actors.workers import SMALL_RETENTION, WorkerSeat
from support.simulation.actors.workloads import Note, message_of, written_by
from support.simulation.judge.asked import ask_of
from support.simulation.world.scheduler import Match, Process, Step
from support.simulation.world.seats import Seat
from support.simulation.world.world import GROUP, World

TABLE = "memory://lake/first"
WITHIN_S = 120.0
"""Simulated seconds in which a step of a script has to come about."""

T = TypeVar("T")


class Scenario(World):
    """A world with one table, and words for scripts."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__(seed)
        self.model = self.new_table(TABLE)
        self._proposed = 0

    # -- who acts ----------------------------------------------------------------------------------------------------

    def committer(
        self,
        name: str,
        *,
        group: str = GROUP,
        interval: int = 100,
        limits: CommitterLimits | None = None,
        **settings: str,
    ) -> CommitterSeat:
        """A committer that runs; states only every so many versions, so that a script says when."""
        given = {**SETTINGS, "checkpoint.interval": str(interval)}
        given |= {key.replace("__", "."): text for key, text in settings.items()}
        seat = CommitterSeat(self, name, group=group, limits=limits or CommitterLimits(), settings=given)
        seat.start()
        return seat

    def worker(self, name: str, *roles: str, watches: bool = True, **settings: str) -> WorkerSeat:
        """A worker that runs. It sweeps the table without any event, unless told otherwise."""
        given = {**SMALL_RETENTION, "checkpoint.interval": "100"}
        given |= {key.replace("__", "."): text for key, text in settings.items()}
        seat = WorkerSeat(self, name, roles=roles, settings=given, watched=(TABLE,) if watches else ())
        seat.start()
        return seat

    def by(self, name: str, work: Callable[[Process], T]) -> T:
        """What a process of its own does, from beginning to end."""
        process = self.process(name)
        return self.complete(process, lambda: work(process))

    def begun(self, name: str, work: Callable[[Process], T]) -> tuple[Process, list[T]]:
        """A process that does this meanwhile, and where its result will be."""
        process = self.process(name)
        results: list[T] = []
        process.start(lambda: results.append(work(process)))
        return process, results

    def direct(self, operation: Operation, name: str = "direct", interval: int = 100) -> Receipt:
        """A direct commit."""
        settings = {"checkpoint.interval": str(interval)}
        receipt = self.by(name, lambda process: self.table(process, TABLE, settings).commit(operation))
        self.receipts.seen(receipt, TABLE)
        return receipt

    # -- what is asked -----------------------------------------------------------------------------------------------

    def file(self, region: str = "eu") -> AddFile:
        """A new data file."""
        path = self.file_name(region)
        self.put_file(TABLE, path, 10)
        return AddFile(path, {"region": region}, 10, 1_780_000_000_000, num_records=10)

    def files(self, count: int) -> list[AddFile]:
        return [self.file() for _ in range(count)]

    def propose(
        self,
        operation: Operation | None = None,
        *,
        writer: Writer | None = None,
        proposal_id: str | None = None,
        table: str = TABLE,
    ) -> str:
        """Put a proposal on the bus; an append of a new file, unless told otherwise. Returns its id."""
        self._proposed += 1
        identity = proposal_id or f"p{self._proposed}"
        chosen = operation or Append((self.file(),))
        note = Note(identity, chosen, writer, created_ms=self.scheduler.now_ms)
        self.asks.add(ask_of(identity, table, chosen, writer))
        self.cluster.append(Topic.PROPOSALS, [message_of(note, table, "script")])
        return identity

    def repeat(self, identity: str) -> None:
        """Put the same message on the bus once more."""
        place = next(place for place, known in self.receipts.proposals.items() if known == identity)
        record = self.receipts.records[place]
        self.cluster.append(Topic.PROPOSALS, [Message(record.key, record.headers, record.body)])

    def repeat_as(self, identity: str, writer: Writer | None) -> None:
        """Put it on the bus once more, by another writer, or by none."""
        offset = next(offset for offset, known in self.receipts.proposals.items() if known == identity)
        record = self.receipts.records[offset]
        self.cluster.append(Topic.PROPOSALS, [written_by(Message(record.key, record.headers, record.body), writer)])

    def committed(self, count: int = 1) -> list[str]:
        """New proposals, one version each."""
        return [self.decided(self.propose()) for _ in range(count)]

    def decided(self, identity: str) -> str:
        """Let the world go on until somebody has been told about the proposal once more."""
        before = len(self.told(identity))
        self.until(lambda: len(self.told(identity)) > before, f"an answer to {identity}")
        return identity

    # -- what happens ------------------------------------------------------------------------------------------------

    def until(self, holds: Callable[[], bool], what: str, within_s: float = WITHIN_S) -> None:
        reached = self.scheduler.run(holds, self.scheduler.now_ms + round(within_s * 1000))
        assert reached, f"within {within_s} s there was not {what}; the last steps:\n{self.trace.last()}"

    def halt(self, process: Process | None, operation: str, key: str, *, after: bool = False) -> None:
        """Let the world go on until the process stands before (or right after) that step, and keep it there."""
        assert process is not None
        process.halt_at = step_of(operation, key, done=after)
        self.until(lambda: process.halted_at is not None, f"{operation} {key} of {process.name}")

    def logged(self, event: str, seat: Seat | None = None, count: int = 1) -> None:
        """Let the world go on until the process (or anybody) has logged it so often from now on."""
        before = self.trace.counted(event, "" if seat is None else seat.name)
        self.until(
            lambda: self.trace.counted(event, "" if seat is None else seat.name) >= before + count,
            f"{event} by {'anybody' if seat is None else seat.name}",
        )

    def ended(self, seat: Seat) -> None:
        """Kill it, and let its group know."""
        assert seat.process is not None
        seat.process.kill()
        self.lose_place(seat)
        self.run_for(1)

    def lose_place(self, seat: Seat) -> None:
        """The group takes the process for dead."""
        assert seat.bus is not None
        seat.bus.inner.expire()

    def settle(self) -> None:
        """Until everybody has an answer."""
        self.until(lambda: not self.receipts.unanswered(), "an answer to everything")
        self.run_for(2)

    def days(self, count: float) -> None:
        """Let time pass. Whoever runs does what it does while nothing comes; better nobody does."""
        self.let_pass(count * 24)

    def cleaned_by_another_program(self) -> None:
        """All but the newest version and its state is gone; other programs clean by other rules than ours."""
        newest = self.model.newest
        for key in self.model.forget_below(newest):
            self.stores[TABLE].inner.delete([key])

    # -- what came of it ---------------------------------------------------------------------------------------------

    def told(self, identity: str) -> list[Receipt]:
        """All receipts for it on the bus, in order."""
        return [receipt for receipt in self.receipts.events if receipt.proposal_id == identity]

    def version_of(self, identity: str) -> int:
        decided = self.model.decided[identity]
        assert decided.accepted, decided
        return decided.version


def step_of(operation: str, key: str, *, done: bool) -> Match:
    def matches(step: Step) -> bool:
        # Keys are shown with the table's name in front, and begin with what a script names.
        name = step.key.partition("/")[2] if step.operation.startswith("store.") else step.key
        return step.operation == operation and step.done == done and name.startswith(key)

    return matches


def paths_of(files: Sequence[AddFile]) -> tuple[str, ...]:
    return tuple(file.path for file in files)
