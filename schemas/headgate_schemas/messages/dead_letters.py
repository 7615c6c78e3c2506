"""Dead letters: messages that can't be decided, kept with the reason and their original bytes."""

import binascii
from base64 import b64decode, b64encode
from typing import Annotated

from pydantic import BeforeValidator, PlainSerializer, ValidationError, WithJsonSchema

from headgate_schemas.messages.message_shape import (
    FORMAT,
    KEYS,
    Count,
    KnownFormat,
    Moment,
    ShortText,
    ToldMessage,
    UnreadableMessage,
    check_size,
    encoded,
    first_problem,
)


def _from_base64(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return b64decode(value, validate=True)
    except binascii.Error:
        raise ValueError("this is no base64") from None


OriginalBytes = Annotated[
    bytes,
    BeforeValidator(_from_base64),
    PlainSerializer(lambda data: b64encode(data).decode(), return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "contentEncoding": "base64"}),
]


class DeadLetter(ToldMessage):
    """One message that was set aside. It isn't a decision: a replay gets a new id."""

    format: KnownFormat = FORMAT
    id: str
    """Source and offset, by which a repeat is known."""
    code: str
    """As in a receipt."""
    reason: ShortText
    cluster: str
    topic: str
    """The id of the topic that it came from, not its name."""
    partition: Count
    offset: Count
    appended: Moment
    """When the bus took it, in epoch milliseconds."""
    table: str | None = None
    """As far as headers or body told; so for `proposal`."""
    proposal: str | None = None
    headers: Annotated[dict[str, str], KEYS]
    """As they came."""
    body: OriginalBytes
    """The original bytes, in base64; of a body that the topic can't hold again, the beginning."""
    body_bytes: Count
    """How long the original was."""
    told: bool = True
    """Whether its author gets a receipt with this code."""
    time: Moment
    """When it was set aside, in epoch milliseconds."""

    @property
    def is_whole(self) -> bool:
        """Whether the letter holds the complete original."""
        return len(self.body) == self.body_bytes


def encode_dead_letter(letter: DeadLetter) -> bytes:
    return encoded(letter, exclude_none=True)


def decode_dead_letter(data: bytes) -> DeadLetter:
    """Raises `UnreadableMessage`."""
    check_size(data)
    try:
        return DeadLetter.model_validate_json(data)
    except ValidationError as error:
        raise UnreadableMessage(first_problem(error)) from None
