"""Cleaning as a role: once in a while per table, with what undecided proposals need left alone. The rules are the table room's."""

from collections.abc import Sequence

from headgate_bus.claims import DEFAULT_LIMITS, ClaimLimits
from headgate_bus.interface import Bus
from headgate_schemas.ambient import Ambient
from headgate_table.indextables.cleaner import Cleaner
from headgate_table.table import Table
from headgate_worker.roles import OpenTable, Report
from headgate_worker.tasks import CleanTask, Task
from headgate_worker.undecided import protected_by


class CleanRole:
    """Deletes expired versions and states, orphan manifests, and data files after an accepted `purge`."""

    name = "clean"

    def __init__(
        self,
        open_table: OpenTable,
        bus: Bus,
        ambient: Ambient,
        committer_group: str,
        claims: ClaimLimits = DEFAULT_LIMITS,
    ) -> None:
        self._open_table = open_table
        self._bus = bus
        self._ambient = ambient
        self._committer_group = committer_group
        self._claims = claims

    def plan(self, table: Table, now_ms: int) -> Sequence[Task]:
        """Whether there is anything to delete shows only by listing it all, which is most of the work: so always."""
        return (CleanTask(table.uri),)

    def run(self, task: Task) -> Report:
        assert isinstance(task, CleanTask), "a role runs what it has planned"
        table = self._open_table(task.table)
        protected = protected_by(self._bus, self._committer_group, table.reader, self._ambient, self._claims)
        cleaner = Cleaner(table.reader, self._ambient, table.options, table.commit, protected)
        report = cleaner.purge()
        problems = () if report.status == "SUCCESS" else (report.message,)
        return Report(report.message, None, problems)
