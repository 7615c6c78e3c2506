"""A producer as a process: proposes step after step, keeps a journal, and after kill -9 proposes the same again.

`python -m support.torture.stage.proposing CONFIG.json`, until SIGTERM; then it waits for what is in flight, and ends with 0.
"""

import faulthandler
import json
import signal
import sys
import threading
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random

from headgate_producer.delivery.ticket import Ticket
from headgate_producer.errors import NotSent
from headgate_producer.producer import Producer
from headgate_schemas.errors import HeadgateError
from headgate_schemas.messages.operations import Committed, Duplicate, Receipt, Rejected
from headgate_table.errors import OutcomeUnknown
from support.torture.judge.journal import Journal, Told, read_journal
from support.torture.stage.clocks import skewed_ambient
from support.torture.stage.untrimmed import trim_nothing
from support.torture.workload import Names, Work

REPEATED_AT_START = 3
"""Proposals with a receipt that are proposed again after a kill, as if the receipt had never been noted."""
REPEATED_STEPS = 6
"""How far back a repetition reaches: a table knows the versions of an app's last eight seqs."""
LOOK_S = 0.005


@dataclass(frozen=True, slots=True)
class Proposing:
    """What one producer is told."""

    bus: str
    table: str
    name: str
    seed: int
    journal: str
    storage: dict[str, str] = field(default_factory=dict)
    in_flight: int = 8
    pace_s: float = 0.03
    """Between two proposals: the load, not a wait for anything."""
    steps: int | None = None
    """It ends by itself after so many."""
    writes_rows: bool = False
    """Whether it writes the files that it proposes, or only names some."""
    finish_within_s: float = 120.0

    def write(self, path: Path) -> Path:
        path.write_text(json.dumps(asdict(self)))
        return path


class Proposer:
    def __init__(self, told: Proposing, work: Work, producer: Producer, journal: Journal) -> None:
        self._told = told
        self._work = work
        self._producer = producer
        self._journal = journal
        self._pending: dict[str, tuple[int, Ticket]] = {}
        self._again: list[tuple[str, int]] = []
        """To be proposed as soon as possible, in order."""
        self._answered: list[tuple[str, int, Told]] = []
        diary = read_journal(Path(told.journal))
        self._done = {diary.intents[identity] for identity in diary.receipts if identity in diary.intents}
        """Steps that are answered. Their files may be merged and deleted by now, so they are not made again."""
        self._step = diary.next_step
        open_steps = sorted((diary.intents[identity], identity) for identity in diary.unanswered)
        last = list(diary.receipts)[-REPEATED_AT_START:]
        repeats = sorted(
            (diary.intents[each], each) for each in last if self._step - diary.intents[each] < REPEATED_STEPS
        )
        self._again += [(identity, step) for step, identity in sorted([*open_steps, *repeats])]

    def run(self, stopping: threading.Event) -> bool:
        """Whether every proposal has its receipt in the end."""
        say("proposing")
        next_s = time.monotonic()
        while not stopping.is_set() and not self._has_done_its_steps:
            self._collect()
            if time.monotonic() >= next_s and len(self._pending) < self._told.in_flight:
                self._propose_next()
                next_s = time.monotonic() + self._told.pace_s
            stopping.wait(LOOK_S)
        deadline_s = time.monotonic() + self._told.finish_within_s
        while (self._pending or self._again) and time.monotonic() < deadline_s:
            self._collect()
            while self._again and len(self._pending) < self._told.in_flight:
                self._propose_next()
            time.sleep(LOOK_S)
        return not self._pending and not self._again

    @property
    def _has_done_its_steps(self) -> bool:
        return self._told.steps is not None and self._step >= self._told.steps

    def _propose_next(self) -> None:
        if self._again:
            identity, step = self._again.pop(0)
            if identity not in self._pending:
                self._propose(identity, step)
            return
        repeat = self._repetition()
        if repeat is not None:
            self._propose(*repeat)
        else:
            self._propose(f"{self._told.name}-{self._step}", self._step)
            self._step += 1

    def _repetition(self) -> tuple[str, int] | None:
        """Now and then an old id again, or an old seq under another id."""
        draw = Random(f"{self._told.seed}/{self._told.name}/{self._step}/{len(self._answered)}/repeat")
        recent = [item for item in self._answered if self._step - item[1] <= REPEATED_STEPS]
        self._answered = recent
        if not recent or draw.random() >= 0.12:
            return None
        identity, step, told = draw.choice(recent)
        if draw.random() < 0.5 and told[0] != "rejected" and self._work.planned(step).writer is not None:
            identity = f"{self._told.name}-{step}-again-{draw.getrandbits(32):08x}"
        return None if identity in self._pending else (identity, step)

    def _propose(self, identity: str, step: int) -> None:
        """The intent is written first: should the process be killed now, the same id is proposed again."""
        plan = self._work.planned(step)
        self._journal.intend(identity, step)
        if step not in self._done:
            self._work.provide(step)
        try:
            ticket = (
                self._producer.propose(plan.operation, proposal_id=identity)
                if plan.writer is None
                else self._producer.propose(plan.operation, proposal_id=identity, writer=plan.writer)
            )
        except NotSent:
            self._again.append((identity, step))
            return
        self._pending[identity] = (step, ticket)

    def _collect(self) -> None:
        for identity, (step, ticket) in list(self._pending.items()):
            if not ticket.done:
                continue
            del self._pending[identity]
            try:
                told = as_told(ticket.wait(0))
            except (OutcomeUnknown, NotSent):
                self._again.append((identity, step))
                continue
            self._journal.note(identity, told)
            self._done.add(step)
            self._answered.append((identity, step, told))


def as_told(receipt: Receipt) -> Told:
    match receipt:
        case Committed(version):
            return "committed", version
        case Duplicate(version):
            return "duplicate", version
        case Rejected(code):
            return "rejected", code.value


def say(event: str) -> None:
    """As other processes log their events."""
    sys.stderr.write(json.dumps({"event": event}) + "\n")
    sys.stderr.flush()


def _work(told: Proposing, producer: Producer) -> Work:
    if not told.writes_rows:
        return Names(told.seed, told.name)
    from support.torture.rows import Rows  # imports pyarrow, which those who only name files do without

    return Rows(told.seed, told.name, producer.store)


def main(arguments: list[str]) -> int:
    trim_nothing()
    faulthandler.register(signal.SIGUSR1)  # whoever finds it standing still asks where
    told = Proposing(**json.loads(Path(arguments[0]).read_text()))
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    journal = Journal(Path(told.journal))
    try:
        with Producer(
            told.bus, told.table, author=told.name, storage=told.storage, ambient=skewed_ambient()
        ) as producer:
            has_all = Proposer(told, _work(told, producer), producer, journal).run(stopping)
    except HeadgateError as error:
        sys.stderr.write(f"Error: {error}\n")
        return 1
    finally:
        journal.close()
    return 0 if has_all else 3


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
