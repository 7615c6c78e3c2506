"""Sending what the outbox holds. A message that the bus didn't acknowledge is sent again, the same each time."""

from headgate_bus.errors import BusError, BusUnavailable
from headgate_bus.interface import Bus, Topic
from headgate_producer.delivery.receipt_reader import ReceiptReader
from headgate_producer.delivery.shared_outbox import SharedOutbox
from headgate_schemas.logs import get_logger

SEND_TIMEOUT_S = 10.0
"""How long the bus may take for one batch, until the batch is sent again."""

_log = get_logger("headgate.producer")


class Sender:
    """One thread uses it at a time."""

    def __init__(self, bus: Bus, flight: SharedOutbox, follower: ReceiptReader, *, prepares: bool) -> None:
        self._bus = bus
        self._flight = flight
        self._follower = follower
        self._is_prepared = not prepares

    def send_once(self) -> int:
        """Send one batch, if something is queued and the bus needs no pause; returns how many were acknowledged."""
        batch, messages = self._flight.take()
        if not batch:
            return 0
        may_have_arrived = False
        try:
            if not self._is_prepared:
                self._bus.prepare()
                self._is_prepared = True
            self._follower.mark()
            may_have_arrived = True
            self._bus.append(Topic.PROPOSALS, messages, SEND_TIMEOUT_S)
        except BusUnavailable as error:
            _log.warning("proposals_not_acknowledged", bus=self._bus.address, proposals=len(batch), reason=str(error))
            self._flight.unanswered(batch, may_have_arrived=may_have_arrived)
            return 0
        except BusError as error:
            _log.warning("proposals_refused", bus=self._bus.address, proposals=len(batch), reason=str(error))
            self._flight.refused(batch, str(error))
            return 0
        self._flight.acknowledged(batch)
        return len(batch)
