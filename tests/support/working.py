"""Workers over a bus and stores in memory, for tests that say step by step what happens."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor

from headgate_bus.interface import Bus, Message, Topic
from headgate_schemas.ambient import Ambient
from headgate_schemas.messages.cloud_events import COMMIT, attributes
from headgate_schemas.messages.events import CommitEvent, encode_event
from headgate_schemas.messages.operations import Committed, Operation, Receipt
from headgate_table.store.interface import Store
from headgate_table.table import Table
from headgate_worker.context import WorkerContext
from headgate_worker.limits import RoleTerms, WorkerLimits
from headgate_worker.loop.worker import Worker
from headgate_worker.roles.interface import CleanTask, Outlook, Report, Role, Task, Trigger
from support.ambient import FakeAmbient
from support.committing.rig import AtOnce
from support.stores.memory import MemoryStore
from support.tables import fresh_resources

Commit = Callable[[Operation], Receipt]


def refuse_all(operation: Operation) -> Receipt:
    raise AssertionError(f"nothing is proposed here, but {operation} was")


class OpenedTables:
    """Every address is a table, on a store of its own unless one is given."""

    def __init__(
        self,
        stores: Mapping[str, Store] | None = None,
        commit_to: Callable[[str], Commit] = lambda uri: refuse_all,
        settings: Mapping[str, str] | None = None,
        ambient: Ambient | None = None,
    ) -> None:
        self.stores: dict[str, Store] = dict(stores or {})
        self.unserved: set[str] = set()
        self._commit_to = commit_to
        self._settings = dict(settings or {})
        self._ambient = ambient or FakeAmbient("tables")

    def serves(self, uri: str) -> bool:
        return uri not in self.unserved

    def open(self, uri: str) -> Table:
        store = self.stores.setdefault(uri, MemoryStore(self._ambient, uri=uri))
        return Table(store, self._ambient, fresh_resources(), self._settings, self._commit_to(uri))

    def close(self) -> None:
        return


class NotingRole:
    """Plans one task at every look, and notes what it is asked for; `trouble` is raised instead, in order."""

    def __init__(self, name: str = "note", *, plans: bool = True) -> None:
        self._name = name
        self._plans = plans
        self.looked: list[str] = []
        self.ran: list[str] = []
        self.trouble: list[BaseException] = []
        self.urgent: Trigger | None = None
        """What its looks say would make the next one urgent."""

    @property
    def name(self) -> str:
        return self._name

    def look(self, table: Table, now_ms: int) -> Outlook:
        self.looked.append(table.uri)
        if self.trouble:
            raise self.trouble.pop(0)
        return Outlook((CleanTask(table.uri),) if self._plans else (), self.urgent)

    def run(self, task: Task) -> Report:
        self.ran.append(task.table)
        if self.trouble:
            raise self.trouble.pop(0)
        return Report("done", 1)


def a_worker(
    bus: Bus,
    ambient: Ambient,
    *roles: Role,
    tables: OpenedTables | None = None,
    limits: WorkerLimits | None = None,
    executor: Executor | None = None,
    watched: Sequence[str] = (),
    name: str = "one",
) -> Worker:
    context = WorkerContext(ambient, name, executor or AtOnce(), limits or WorkerLimits())
    return Worker(bus, tables or OpenedTables(ambient=ambient), roles, context, watched=watched)


def quick_terms(*roles: str) -> dict[str, RoleTerms]:
    """Every commit is worth a look, at once."""
    return dict.fromkeys(roles, RoleTerms(after_commits=1, cooldown_ms=0))


def announce(bus: Bus, table: str, version: int = 1, operation: str = "Append") -> None:
    """As a committer does after a commit."""
    event = CommitEvent(
        table=table,
        version=version,
        time=0,
        operation=operation,
        added=1,
        removed=0,
        added_bytes=1,
        removed_bytes=0,
    )
    headers = attributes(kind=COMMIT, event_id=f"{table}/{version}", source="test", subject=table, time_ms=0)
    bus.append(Topic.EVENTS, [Message(table, headers, encode_event(event))])


def rounds(worker: Worker, count: int = 10) -> None:
    """Step until nothing is left to do."""
    for _ in range(count):
        if not worker.step(0.0):
            return
    raise AssertionError(f"still busy after {count} rounds")


def accepted(version: int = 1) -> Commit:
    """A committer that accepts everything."""
    return lambda operation: Committed(version, "proposal")
