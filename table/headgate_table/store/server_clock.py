"""A server's time, from the headers of its answers. It sends no request."""

from email.utils import parsedate_to_datetime

from headgate_schemas.ambient import Ambient


class ServerClock:
    """Continues by itself between two answers. Threads may share it."""

    def __init__(self, ambient: Ambient) -> None:
        self._ambient = ambient
        self._told: tuple[int, float] | None = None

    def heard(self, date: str | None) -> None:
        """The `Date` header of an answer that has just come. An invalid date is ignored."""
        if date is None:
            return
        try:
            moment = parsedate_to_datetime(date)
        except ValueError:
            return
        self._told = int(moment.timestamp() * 1000), self._ambient.monotonic_s()

    def now_ms(self) -> int | None:
        """None before the first answer, and if the server sends no time."""
        told = self._told
        if told is None:
            return None
        at_ms, heard_s = told
        return at_ms + int((self._ambient.monotonic_s() - heard_s) * 1000)
