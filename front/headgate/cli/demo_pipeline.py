"""The moving parts of the demo: writers that propose, and a committer process that is killed and replaced."""

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from headgate_producer.producer import Producer
from headgate_schemas.errors import HeadgateError
from headgate_schemas.operations import Committed, Duplicate, Receipt, Writer

if TYPE_CHECKING:
    from headgate_schemas.actions import AddFile
    from headgate_schemas.ambient import Ambient

ANSWER_WITHIN_S = 60.0
IN_FLIGHT = 8
"""Proposals of one writer that wait for their receipts at the same time."""


class CommitterProcess:
    """`headgate committer` on the demo's bus; its log lies beside the bus."""

    def __init__(self, folder: Path, bus: str) -> None:
        self._folder = folder
        self._bus = bus
        self._runs = 0
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._runs += 1
        command = [sys.executable, "-m", "headgate", "committer", "--bus", self._bus, "--root", str(self._folder)]
        log = self._folder / f"committer-{self._runs}.log"
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [*command, "--id", f"committer-{self._runs}"], stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )

    def kill(self) -> None:
        """As a power cut would: nothing is finished, nobody is told."""
        assert self._process is not None, "it has to be started first"
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """Let it settle what it took."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(30)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def check(self) -> None:
        """Raises with the end of its log when it has ended by itself."""
        if self._process is not None and self._process.poll() is not None:
            log = (self._folder / f"committer-{self._runs}.log").read_text(errors="replace").strip()
            raise HeadgateError(f"the demo's committer ended by itself:\n{log[-2000:]}")


@contextmanager
def committer_process(folder: Path, bus: str) -> Iterator[CommitterProcess]:
    process = CommitterProcess(folder, bus)
    process.start()
    try:
        yield process
    finally:
        process.stop()


@dataclass
class Tally:
    """What the writers were told so far. Threads share it."""

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
        self.tally = Tally()
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
                    # Every tenth proposal carries the writer's own counter, by which a repetition is known for ever.
                    writer = Writer(f"writer-{number}", turn) if turn % 10 == 0 else None
                    waiting.append((file.path, producer.append([file], writer=writer)))
                    if len(waiting) >= IN_FLIGHT:
                        path, ticket = waiting.pop(0)
                        self.tally.note(path, ticket.wait(ANSWER_WITHIN_S))
                for path, ticket in waiting:
                    self.tally.note(path, ticket.wait(ANSWER_WITHIN_S))
        except HeadgateError as error:
            self.tally.failed(f"writer-{number}: {error}")
