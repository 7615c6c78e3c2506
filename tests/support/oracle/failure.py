"""What a history ends with when the table and the model disagree."""


class Disagreement(Exception):
    """`kind` is a word for the check that failed; the text says what was found and what was expected."""

    def __init__(self, kind: str, text: str) -> None:
        self.kind = kind
        super().__init__(f"{kind}: {text[:4000]}")
