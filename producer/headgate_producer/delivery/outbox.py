"""The states of outgoing proposals: a state machine without I/O, which gets the time as an argument.

Other modules send, read receipts and wait.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from headgate_bus.interface import Message
from headgate_producer.delivery.writer_turns import WriterTurns
from headgate_producer.errors import NotSent
from headgate_schemas.errors import HeadgateError, InvalidInput
from headgate_schemas.messages.operations import Receipt, Writer
from headgate_table.errors import OutcomeUnknown

MAX_IN_FLIGHT = 1_000
ANSWER_WITHIN_S = 600.0


class Stage(Enum):
    QUEUED = "to be sent, or sent again"
    SENDING = "handed to the bus, which has not answered yet"
    SENT = "held by the bus"
    SETTLED = "its receipt is here"
    GIVEN_UP = "nobody waits for its receipt any more"


class Step(Enum):
    TAKE = "it goes into a batch"
    ACKNOWLEDGE = "the bus has it"
    NO_ANSWER = "the bus doesn't say whether it has it"
    SETTLE = "a receipt came"
    GIVE_UP = "its time is over, the bus refused it, or the producer closes"


TRANSITIONS: Mapping[tuple[Stage, Step], Stage] = {
    (Stage.QUEUED, Step.TAKE): Stage.SENDING,
    (Stage.QUEUED, Step.SETTLE): Stage.SETTLED,  # an attempt without acknowledgement had arrived
    (Stage.QUEUED, Step.GIVE_UP): Stage.GIVEN_UP,
    (Stage.SENDING, Step.ACKNOWLEDGE): Stage.SENT,
    (Stage.SENDING, Step.NO_ANSWER): Stage.QUEUED,
    (Stage.SENDING, Step.SETTLE): Stage.SETTLED,  # the receipt came before the acknowledgement
    (Stage.SENDING, Step.GIVE_UP): Stage.GIVEN_UP,
    (Stage.SENT, Step.SETTLE): Stage.SETTLED,
    (Stage.SENT, Step.GIVE_UP): Stage.GIVEN_UP,
    # Late events change nothing, except for a receipt, which always counts.
    (Stage.SETTLED, Step.ACKNOWLEDGE): Stage.SETTLED,
    (Stage.SETTLED, Step.NO_ANSWER): Stage.SETTLED,
    (Stage.SETTLED, Step.SETTLE): Stage.SETTLED,
    (Stage.SETTLED, Step.GIVE_UP): Stage.SETTLED,
    (Stage.GIVEN_UP, Step.ACKNOWLEDGE): Stage.GIVEN_UP,
    (Stage.GIVEN_UP, Step.NO_ANSWER): Stage.GIVEN_UP,
    (Stage.GIVEN_UP, Step.SETTLE): Stage.SETTLED,
    (Stage.GIVEN_UP, Step.GIVE_UP): Stage.GIVEN_UP,
}


@dataclass(frozen=True, slots=True)
class OutboxLimits:
    max_in_flight: int = MAX_IN_FLIGHT
    """Proposals without a receipt."""
    max_unsent_bytes: int = 64 << 20
    """Bodies that the bus has not taken yet; one is always admitted."""
    batch_messages: int = 500
    batch_bytes: int = 4 << 20
    """What goes out in one append; at least one message."""
    answer_within_s: float = ANSWER_WITHIN_S
    """How long a proposal is kept in flight. A committer that restarts, or moves, is back long before."""
    first_pause_s: float = 0.05
    longest_pause_s: float = 5.0
    """Between attempts to send; doubled each time."""


@dataclass(slots=True, eq=False)
class Outgoing:
    """One proposal on its way. Only the outbox changes it."""

    proposal_id: str
    writer: Writer | None
    message: Message | None
    """None once the bus has it: it is never sent again then."""
    size: int
    deadline_s: float = 0.0
    stage: Stage = Stage.QUEUED
    attempts: int = 0
    receipt: Receipt | None = None
    failure: HeadgateError | None = None
    """What whoever waits is told once it was given up."""
    given_up_because: str = ""

    @property
    def has_ended(self) -> bool:
        return self.stage is Stage.SETTLED or self.stage is Stage.GIVEN_UP

    def step(self, step: Step) -> None:
        self.stage = TRANSITIONS[self.stage, step]


class Outbox:
    """Proposals in flight. A proposal keeps its id and its bytes however often it is sent."""

    def __init__(self, limits: OutboxLimits | None = None) -> None:
        self.limits = limits or OutboxLimits()
        self._in_flight: dict[str, Outgoing] = {}  # oldest first, so that deadlines come in order
        self._ready: deque[Outgoing] = deque()
        self._turns: WriterTurns[Outgoing] = WriterTurns()
        self._given_up: dict[str, Outgoing] = {}
        self._unsent_bytes = 0
        self._failures = 0
        self._not_before_s = 0.0

    def __len__(self) -> int:
        return len(self._in_flight)

    def has_room(self, size: int) -> bool:
        if len(self._in_flight) >= self.limits.max_in_flight:
            return False
        return self._unsent_bytes == 0 or self._unsent_bytes + size <= self.limits.max_unsent_bytes

    def find(self, proposal_id: str) -> Outgoing | None:
        """A proposal in flight, or one that was given up and whose writer waits for its outcome."""
        return self._in_flight.get(proposal_id) or self._given_up.get(proposal_id)

    def attempted(self) -> list[Outgoing]:
        """The proposals in flight that the bus may have."""
        return [out for out in self._in_flight.values() if out.attempts > 0]

    def submit(self, out: Outgoing, now_s: float) -> None:
        """Add a proposal; the caller has made sure of room. Raises `NotSent` if its writer has to wait."""
        if out.proposal_id in self._in_flight:
            raise InvalidInput(f"proposal {out.proposal_id} is in flight already: wait for its ticket")
        assert out.message is not None
        if out.writer is not None:
            self._turns.check(out.writer)
        out.deadline_s = now_s + self.limits.answer_within_s
        self._in_flight[out.proposal_id] = out
        self._unsent_bytes += out.size
        self._given_up.pop(out.proposal_id, None)
        if out.writer is not None:
            self._given_up.pop(self._turns.open_id(out.writer) or "", None)
        if out.writer is None or self._turns.enter(out.writer, out):
            self._ready.append(out)

    def next_send_s(self) -> float | None:
        """The next time at which there may be something to take; None while nothing is queued."""
        return self._not_before_s if self._ready else None

    def take(self, now_s: float) -> list[Outgoing]:
        """The messages to send now, in order; none while the bus gets a pause."""
        batch: list[Outgoing] = []
        if now_s < self._not_before_s:
            return batch
        size = 0
        while self._ready and len(batch) < self.limits.batch_messages:
            out = self._ready[0]
            if out.stage is Stage.QUEUED:
                if batch and size + out.size > self.limits.batch_bytes:
                    break
                size += out.size
                out.step(Step.TAKE)
                out.attempts += 1
                batch.append(out)
            self._ready.popleft()
        return batch

    def acknowledged(self, batch: Sequence[Outgoing]) -> None:
        self._failures, self._not_before_s = 0, 0.0
        for out in batch:
            out.step(Step.ACKNOWLEDGE)
            self._drop_message(out)

    def unanswered(
        self, batch: Sequence[Outgoing], now_s: float, jitter: float, *, may_have_arrived: bool = True
    ) -> None:
        """Queue the same messages again, in the same order, before all others, after a pause."""
        for out in batch:
            out.step(Step.NO_ANSWER)
            out.attempts -= not may_have_arrived
        self._ready.extendleft(out for out in reversed(batch) if out.stage is Stage.QUEUED)
        pause_s = min(self.limits.first_pause_s * 2.0 ** min(self._failures, 30), self.limits.longest_pause_s)
        self._failures += 1
        self._not_before_s = now_s + pause_s * (0.5 + jitter / 2)

    def refused(self, batch: Sequence[Outgoing], reason: str) -> list[Outgoing]:
        """The bus refused all of them. Returns every proposal that was given up because of that."""
        ended: list[Outgoing] = []
        for out in batch:
            out.attempts -= 1
            ended += self._give_up(out, f"the bus refused it: {reason}")
        return ended

    def settle(self, receipt: Receipt) -> Outgoing | None:
        """The proposal that this receipt settles, if it is the first one for it."""
        out = self.find(receipt.proposal_id)
        if out is None or out.receipt is not None:
            return None
        was_given_up = out.stage is Stage.GIVEN_UP
        out.step(Step.SETTLE)
        out.receipt = receipt
        self._drop_message(out)
        if was_given_up:
            del self._given_up[out.proposal_id]
            if out.writer is not None:
                self._turns.settled(out.writer)
            return out
        del self._in_flight[out.proposal_id]
        if out.writer is not None:
            successor = self._turns.leave(out.writer, out)
            if successor is not None:
                self._ready.append(successor)
        return out

    def expire(self, now_s: float) -> list[Outgoing]:
        """Give up the proposals whose time is over."""
        ended: list[Outgoing] = []
        while self._in_flight:
            oldest = next(iter(self._in_flight.values()))
            if oldest.deadline_s > now_s:
                break
            ended += self._give_up(
                oldest, f"no receipt came within {self.limits.answer_within_s:g} s (answer_within_s)"
            )
        return ended

    def give_up_all(self, reason: str) -> list[Outgoing]:
        ended: list[Outgoing] = []
        while self._in_flight:
            ended += self._give_up(next(iter(self._in_flight.values())), reason)
        return ended

    def _give_up(self, out: Outgoing, reason: str) -> list[Outgoing]:
        if out.has_ended:
            return []
        self._end(out, reason)
        ended = [out]
        if out.writer is not None:
            self._given_up[out.proposal_id] = out
            for behind in self._turns.give_up(out.writer, out):
                ended += self._give_up(behind, f"proposal {out.proposal_id} of the same writer has no outcome")
        return ended

    def _end(self, out: Outgoing, reason: str) -> None:
        out.failure = _failure(out, reason)
        out.given_up_because = reason
        out.step(Step.GIVE_UP)
        self._drop_message(out)
        del self._in_flight[out.proposal_id]

    def _drop_message(self, out: Outgoing) -> None:
        if out.message is not None:
            out.message = None
            self._unsent_bytes -= out.size


def _failure(out: Outgoing, reason: str) -> HeadgateError:
    if out.attempts == 0:
        return NotSent(f"proposal {out.proposal_id} was not sent: {reason}. It may be proposed again")
    return unknown_outcome(out.proposal_id, reason)


def unknown_outcome(proposal_id: str, reason: str) -> OutcomeUnknown:
    return OutcomeUnknown(
        f"nobody knows yet what became of proposal {proposal_id}: {reason}. Ask again with producer.outcome({proposal_id!r}); "
        f"to send it again, propose it with the same proposal_id",
        proposal_id,
    )
