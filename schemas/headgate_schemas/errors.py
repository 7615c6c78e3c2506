"""Every error that the values in this room raise; all of Headgate's errors descend from `HeadgateError`."""


class HeadgateError(Exception):
    """Something Headgate names: what happened, to what, and what to do next."""


class InvalidInput(HeadgateError):
    """A value from outside breaks a rule. The message names the value and the rule."""


class MalformedAction(HeadgateError):
    """A stored action that can't be understood. Raised with the reason; the reader adds the file and line."""


class PredicateError(InvalidInput):
    """A predicate text that can't be used; the message shows where in the text."""

    def __init__(self, message: str, text: str, position: int | None = None) -> None:
        self.text = text
        self.position = position
        shown = message
        if position is not None:
            shown += f"\n  {text}\n  {' ' * position}^"
        super().__init__(shown)
