"""What the topics must be like, and how wrong ones are explained."""

from dataclasses import replace

import pytest

from headgate_bus.interface import MAX_MESSAGE_BYTES, Topic
from headgate_bus.kafka.address import KafkaAddress
from headgate_bus.kafka.topics import FoundTopic, WantedTopic, explain, faults, wanted_topics

ADDRESS = KafkaAddress(("b:9092",), "lake", partitions=4, replication=3)


def wanted(topic: Topic, address: KafkaAddress = ADDRESS) -> WantedTopic:
    return next(found for found in wanted_topics(address) if found.topic is topic)


def found(topic: Topic, **settings: str) -> FoundTopic:
    made = wanted(topic)
    changes = {name.replace("_", "."): value for name, value in settings.items()}
    return FoundTopic(topic, made.name, made.partitions, made.replication, {**made.settings, **changes})


@pytest.mark.parametrize("topic", Topic)
def test_a_topic_that_was_made_as_wanted_has_no_faults(topic: Topic) -> None:
    assert faults(found(topic)) == []


def test_proposals_are_kept_without_a_limit() -> None:
    settings = wanted(Topic.PROPOSALS).settings
    assert (settings["retention.ms"], settings["retention.bytes"]) == ("-1", "-1")


@pytest.mark.parametrize("topic", Topic)
def test_the_largest_message_fits(topic: Topic) -> None:
    assert int(wanted(topic).settings["max.message.bytes"]) > MAX_MESSAGE_BYTES


@pytest.mark.parametrize(("replication", "minimum"), [(1, "1"), (2, "2"), (3, "2"), (5, "3")])
def test_a_majority_must_have_a_message(replication: int, minimum: str) -> None:
    address = replace(ADDRESS, replication=replication)
    assert wanted(Topic.PROPOSALS, address).settings["min.insync.replicas"] == minimum


def test_partitions_and_replication_come_from_the_address() -> None:
    topic = wanted(Topic.PROPOSALS)
    assert (topic.name, topic.partitions, topic.replication) == ("lake.proposals", 4, 3)


@pytest.mark.parametrize(
    ("topic", "setting", "value", "said"),
    [
        (Topic.PROPOSALS, "retention_ms", "604800000", "retention.ms is 604800000, but must be -1"),
        (Topic.PROPOSALS, "retention_bytes", "1000", "retention.bytes is 1000, but must be -1"),
        (Topic.PROPOSALS, "cleanup_policy", "compact", "cleanup.policy is compact, but must be delete"),
        (Topic.PROPOSALS, "message_timestamp_type", "CreateTime", "message.timestamp.type is CreateTime"),
        *(
            (
                topic,
                "unclean_leader_election_enable",
                "true",
                "unclean.leader.election.enable is true, but must be false",
            )
            for topic in Topic
        ),
        (
            Topic.PROPOSALS,
            "compression_type",
            "producer",
            "compression.type is producer, but must be one of zstd, gzip",
        ),
        (Topic.EVENTS, "max_message_bytes", "1048588", "max.message.bytes is 1048588, but must be at least"),
        (Topic.EVENTS, "retention_ms", "1000", "retention.ms is 1000, but must be at least 86400000"),
        (Topic.DEAD_LETTERS, "min_insync_replicas", "1", "min.insync.replicas is 1, but must be at least 2"),
    ],
)
def test_a_wrong_setting_is_named_with_what_it_must_be(topic: Topic, setting: str, value: str, said: str) -> None:
    assert [said in fault for fault in faults(found(topic, **{setting: value}))] == [True]


def test_events_may_be_kept_for_ever() -> None:
    assert faults(found(Topic.EVENTS, retention_ms="-1")) == []


def test_one_replica_needs_no_majority() -> None:
    topic = replace(found(Topic.EVENTS, min_insync_replicas="1"), replication=1)
    assert faults(topic) == []


def test_the_explanation_names_the_topic_and_the_way_to_mend_it() -> None:
    topic = found(Topic.PROPOSALS, retention_ms="1")
    assert "kafka-configs.sh --alter --entity-type topics --entity-name lake.proposals" in explain(topic, faults(topic))


def test_a_cluster_that_does_not_tell_how_it_elects_leaders_is_believed() -> None:
    made = wanted(Topic.PROPOSALS)
    settings = {name: value for name, value in made.settings.items() if not name.startswith("unclean")}
    assert faults(FoundTopic(Topic.PROPOSALS, made.name, made.partitions, made.replication, settings)) == []


def test_a_new_topic_says_itself_that_only_a_whole_replica_may_lead() -> None:
    assert {wanted(topic).settings["unclean.leader.election.enable"] for topic in Topic} == {"false"}
