"""What the Kafka client's errors mean for us."""

import pytest
from kafka import errors

from headgate_bus.errors import BusError, BusUnavailable, Fenced
from headgate_bus.kafka.address import KafkaAddress
from headgate_bus.kafka.errors import brief, translated

ADDRESS = KafkaAddress(("b:9092",))


@pytest.mark.parametrize(
    "error",
    [
        errors.ProducerFencedError(),
        errors.InvalidProducerEpochError(),
        errors.CommitFailedError(),
        errors.IllegalGenerationError(),
        errors.UnknownMemberIdError(),
        # How a send tells it when it finds the producer fenced already.
        errors.KafkaError("an earlier request has failed with errors.", errors.ProducerFencedError()),
    ],
    ids=repr,
)
def test_a_place_that_was_taken_is_fenced(error: errors.KafkaError) -> None:
    assert type(translated(error, "publishing", ADDRESS)) is Fenced


@pytest.mark.parametrize(
    "error", [errors.KafkaTimeoutError(), errors.NotLeaderForPartitionError(), errors.KafkaError()]
)
def test_what_is_not_clear_may_have_happened(error: errors.KafkaError) -> None:
    assert type(translated(error, "appending", ADDRESS)) is BusUnavailable


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (errors.UnknownTopicOrPartitionError(), "prepare the bus first"),
        (errors.TopicAuthorizationFailedError({"t"}), "ask for the permission"),
        (errors.MessageSizeTooLargeError(), "was refused"),
    ],
)
def test_a_refusal_says_what_to_do(error: errors.KafkaError, said: str) -> None:
    found = translated(error, "appending", ADDRESS)
    assert (type(found), said in str(found)) == (BusError, True)


def test_an_error_of_the_client_says_its_name_once() -> None:
    assert brief(errors.KafkaTimeoutError("no answer")) == "KafkaTimeoutError: no answer"
    assert brief(OSError("no answer")) == "OSError: no answer"


def test_an_error_is_told_on_one_bounded_line() -> None:
    assert len(brief(ValueError("a\nb" * 1000))) == 300
