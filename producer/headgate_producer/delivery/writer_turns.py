"""The turns of one writer's proposals: one at a time, and none after one that may be lost. Pure.

If seq 18 were sent while the outcome of 17 is open, 17 could get lost, and its repeat would be taken for a duplicate.
"""

from collections import deque
from typing import Generic, Protocol, TypeVar

from headgate_producer.errors import NotSent
from headgate_schemas.messages.operations import Writer

MAX_OPEN_SEQS = 10_000
"""Seqs without a known outcome that are remembered; beyond that writers that are new here are refused."""


class WithWriter(Protocol):
    """A proposal that has a writer."""

    @property
    def proposal_id(self) -> str: ...


W = TypeVar("W", bound=WithWriter)


class WriterTurns(Generic[W]):
    """Proposals by app: the one in flight, those behind it, and the seqs of those that were given up."""

    def __init__(self) -> None:
        self._in_flight: dict[str, W] = {}
        self._behind: dict[str, deque[W]] = {}
        self._open: dict[str, dict[int, str]] = {}
        self._open_count = 0

    def check(self, writer: Writer) -> None:
        """Raises `NotSent` for a seq behind one whose outcome is unknown."""
        lost = self._open.get(writer.app)
        if lost:
            first = min(lost)
            if writer.seq > first:
                raise NotSent(
                    f"seq {writer.seq} of writer {writer.app!r} was not sent: the outcome of seq {first} (proposal {lost[first]}) "
                    f"is not known. Ask for it with outcome(), or propose seq {first} again first"
                )
        elif self._open_count >= MAX_OPEN_SEQS:
            raise NotSent(
                f"seq {writer.seq} of writer {writer.app!r} was not sent: {MAX_OPEN_SEQS} proposals of other writers have no known "
                f"outcome (MAX_OPEN_SEQS). Look why no committer answers, and open a new producer"
            )

    def enter(self, writer: Writer, proposal: W) -> bool:
        """Join the queue; True if it is this proposal's turn at once."""
        self.settled(writer)
        if writer.app not in self._in_flight:
            self._in_flight[writer.app] = proposal
            return True
        self._behind.setdefault(writer.app, deque()).append(proposal)
        return False

    def leave(self, writer: Writer, proposal: W) -> W | None:
        """The proposal is settled, perhaps before its turn, by the receipt of another process that had sent it.

        Returns the proposal whose turn it is now.
        """
        if self._in_flight.get(writer.app) is not proposal:
            self._step_out(writer, proposal)
            return None
        behind = self._behind.get(writer.app)
        if not behind:
            self._behind.pop(writer.app, None)
            del self._in_flight[writer.app]
            return None
        successor = behind.popleft()
        self._in_flight[writer.app] = successor
        return successor

    def give_up(self, writer: Writer, proposal: W) -> list[W]:
        """The proposal's outcome stays unknown. The proposals behind it can't be sent either, and are returned in
        order.
        """
        lost = self._open.setdefault(writer.app, {})
        self._open_count += writer.seq not in lost
        lost.setdefault(writer.seq, proposal.proposal_id)
        if self._in_flight.get(writer.app) is not proposal:
            self._step_out(writer, proposal)
            return []
        del self._in_flight[writer.app]
        return list(self._behind.pop(writer.app, ()))

    def open_id(self, writer: Writer) -> str | None:
        """The proposal with this seq that was given up."""
        return self._open.get(writer.app, {}).get(writer.seq)

    def settled(self, writer: Writer) -> None:
        """The outcome of this seq is known, or it is proposed again."""
        lost = self._open.get(writer.app)
        if lost is not None and lost.pop(writer.seq, None) is not None:
            self._open_count -= 1
            if not lost:
                del self._open[writer.app]

    def _step_out(self, writer: Writer, proposal: W) -> None:
        """Leave the queue. If it stayed until its turn, it would never be sent, and would block all behind it for ever."""
        behind = self._behind.get(writer.app)
        if behind is not None and proposal in behind:
            behind.remove(proposal)
            if not behind:
                del self._behind[writer.app]
