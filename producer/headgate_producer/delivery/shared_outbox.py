"""The outbox, shared by threads: all proposing, sending, following and waiting goes through here."""

import threading
from collections.abc import Iterable

from headgate_bus.interface import Message
from headgate_producer.delivery.outbox import Outbox, Outgoing
from headgate_schemas.ambient import Ambient
from headgate_schemas.messages.operations import Receipt


class SharedOutbox:
    """Every method holds the lock for a moment and does no I/O. Waits end by their deadline."""

    def __init__(self, outbox: Outbox, ambient: Ambient) -> None:
        self._outbox = outbox
        self._ambient = ambient
        self._lock = threading.Lock()
        self._to_send = threading.Condition(self._lock)
        self._room = threading.Condition(self._lock)
        self._ended: dict[str, threading.Event] = {}

    def __len__(self) -> int:
        with self._lock:
            return len(self._outbox)

    def try_submit(self, out: Outgoing) -> threading.Event | None:
        """Add it if there is room; returns the event that is set when it has ended. Raises `NotSent`, `InvalidInput`."""
        with self._lock:
            return self._submit(out) if self._outbox.has_room(out.size) else None

    def submit(self, out: Outgoing, timeout_s: float) -> threading.Event | None:
        """Add it, waiting for room."""
        with self._lock:
            if not self._room.wait_for(lambda: self._outbox.has_room(out.size), timeout_s):
                return None
            return self._submit(out)

    def _submit(self, out: Outgoing) -> threading.Event:
        self._outbox.submit(out, self._ambient.monotonic_s())
        ended = self._ended[out.proposal_id] = threading.Event()
        self._to_send.notify()
        return ended

    def find(self, proposal_id: str) -> Outgoing | None:
        with self._lock:
            return self._outbox.find(proposal_id)

    def attempted(self) -> list[Outgoing]:
        with self._lock:
            return self._outbox.attempted()

    def awaited(self, proposal_ids: Iterable[str]) -> list[str]:
        """Those of the ids that a proposal in flight waits for."""
        with self._lock:
            return [each for each in proposal_ids if self._outbox.find(each) is not None]

    def wait_to_send(self, timeout_s: float) -> None:
        """Wait until there may be something to send, or until the time is over."""
        with self._lock:
            pause_s = self._pause_s()
            if pause_s != 0:
                self._to_send.wait(timeout_s if pause_s is None else min(pause_s, timeout_s))

    def take(self) -> tuple[list[Outgoing], list[Message]]:
        with self._lock:
            batch = self._outbox.take(self._ambient.monotonic_s())
            # The messages belong to the batch; those of proposals that end meanwhile are dropped.
            return batch, [out.message for out in batch if out.message is not None]

    def acknowledged(self, batch: list[Outgoing]) -> None:
        with self._lock:
            self._outbox.acknowledged(batch)
            self._room.notify_all()

    def unanswered(self, batch: list[Outgoing], *, may_have_arrived: bool) -> None:
        with self._lock:
            now_s, jitter = self._ambient.monotonic_s(), self._ambient.jitter()
            self._outbox.unanswered(batch, now_s, jitter, may_have_arrived=may_have_arrived)

    def refused(self, batch: list[Outgoing], reason: str) -> None:
        with self._lock:
            self._end(self._outbox.refused(batch, reason))

    def settle(self, receipts: Iterable[Receipt]) -> int:
        """Returns the number of receipts that a proposal had waited for."""
        with self._lock:
            ended = [out for receipt in receipts if (out := self._outbox.settle(receipt)) is not None]
            self._end(ended)
            if ended and self._outbox.next_send_s() is not None:
                self._to_send.notify()  # the writer's next proposal may be sent
            return len(ended)

    def expire(self) -> None:
        with self._lock:
            self._end(self._outbox.expire(self._ambient.monotonic_s()))

    def give_up_all(self, reason: str) -> None:
        with self._lock:
            self._end(self._outbox.give_up_all(reason))

    def wait_until_empty(self, timeout_s: float) -> None:
        """Wait until nothing is in flight, or until the time is over."""
        with self._lock:
            self._room.wait_for(lambda: not len(self._outbox), timeout_s)

    def pause_s(self) -> float | None:
        """The time until the next send; None while nothing is queued."""
        with self._lock:
            return self._pause_s()

    def wake_sender(self) -> None:
        with self._lock:
            self._to_send.notify_all()

    def _pause_s(self) -> float | None:
        due_s = self._outbox.next_send_s()
        return None if due_s is None else max(0.0, due_s - self._ambient.monotonic_s())

    def _end(self, ended: list[Outgoing]) -> None:
        for out in ended:
            event = self._ended.pop(out.proposal_id, None)
            if event is not None:
                event.set()
        if ended:
            self._room.notify_all()
