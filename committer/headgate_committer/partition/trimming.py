"""Deleting settled proposals from the bus, now and then, beside the commits.

Nothing waits for it. Where it fails, the proposals stay a while longer.
"""

from headgate_bus.interface import Mark, Topic
from headgate_bus.marks import known_again
from headgate_committer.background_task import BackgroundTask
from headgate_committer.context import CommitterContext
from headgate_committer.feed.partition_source import PartitionSource
from headgate_schemas.logs import get_logger

_SHARE = 10
"""Trimming begins once a tenth of the kept proposals can go."""

_log = get_logger("headgate.committer")


class Trimmer:
    """Trims one partition. Used by the loop's thread alone."""

    def __init__(self, feed: PartitionSource, context: CommitterContext) -> None:
        self._bus, self._source = feed.bus, feed.source
        self._partition = feed.source.partition
        self._ambient, self._limits = context.ambient, context.limits
        self._work = BackgroundTask(context.background, "proposals_not_trimmed", {"partition": self._partition})
        self._next_s = self._ambient.monotonic_s()
        self._trimmed_to = 0
        """Written by the work, of which there is one piece at a time."""

    def look(self, announced: int, mark: Mark | None) -> None:
        """Begin if it is time. Proposals below `announced` are decided and announced, so nobody needs them. `mark` was committed
        with that offset, if this process committed it.
        """
        before = announced - self._limits.kept_proposals
        if before - self._trimmed_to < max(1, self._limits.kept_proposals // _SHARE):
            return
        if self._ambient.monotonic_s() < self._next_s or self._work.is_under_way:
            return
        self._next_s = self._ambient.monotonic_s() + self._limits.trim_ms / 1000
        self._work.begin(lambda: self._trim(before, announced, mark))

    def _trim(self, before: int, announced: int, mark: Mark | None) -> None:
        other = self._other_log(announced, mark)
        if other:
            _log.warning("proposals_not_trimmed", partition=self._partition, offset=before, reason=other)
            return
        self._bus.trim(self._partition, before)
        self._trimmed_to = before
        _log.info("proposals_trimmed", partition=self._partition, offset=before)

    def _other_log(self, announced: int, mark: Mark | None) -> str:
        """The reason why the log isn't the settled one, if the loop has yet to notice. Its proposals are undecided then."""
        source = self._bus.source(self._partition)
        if source != self._source:
            return f"{self._source} was made anew, and is {source} now"
        return known_again(
            self._bus, source, self._bus.extent(Topic.PROPOSALS, self._partition), announced, mark
        ).reason
