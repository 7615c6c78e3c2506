"""Makes a consumer unpack its batches by `batches`, and only as much at once as a poll may hold.

The client has no setting for this. So this module replaces that part of the client, only in consumers of this bus;
other consumers of the process stay unchanged. The replaced parts are private, so `check_client` checks them first.
"""

import inspect
import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import kafka
from kafka.consumer.fetcher import Fetcher
from kafka.errors import KafkaError

from headgate_bus.errors import BatchUnread, BusError
from headgate_bus.kafka.fetched.batches import UnreadBytes, records_of
from headgate_bus.kafka.fetched.unpacking import MESSAGES, Unpacking

POLL_BYTES = 32 << 20
"""Unpacked bytes after which a poll ends, however many records were asked for. Of a fetch all could be bombs, and each of them
takes its time."""

_RELIED_ON = (
    (Fetcher, "_append", ("self", "drained", "part", "max_records", "update_offsets")),
    (Fetcher.PartitionRecords, "take", ("self", "n")),
    (Fetcher.PartitionRecords, "drain", ("self",)),
    (Fetcher.PartitionRecords, "_maybe_raise_next_inline_exception", ("self",)),
    (Fetcher.PartitionRecords, "_unpack_records", ("self", "tp", "records", "key_deserializer", "value_deserializer")),
)


def check_client() -> None:
    """Raise `BusError` for a release of the client with another structure."""
    for owner, name, parameters in _RELIED_ON:
        found = getattr(owner, name, None)
        if found is None or tuple(inspect.signature(found).parameters) != parameters:
            raise BusError(
                f"kafka-python {kafka.__version__} has another structure than Headgate relies on ({owner.__name__}.{name}); install the"
                " release that Headgate's own requirements name"
            )


def take_apart_within_bounds(consumer: Any, allowed: Unpacking = MESSAGES, *, needs_all: bool = False) -> None:
    """Install the replacement in this consumer. Call `check_client` before.

    With `needs_all`, no record stands for unreadable ones. Instead, after all records before them are delivered, every
    poll raises `BatchUnread` until a seek to another offset.
    """
    fetcher, meter = consumer._fetcher, _Meter()
    append = fetcher._append

    def append_within_bounds(drained: Any, part: Any, max_records: int, update_offsets: bool) -> int:
        if not drained:
            meter.unpacked_bytes = 0  # a poll begins
        taken = append(drained, part, max_records, update_offsets)
        # The client continues until it has the requested number of records.
        return max_records if meter.is_full else int(taken)

    fetcher.PartitionRecords = partial(_PartitionRecords, meter, allowed, needs_all)
    fetcher._append = append_within_bounds


class _Meter:
    def __init__(self) -> None:
        self.unpacked_bytes = 0

    def add(self, unpacked_bytes: int) -> None:
        self.unpacked_bytes += unpacked_bytes

    @property
    def is_full(self) -> bool:
        return self.unpacked_bytes >= POLL_BYTES


class _PartitionRecords(Fetcher.PartitionRecords):  # type: ignore[misc]  # the client has no types
    def __init__(self, meter: _Meter, allowed: Unpacking, needs_all: bool, *args: Any, **settings: Any) -> None:
        self._meter = meter
        self._allowed = allowed
        self._needs_all = needs_all
        super().__init__(*args, **settings)

    def take(self, n: int | None = None) -> list[Any]:
        taken: list[Any] = []
        try:
            self._maybe_raise_next_inline_exception()
            for record in itertools.islice(self.record_iterator, n):
                taken.append(record)
                if self._meter.is_full:
                    break
        except (KafkaError, BatchUnread) as error:
            if not taken:
                self.drain()  # Otherwise the client would ask these for more for ever.
                raise
            self._next_inline_exception = error
        return taken

    def _unpack_records(self, tp: Any, records: Any, *deserializers: Any) -> Any:
        return super()._unpack_records(tp, _Batches(records, self._records_of), *deserializers)

    def _records_of(self, batch: Any) -> Iterator[Any]:
        for record in records_of(batch, self._meter.add, self._allowed):
            if self._needs_all and isinstance(record.value, UnreadBytes):
                self._refuse(record.value)
            yield record

    def _refuse(self, rest: UnreadBytes) -> None:
        """Report the batch's place before the client skips it; a reader that begins within the batch needs the rest of
        it.
        """
        if rest.last < self.fetch_offset:
            return
        partition, first = self.topic_partition.partition, max(rest.first, self.fetch_offset)
        raise BatchUnread(
            f"what lies at the offsets {first} to {rest.last} of partition {partition} of topic {self.topic_partition.topic} is in a"
            f" batch that can't be read whole: {rest.fault.reason}",
            partition,
            first,
            rest.last,
        )


class _Batches:
    def __init__(self, batches: Any, records_of_batch: Callable[[Any], Iterator[Any]]) -> None:
        self._batches = batches
        self._records_of_batch = records_of_batch

    def next_batch(self) -> Any:
        found = self._batches.next_batch()
        return None if found is None else _Batch(found, self._records_of_batch)


class _Batch:
    """One of the client's batches, which provides everything except its records."""

    def __init__(self, batch: Any, records_of_batch: Callable[[Any], Iterator[Any]]) -> None:
        self._batch = batch
        self._records_of_batch = records_of_batch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._batch, name)

    def __next__(self) -> Any:
        """The mark of a transaction, which only brokers write."""
        return next(self._batch)

    def __iter__(self) -> Any:
        return self._records_of_batch(self._batch)
