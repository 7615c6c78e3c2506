"""Every bus refuses two kinds of messages before it sends anything: too large ones, and text that can't be encoded."""

from collections.abc import Sequence

from headgate_bus.errors import BusError
from headgate_bus.interface import MAX_MESSAGE_BYTES, Message, Topic


def size_of(message: Message) -> int:
    """The bytes of key, headers and body, without the bus's own overhead. Raises `UnicodeEncodeError`."""
    headers = sum(len(name.encode()) + len(value.encode()) for name, value in message.headers.items())
    return len(message.key.encode()) + headers + len(message.body)


def check_messages(topic: Topic, messages: Sequence[Message]) -> None:
    """Raise `BusError` if one of the messages can't be appended; then append none."""
    for index, message in enumerate(messages):
        where = f"message {index + 1} of {len(messages)} for {topic.value} (key {message.key[:200]!r})"
        try:
            size = size_of(message)
        except UnicodeEncodeError as error:
            raise BusError(f"{where} has a key or header that is not valid Unicode; nothing was appended") from error
        if size > MAX_MESSAGE_BYTES:
            raise BusError(
                f"{where} has {size} bytes, more than the {MAX_MESSAGE_BYTES} that the bus takes; nothing was appended."
                " Send a large body as a claim check"
            )
