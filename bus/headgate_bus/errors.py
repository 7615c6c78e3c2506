"""Every error of the bus room. Each message says what happened, to which bus or topic, and what to do."""

from enum import Enum

from headgate_schemas.errors import HeadgateError


class BusError(HeadgateError):
    """The bus refused us, is set up wrongly, or answered with nonsense. Nothing was appended."""


class BusUnavailable(BusError):
    """The bus doesn't answer. Try again later; of an append it is not known whether it happened."""


class OffsetGone(BusError):
    """An offset outside of what a topic holds."""

    def __init__(self, message: str, partition: int, offset: int, first: int, next_offset: int) -> None:
        self.partition = partition
        self.offset = offset
        self.first = first
        self.next_offset = next_offset
        super().__init__(message)


class BatchUnread(BusError):
    """Records that can't be read, since their batch can't be. It comes again whenever they are read."""

    def __init__(self, message: str, partition: int, first: int, last: int) -> None:
        self.partition = partition
        self.first = first
        """Of the offsets where they lie."""
        self.last = last
        super().__init__(message)


class Fenced(BusError):
    """Another process has taken this one's place. Whatever was being done must not be done again from here."""


class ClaimFault(Enum):
    """Why a claim can't be opened, now or later."""

    MISSING = "missing"
    DIFFERS = "differs"
    """Not the bytes that the proposal names."""
    OVER_BOUND = "over_bound"
    UNREADABLE = "unreadable"


class ClaimRefused(BusError):
    """A claim that will never be opened: its proposal can't be decided. A store that fails is no such claim."""

    def __init__(self, message: str, fault: ClaimFault) -> None:
        self.fault = fault
        super().__init__(message)
