"""A committer without a table: decides what it finds on a bus in order, remembers ids and seqs, and announces receipts."""

import threading
from collections.abc import Callable
from types import TracebackType

from headgate_bus.interface import Bus, Message, Topic
from headgate_schemas.messages.cloud_events import RECEIPT, attributes
from headgate_schemas.messages.events import encode_event, receipt_event
from headgate_schemas.messages.operations import Committed, Duplicate, Receipt, Rejected
from headgate_schemas.messages.proposals import Proposal, decode_proposal

Judge = Callable[[Proposal, int], Receipt]


def accept(proposal: Proposal, version: int) -> Receipt:
    return Committed(version, proposal.id)


class Decider:
    """Each `step` settles what is on the bus. `announce` False: it decides, but tells nobody."""

    def __init__(self, bus: Bus, judge: Judge = accept) -> None:
        self._bus = bus
        self._judge = judge
        self._reader = bus.reader(Topic.PROPOSALS, {0: bus.extent(Topic.PROPOSALS, 0).first})
        self.announce = True
        self.seen: list[Proposal] = []
        self.receipts: dict[str, Receipt] = {}
        self.version = 0
        self._seqs: dict[str, tuple[int, int]] = {}

    def step(self) -> int:
        records = self._reader.read(0.0)
        for record in records:
            proposal = decode_proposal(record.body)
            self.seen.append(proposal)
            receipt = self._decide(proposal)
            if self.announce:
                self._bus.append(Topic.EVENTS, [receipt_message(receipt, record.key)])
        return len(records)

    def _decide(self, proposal: Proposal) -> Receipt:
        first = self.receipts.get(proposal.id)
        if isinstance(first, Committed):
            return Duplicate(first.version, proposal.id)
        if first is not None:
            return first
        writer = proposal.written_by
        last = None if writer is None else self._seqs.get(writer.app)
        if writer is not None and last is not None and writer.seq <= last[0]:
            receipt: Receipt = Duplicate(last[1], proposal.id)
        else:
            receipt = self._judge(proposal, self.version + 1)
            if not isinstance(receipt, Rejected):
                self.version += 1
                if writer is not None:
                    self._seqs[writer.app] = (writer.seq, self.version)
        self.receipts[proposal.id] = receipt
        return receipt


class DecidingThread:
    """A decider at work until the block ends."""

    def __init__(self, decider: Decider) -> None:
        self._decider = decider
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> Decider:
        self._thread.start()
        return self._decider

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        self._thread.join(60)
        assert not self._thread.is_alive()

    def _work(self) -> None:
        while not self._stopping.is_set():
            if self._decider.step() == 0:
                self._stopping.wait(0.002)


def receipt_message(receipt: Receipt, table: str, time_ms: int = 1) -> Message:
    """How a committer announces it."""
    headers = attributes(
        kind=RECEIPT,
        event_id=f"{table}/{receipt.proposal_id}",
        source="test",
        subject=receipt.proposal_id,
        time_ms=time_ms,
    )
    return Message(table, headers, encode_event(receipt_event(receipt, table, time_ms)))
