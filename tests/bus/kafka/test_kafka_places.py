"""What a member of a group is told of partitions that come and go while it acts, by another thread than its own."""

from collections.abc import Iterator

import pytest
from kafka import TopicPartition

from headgate_bus.kafka.address import parse_kafka_address
from headgate_bus.kafka.deadline_calls import KafkaCalls
from headgate_bus.kafka.group.assignment_listener import AssignmentChange, Comings
from headgate_bus.kafka.group.membership import KafkaMembership
from headgate_bus.kafka.group.positions import KafkaPlaces
from support.kafka.fixtures import new_bus_address
from support.kafka.topics import new_topic
from support.processes.waiting import wait_until


@pytest.fixture
def member(kafka_address: str) -> Iterator[KafkaMembership]:
    """One that was given the only partition of its topic."""
    address = parse_kafka_address(new_bus_address(kafka_address))
    membership = KafkaMembership(address, "readers", new_topic(kafka_address), KafkaCalls())
    wait_until(lambda: membership.has_joined(0.1) and membership.places.has(0), "the member holds its partition")
    yield membership
    membership.leave()


def test_a_member_begins_paused_at_the_start_and_stands_where_it_was_put(member: KafkaMembership) -> None:
    assert member.consumer.paused() == {member.places.of(0)}
    assert member.places.position(0) == 0
    assert member.places.seek(0, 7)
    assert member.places.resume(0)
    assert (member.places.position(0), member.consumer.paused()) == (7, set())


def test_a_partition_that_was_taken_away_is_an_answer_and_no_error(member: KafkaMembership) -> None:
    member.consumer.unsubscribe()
    places = member.places
    assert not places.has(0)
    assert places.position(0) is None
    assert [places.seek(0, 7), places.pause(0), places.resume(0)] == [False, False, False]


class NoPlaces(KafkaPlaces):
    """A consumer that lost everything it is told of."""

    def __init__(self) -> None:
        super().__init__(None, "events")

    def seek(self, partition: int, offset: int, leader_epoch: int | None = None) -> bool:
        return False

    def pause(self, partition: int) -> bool:
        return False


def told(*numbers: int) -> list[TopicPartition]:
    return [TopicPartition("events", number) for number in numbers]


def change(given: set[int], lost: set[int], *, is_new: bool = True) -> AssignmentChange:
    return AssignmentChange(frozenset(given), frozenset(lost), is_new)


def test_what_comes_and_goes_is_told_once() -> None:
    comings = Comings(NoPlaces())
    comings.on_partitions_assigned(told(0, 1))
    comings.on_partitions_revoked(told(1))
    assert comings.take() == change({0}, {1})
    assert comings.take() == change({0}, set(), is_new=False)


def test_a_partition_that_was_lost_and_given_again_between_two_looks_is_told_as_both() -> None:
    comings = Comings(NoPlaces())
    comings.on_partitions_assigned(told(0))
    comings.take()
    comings.on_partitions_lost(told(0))
    comings.on_partitions_assigned(told(0))
    assert comings.take() == change({0}, {0})


def test_what_comes_while_the_last_look_is_acted_on_comes_with_the_next() -> None:
    comings = Comings(NoPlaces())
    comings.on_partitions_assigned(told(0))
    acted_on = comings.take()
    comings.on_partitions_revoked(told(0))
    assert acted_on == change({0}, set())
    assert comings.take() == change(set(), {0})


def test_who_asks_to_look_again_is_told_what_there_is() -> None:
    comings = Comings(NoPlaces())
    comings.on_partitions_assigned(told(0))
    comings.take()
    comings.look_again()
    assert comings.take() == change({0}, set())


def test_a_rebalance_that_changes_nothing_is_no_news() -> None:
    comings = Comings(NoPlaces())
    comings.on_partitions_assigned([])
    assert comings.take() == change(set(), set(), is_new=False)
