"""All errors of the bus. Each message says what happened, to which bus or topic, and what to do."""

from enum import Enum

from headgate_schemas.errors import HeadgateError


class BusError(HeadgateError):
    """The bus refused a request, is configured wrongly, or sent an invalid answer. Nothing was appended."""


class BusUnavailable(BusError):
    """The bus doesn't answer. Try again later. After an append, nobody knows whether it took effect."""


class OffsetGone(BusError):
    """The offset lies outside of the offsets that the partition holds."""

    def __init__(self, message: str, partition: int, offset: int, first: int, next_offset: int) -> None:
        self.partition = partition
        self.offset = offset
        self.first = first
        self.next_offset = next_offset
        super().__init__(message)


class BatchUnread(BusError):
    """Records can't be read because their batch can't be unpacked. Every read of the batch fails again."""

    def __init__(self, message: str, partition: int, first: int, last: int) -> None:
        self.partition = partition
        self.first = first
        """Of the offsets where they lie."""
        self.last = last
        super().__init__(message)


class Fenced(BusError):
    """Another process has taken over this place. The current work must not continue here."""


class ClaimFault(Enum):
    """The reason why a claim can't be opened, now or later."""

    MISSING = "missing"
    DIFFERS = "differs"
    """Not the bytes that the proposal names."""
    OVER_BOUND = "over_bound"
    UNREADABLE = "unreadable"


class ClaimRefused(BusError):
    """The claim can never be opened, so its proposal can't be decided. A failing store raises another error."""

    def __init__(self, message: str, fault: ClaimFault) -> None:
        self.fault = fault
        super().__init__(message)
