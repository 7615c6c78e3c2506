"""Work beside the commits of a table that nobody waits for, and that may fail: one piece at a time."""

from collections.abc import Callable
from concurrent.futures import Executor, Future

from headgate_committer.trouble import describe_error
from headgate_schemas.logs import get_logger

_log = get_logger("headgate.committer")


class BackgroundTask:
    """Whatever a piece fails at is told in the log; the next is begun all the same."""

    def __init__(self, table: str, executor: Executor, failure: str) -> None:
        """`failure` is the event by which the log tells of one."""
        self._table = table
        self._executor = executor
        self._failure = failure
        self._task: Future[None] | None = None

    @property
    def is_under_way(self) -> bool:
        return self._task is not None and not self._task.done()

    def begin(self, work: Callable[[], None]) -> None:
        self._task = self._executor.submit(work)
        self._task.add_done_callback(self._tell)

    def _tell(self, task: "Future[None]") -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None:
            _log.warning(self._failure, table=self._table, kind=type(error).__name__, reason=describe_error(error))
