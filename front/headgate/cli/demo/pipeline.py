"""The writers of the demo: programs that propose to one table at the same time, and their receipts."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headgate_producer.producer import Producer
from headgate_schemas.errors import HeadgateError
from headgate_schemas.messages.operations import Committed, Duplicate, Receipt, Writer

if TYPE_CHECKING:
    from headgate_schemas.actions.actions import AddFile
    from headgate_schemas.ambient import Ambient

ANSWER_WITHIN_S = 60.0
IN_FLIGHT = 8
"""Proposals of one writer that wait for their receipts at the same time."""


@dataclass
class DemoTally:
    """The receipts of the writers so far. Threads share it."""

    receipts: dict[str, Receipt] = field(default_factory=dict)
    acknowledged: set[str] = field(default_factory=set)
    """The files whose proposals were accepted."""
    failures: list[str] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, path: str, receipt: Receipt) -> None:
        with self._lock:
            self.receipts[receipt.proposal_id] = receipt
            if isinstance(receipt, Committed | Duplicate):
                self.acknowledged.add(path)

    def failed(self, reason: str) -> None:
        with self._lock:
            self.failures.append(reason)

    @property
    def count(self) -> int:
        with self._lock:
            return len(self.receipts)


class Writers:
    """Programs that add files to one table at the same time, each with a producer of its own."""

    def __init__(
        self, bus: str, table: str, ambient: "Ambient", count: int, files_each: int, make: Callable[[int], "AddFile"]
    ) -> None:
        self.tally = DemoTally()
        self._bus = bus
        self._table = table
        self._ambient = ambient
        self._files_each = files_each
        self._make = make
        self._threads = [
            threading.Thread(target=self._write, args=(number,), name=f"writer-{number}", daemon=True)
            for number in range(count)
        ]

    @property
    def proposals(self) -> int:
        return len(self._threads) * self._files_each

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    @property
    def are_writing(self) -> bool:
        return any(thread.is_alive() for thread in self._threads)

    def _write(self, number: int) -> None:
        try:
            with Producer(
                self._bus, self._table, author=f"writer-{number}", max_in_flight=IN_FLIGHT, ambient=self._ambient
            ) as producer:
                waiting = []
                for turn in range(self._files_each):
                    file = self._make(number)
                    # Every tenth proposal has a writer with a seq, so that the table recognises its repeats for ever.
                    writer = Writer(f"writer-{number}", turn) if turn % 10 == 0 else None
                    waiting.append((file.path, producer.append([file], writer=writer)))
                    if len(waiting) >= IN_FLIGHT:
                        path, ticket = waiting.pop(0)
                        self.tally.note(path, ticket.wait(ANSWER_WITHIN_S))
                for path, ticket in waiting:
                    self.tally.note(path, ticket.wait(ANSWER_WITHIN_S))
        except HeadgateError as error:
            self.tally.failed(f"writer-{number}: {error}")
