"""How our consumers take fetched batches apart: by `kafka_batches`, and no more at once than a poll may hold.

The client has no setting for it. So the part of it that does this is replaced, in consumers that were made for it alone: other
consumers of the process are as they were. What is relied on of the client is private, and is looked at before it is used.
"""

import inspect
import itertools
from functools import partial
from typing import Any

import kafka
from kafka.consumer.fetcher import Fetcher
from kafka.errors import KafkaError

from headgate_bus.errors import BusError
from headgate_bus.kafka_batches import records_of

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
    """Raise `BusError` for a release of the client that is made otherwise."""
    for owner, name, parameters in _RELIED_ON:
        found = getattr(owner, name, None)
        if found is None or tuple(inspect.signature(found).parameters) != parameters:
            raise BusError(
                f"kafka-python {kafka.__version__} is made otherwise than Headgate relies on ({owner.__name__}.{name}); install the"
                " release that Headgate's own requirements name"
            )


def take_apart_within_bounds(consumer: Any) -> None:
    """For this consumer from now on. `check_client` has been called."""
    fetcher, meter = consumer._fetcher, _Meter()
    append = fetcher._append

    def append_within_bounds(drained: Any, part: Any, max_records: int, update_offsets: bool) -> int:
        if not drained:
            meter.unpacked_bytes = 0  # a poll begins
        taken = append(drained, part, max_records, update_offsets)
        # The client goes on until it has all that were asked for.
        return max_records if meter.is_full else int(taken)

    fetcher.PartitionRecords = partial(_PartitionRecords, meter)
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
    def __init__(self, meter: _Meter, *args: Any, **settings: Any) -> None:
        self._meter = meter
        super().__init__(*args, **settings)

    def take(self, n: int | None = None) -> list[Any]:
        taken: list[Any] = []
        try:
            self._maybe_raise_next_inline_exception()
            for record in itertools.islice(self.record_iterator, n):
                taken.append(record)
                if self._meter.is_full:
                    break
        except KafkaError as error:
            if not taken:
                self.drain()  # else the client would ask these for more for ever
                raise
            self._next_inline_exception = error
        return taken

    def _unpack_records(self, tp: Any, records: Any, *deserializers: Any) -> Any:
        return super()._unpack_records(tp, _Batches(records, self._meter), *deserializers)


class _Batches:
    def __init__(self, batches: Any, meter: _Meter) -> None:
        self._batches = batches
        self._meter = meter

    def next_batch(self) -> Any:
        found = self._batches.next_batch()
        return None if found is None else _Batch(found, self._meter)


class _Batch:
    """One of the client's, which knows everything about itself but its records."""

    def __init__(self, batch: Any, meter: _Meter) -> None:
        self._batch = batch
        self._meter = meter

    def __getattr__(self, name: str) -> Any:
        return getattr(self._batch, name)

    def __next__(self) -> Any:
        """The mark of a transaction, which only brokers write."""
        return next(self._batch)

    def __iter__(self) -> Any:
        return records_of(self._batch, self._meter.add)
