"""A bus, some stores and committers, driven by hand: propose, step, look at receipts and versions."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future
from typing import Any

from headgate_bus.interface import Message, Topic
from headgate_committer.committer import DEFAULT_GROUP, Committer
from headgate_committer.context import CommitterContext
from headgate_committer.limits import CommitterLimits
from headgate_committer.tables import CommitterTables, OutsideRoots
from headgate_schemas.ambient import Ambient
from headgate_schemas.columns.table_schema import schema_string_of
from headgate_schemas.messages.cloud_events import PROPOSAL, attributes
from headgate_schemas.messages.dead_letters import DeadLetter, decode_dead_letter
from headgate_schemas.messages.events import CommitEvent, ReceiptEvent, decode_event
from headgate_schemas.messages.operations import Append, Create, Isolation, Operation, Receipt, Writer
from headgate_schemas.messages.proposals import Proposal, encode_proposal, new_proposal
from headgate_table.coordination.commit_info import CommitRecord, commit_record
from headgate_table.indextables.log.reader import LogReader
from headgate_table.settings.options import TableOptions, table_options
from headgate_table.store.interface import Store
from headgate_table.table import Table
from support.ambient import FakeAmbient
from support.bus.memory import MemoryBus, MemorySeat
from support.stores.memory import MemoryStore
from support.tables import COLUMNS, add_file, fresh_resources

TABLE = "memory://table"
NO_LINGER = CommitterLimits(linger_ms=0)


class AtOnce(Executor):
    """Runs everything where it is submitted."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> "Future[Any]":
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001  # as an executor does: it is the future's to tell
            future.set_exception(error)
        return future


def context_of(
    ambient: Ambient,
    identity: str = "one",
    limits: CommitterLimits = NO_LINGER,
    *,
    executor: Executor | None = None,
    background: Executor | None = None,
) -> CommitterContext:
    """A committer's context; without executors all work is done where it is submitted."""
    chosen = executor or AtOnce()
    return CommitterContext(ambient, identity, chosen, background or chosen, limits)


class Stores:
    """Tables by address, on stores in memory that tests may wrap."""

    def __init__(self, stores: Mapping[str, Store], settings: Mapping[str, str], *, caches: bool = True) -> None:
        self.stores = dict(stores)
        self._settings = dict(settings)
        self._caches = caches

    def reader(self, uri: str) -> LogReader:
        if uri not in self.stores:
            raise OutsideRoots(f"{uri} lies outside of the roots that this committer serves")
        return LogReader(self.stores[uri], fresh_resources(caches=self._caches))

    def options(self, configuration: Mapping[str, str]) -> TableOptions:
        return table_options(configuration, self._settings)


def as_message(proposal: Proposal) -> Message:
    """As producers send it."""
    headers = attributes(
        kind=PROPOSAL,
        event_id=proposal.id,
        source=proposal.author,
        subject=proposal.id,
        time_ms=proposal.created,
    )
    return Message(proposal.table, headers, encode_proposal(proposal))


class Rig:
    """One cluster, one table unless more are named, any number of committers."""

    def __init__(
        self,
        *uris: str,
        create: bool = True,
        interval: int = 10,
        partition_by: Sequence[str] = (),
        partitions: int = 1,
    ) -> None:
        """`partitions` is the number of those of proposals; events and dead letters have one."""
        self.ambient = FakeAmbient()
        self.bus = MemoryBus(self.ambient, {Topic.PROPOSALS: partitions})
        self.bus.prepare()
        self.settings = {"checkpoint.interval": str(interval)}
        self.stores: dict[str, MemoryStore] = {uri: MemoryStore(self.ambient, uri=uri) for uri in (uris or (TABLE,))}
        self._ids = itertools.count(1)
        self._processes = itertools.count(1)
        self._read = dict.fromkeys(Topic, 0)
        if create:
            for uri in self.stores:
                self.propose(
                    Create(schema_string_of(COLUMNS), tuple(partition_by)), table=uri, proposal_id=f"create-{uri}"
                )

    def committer(
        self,
        name: str = "one",
        *,
        stores: Mapping[str, Store] | None = None,
        limits: CommitterLimits = NO_LINGER,
        bus: MemoryBus | None = None,
        ambient: Ambient | None = None,
        executor: Executor | None = None,
        background: Executor | None = None,
        caches: bool = True,
        tables: CommitterTables | None = None,
        group: str = DEFAULT_GROUP,
        roots: Sequence[str] = (),
    ) -> Committer:
        """It serves the rig's tables, of which `stores` replaces some; or other `tables`."""
        served = tables or Stores({**self.stores, **(stores or {})}, self.settings, caches=caches)
        context = context_of(ambient or self.ambient, name, limits, executor=executor, background=background)
        return Committer(bus or self.bus.again(), served, context, group=group, roots=roots)

    def depose(self, committer: Committer) -> None:
        """The bus takes the committer for dead, and gives its partitions to others; it doesn't know."""
        seat = committer._seat
        assert isinstance(seat, MemorySeat)
        self.bus.cluster.group(DEFAULT_GROUP).leave(seat)

    def create_first(self) -> None:
        """Decide what was proposed so far by a committer that leaves."""
        committer = self.committer("creator")
        self.settle(committer)
        committer.close()

    # ---- proposing

    def proposal(
        self,
        operation: Operation,
        *,
        table: str = TABLE,
        proposal_id: str | None = None,
        writer: Writer | None = None,
        created_ms: int | None = None,
        **more: Any,
    ) -> Proposal:
        return new_proposal(
            operation,
            proposal_id=proposal_id or f"p{next(self._ids)}",
            table=table,
            created_ms=self.ambient.now_ms() if created_ms is None else created_ms,
            author="test",
            writer=writer,
            **more,
        )

    def propose(self, operation: Operation, **more: Any) -> str:
        """Send a proposal; returns its id."""
        return self.send(self.proposal(operation, **more))

    def send(self, proposal: Proposal) -> str:
        self.bus.append(Topic.PROPOSALS, [as_message(proposal)])
        return proposal.id

    def misplace(self, proposal: Proposal, partition: int) -> str:
        """Send a proposal as a client does that chooses partitions by a rule of its own."""
        log = self.bus.cluster.partition(Topic.PROPOSALS, partition)
        log.append(partition, as_message(proposal), self.ambient.now_ms())
        return proposal.id

    def append(self, *names: str, **more: Any) -> str:
        return self.propose(Append(tuple(add_file(name) for name in names)), **more)

    # ---- looking

    def settle(self, committer: Committer, steps: int = 20) -> None:
        """Step until nothing is left to do."""
        for _ in range(steps):
            if not committer.step(0.0):
                return
        raise AssertionError(f"still busy after {steps} steps")

    def events(self, topic: Topic = Topic.EVENTS) -> list[Any]:
        """What was announced since the last look."""
        reader = self.bus.reader(topic, {0: self._read[topic]})
        found = []
        while records := reader.read(0.0):
            decode = decode_dead_letter if topic is Topic.DEAD_LETTERS else decode_event
            found += [decode(record.body) for record in records]
        self._read[topic] = reader.offsets()[0]
        return found

    def receipts(self) -> dict[str, Receipt]:
        """The newest receipt of each proposal that was announced since the last look."""
        return {event.proposal: event.to_receipt() for event in self.events() if isinstance(event, ReceiptEvent)}

    def commits(self) -> list[CommitEvent]:
        return [event for event in self.events() if isinstance(event, CommitEvent)]

    def dead_letters(self) -> list[DeadLetter]:
        return self.events(Topic.DEAD_LETTERS)

    def table(self, uri: str = TABLE, commit: Callable[[Operation], Receipt] | None = None) -> Table:
        """The table as a process sees it that has read nothing yet."""
        ambient = FakeAmbient(f"process {next(self._processes)}", self.ambient.time_ms)
        return Table(self.stores[uri], ambient, fresh_resources(), self.settings, commit)

    def record(self, version: int, uri: str = TABLE) -> CommitRecord:
        found = commit_record(LogReader(self.stores[uri], fresh_resources()).actions(version))
        assert found is not None
        return found


def isolation(based_on: int, reads: str | None = None) -> dict[str, Any]:
    """What a serializable proposal says."""
    return {"based_on": based_on, "reads": reads, "isolation": Isolation.SERIALIZABLE}
