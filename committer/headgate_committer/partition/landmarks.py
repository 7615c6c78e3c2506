"""Which of the records that were read is told with a committed offset, so that the log is known again by it."""

from collections import deque

from headgate_bus.interface import Mark, Record
from headgate_bus.marks import mark_of

MAX_CANDIDATES = 10_000
"""Records that are remembered while the committed offset waits. Beyond it every second is forgotten: a mark may lie further
below the offset then, and so much more is read again by whoever takes over."""


class Landmarks:
    """Of one partition. Used by the lane's thread alone."""

    def __init__(self, topic: str, max_candidates: int = MAX_CANDIDATES) -> None:
        """`topic` is the topic's id."""
        self._topic = topic
        self._max_candidates = max_candidates
        self._candidates: deque[Mark] = deque()

    def passed(self, record: Record) -> None:
        """The record was read; they come in order."""
        self._candidates.append(mark_of(self._topic, record))
        if len(self._candidates) > self._max_candidates:
            self._candidates = deque(list(self._candidates)[::2])

    def below(self, offset: int) -> Mark | None:
        """The newest below an offset that is being committed; older ones are forgotten. None where none was read."""
        newest = None
        while self._candidates and self._candidates[0].offset < offset:
            newest = self._candidates.popleft()
        if newest is not None:
            self._candidates.appendleft(newest)  # should the bus not answer, it is asked for again
        return newest
