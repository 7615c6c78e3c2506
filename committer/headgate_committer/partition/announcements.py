"""Decisions that are yet to be announced. They are published in transactions of the bus, together with the committed offset."""

from collections import Counter, deque
from collections.abc import Sequence
from typing import assert_never

from headgate_bus.errors import BusUnavailable
from headgate_bus.interface import Mark, Message, Record, Seat
from headgate_bus.marks import mark_of
from headgate_committer.context import CommitterContext
from headgate_committer.proposals.answers import (
    Answer,
    Settlement,
    commit_messages,
    letter_message,
    receipt_messages,
    set_aside,
)
from headgate_committer.proposals.intake import UndecidableRecord
from headgate_schemas.logs import get_logger
from headgate_schemas.messages.operations import Committed, Duplicate, Rejected
from headgate_schemas.messages.sources import Source
from headgate_schemas.metrics import COMMIT_STEP_SECONDS, DEAD_LETTERS, PROPOSALS_DECIDED

_log = get_logger("headgate.committer")

_MESSAGES_AT_ONCE = 5_000
"""Messages in one transaction of the bus."""
_BYTES_AT_ONCE = 8 << 20
"""The same, in bytes of events and again of dead letters, so that a transaction ends long before the bus times it out."""
_UNPUBLISHED_LETTER_BYTES = 64 << 20
"""Dead letters that wait to be published; beyond it, nothing more is taken in."""
MAX_CANDIDATES = 10_000
"""Marks that are remembered while the committed offset waits. Beyond it every second one is forgotten. A mark may then lie
further below the offset, and the next holder reads so much more again."""


class Landmarks:
    """The newest records of one partition that were read, by which a committed offset is known again. Used by the loop's thread alone."""

    def __init__(self, topic: str, max_candidates: int = MAX_CANDIDATES) -> None:
        """`topic` is the topic's id."""
        self._topic = topic
        self._max_candidates = max_candidates
        self._candidates: deque[Mark] = deque()

    def passed(self, record: Record) -> None:
        """Remember a record that was read. Records come in order."""
        self._candidates.append(mark_of(self._topic, record))
        if len(self._candidates) > self._max_candidates:
            self._candidates = deque(list(self._candidates)[::2])

    def below(self, offset: int) -> Mark | None:
        """The newest mark below an offset that is being committed; None where none was read. Older ones are forgotten."""
        newest = None
        while self._candidates and self._candidates[0].offset < offset:
            newest = self._candidates.popleft()
        if newest is not None:
            self._candidates.appendleft(newest)  # needed again if the bus doesn't answer
        return newest


class Announcements:
    """Receipts, commit events and dead letters of one partition, in order. Used by the loop's thread alone."""

    def __init__(self, source: Source, context: CommitterContext) -> None:
        self._partition = source.partition
        self._source = source
        self._identity = context.identity
        self._ambient, self._limits, self._measures = context.ambient, context.limits, context.measures
        self._events: list[Message] = []
        self._letters: list[Message] = []
        self._letter_bytes = 0
        self._failures = 0
        self.failing_since_s: float | None = None
        """When the bus first refused what is announced now; None while it takes everything."""
        self.ready_at_s = 0.0
        """When the next attempt is due, after the bus didn't answer."""

    @property
    def is_empty(self) -> bool:
        return not self._events and not self._letters

    @property
    def is_choked(self) -> bool:
        """Whether the bus has to take what was decided before anything more is."""
        return len(self._events) > self._limits.unpublished_events or self._letter_bytes > _UNPUBLISHED_LETTER_BYTES

    def add(self, uri: str, settlement: Settlement) -> None:
        now_ms = self._ambient.now_ms()
        self._events += receipt_messages(settlement.answers, uri, self._identity, now_ms)
        self._events += commit_messages(settlement.commits, self._identity, now_ms)
        self._add_letters(settlement.answers, now_ms)
        self._measure(settlement.answers)

    def set_aside(self, letter: UndecidableRecord) -> None:
        """Announce a record that can't be decided."""
        answer, now_ms = set_aside(letter), self._ambient.now_ms()
        self._events += receipt_messages([answer], letter.table, self._identity, now_ms)
        self._add_letters([answer], now_ms)
        self._measure([answer])

    def publish(self, seat: Seat, next_offset: int | None, mark: Mark | None = None) -> bool:
        """Publish everything, and the offset with the last transaction. Returns whether the bus took all of it. Raises `Fenced`."""
        try:
            with self._measures.timing(COMMIT_STEP_SECONDS, "publish"):
                self._publish(seat, next_offset, mark)
        except BusUnavailable as error:
            if self.failing_since_s is None:
                self.failing_since_s = self._ambient.monotonic_s()
            self._failures += 1
            pause_ms = self._limits.first_pause_ms * 2 ** min(self._failures, 20)
            self.ready_at_s = self._ambient.monotonic_s() + min(self._limits.longest_pause_ms, pause_ms) / 1000
            _log.warning("bus_unavailable", partition=self._partition, doing="announcing", reason=str(error))
            return False
        self._failures = 0
        self.failing_since_s = None
        self._events, self._letters, self._letter_bytes = [], [], 0
        return True

    def _publish(self, seat: Seat, next_offset: int | None, mark: Mark | None) -> None:
        # Dead letters first, because a receipt that no version holds must have its letter on the bus.
        is_one = _portion(self._events) == len(self._events)
        while self._letters and (count := _portion(self._letters)) <= len(self._letters):
            if is_one and count == len(self._letters):
                break
            seat.publish(self._partition, (), self._letters[:count], None)
            del self._letters[:count]
        while (count := _portion(self._events)) < len(self._events):
            seat.publish(self._partition, self._events[:count], (), None)
            del self._events[:count]
        seat.publish(self._partition, self._events, self._letters, next_offset, mark)

    def _add_letters(self, answers: Sequence[Answer], now_ms: int) -> None:
        for answer in answers:
            letter = answer.aside
            if letter is None:
                continue
            _log.warning("proposal_set_aside", offset=answer.offset, code=letter.code.value, reason=letter.reason[:500])
            message = letter_message(letter, self._source, self._identity, now_ms)
            self._letters.append(message)
            self._letter_bytes += len(message.body)
            self._measures.count(DEAD_LETTERS, letter.code.value)

    def _measure(self, answers: Sequence[Answer]) -> None:
        for (outcome, code), number in Counter(map(_outcome, answers)).items():
            if outcome:
                self._measures.count(PROPOSALS_DECIDED, outcome, code, by=number)


def _outcome(answer: Answer) -> tuple[str, str]:
    """The labels to count by: the outcome and its code; empty where there is no receipt."""
    match answer.receipt:
        case None:
            return "", ""
        case Committed():
            return "committed", "none"
        case Duplicate():
            return "duplicate", "none"
        case Rejected(code):
            return "rejected", code.value
        case _:
            assert_never(answer.receipt)


def _portion(messages: Sequence[Message]) -> int:
    """How many of the first messages go into one transaction."""
    size = 0
    for count, message in enumerate(messages[:_MESSAGES_AT_ONCE]):
        size += len(message.body)
        if count and size > _BYTES_AT_ONCE:
            return count
    return min(len(messages), _MESSAGES_AT_ONCE)
