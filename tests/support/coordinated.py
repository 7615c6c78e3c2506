"""A worker beside a real committer, on one bus and one table in memory, stepped by hand."""

from collections.abc import Sequence

from headgate_committer.committer import Committer
from headgate_schemas.messages.operations import Operation, Receipt
from headgate_table.table import Table
from headgate_worker.limits import WorkerLimits
from headgate_worker.loop.worker import Worker
from headgate_worker.roles.interface import Role
from support.committing.rig import TABLE, Rig
from support.working import Commit, OpenedTables, a_worker, quick_terms, rounds


class Coordinated:
    """One committer that is always up to date unless told to rest, and what a worker needs."""

    def __init__(self, *, interval: int = 10, partition_by: Sequence[str] = (), **settings: str) -> None:
        self.rig = Rig(interval=interval, partition_by=partition_by)
        self.rig.settings |= {key.replace("__", "."): text for key, text in settings.items()}
        self.committer: Committer = self.rig.committer()
        self.rig.settle(self.committer)
        self.operations: list[Operation] = []
        """What workers have proposed."""
        self.before_deciding: list[Operation] = []
        """What others propose between a worker's reading and its proposal."""
        self.tables = OpenedTables(self.rig.stores, self._commit_to, self.rig.settings, self.rig.ambient)

    def _commit_to(self, uri: str) -> Commit:
        def commit(operation: Operation) -> Receipt:
            self.operations.append(operation)
            while self.before_deciding:
                self.rig.propose(self.before_deciding.pop(0))
                self.rig.settle(self.committer)
            identity = self.rig.propose(operation, table=uri)
            self.rig.settle(self.committer)
            return self.rig.receipts()[identity]

        return commit

    def done(self, *operations: Operation) -> None:
        """Each of these in a version of its own."""
        for operation in operations:
            self.rig.propose(operation)
            self.rig.settle(self.committer)

    def appended(self, *names: str) -> None:
        for name in names:
            self.rig.append(name)
            self.rig.settle(self.committer)

    def worker(self, *roles: Role, limits: WorkerLimits | None = None) -> Worker:
        chosen = limits or WorkerLimits(terms=quick_terms(*(role.name for role in roles)))
        return a_worker(
            self.rig.bus.again(), self.rig.ambient, *roles, tables=self.tables, limits=chosen, watched=[TABLE]
        )

    def worked(self, *roles: Role) -> None:
        """What a worker with these roles does of its own accord, once."""
        worker = self.worker(*roles)
        rounds(worker, 50)
        worker.close()

    @property
    def table(self) -> Table:
        return self.rig.table()

    def paths(self) -> list[str]:
        return sorted(self.table.snapshot().paths())
