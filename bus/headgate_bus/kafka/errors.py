"""What the Kafka client's errors mean for us, in words that say what to do."""

from kafka import errors

from headgate_bus.errors import BusError, BusUnavailable, Fenced
from headgate_bus.kafka.address import KafkaAddress

FENCED = (
    errors.ProducerFencedError,
    # What an open transaction sees first when another producer took its id over.
    errors.InvalidProducerEpochError,
    # How the client tells that the group's generation or this member is unknown by now.
    errors.CommitFailedError,
    errors.IllegalGenerationError,
    errors.UnknownMemberIdError,
    errors.FencedInstanceIdError,
)
REFUSED = (
    errors.AuthorizationError,
    errors.MessageSizeTooLargeError,
    errors.RecordListTooLargeError,
    errors.InvalidTopicError,
    errors.InvalidRecordError,
    errors.PolicyViolationError,
    errors.UnsupportedVersionError,
)
"""The broker said no, and will say so again."""
PASSING = (errors.RetriableError, errors.KafkaConnectionError, OSError)
"""Asking again is worth it: an election, a restart, a lost connection."""


def is_fenced(error: BaseException) -> bool:
    """Also where the client only tells that an earlier request failed, and with what."""
    return isinstance(error, FENCED) or any(isinstance(inner, FENCED) for inner in (*error.args, error.__cause__))


def unreachable(address: KafkaAddress, error: BaseException, within_s: float) -> BusUnavailable:
    """The client can't tell why it gets no answer, so the user is told everything that looks like this."""
    return BusUnavailable(
        f"no Kafka broker at {', '.join(address.servers)} answered us within {within_s:g} s ({brief(error)})."
        " Is it running, and do its advertised listeners lead here? These mistakes look just the same: a wrong"
        " sasl_plain_username, sasl_plain_password or sasl_mechanism; an ssl_cafile that is missing or doesn't vouch for"
        " the broker's certificate; a security_protocol that isn't the listener's, such as PLAINTEXT to a TLS port."
        f" The address says security_protocol={address.client.get('security_protocol', 'PLAINTEXT')}"
    )


def bad_settings(address: KafkaAddress, error: BaseException) -> BusError:
    return BusError(f"the Kafka client can't be set up from {address} ({brief(error)}); correct the address")


def translated(error: BaseException, doing: str, address: KafkaAddress) -> BusError:
    """Our error for one of the client's. `doing` tells what failed: "appending to events"."""
    if isinstance(error, BusError):
        return error
    if is_fenced(error):
        return Fenced(
            f"{doing} at {address} was refused: another process has taken this one's place ({brief(error)})."
            " Stop what was being done for it"
        )
    if isinstance(error, errors.UnknownTopicOrPartitionError):
        return BusError(f"{doing} at {address} failed: the topic or partition isn't there; prepare the bus first")
    if isinstance(error, errors.AuthorizationError):
        return BusError(f"{doing} at {address} isn't allowed to this user ({brief(error)}); ask for the permission")
    if isinstance(error, errors.CorruptRecordError):
        return BusUnavailable(
            f"{doing} at {address} brought a batch that isn't what its checksum says ({brief(error)}). Read again it may be sound;"
            " if it stays so, the broker's disk is damaged: let another replica lead the partition"
        )
    if isinstance(error, REFUSED):
        return BusError(f"{doing} at {address} was refused ({brief(error)})")
    return BusUnavailable(f"{doing} at {address} got no clear answer ({brief(error)}); try again later")


def brief(error: BaseException) -> str:
    """The error's own words, on one bounded line."""
    name, words = type(error).__name__, str(error)
    # Those of the client say their own names.
    return " ".join((words if words.startswith(f"{name}: ") else f"{name}: {words}").split())[:300]


def cut_partitions(error: BaseException) -> frozenset[int]:
    """The partitions whose log was cut, or made anew under the same name."""
    places = error.divergent_offsets if isinstance(error, errors.LogTruncationError) else ()
    return frozenset(place.partition for place in places)
