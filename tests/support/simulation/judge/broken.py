"""The error of a broken invariant."""


class InvariantBroken(AssertionError):
    """Something is on the store or on the bus that must never be there; the message says what, and which rule it breaks."""


def must(holds: bool, problem: str) -> None:
    if not holds:
        raise InvariantBroken(problem)
