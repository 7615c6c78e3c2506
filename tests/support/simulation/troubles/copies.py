"""An older copy of a table that takes its place under running committers, when all else is calm: nothing is written upon it, and nobody
is told anything meanwhile. Then either the newer objects come back, in any order, or the copy counts: committers begin anew, and
what was committed since is proposed again, as docs/operating.md says.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from headgate_bus.interface import Message, Record, Topic
from headgate_schemas.messages.cloud_events import subject_of
from headgate_schemas.messages.operations import Append
from support.logs.raw_log import LOG
from support.simulation.actors.operations import REGIONS, added_file
from support.simulation.actors.workloads import Note, message_of
from support.simulation.judge.asked import ask_of
from support.simulation.judge.broken import must
from support.simulation.judge.model import TableModel
from support.simulation.world.scheduler import Process
from support.simulation.world.seats import Seat
from support.simulation.world.world import World
from support.stores.memory import MemoryStore

PUT_BACK = "table: an older copy takes its place"
RETURNED = "table: its newer objects come back"
COUNTS = "table: goes on from an older copy"
KINDS = (PUT_BACK, RETURNED, COUNTS)
"""By these names it is counted."""
CHANCE = 0.4
"""Of a run to have one, where nobody maintains its tables and nobody harms its bus."""
_COPIED_WITHIN_S = 20.0
_QUIET_S = 31.0
"""Longer than any call takes that began in bad weather."""
_FRESH = 3
_SEEN_S = 2.0
"""Longer than a committer trusts what it saw of a table."""
_WAITS_S = 12.0
_RETURNS_WITHIN_S = 20.0


@dataclass(frozen=True, slots=True)
class _Copy:
    """All objects, and what they meant."""

    objects: dict[str, bytes]
    model: TableModel

    @classmethod
    def of(cls, model: TableModel) -> "_Copy":
        return cls(_objects(model.store), model.remembered())


@dataclass
class Copies:
    """Of one table."""

    world: World
    uri: str
    committers: Sequence[Seat]
    operator: Seat
    """Binds the table again where the bus no longer holds what was decided since."""
    may_count: bool
    """Whether nobody else relies on what was committed since."""
    settle: Callable[[], None]
    copy: _Copy | None = None
    told: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._drawn = random.Random(f"copies/{self.world.seed}")
        self._model = self.world.models[self.uri]

    def start(self) -> None:
        """A copy is made at some time, while all goes wrong."""
        scheduler = self.world.scheduler
        scheduler.at(scheduler.now_ms + round(1000 * _COPIED_WITHIN_S * self._drawn.random()), self._make)

    def play(self) -> None:
        """When all is calm."""
        world, model = self.world, self._model
        world.run_for(_QUIET_S)
        if self.copy is None:
            self._make()
        copy = self.copy
        assert copy is not None
        for _ in range(1 + self._drawn.randrange(_FRESH)):
            self._propose_fresh()
            self.settle()
        world.run_for(_SEEN_S)
        newer, newest = _objects(model.store), model.newest
        world.faults.injected[PUT_BACK] += 1
        world.scheduler.note("operator", f"version {copy.model.newest} of {self.uri} takes the place of {newest}")
        _put_back(model.store, copy.objects)
        self._expect_silence()
        must(model.newest == newest, f"{self.uri}: version {model.newest} was written upon an older copy")
        if self.may_count and self._drawn.random() < 0.5:
            self._begin_anew(copy)
        else:
            self._return(newer)
        self.settle()

    def _make(self) -> None:
        if self._model.newest >= 0:
            self.copy = _Copy.of(self._model)

    def _propose_fresh(self) -> str:
        world, region = self.world, self._drawn.choice(REGIONS)
        path = world.file_name(region)
        file = added_file(path, region)
        world.put_file(self.uri, path, file.size)
        note = Note(f"after-the-copy-{path}", Append((file,)), None, created_ms=world.scheduler.now_ms)
        world.asks.add(ask_of(note.id, self.uri, note.operation))
        world.cluster.append(Topic.PROPOSALS, [message_of(note, self.uri, "author-of-later")])
        return note.id

    def _expect_silence(self) -> None:
        """Neither what is new is answered, nor what was decided in a version that is gone."""
        gone = self._gone()
        asked = {self._propose_fresh()}
        again = self._drawn.sample(gone, min(2, len(gone)))
        asked.update(subject_of(record.headers) for record in again)
        receipts = self.world.receipts
        before = len(receipts.events)
        self.world.cluster.append(Topic.PROPOSALS, [_message(record) for record in again])
        self.world.run_for(_WAITS_S)
        told = [receipt for receipt in receipts.events[before:] if receipt.proposal_id in asked]
        must(not told, f"{self.uri}: somebody was told {told} while an older copy is in the table's place")

    def _gone(self) -> list[Record]:
        """What was asked for and decided in versions after the copy's."""
        assert self.copy is not None
        kept, decided = self.copy.model.decided, self._model.decided
        found = {subject_of(record.headers): record for record in self.world.receipts.asked if record.key == self.uri}
        return [record for identity, record in found.items() if identity in decided and identity not in kept]

    def _return(self, newer: dict[str, bytes]) -> None:
        """What states and versions name comes first, then those, in any order."""
        self.world.faults.injected[RETURNED] += 1
        process = self.world.process("operator")
        self.world.complete(process, partial(self._put_each, process, newer))

    def _put_each(self, process: Process, newer: dict[str, bytes]) -> None:
        store = self._model.store
        missing = [key for key, data in newer.items() if store.head(key) is None or store.get(key) != data]
        self._drawn.shuffle(missing)
        missing.sort(key=_names_others)
        pause_s = self._drawn.random() * _RETURNS_WITHIN_S / (1 + len(missing))
        for key in missing:
            store.put(key, newer[key])
            process.sleep(pause_s)

    def _begin_anew(self, copy: _Copy) -> None:
        world = self.world
        world.faults.injected[COUNTS] += 1
        gone = self._gone()
        for seat in self.committers:
            if seat.process is not None:
                seat.process.kill()
        self._model.go_back_to(copy.model)
        self.operator.keep_alive()
        world.receipts.take_back({subject_of(record.headers) for record in gone})
        world.cluster.append(Topic.PROPOSALS, [_message(record) for record in gone])


def _objects(store: MemoryStore) -> dict[str, bytes]:
    return {info.key: store.get(info.key) for info in store.list()}


def _put_back(store: MemoryStore, objects: dict[str, bytes]) -> None:
    """The log as it was, and the data files that it names; data files that came since stay."""
    store.delete([info.key for info in store.list(f"{LOG}/") if info.key not in objects])
    for key, data in objects.items():
        if store.head(key) is None or store.get(key) != data:
            store.put(key, data)


def _names_others(key: str) -> bool:
    name = key.removeprefix(f"{LOG}/")
    return name.endswith("/_manifest.avro") or (len(name) == 25 and name.endswith(".json"))


def _message(record: Record) -> Message:
    return Message(record.key, record.headers, record.body)
