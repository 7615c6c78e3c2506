"""Commits the changes of a command or statement: by proposals on a bus, or directly to the table."""

import threading
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

from headgate_schemas.ambient import Ambient
from headgate_schemas.messages.operations import Operation, Receipt
from headgate_schemas.version import __version__
from headgate_table.errors import OutcomeUnknown
from headgate_table.store.settings import StoreSettings

if TYPE_CHECKING:
    from headgate_bus.interface import Bus
    from headgate_producer.delivery.ticket import Ticket
    from headgate_producer.producer import Producer
    from headgate_table.indextables.cleaning.plan import Protected
    from headgate_table.indextables.log.reader import LogReader

AUTHOR = f"headgate-cli/{__version__}"
Commit = Callable[[Operation], Receipt]

COMMITTER_GROUP = "headgate-committer"
"""Whose progress says what is undecided, unless the committers were given another group."""
RECEIPT_WITHIN_S = 120.0
"""How long a command waits for the receipt of what it proposed. A committer that restarts or moves is back before."""


class Commits:
    """Provides the way to commit to a table. Opens the bus at its first use, and keeps it until it is closed."""

    def __init__(
        self,
        address: str | None,
        storage: StoreSettings,
        ambient: Ambient,
        receipt_within_s: float | None = None,
        committer_group: str = COMMITTER_GROUP,
    ) -> None:
        """`address` is the bus's; without one, commits go directly to tables."""
        self._address = address
        self._storage = storage
        self._ambient = ambient
        self._receipt_within_s = RECEIPT_WITHIN_S if receipt_within_s is None else receipt_within_s
        self._committer_group = committer_group
        self._proposing = threading.Lock()
        self._bus: Bus | None = None
        self._producers: dict[str, Producer] = {}

    @property
    def are_direct(self) -> bool:
        return self._address is None

    def to(self, uri: str) -> Commit | None:
        """The function that commits to the table at `uri`; None for direct commits."""
        if self._address is None:
            return None

        def commit(operation: Operation) -> Receipt:
            # Threads that merge at the same time propose one after the other: the thread that waits also carries the
            # messages.
            with self._proposing:
                return self.receipt(self.producer(uri).propose(operation), uri)

        return commit

    def protected(self, reader: "LogReader") -> "Protected":
        """The needs of undecided proposals on the bus for a table that is to be cleaned; empty without a bus.

        Raises `TooMuchUndecided`, and the errors of the bus.
        """
        from headgate_table.indextables.cleaning.plan import Protected

        if self._address is None:
            return Protected()
        from headgate_worker.roles.undecided import protected_by

        return protected_by(self._opened(), self._committer_group, reader, self._ambient)

    def receipt(self, ticket: "Ticket", uri: str) -> Receipt:
        """The receipt of a proposal to the table at `uri`. Raises `OutcomeUnknown` with a message for users of a
        command.
        """
        try:
            return ticket.wait(timeout=self._receipt_within_s)
        except KeyboardInterrupt:
            # A sent proposal stays sent, even if the user stops waiting.
            raise _unknown(ticket.proposal_id, uri, "before this was interrupted") from None
        except OutcomeUnknown as error:
            raise _unknown(ticket.proposal_id, uri, f"within {self._receipt_within_s:g} s") from error

    def producer(self, uri: str) -> "Producer":
        """The table's producer, if commits go through a bus. Raises the errors of opening the bus."""
        from headgate_producer.producer import Producer

        if uri not in self._producers:
            bus = self._opened()
            self._producers[uri] = Producer(
                bus, uri, author=AUTHOR, storage=self._storage, ambient=self._ambient, threads=False
            )
        return self._producers[uri]

    def close(self) -> None:
        for producer in self._producers.values():
            producer.close(0.0)  # every waiting thread has an answer, or has given up waiting
        if self._bus is not None:
            self._bus.close()

    def __enter__(self) -> "Commits":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _opened(self) -> "Bus":
        if self._bus is None:
            from headgate_bus.open import open_bus

            assert self._address is not None, "asked for only where a bus is set"
            self._bus = open_bus(self._address, self._ambient)
            self._bus.prepare()
        return self._bus


def _unknown(proposal_id: str, uri: str, when: str) -> OutcomeUnknown:
    return OutcomeUnknown(
        f"no receipt of proposal {proposal_id} came {when}, so nobody knows yet what becomes of it. Look whether a committer "
        f"runs, and for the proposal in `headgate events {uri}`, before this is done again",
        proposal_id,
    )
