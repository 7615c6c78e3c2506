"""The committer and the worker of this process, for observers such as the live page."""

from headgate_committer.committer import Committer
from headgate_worker.loop.schedule import RunTask
from headgate_worker.loop.worker import Worker


class ProcessParts:
    """Threads share it; a part that hasn't begun reports nothing."""

    def __init__(self) -> None:
        self._committer: Committer | None = None
        self._worker: Worker | None = None

    def began_committer(self, committer: Committer) -> None:
        self._committer = committer

    def began_worker(self, worker: Worker) -> None:
        self._worker = worker

    def refused(self) -> dict[str, str]:
        """By table, the reason why the committer holds it until an operator has looked."""
        return {} if self._committer is None else self._committer.refused

    def tasks(self) -> list[RunTask]:
        """The worker's running tasks."""
        return [] if self._worker is None else self._worker.tasks
