"""Having the bus let go of proposals that were settled, now and then, beside the work of a lane.

Nothing waits for it. Where it fails, the proposals stay a while longer.
"""

from concurrent.futures import Executor, Future

from headgate_bus.errors import BusError
from headgate_bus.interface import Bus
from headgate_committer.limits import CommitterLimits
from headgate_schemas.ambient import Ambient
from headgate_schemas.logs import get_logger

_SHARE = 10
"""It is worth while once a tenth of what is kept anyway can go."""

_log = get_logger("headgate.committer")


class Trimmer:
    """Of one partition. Used by the lane's thread alone."""

    def __init__(
        self, bus: Bus, partition: int, ambient: Ambient, limits: CommitterLimits, background: Executor
    ) -> None:
        self._bus = bus
        self._partition = partition
        self._ambient = ambient
        self._limits = limits
        self._background = background
        self._next_s = ambient.monotonic_s()
        self._trimmed_to = 0
        """Written by the task, of which there is one at a time."""
        self._task: Future[None] | None = None

    def look(self, announced: int) -> None:
        """Begin where it is time. What lies below `announced` is decided and announced; nobody decides it again."""
        before = announced - self._limits.kept_proposals
        if before - self._trimmed_to < max(1, self._limits.kept_proposals // _SHARE):
            return
        if self._ambient.monotonic_s() < self._next_s or (self._task is not None and not self._task.done()):
            return
        self._next_s = self._ambient.monotonic_s() + self._limits.trim_ms / 1000
        self._task = self._background.submit(self._trim, before)

    def _trim(self, before: int) -> None:
        try:
            self._bus.trim(self._partition, before)
        except BusError as error:
            _log.warning("proposals_not_trimmed", partition=self._partition, offset=before, reason=str(error))
            return
        self._trimmed_to = before
        _log.info("proposals_trimmed", partition=self._partition, offset=before)
