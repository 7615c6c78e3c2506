"""The required topics: how they are created, and the faults of existing ones. Values only."""

from collections.abc import Mapping
from dataclasses import dataclass

from headgate_bus.interface import MAX_MESSAGE_BYTES, Topic
from headgate_bus.kafka.address import KafkaAddress

DAY_MS = 24 * 60 * 60 * 1000
EVENTS_KEPT_MS = 7 * DAY_MS
DEAD_LETTERS_KEPT_MS = 30 * DAY_MS
SHORTEST_KEPT_MS = DAY_MS
"""An operator may keep events and dead letters for a shorter time than we do, but not for less than this."""
ENVELOPE_BYTES = 128 << 10
"""What a batch of one message has beside the message, or more by compression that didn't help. Generous."""
TOPIC_MESSAGE_BYTES = MAX_MESSAGE_BYTES + ENVELOPE_BYTES
UNLIMITED = "-1"
CODECS = ("zstd", "gzip", "uncompressed")
"""By which a broker packs what it is sent. By `producer` it keeps what anybody packed, by codecs that aren't read here, too."""


@dataclass(frozen=True, slots=True)
class WantedTopic:
    """A topic to create."""

    topic: Topic
    name: str
    partitions: int
    replication: int
    settings: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class FoundTopic:
    """A topic as the cluster describes it."""

    topic: Topic
    name: str
    partitions: int
    replication: int
    settings: Mapping[str, str]


def wanted_topics(address: KafkaAddress) -> list[WantedTopic]:
    kept = {
        # We trim proposals ourselves, below the committed offset only: none is dropped because of its age.
        Topic.PROPOSALS: UNLIMITED,
        Topic.EVENTS: str(EVENTS_KEPT_MS),
        Topic.DEAD_LETTERS: str(DEAD_LETTERS_KEPT_MS),
    }
    partitions = {Topic.PROPOSALS: address.partitions, Topic.EVENTS: address.event_partitions, Topic.DEAD_LETTERS: 1}
    return [
        WantedTopic(
            topic,
            address.topic(topic),
            partitions[topic],
            address.replication,
            {
                "cleanup.policy": "delete",
                "compression.type": "zstd",
                "max.message.bytes": str(TOPIC_MESSAGE_BYTES),
                # Times are the broker's, whatever the sender's clock says.
                "message.timestamp.type": "LogAppendTime",
                # A majority: an acknowledged message survives the loss of one broker.
                "min.insync.replicas": str(address.replication // 2 + 1),
                "retention.bytes": UNLIMITED,
                "retention.ms": kept[topic],
                # Set for the topic itself, whatever the brokers' default is.
                "unclean.leader.election.enable": "false",
            },
        )
        for topic in Topic
    ]


def faults(found: FoundTopic) -> list[str]:
    """The necessary changes before the bus may use the topic, each with instructions."""
    wrong = []

    def must_be(name: str, value: str, reason: str) -> None:
        actual = found.settings.get(name)
        if actual != value:
            wrong.append(f"{name} is {actual}, but must be {value}: {reason}")

    must_be("cleanup.policy", "delete", "compaction removes all but the last message of a table")
    must_be("message.timestamp.type", "LogAppendTime", "times must be the bus's own, not those of the senders' clocks")
    if found.settings.get("compression.type") not in CODECS:
        wrong.append(
            f"compression.type is {found.settings.get('compression.type')}, but must be one of {', '.join(CODECS)}: else"
            " anybody's codec is kept, and nothing else is read"
        )
    if _whole(found.settings.get("max.message.bytes")) < TOPIC_MESSAGE_BYTES:
        wrong.append(
            f"max.message.bytes is {found.settings.get('max.message.bytes')}, but must be at least"
            f" {TOPIC_MESSAGE_BYTES}: messages of {MAX_MESSAGE_BYTES} bytes must fit"
        )
    if found.topic is Topic.PROPOSALS:
        must_be("retention.ms", UNLIMITED, "a proposal that is dropped before it is decided is lost")
        must_be("retention.bytes", UNLIMITED, "a proposal that is dropped before it is decided is lost")
    elif 0 <= _whole(found.settings.get("retention.ms")) < SHORTEST_KEPT_MS:
        wrong.append(
            f"retention.ms is {found.settings.get('retention.ms')}, but must be at least {SHORTEST_KEPT_MS} (a day), or"
            " -1: who follows the topic must be able to catch up"
        )
    # If a cluster doesn't report the setting, nobody can change it either.
    if found.settings.get("unclean.leader.election.enable") == "true":
        wrong.append(
            "unclean.leader.election.enable is true, but must be false: else a broker without the newest messages may lead, and"
            " what was acknowledged is lost"
        )
    if found.replication > 1 and _whole(found.settings.get("min.insync.replicas")) < 2:
        wrong.append(
            f"min.insync.replicas is {found.settings.get('min.insync.replicas')}, but must be at least 2 with"
            f" {found.replication} replicas: else losing one broker loses acknowledged messages"
        )
    return wrong


def explain(found: FoundTopic, wrong: list[str]) -> str:
    return (
        f"topic {found.name} isn't set up as it must be: {'; '.join(wrong)}. Change these settings with"
        f" kafka-configs.sh --alter --entity-type topics --entity-name {found.name}, or choose another prefix"
    )


def _whole(value: str | None) -> int:
    try:
        return int(value or "")
    except ValueError:
        return 0
