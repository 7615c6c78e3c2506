"""Carries proposals to the bus and receipts back: in two threads or, without them, in the thread that waits.

A message without acknowledgement is sent again, with the same bytes.
"""

import threading
from collections.abc import Callable
from typing import Final

from headgate_bus.errors import BusError, BusUnavailable
from headgate_bus.interface import Bus, Topic
from headgate_producer.delivery.receipt_reader import ReceiptReader
from headgate_producer.delivery.shared_outbox import SharedOutbox
from headgate_schemas.ambient import Ambient
from headgate_schemas.logs import get_logger

POLL_S: Final = 0.25
"""How long a thread waits at most before it looks around."""
JOIN_S: Final = 5.0
"""How long a closing producer waits for each of its threads; one that hangs in a call ends with it, or the process."""


SEND_TIMEOUT_S: Final = 10.0
"""How long the bus may take for one batch, until the batch is sent again."""

_log = get_logger("headgate.producer")


class DeliveryThreads:
    """Without threads, only `pump` does anything, so that a simulation controls the order of events."""

    def __init__(
        self,
        bus: Bus,
        flight: SharedOutbox,
        follower: ReceiptReader,
        ambient: Ambient,
        *,
        prepares: bool,
        threads: bool,
    ) -> None:
        """`prepares`: the bus is prepared before the first message is sent."""
        self._bus = bus
        self._is_prepared = not prepares
        self._follower = follower
        self._flight = flight
        self._ambient = ambient
        self._stopping = threading.Event()
        self._broken = ""
        self._threads: list[threading.Thread] = []
        if threads:
            for work in (self._send, self._follow):
                name = f"headgate-producer-{work.__name__.strip('_')}"
                self._threads.append(threading.Thread(target=self._run, args=(work,), name=name, daemon=True))
            for thread in self._threads:
                thread.start()

    @property
    def has_threads(self) -> bool:
        return bool(self._threads)

    @property
    def broken(self) -> str:
        """The reason why delivery has stopped; "" while it works."""
        return self._broken

    @property
    def has_stopped(self) -> bool:
        return self._stopping.is_set()

    def pump(self, timeout_s: float) -> None:
        """One round of all work, in the caller's thread; it takes about `timeout_s` if there is nothing to do."""
        self.send_once()
        self._flight.expire()
        pause_s = self._flight.pause_s()
        turn_s = min(timeout_s, POLL_S, POLL_S if pause_s is None else pause_s)
        if self._follower.is_marked:
            self._follower.follow_once(turn_s)
        elif pause_s is not None:
            self._ambient.sleep(turn_s)

    def send_once(self) -> int:
        """Send one batch if messages are queued and the bus needs no pause; returns the number of acknowledged ones."""
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

    def stop(self) -> None:
        """End the threads. Proposals in flight keep their state."""
        self._stopping.set()
        self._flight.wake_sender()
        for thread in self._threads:
            thread.join(JOIN_S)
        if not any(thread.is_alive() for thread in self._threads):
            self._follower.close()

    def _send(self) -> None:
        while not self._stopping.is_set():
            self._flight.wait_to_send(POLL_S)
            self.send_once()
            self._flight.expire()

    def _follow(self) -> None:
        while not self._stopping.is_set():
            if self._follower.wait_until_marked(POLL_S):
                self._follower.follow_once(POLL_S)
            self._flight.expire()

    def _run(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:
            # Nobody may wait for a delivery that has stopped. Python reports the thread's own error.
            self._broken = f"a thread of this producer ended by {error!r}"
            self._stopping.set()
            self._flight.give_up_all(self._broken)
            raise
