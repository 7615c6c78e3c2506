"""The common rules of all messages: frozen models, keys in camelCase, the number of their format, and their bounds."""

import json
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticSerializationError

from headgate_schemas.errors import InvalidInput

FORMAT: Final = 1
"""The format of every message. It grows when an older process must not guess what a newer one means."""

MAX_BODY_BYTES = 512 << 10
"""A larger proposal travels as a claim check."""

MAX_MESSAGE_BYTES = 1 << 20
"""No bus takes a longer message; one that comes nevertheless is not read."""

MAX_ITEMS = 200_000
"""Of one list in a message, such as the files of a proposal: a version file has to hold them all."""

MAX_KEYS = 100_000
"""Of one map in a message: columns of the widest tables, or schemas in a table's registry."""

MAX_VALUES = 32_000_000
"""Texts, numbers, lists and maps behind a claim. Reading takes some hundred bytes of memory for each, however short it is;
those of honest claims have ten bytes and more, so that their size is what bounds them."""

MAX_PROBLEM_CHARS = 300
"""What is said about a message that can't be read; the message itself may be huge."""

_MAX_NAME_CHARS = 60


def _known_format(value: object) -> object:
    if type(value) is not int:
        raise ValueError("the number of the message's format is needed")
    if value != FORMAT:
        raise ValueError(f"this release of headgate knows messages of format {FORMAT}, not {value}: update it")
    return value


KnownFormat = Annotated[Literal[1], BeforeValidator(_known_format)]

Identity = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[!-~]+$")]
"""An id: visible ASCII, so that it can stand in a header, a file name and a log line."""

ShortText = Annotated[str, StringConstraints(max_length=2_000)]
TableUri = Annotated[str, StringConstraints(min_length=1, max_length=2_000, pattern=r"^[^\x00-\x1f]+$")]
Author = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f]+$")]

Count = Annotated[int, Field(ge=0, lt=2**63)]
Moment = Annotated[int, Field(ge=0, le=253_402_300_799_999)]
"""Epoch milliseconds, up to the end of the year 9999."""


EACH_UP_TO_THE_FIRST_PROBLEM: Final = Field(max_length=MAX_ITEMS, fail_fast=True)
"""For lists. Else a message of a few hundred KiB could be wrong in a million places, each of which would be told in full."""

KEYS: Final = Field(max_length=MAX_KEYS)
"""For maps."""


class AskedMessage(BaseModel):
    """A message with a request. An unknown field could change the request, so it is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, alias_generator=to_camel, populate_by_name=True)


class ToldMessage(BaseModel):
    """A message with a fact. Unknown fields are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True, alias_generator=to_camel, populate_by_name=True)


class UnreadableMessage(InvalidInput):
    """The bytes aren't a message that this process understands; the error's text gives the reason."""


def encoded(message: BaseModel, *, exclude_defaults: bool = False, exclude_none: bool = False) -> bytes:
    """The message as JSON. Raises `UnreadableMessage` for texts that aren't Unicode, which JSON can't hold."""
    try:
        return message.__pydantic_serializer__.to_json(
            message, by_alias=True, exclude_defaults=exclude_defaults, exclude_none=exclude_none
        )
    except PydanticSerializationError as error:
        raise UnreadableMessage(f"the message can't be written: {_printable(str(error))[:MAX_PROBLEM_CHARS]}") from None


def check_size(data: bytes) -> None:
    """Raises `UnreadableMessage` for a message that is longer than any bus accepts, before it is parsed."""
    if len(data) > MAX_MESSAGE_BYTES:
        raise UnreadableMessage(
            f"the message has {len(data)} bytes, more than the {MAX_MESSAGE_BYTES} that are read (MAX_MESSAGE_BYTES): send "
            f"a large operation as a claim check"
        )


def check_values(data: bytes) -> None:
    """Raises `UnreadableMessage` for JSON with too many values. It counts commas and brackets, before the text is
    parsed.
    """
    values = data.count(b",") + data.count(b"{") + data.count(b"[")
    if values > MAX_VALUES:
        raise UnreadableMessage(
            f"it has more than {MAX_VALUES} values (MAX_VALUES): make several proposals of fewer files each"
        )


def refuse_repeated_keys(data: bytes) -> None:
    """For parsed JSON. Raises `UnreadableMessage` if an object has a key twice.

    Some readers take the first value of a repeated key and some the last, but a request must have one meaning.
    """
    _EACH_KEY_ONCE.decode(data.decode("utf-8"))


def first_problem(error: ValidationError) -> str:
    """The first fault, by its place; never the value, which may be huge."""
    found: dict[str, Any] = dict(error.errors(include_url=False, include_input=False)[0])
    where = ".".join(_printable(str(part))[:_MAX_NAME_CHARS] for part in found["loc"])
    what = _printable(str(found["msg"]).removeprefix("Value error, "))
    return (f"{where}: {what}" if where else what)[:MAX_PROBLEM_CHARS]


def _once_each(pairs: list[tuple[str, object]]) -> None:
    if len({key for key, _ in pairs}) == len(pairs):
        return
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            # Shortened before it is made printable: a key may be as long as the message.
            raise UnreadableMessage(f"the key {_printable(key[:_MAX_NAME_CHARS])!r} comes twice in one object")
        seen.add(key)


_EACH_KEY_ONCE = json.JSONDecoder(object_pairs_hook=_once_each)


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in text)
