"""The errors of this room's values; all of Headgate's errors descend from `HeadgateError`."""


class HeadgateError(Exception):
    """The base of all errors of Headgate. The message says what happened, to what, and what to do next."""


class InvalidInput(HeadgateError):
    """A value from the caller breaks a rule. The message names the value and the rule.

    Examples:
        >>> headgate.Table.create("lake/events", "id BIGINT").snapshot(version="1")
        Traceback (most recent call last):
        headgate_schemas.errors.InvalidInput: ...
    """


class MalformedAction(HeadgateError):
    """A stored action can't be read. Raised with the reason; the reader adds the file and line."""


class PredicateError(InvalidInput):
    """A predicate cannot be used. The message points at the place in its text.

    Examples:
        >>> headgate.Table.create("lake/events", "id BIGINT").snapshot(where="id >")
        Traceback (most recent call last):
        headgate_schemas.errors.PredicateError: ...
    """

    def __init__(self, message: str, text: str, position: int | None = None) -> None:
        self.text = text
        self.position = position
        shown = message
        if position is not None:
            shown += f"\n  {text}\n  {' ' * position}^"
        super().__init__(shown)


def error_text(error: Exception) -> str:
    """An error for people. Headgate's errors explain themselves, and any other is also named by its class; never empty."""
    if isinstance(error, HeadgateError) and str(error):
        return str(error)
    return f"{type(error).__name__}: {error}"
