"""The bus of a starting process: created if it is missing, and retried if it doesn't answer."""

from collections.abc import Callable

from headgate_bus.errors import BusUnavailable
from headgate_bus.interface import Bus
from headgate_bus.open import open_bus
from headgate_schemas.ambient import Ambient
from headgate_table.store.backoff import trying_again

ATTEMPTS = 4
FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 2.0


def made_bus(address: str, ambient: Ambient, note: Callable[[str], None]) -> Bus:
    """The bus, opened and prepared. Raises `BusUnavailable` after a few attempts; all but the last are logged."""
    for attempt in trying_again(
        ambient, BusUnavailable, attempts=ATTEMPTS, first_pause_s=FIRST_PAUSE_S, longest_pause_s=LONGEST_PAUSE_S
    ):
        with attempt:
            try:
                return _opened(address, ambient)
            except BusUnavailable as error:
                number = attempt.retry_state.attempt_number
                if number < ATTEMPTS:
                    note(f"{error}. Tried {number} of {ATTEMPTS} times")
                raise
    raise AssertionError("the loop ends by returning or raising")


def _opened(address: str, ambient: Ambient) -> Bus:
    bus = open_bus(address, ambient)
    try:
        bus.prepare()
    except BaseException:
        bus.close()
        raise
    return bus
