"""What time a server has, as the headers of its answers tell. No request is made for it."""

from email.utils import parsedate_to_datetime

from headgate_schemas.ambient import Ambient


class ServerClock:
    """Goes on by itself between two answers. Threads may share it."""

    def __init__(self, ambient: Ambient) -> None:
        self._ambient = ambient
        self._told: tuple[int, float] | None = None

    def heard(self, date: str | None) -> None:
        """The `Date` header of an answer that has just come. What is no date tells nothing."""
        if date is None:
            return
        try:
            moment = parsedate_to_datetime(date)
        except ValueError:
            return
        self._told = int(moment.timestamp() * 1000), self._ambient.monotonic_s()

    def now_ms(self) -> int | None:
        """None before the first answer, and where the server tells no time."""
        told = self._told
        if told is None:
            return None
        at_ms, heard_s = told
        return at_ms + int((self._ambient.monotonic_s() - heard_s) * 1000)
