"""Appends through one idempotent producer that all threads share."""

import threading
from collections.abc import Sequence
from typing import Any

from kafka.errors import KafkaError

from headgate_bus.errors import BusError, BusUnavailable
from headgate_bus.interface import Message, MessagePlace, Topic
from headgate_bus.kafka.address import KafkaAddress
from headgate_bus.kafka.clients import close_producer, new_appender
from headgate_bus.kafka.cluster import KafkaCluster
from headgate_bus.kafka.deadline_calls import DeadlinePassed, KafkaCalls
from headgate_bus.kafka.errors import REFUSED, brief, translated
from headgate_bus.kafka.records.records import as_sent
from headgate_schemas.ambient import Ambient


class KafkaAppender:
    """Makes the producer at the first append, and a new one after an error that the producer may not recover from."""

    def __init__(self, address: KafkaAddress, cluster: KafkaCluster, calls: KafkaCalls, ambient: Ambient) -> None:
        self._address = address
        self._cluster = cluster
        self._calls = calls
        self._ambient = ambient
        self._lock = threading.Lock()
        self._producer: Any = None
        self._closed: bool = False

    def append(self, topic: Topic, messages: Sequence[Message], timeout_s: float) -> list[MessagePlace]:
        """Append in order. The caller has checked the sizes of the messages."""
        if not messages:
            return []
        doing = f"appending {len(messages)} messages to {self._address.topic(topic)}"
        deadline = self._ambient.monotonic_s() + timeout_s
        try:
            # On a thread of its own: `send` may wait for metadata longer than our deadline.
            sent = self._calls.within(timeout_s, f"{doing} at {self._address}", lambda: self._send(topic, messages))
        except DeadlinePassed:
            self._forget()
            raise
        except KafkaError as error:
            self._explain_missing(topic, error)
            raise translated(error, doing, self._address) from error
        outcomes = [self._outcome(future, deadline - self._ambient.monotonic_s()) for future in sent]
        places = [outcome for outcome in outcomes if isinstance(outcome, MessagePlace)]
        if len(places) == len(outcomes):
            return places
        self._forget()
        errors = [outcome for outcome in outcomes if not isinstance(outcome, MessagePlace)]
        if not places and all(isinstance(error, REFUSED) for error in errors):
            raise translated(errors[0], doing, self._address) from errors[0]
        raise BusUnavailable(
            f"{doing} at {self._address}: {len(places)} were acknowledged, of the others it isn't known"
            f" ({brief(errors[0])}); try again with the same ids"
        ) from errors[0]

    def close(self) -> None:
        with self._lock:
            self._closed = True
        self._forget()

    def _send(self, topic: Topic, messages: Sequence[Message]) -> list[Any]:
        producer = self._connected()
        name = self._address.topic(topic)
        return [producer.send(name, **as_sent(message)) for message in messages]

    def _outcome(self, future: Any, timeout_s: float) -> MessagePlace | KafkaError:
        try:
            metadata = future.get(timeout=max(timeout_s, 0.0))
        except KafkaError as error:
            return error
        if metadata.offset < 0:
            return KafkaError("the record was there already, at an offset that the broker doesn't tell")
        return MessagePlace(metadata.partition, metadata.offset)

    def _explain_missing(self, topic: Topic, error: KafkaError) -> None:
        """The client waits for a missing topic and reports a time-out; ask the cluster for the real cause."""
        if error.retriable:
            self._cluster.partitions(topic)

    def _connected(self) -> Any:
        with self._lock:
            self._check_open()
            if self._producer is not None:
                return self._producer
        return self._kept(new_appender(self._address))

    def _kept(self, made: Any) -> Any:
        with self._lock:
            if self._producer is None and not self._closed:
                self._producer = made
            producer = self._producer
        if producer is not made:
            close_producer(made)
        with self._lock:
            self._check_open()
        return producer

    def _check_open(self) -> None:
        if self._closed:
            raise BusError("this bus was closed; open it again")

    def _forget(self) -> None:
        """Discard the producer: after a lost batch it may number the next one wrongly. It still finishes the calls of
        other threads.
        """
        with self._lock:
            producer, self._producer = self._producer, None
        if producer is not None:
            self._calls.start("closing a producer", lambda: close_producer(producer))
