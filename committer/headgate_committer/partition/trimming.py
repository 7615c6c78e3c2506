"""Having the bus let go of proposals that were settled, now and then, beside the work of a lane.

Nothing waits for it. Where it fails, the proposals stay a while longer.
"""

from concurrent.futures import Executor, Future

from headgate_bus.errors import BusError
from headgate_bus.interface import Bus, Mark, Topic
from headgate_bus.marks import known_again
from headgate_committer.limits import CommitterLimits
from headgate_schemas.ambient import Ambient
from headgate_schemas.logs import get_logger
from headgate_schemas.messages.sources import Source

_SHARE = 10
"""It is worth while once a tenth of what is kept anyway can go."""

_log = get_logger("headgate.committer")


class Trimmer:
    """Of one partition. Used by the lane's thread alone."""

    def __init__(
        self, bus: Bus, source: Source, ambient: Ambient, limits: CommitterLimits, background: Executor
    ) -> None:
        self._bus = bus
        self._source = source
        self._partition = source.partition
        self._ambient = ambient
        self._limits = limits
        self._background = background
        self._next_s = ambient.monotonic_s()
        self._trimmed_to = 0
        """Written by the task, of which there is one at a time."""
        self._task: Future[None] | None = None

    def look(self, announced: int, mark: Mark | None) -> None:
        """Begin where it is time. What lies below `announced` is decided and announced; nobody decides it again. `mark` is what was
        said with that offset, if it was said here.
        """
        before = announced - self._limits.kept_proposals
        if before - self._trimmed_to < max(1, self._limits.kept_proposals // _SHARE):
            return
        if self._ambient.monotonic_s() < self._next_s or (self._task is not None and not self._task.done()):
            return
        self._next_s = self._ambient.monotonic_s() + self._limits.trim_ms / 1000
        self._task = self._background.submit(self._trim, before, announced, mark)

    def _trim(self, before: int, announced: int, mark: Mark | None) -> None:
        try:
            other = self._other_log(announced, mark)
            if other:
                _log.warning("proposals_not_trimmed", partition=self._partition, offset=before, reason=other)
                return
            self._bus.trim(self._partition, before)
        except BusError as error:
            _log.warning("proposals_not_trimmed", partition=self._partition, offset=before, reason=str(error))
            return
        self._trimmed_to = before
        _log.info("proposals_trimmed", partition=self._partition, offset=before)

    def _other_log(self, announced: int, mark: Mark | None) -> str:
        """Why the log isn't the one that was settled, where the lane has yet to notice: what lies there, nobody has decided."""
        source = self._bus.source(self._partition)
        if source != self._source:
            return f"{self._source} was made anew, and is {source} now"
        return known_again(
            self._bus, source, self._bus.extent(Topic.PROPOSALS, self._partition), announced, mark
        ).reason
