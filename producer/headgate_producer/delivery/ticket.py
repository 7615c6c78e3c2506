"""`Ticket`: the promise of a receipt. The producer does the waiting."""

from collections.abc import Callable

from headgate_producer.delivery.outbox import Outgoing
from headgate_schemas import arguments
from headgate_schemas.arguments import checked
from headgate_schemas.messages.operations import Receipt


class Ticket:
    """One proposal that a producer has accepted. Threads may share it.

    Examples:
        >>> with headgate.Producer("sqlite:other.db", "lake/events") as waiting:
        ...     ticket = waiting.create("id BIGINT")
        ...     ticket.done
        ...     with headgate.committing("sqlite:other.db"):
        ...         ticket.wait(30)
        False
        Committed(version=0, proposal_id='...')
        >>> ticket.done
        True
    """

    __slots__ = ("_outgoing", "_wait")

    def __init__(self, outgoing: Outgoing, wait: Callable[[float | None], Receipt]) -> None:
        self._outgoing = outgoing
        self._wait = wait

    @property
    def proposal_id(self) -> str:
        """The id of the proposal."""
        return self._outgoing.proposal_id

    @property
    def done(self) -> bool:
        """Whether `wait` would return or raise immediately."""
        return self._outgoing.has_ended

    @checked(timeout=arguments.seconds)
    def wait(self, timeout: float | None = None) -> Receipt:
        """The receipt. Waits for it up to `timeout` seconds, or, without one, while the proposal is in flight.

        Raises `OutcomeUnknown` after the timeout, and may be called again. Raises `NotSent` if the proposal was never sent.

        Examples:
            >>> bus = "sqlite:bus.db"
            >>> with headgate.committing(bus), headgate.Producer(bus, "lake/clicks") as producer:
            ...     producer.create("id BIGINT").wait(timeout=30)
            Committed(version=0, proposal_id='...')
        """
        return self._wait(timeout)

    def __repr__(self) -> str:
        return f"Ticket({self.proposal_id}, {self._outgoing.stage.name.lower()})"
