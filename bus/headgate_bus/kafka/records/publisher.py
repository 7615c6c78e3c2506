"""Transactions for one partition of proposals, one after the other: events, dead letters and the offset, or nothing.

Group and partition determine the transactional id, so opening a publisher fences the former publisher of the partition.
"""

from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

from kafka import OffsetAndMetadata, TopicPartition
from kafka.errors import KafkaError

from headgate_bus.errors import BusUnavailable
from headgate_bus.interface import Mark, Message, Topic
from headgate_bus.kafka.address import KafkaAddress
from headgate_bus.kafka.clients import TRANSACTION_TIMEOUT_MS, close_producer, earlier_failure, new_transactional
from headgate_bus.kafka.deadline_calls import DeadlinePassed, KafkaCalls
from headgate_bus.kafka.errors import is_fenced, translated
from headgate_bus.kafka.records.records import as_sent
from headgate_bus.marks import mark_text

OPEN_TIMEOUT_S = 12.0
PUBLISH_TIMEOUT_S = 12.0

assert max(OPEN_TIMEOUT_S, PUBLISH_TIMEOUT_S) * 1000 < TRANSACTION_TIMEOUT_MS


class KafkaPublisher:
    """An open producer that has claimed its transactional id. For one thread; useless after an error."""

    def __init__(self, address: KafkaAddress, calls: KafkaCalls, partition: int, producer: Any) -> None:
        self._address = address
        self._calls = calls
        self._partition = partition
        self._producer = producer

    def publish(
        self,
        events: Sequence[Message],
        dead_letters: Sequence[Message],
        next_offset: int | None,
        mark: Mark | None,
        membership: Any,
    ) -> None:
        """Publish everything or nothing. Raises `Fenced`, or `BusUnavailable` when the outcome is unknown; then open
        another.
        """
        doing = f"publishing for partition {self._partition} of {self._address.topic(Topic.PROPOSALS)}"
        try:
            self._calls.within(
                PUBLISH_TIMEOUT_S,
                f"{doing} at {self._address}",
                lambda: self._transaction(events, dead_letters, next_offset, mark, membership),
            )
        except DeadlinePassed:
            raise
        except KafkaError as error:
            if is_fenced(error):
                raise translated(error, doing, self._address) from error
            # In trouble, the producer's own report isn't the broker's answer about the transaction.
            raise BusUnavailable(
                f"{translated(error, doing, self._address)}. Nothing may have been published"
            ) from error

    def close(self) -> None:
        self._calls.start("closing a publisher", lambda: close_producer(self._producer))

    def _transaction(
        self,
        events: Sequence[Message],
        dead_letters: Sequence[Message],
        next_offset: int | None,
        mark: Mark | None,
        membership: Any,
    ) -> None:
        producer = self._producer
        producer.begin_transaction()
        try:
            for topic, messages in ((Topic.EVENTS, events), (Topic.DEAD_LETTERS, dead_letters)):
                for message in messages:
                    producer.send(self._address.topic(topic), **as_sent(message))
            if next_offset is not None:
                place = TopicPartition(self._address.topic(Topic.PROPOSALS), self._partition)
                epoch = -1 if mark is None or mark.leader_epoch is None else mark.leader_epoch
                settled = OffsetAndMetadata(next_offset, mark_text(mark), epoch)
                producer.send_offsets_to_transaction({place: settled}, membership)
            producer.commit_transaction()
        except KafkaError as error:
            told = error if is_fenced(error) else earlier_failure(producer)
            if told is None or not is_fenced(told):
                raise
            self._abort()
            raise told from error

    def _abort(self) -> None:
        """Abort, so that readers needn't wait until the broker gives up on this transaction. A fenced producer can't
        abort.
        """
        try:
            self._producer.abort_transaction()
        except KafkaError:
            return


def start_opening(address: KafkaAddress, calls: KafkaCalls, group: str, partition: int) -> "Future[KafkaPublisher]":
    """Claim this group's transactional id for the partition. Raises errors of the Kafka client or of the bus."""

    def open_publisher() -> KafkaPublisher:
        producer = new_transactional(address, f"{address.group(group)}.{partition}")
        try:
            producer.init_transactions()
        except BaseException:
            close_producer(producer)
            raise
        return KafkaPublisher(address, calls, partition, producer)

    return calls.start(f"opening the publisher of partition {partition}", open_publisher)


def opened(
    future: "Future[KafkaPublisher]", timeout_s: float, address: KafkaAddress, calls: KafkaCalls, partition: int
) -> KafkaPublisher:
    doing = f"opening the publisher of partition {partition}"
    try:
        return calls.result(future, timeout_s, f"{doing} at {address}")
    except DeadlinePassed:
        # If it opens later, nobody will use it.
        future.add_done_callback(close_unused)
        raise
    except KafkaError as error:
        raise translated(error, doing, address) from error


def close_unused(future: "Future[KafkaPublisher]") -> None:
    """Close a publisher that opened too late. A callback of its opening."""
    if future.exception() is None:
        future.result().close()
