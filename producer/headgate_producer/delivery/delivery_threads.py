"""What carries proposals and receipts: two threads, or, without them, whoever waits."""

import threading
from collections.abc import Callable
from typing import Final

from headgate_producer.delivery.receipt_reader import ReceiptReader
from headgate_producer.delivery.sender import Sender
from headgate_producer.delivery.shared_outbox import SharedOutbox
from headgate_schemas.ambient import Ambient

POLL_S: Final = 0.25
"""How long a thread waits at most before it looks around."""
JOIN_S: Final = 5.0
"""How long a closing producer waits for each of its threads; one that hangs in a call ends with it, or the process."""


class DeliveryThreads:
    """Without threads nothing moves but in `pump`, so that a simulation decides what happens when."""

    def __init__(
        self, sender: Sender, follower: ReceiptReader, flight: SharedOutbox, ambient: Ambient, *, threads: bool
    ) -> None:
        self._sender = sender
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
        """Why nothing is carried any more; "" while all is well."""
        return self._broken

    @property
    def has_stopped(self) -> bool:
        return self._stopping.is_set()

    def pump(self, timeout_s: float) -> None:
        """One turn of everything, in the caller's thread; about `timeout_s` long when nothing happens."""
        self._sender.send_once()
        self._flight.expire()
        pause_s = self._flight.pause_s()
        turn_s = min(timeout_s, POLL_S, POLL_S if pause_s is None else pause_s)
        if self._follower.is_marked:
            self._follower.follow_once(turn_s)
        elif pause_s is not None:
            self._ambient.sleep(turn_s)

    def stop(self) -> None:
        """End the threads. What is in flight stays as it is."""
        self._stopping.set()
        self._flight.wake_sender()
        for thread in self._threads:
            thread.join(JOIN_S)
        if not any(thread.is_alive() for thread in self._threads):
            self._follower.close()

    def _send(self) -> None:
        while not self._stopping.is_set():
            self._flight.wait_to_send(POLL_S)
            self._sender.send_once()
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
            # Nobody must wait for what nobody carries any more. The thread's own end is reported by Python.
            self._broken = f"a thread of this producer ended by {error!r}"
            self._stopping.set()
            self._flight.give_up_all(self._broken)
            raise
