"""Converts our messages to the Kafka client's records, and back. Values only."""

from collections.abc import Iterable, Mapping
from typing import Any

from kafka.partitioner import murmur2

from headgate_bus.interface import Message, Record, Unread
from headgate_bus.kafka.fetched.batches import UnreadBytes


def partition_for(key: str, partitions: int) -> int:
    """The partition for a key, as the producer's own partitioner and every other Kafka client chooses it."""
    return int(murmur2(key.encode()) & 0x7FFFFFFF) % partitions


def as_sent(message: Message) -> dict[str, Any]:
    return {
        "key": message.key.encode(),
        "value": bytes(message.body),
        "headers": [(name, value.encode()) for name, value in message.headers.items()],
    }


def as_records(found: Mapping[Any, Iterable[Any]]) -> list[Record]:
    """Records of each partition, in order. Anybody may write to a topic, so every part of a record is checked."""
    return [_record(place.partition, record) for place in sorted(found) for record in found[place]]


def _record(partition: int, record: Any) -> Record:
    headers = {_text(name): _text(value) for name, value in record.headers or ()}
    body, key = record.value or b"", _text(record.key)
    unread = _unread(body) if isinstance(body, UnreadBytes) else None
    epoch = record.leader_epoch if record.leader_epoch is not None and record.leader_epoch >= 0 else None
    return Record(partition, record.offset, record.timestamp, key, bytes(body), headers, unread, epoch)


def _unread(body: UnreadBytes) -> Unread:
    return Unread(
        f"what lies at the offsets {body.first} to {body.last} is in a batch that can't be read whole: {body.fault.reason}. Its"
        f" authors have to propose it again. The bytes are those of the batch",
        body.fault.is_over_bound,
    )


def _text(value: bytes | str | None) -> str:
    return value if isinstance(value, str) else (value or b"").decode(errors="replace")
