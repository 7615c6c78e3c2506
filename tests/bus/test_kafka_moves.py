"""What a group gives and takes while nobody polls, which the thread that joins is told at any moment: nothing of it is overlooked,
and no position is believed before the next poll."""

from collections.abc import Callable

import pytest
from kafka import TopicPartition

from headgate_bus.errors import BusUnavailable
from headgate_bus.interface import Message, Topic
from headgate_bus.kafka_bus import KafkaBus
from headgate_bus.kafka_follower import KafkaFollower
from headgate_bus.kafka_seat import KafkaSeat
from support.waiting import wait_until

NewBus = Callable[[], KafkaBus]


def moved(follower: KafkaFollower, partition: int) -> None:
    """The group took the partition away and gave it again, as the thread that joins is told."""
    comings = follower._membership.comings
    place = TopicPartition(follower._name, partition)
    comings.on_partitions_lost([place])
    comings.on_partitions_assigned([place])


@pytest.fixture
def follower(new_kafka_bus: NewBus) -> KafkaFollower:
    """Holds everything, and has read the one event of partition 0."""
    bus = new_kafka_bus()
    bus.prepare()
    key = next(key for key in map(str, range(100)) if bus.partition_of(key, Topic.EVENTS) == 0)
    bus.append(Topic.EVENTS, [Message(key, {}, b"a")])
    follower = bus.follow("workers")
    wait_until(lambda: bool(follower.poll(0.1)), "the event is read")
    return follower


def test_of_a_partition_that_was_given_anew_nothing_is_settled_before_the_next_poll(follower: KafkaFollower) -> None:
    """Break: it is settled by a position that is only where the consumer waits, which ends the worker with an error."""
    moved(follower, 0)
    with pytest.raises(BusUnavailable, match=r"must wait until group workers\.events has shared out anew; poll first"):
        follower.settle(0, 1)
    wait_until(lambda: bool(follower.poll(0.1)), "the event comes again")
    follower.settle(0, 1)


def test_nobody_knows_where_one_stands_in_a_partition_that_was_given_anew(follower: KafkaFollower) -> None:
    assert follower.position(0) == 1
    moved(follower, 0)
    assert follower.position(0) is None


def test_a_partition_that_went_since_the_last_poll_can_be_sought_and_paused_without_harm(new_kafka_bus: NewBus) -> None:
    """Break: a committer that is told to stop at this moment ends with the client's error, and settles nothing."""
    bus = new_kafka_bus()
    bus.prepare()
    seat = bus.seat("committers")
    wait_until(lambda: bool(seat.poll(0.1) or seat.held()), "the seat holds its partition")
    assert isinstance(seat, KafkaSeat)
    seat._consumer._subscription.assign_from_subscribed([])
    seat.pause(0)
    seat.resume(0)
    seat.seek(0, 0)
    assert seat.held() == {0}
