"""The role `mirror`: publishes each new version of tables with `mirror.formats`. The table room has the mirror itself."""

from collections.abc import Callable

from headgate_schemas.measures import SILENT, Measures
from headgate_schemas.metrics import MIRROR_BEHIND, MIRROR_STOPPED, MIRROR_VERSIONS
from headgate_table.delta.mirror import DeltaMirror, MirrorStatus
from headgate_table.table import Table
from headgate_worker.roles.interface import MirrorTask, OpenTable, Outlook, Report, Task

MAX_TABLES = 10_000
"""Tables whose mirrors the metrics count; others are published all the same."""


class MirrorRole:
    """Commits to the Delta log beside a table, and only reads the table itself.

    `give_up` is called before each commit, and may raise `Abandoned`.
    """

    name = "mirror"

    def __init__(
        self, open_table: OpenTable, give_up: Callable[[], None] = lambda: None, measures: Measures = SILENT
    ) -> None:
        self._open_table = open_table
        self._give_up = give_up
        self._measures = measures
        self._seen: dict[str, MirrorStatus] = {}

    def look(self, table: Table, now_ms: int) -> Outlook:
        """A task if the mirror lacks a version or can't continue; in the latter case, the task fails with the reason."""
        options = table.options
        if "delta" not in options.mirror_formats:
            self._seen.pop(table.uri, None)
            return Outlook()
        status = DeltaMirror(table.reader, options).status(table.reader.latest())
        self._note(table.uri, status)
        return Outlook((MirrorTask(table.uri),) if status.behind or status.problem else ())

    def run(self, task: Task) -> Report:
        assert isinstance(task, MirrorTask), "a role runs what it has planned"
        table = self._open_table(task.table)
        published = DeltaMirror(table.reader, table.options, self._give_up).publish()
        self._note(task.table, MirrorStatus(published.version, published.version))
        self._measures.count(MIRROR_VERSIONS, by=published.commits)
        return Report(f"{published.commits} versions were published, up to {published.version}")

    def _note(self, uri: str, status: MirrorStatus) -> None:
        if uri in self._seen or len(self._seen) < MAX_TABLES:
            self._seen[uri] = status
        seen = list(self._seen.values())
        self._measures.set(MIRROR_BEHIND, max((each.behind for each in seen), default=0))
        self._measures.set(MIRROR_STOPPED, sum(bool(each.problem) for each in seen))
