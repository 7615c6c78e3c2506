"""How the members of a group share partitions out, when one of them has lost its membership and what it held."""

from collections.abc import Callable, Iterator

import pytest

from headgate_bus.kafka.address import parse_kafka_address
from headgate_bus.kafka.deadline_calls import KafkaCalls
from headgate_bus.kafka.group.membership import KafkaMembership
from support.kafka.fixtures import new_bus_address
from support.kafka.topics import new_topic
from support.processes.waiting import wait_until

PARTITIONS = 2


@pytest.fixture
def new_member(kafka_address: str) -> Iterator[Callable[[], KafkaMembership]]:
    """Of one group, for a topic of the test's own."""
    # Nobody reads here. Who loses its place by that would come back, and have everything shared out once more.
    address = parse_kafka_address(new_bus_address(kafka_address, max_poll_interval_ms=300_000))
    topic, calls = new_topic(kafka_address, PARTITIONS), KafkaCalls()
    made: list[KafkaMembership] = []

    def new() -> KafkaMembership:
        made.append(KafkaMembership(address, "readers", topic, calls))
        return made[-1]

    yield new
    for member in made:
        member.leave()


def all_is_given(*members: KafkaMembership) -> bool:
    """After each has taken one more step."""
    are_joined = [member.has_joined(0.05) for member in members]
    return all(are_joined) and sum(len(member.consumer.assignment()) for member in members) == PARTITIONS


def test_what_a_member_lost_with_its_membership_is_given_to_whoever_comes(
    new_member: Callable[[], KafkaMembership],
) -> None:
    """Break: leave it to the client to say what the member has. It says what it had, and what is to move stays nobody's."""
    first = new_member()
    wait_until(lambda: all_is_given(first), "the first holds everything")
    # As an answer does that its member id is unknown. Both wait now until the broker has given up who it was before.
    first.consumer._coordinator.reset_generation()
    second = new_member()
    wait_until(lambda: all_is_given(first, second), "everything is shared out anew")
    assert [len(member.consumer.assignment()) for member in (first, second)] == [1, 1]
