"""Work that runs beside the commits, may fail, and is waited for by nobody: one piece at a time."""

from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future

from headgate_schemas.logs import describe_error, get_logger

_log = get_logger("headgate.committer")


class BackgroundTask:
    """A failure is logged, and the next piece begins all the same."""

    def __init__(self, executor: Executor, failure: str, about: Mapping[str, object]) -> None:
        """`failure` is the event that is logged when a piece fails, with `about` as fields."""
        self._executor = executor
        self._failure = failure
        self._about = dict(about)
        self._task: Future[None] | None = None

    @property
    def is_under_way(self) -> bool:
        return self._task is not None and not self._task.done()

    def begin(self, work: Callable[[], None]) -> None:
        self._task = self._executor.submit(work)
        self._task.add_done_callback(self._log_failure)

    def _log_failure(self, task: "Future[None]") -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None:
            _log.warning(self._failure, **self._about, kind=type(error).__name__, reason=describe_error(error))
