"""Follows the events topic for receipts of our proposals. After missed events it looks the proposals up in the table."""

import threading
from collections import deque
from collections.abc import Sequence

from headgate_bus.errors import BusError, OffsetGone
from headgate_bus.interface import Bus, Reader, Record, Topic
from headgate_producer.delivery.decision_lookup import DecisionLookup
from headgate_producer.delivery.outbox import Outgoing
from headgate_producer.delivery.shared_outbox import SharedOutbox
from headgate_schemas.ambient import Ambient
from headgate_schemas.errors import HeadgateError
from headgate_schemas.logs import get_logger
from headgate_schemas.messages.cloud_events import RECEIPT, kind_of, subject_of
from headgate_schemas.messages.events import ReceiptEvent, decode_event
from headgate_schemas.messages.message_shape import UnreadableMessage
from headgate_schemas.messages.operations import Receipt

MAX_EVENTS = 5_000
"""Events that one reading takes."""
MAX_SEEN = 20_000
"""Receipts that are remembered, so that their outcome can be asked for again."""
LOOKUPS_AT_ONCE = 20
"""Proposals that the table is asked about between two readings of events."""
_PAUSE_S = 0.2
"""After a failure of the bus or the store."""

_log = get_logger("headgate.producer")


class ReceiptReader:
    """Any thread may call `mark`. Only one thread may call `follow_once`, and only after `mark`."""

    def __init__(self, bus: Bus, table: str, flight: SharedOutbox, past: DecisionLookup, ambient: Ambient) -> None:
        self._bus = bus
        self._table = table
        self._flight = flight
        self._past = past
        self._ambient = ambient
        self._offsets: dict[int, int] | None = None
        self._reader: Reader | None = None
        self._to_ask: deque[Outgoing] = deque()
        self._seen: dict[str, bytes] = {}
        self._seen_lock = threading.Lock()
        self._is_failing = False
        self._marked = threading.Event()

    @property
    def is_marked(self) -> bool:
        return self._marked.is_set()

    def wait_until_marked(self, timeout_s: float) -> bool:
        return self._marked.wait(timeout_s)

    def mark(self) -> None:
        """Note the present end of the events: receipts of later messages can't come before it. Raises bus errors."""
        if self._offsets is None:
            partitions = range(self._bus.partitions(Topic.EVENTS))
            self._offsets = {each: self._bus.extent(Topic.EVENTS, each).next_offset for each in partitions}
            self._marked.set()

    def receipt(self, proposal_id: str) -> Receipt | None:
        """The receipt of a proposal, if it was among the last events."""
        with self._seen_lock:
            body = self._seen.get(proposal_id)
        return None if body is None else _receipt(body)

    def follow_once(self, timeout_s: float) -> int:
        """Read the next events, waiting up to `timeout_s` for them; returns the number of proposals that they settled."""
        try:
            records = self._read(timeout_s)
        except OffsetGone as gone:
            self._leap(gone)
            return self._ask_table()
        except BusError as error:
            if not self._is_failing:
                _log.warning("events_not_read", table=self._table, bus=self._bus.address, reason=str(error))
            self._is_failing = True
            self._drop_reader()
            self._ambient.sleep(min(_PAUSE_S, timeout_s))
            return 0
        self._is_failing = False
        return self._take(records) + self._ask_table()

    def close(self) -> None:
        self._drop_reader()

    def _read(self, timeout_s: float) -> Sequence[Record]:
        assert self._offsets is not None, "marked before it is followed"
        if self._reader is None:
            self._reader = self._bus.reader(Topic.EVENTS, self._offsets)
        # A lookup in the table is under way, so don't wait for the bus.
        records = self._reader.read(0.0 if self._to_ask else timeout_s, MAX_EVENTS)
        self._offsets = dict(self._reader.offsets())
        return records

    def _take(self, records: Sequence[Record]) -> int:
        told = {
            subject_of(record.headers): record for record in reversed(records) if kind_of(record.headers) == RECEIPT
        }
        awaited = self._flight.awaited(told)
        with self._seen_lock:
            for identity, record in told.items():
                if identity in awaited or record.key == self._table:
                    self._seen.setdefault(identity, record.body)
            while len(self._seen) > MAX_SEEN:
                del self._seen[next(iter(self._seen))]
        receipts = [receipt for identity in awaited if (receipt := _receipt(told[identity].body)) is not None]
        return self._flight.settle(receipts) if receipts else 0

    def _leap(self, gone: OffsetGone) -> None:
        """Continue after a gap: events were trimmed before they were read, so their decisions are in the table by now."""
        assert self._offsets is not None
        _log.warning("events_missed", table=self._table, partition=gone.partition, offset=gone.offset, first=gone.first)
        self._drop_reader()
        self._offsets = {**self._offsets, gone.partition: gone.first}
        self._to_ask = deque(self._flight.attempted())

    def _ask_table(self) -> int:
        settled = 0
        for _ in range(min(LOOKUPS_AT_ONCE, len(self._to_ask))):
            out = self._to_ask[0]
            if not out.has_ended:
                try:
                    receipt = self._past.find(out.proposal_id, out.writer)
                except HeadgateError as error:
                    _log.warning("table_not_read", table=self._table, proposal=out.proposal_id, reason=str(error))
                    self._ambient.sleep(_PAUSE_S)
                    return settled
                if receipt is not None:
                    settled += self._flight.settle([receipt])
            self._to_ask.popleft()
        return settled

    def _drop_reader(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None


def _receipt(body: bytes) -> Receipt | None:
    try:
        event = decode_event(body)
        return event.to_receipt() if isinstance(event, ReceiptEvent) else None
    except UnreadableMessage as error:
        _log.warning("receipt_not_understood", reason=str(error))
        return None
