"""Times as users give and see them: epoch milliseconds, or ISO 8601."""

import re
from datetime import UTC, datetime, timedelta

from headgate_schemas.errors import InvalidInput

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,19}")


def parse_time(value: int | str) -> int:
    """Epoch milliseconds of a time: epoch ms as a number or as digits, ISO 8601 with or without a zone, or a date.

    Without a zone it is UTC; a date means its first moment. Raises `InvalidInput`.
    """
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise InvalidInput(
            f"{value!r} is no time; write it as ISO 8601 (2024-01-31T12:00:00Z) or as epoch milliseconds"
        )
    if isinstance(value, int):
        return value
    text = value.strip()
    if _WHOLE_NUMBER.fullmatch(text):
        return int(text)
    try:
        # Longer digits would be taken for a date without separators.
        moment = datetime.fromisoformat("" if text.isdigit() else text)
    except ValueError:
        raise InvalidInput(
            f"{value[:100]!r} is no time; write it as ISO 8601 (2024-01-31, 2024-01-31T12:00:00Z) or as epoch milliseconds"
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def format_time(time_ms: int) -> str:
    """ISO 8601 in UTC; the plain number beyond the end of the calendar."""
    try:
        moment = _EPOCH + timedelta(milliseconds=time_ms)
    except OverflowError:
        return f"{time_ms} ms"
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
