"""Translates the Kafka client's errors into errors of the bus, which say what to do."""

from kafka import errors

from headgate_bus.errors import BusError, BusUnavailable, Fenced
from headgate_bus.kafka.address import KafkaAddress

FENCED = (
    errors.ProducerFencedError,
    # An open transaction sees this error first when another producer took over its id.
    errors.InvalidProducerEpochError,
    # The client's errors for an unknown generation of the group or an unknown member.
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
    """Whether the error means fencing. Also true if the client only repeats the error of an earlier request."""
    return isinstance(error, FENCED) or any(isinstance(inner, FENCED) for inner in (*error.args, error.__cause__))


def unreachable(address: KafkaAddress, error: BaseException, within_s: float) -> BusUnavailable:
    """The client doesn't know why it gets no answer, so the message lists all likely causes."""
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
    """The bus's error for an error of the client. `doing` names the failed action: "appending to events"."""
    if isinstance(error, BusError):
        return error
    if is_fenced(error):
        return Fenced(
            f"{doing} at {address} was refused: another process has taken this one's place ({brief(error)})."
            " Stop the work on it"
        )
    if isinstance(error, errors.UnknownTopicOrPartitionError):
        return BusError(f"{doing} at {address} failed: the topic or partition isn't there; prepare the bus first")
    if isinstance(error, errors.AuthorizationError):
        return BusError(f"{doing} at {address} isn't allowed to this user ({brief(error)}); ask for the permission")
    if isinstance(error, errors.CorruptRecordError):
        return BusUnavailable(
            f"{doing} at {address} brought a batch that contradicts its checksum ({brief(error)}). A second read may be sound;"
            " if it stays so, the broker's disk is damaged: let another replica lead the partition"
        )
    if isinstance(error, REFUSED):
        return BusError(f"{doing} at {address} was refused ({brief(error)})")
    return BusUnavailable(f"{doing} at {address} got no clear answer ({brief(error)}); try again later")


def brief(error: BaseException) -> str:
    """The error's own words, on one line of bounded length."""
    name, words = type(error).__name__, str(error)
    # The client's errors contain their own names.
    return " ".join((words if words.startswith(f"{name}: ") else f"{name}: {words}").split())[:300]


def cut_partitions(error: BaseException) -> frozenset[int]:
    """The partitions whose log was cut, or recreated under the same name."""
    places = error.divergent_offsets if isinstance(error, errors.LogTruncationError) else ()
    return frozenset(place.partition for place in places)
