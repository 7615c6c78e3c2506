"""The Kafka client's consumers, producers and admins, with the settings that the bus needs; and how to close them."""

import logging
import ssl
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka.errors import KafkaConfigurationError, KafkaError, UnsupportedCodecError
from kafka.net.compat import KafkaNetClient

from headgate_bus.errors import BusError
from headgate_bus.kafka.address import KafkaAddress
from headgate_bus.kafka.errors import bad_settings, brief, unreachable
from headgate_bus.kafka.fetched.fetching import check_client, take_apart_within_bounds
from headgate_bus.kafka.topics import TOPIC_MESSAGE_BYTES
from headgate_schemas.logs import get_logger

BOOTSTRAP_TIMEOUT_S = 4.0
"""How long a first connection may take; a broker that is there answers in milliseconds, or a few seconds under load."""
REQUEST_TIMEOUT_MS = 8_000
RECONNECT_BACKOFF_MAX_MS = 1_000
"""The client's own 30 s would leave us without a bus for as long after the broker is back."""
BATCH_BYTES = 256 << 10
LINGER_MS = 0
"""While one batch is on its way, the next one fills: waiting on purpose would only add to everyone's latency."""
FETCH_BYTES = 8 << 20
APPEND_DELIVERY_MS = 30_000
"""After this, a record that isn't acknowledged is given up by the client, and no longer sent."""
TRANSACTION_TIMEOUT_MS = 20_000
"""Readers of committed records wait behind an open transaction of a dead process for at most this. Longer than we wait
for a publication ourselves: else our own slowness would look like another process's claim."""
TRANSACTION_RETRY_BACKOFF_MS = 5
"""The coordinator answers the first request after a commit with "not yet" most of the time; p99 follows this."""
CLAIM_TIMEOUT_MS = 10_000
"""To claim a transactional id, which waits until a transaction that the former holder left behind is ended."""
CLOSE_TIMEOUT_S = 2.0
CLIENT_ID = "headgate"
SET_UP_WRONGLY = (KafkaConfigurationError, UnsupportedCodecError, OSError, ValueError, AssertionError)
"""OSError: a file of the TLS settings that isn't there, or holds something else (ssl.SSLError is one too)."""

_logger = get_logger("headgate.bus")


def quieten() -> None:
    """Silence the client, which logs an error or more a second while a broker is away; the bus logs it once. A level
    that the user set stays.
    """
    logger = logging.getLogger("kafka")
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.CRITICAL)


def new_admin(address: KafkaAddress) -> Any:
    return _made(KafkaAdminClient, address, {})


def new_appender(address: KafkaAddress) -> Any:
    """An idempotent producer: a retried message is stored once."""
    return _made(KafkaProducer, address, _producer_settings() | {"delivery_timeout_ms": APPEND_DELIVERY_MS})


def new_transactional(address: KafkaAddress, transactional_id: str) -> Any:
    settings = {
        "transactional_id": transactional_id,
        "transaction_timeout_ms": TRANSACTION_TIMEOUT_MS,
        "delivery_timeout_ms": TRANSACTION_TIMEOUT_MS,
        "retry_backoff_ms": TRANSACTION_RETRY_BACKOFF_MS,
        "max_block_ms": CLAIM_TIMEOUT_MS,
    }
    return _made(KafkaProducer, address, _producer_settings() | settings)


def new_consumer(address: KafkaAddress, group: str | None = None, **settings: Any) -> Any:
    """A consumer that sees committed records only, never commits by itself, and never resets to another offset.

    Its records may hold any bytes: see `fetched.fetching`.
    """
    fixed = {
        "group_id": group,
        "isolation_level": "read_committed",
        "auto_offset_reset": "none",
        "enable_auto_commit": False,
        "allow_auto_create_topics": False,
        "fetch_max_bytes": FETCH_BYTES,
        "max_partition_fetch_bytes": FETCH_BYTES,
        "metrics_enabled": False,
    }
    check_client()
    consumer = _made(KafkaConsumer, address, fixed | settings)
    take_apart_within_bounds(consumer)
    return consumer


def earlier_failure(producer: Any) -> BaseException | None:
    """The error after which a transactional producer refuses every call. The calls themselves give it only as text.

    A thread of the client sends the messages, so it may see a failure before the next call is made.
    """
    failure: BaseException | None = producer._transaction_manager.last_error
    return failure


def close_producer(producer: Any) -> None:
    """Close the producer, by force if necessary. Unsent messages may be lost, so this is only for producers without a
    promise to keep.
    """
    try:
        producer.close(timeout=CLOSE_TIMEOUT_S)
    except KafkaError as error:
        # `close` refuses while records are unacknowledged; the client's thread would try to send them for ever.
        producer._sender.force_close()
        _logger.info("kafka_producer_forced_to_close", reason=type(error).__name__)


def _producer_settings() -> dict[str, Any]:
    return {
        "acks": "all",
        "enable_idempotence": True,
        "allow_auto_create_topics": False,
        "compression_type": "zstd",
        "batch_size": BATCH_BYTES,
        "linger_ms": LINGER_MS,
        "max_request_size": TOPIC_MESSAGE_BYTES,
        "max_block_ms": int(BOOTSTRAP_TIMEOUT_S * 1000),
        "metrics_enabled": False,
    }


def _made(kind: Any, address: KafkaAddress, settings: dict[str, Any]) -> Any:
    shared = {
        "client_id": CLIENT_ID,
        "bootstrap_timeout_ms": int(BOOTSTRAP_TIMEOUT_S * 1000),
        "request_timeout_ms": REQUEST_TIMEOUT_MS,
        "reconnect_backoff_max_ms": RECONNECT_BACKOFF_MAX_MS,
    }
    _check_files(address)
    networks: list[Any] = []

    def new_network(**config: Any) -> Any:
        networks.append(KafkaNetClient(**config))
        return networks[-1]

    try:
        return kind(**shared, **address.client_settings(), **settings, kafka_client=new_network)
    except (KafkaError, OSError, ValueError, AssertionError) as error:
        for network in networks:
            # A client that failed to start leaves its thread behind, which would try to connect for ever.
            network.close()
        if isinstance(error, SET_UP_WRONGLY):
            raise bad_settings(address, error) from error
        raise unreachable(address, error, BOOTSTRAP_TIMEOUT_S) from error


def _check_files(address: KafkaAddress) -> None:
    """Check that the files exist; the client would only report that it can't connect."""
    client = address.client
    if not any(name.startswith("ssl_") for name in client):
        return
    try:
        context = ssl.create_default_context(cafile=client.get("ssl_cafile"))
        if "ssl_certfile" in client:
            context.load_cert_chain(client["ssl_certfile"], client.get("ssl_keyfile"), client.get("ssl_password"))
    except OSError as error:
        named = [client[name] for name in ("ssl_cafile", "ssl_certfile", "ssl_keyfile") if name in client]
        raise BusError(
            f"{' or '.join(named)}, which the address of the Kafka bus names, can't be used ({brief(error)});"
            " correct the address"
        ) from error
