"""`Ticket`: the promise of a receipt. Waiting itself is the producer's."""

from collections.abc import Callable

from headgate_producer.delivery.outbox import Outgoing
from headgate_schemas import arguments
from headgate_schemas.arguments import checked
from headgate_schemas.messages.operations import Receipt


class Ticket:
    """One proposal that was taken over by a producer. Threads may share it."""

    __slots__ = ("_outgoing", "_wait")

    def __init__(self, outgoing: Outgoing, wait: Callable[[float | None], Receipt]) -> None:
        self._outgoing = outgoing
        self._wait = wait

    @property
    def proposal_id(self) -> str:
        return self._outgoing.proposal_id

    @property
    def done(self) -> bool:
        """Whether `wait` returns or raises at once."""
        return self._outgoing.has_ended

    @checked(timeout=arguments.seconds)
    def wait(self, timeout: float | None = None) -> Receipt:
        """The receipt, waiting for it up to `timeout` seconds, without one for as long as the proposal is in flight.

        Past its time it raises `OutcomeUnknown`, and may be called again; `NotSent` where the proposal never left.
        """
        return self._wait(timeout)

    def __repr__(self) -> str:
        return f"Ticket({self.proposal_id}, {self._outgoing.stage.name.lower()})"
