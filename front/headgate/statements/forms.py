"""The forms of each operator statement, in words: to recognise one cheaply and to explain a wrong one.

Nothing here parses; `grammar.lark` decides whether a text is a statement.
"""

import re
from dataclasses import dataclass
from difflib import get_close_matches

ENGINES = ("INDEXTABLES", "TANTIVY4SPARK", "HEADGATE")
PURGEABLES = ("INDEXTABLE", "HEADGATE")
"""What PURGE is followed by; HEADGATE is our own word for it."""


CLOSE_ENOUGH = 0.66
"""How alike two words must be for one to pass as a slip of the other: one wrong letter of three."""


@dataclass(frozen=True, slots=True)
class Form:
    prefix: tuple[tuple[str, ...], ...]
    """The words that make a text this statement and nobody else's; each may have several spellings."""
    synopsis: str


FORMS: tuple[Form, ...] = (
    Form((("CHECKPOINT",), ENGINES), "CHECKPOINT INDEXTABLES 'path'|table"),
    Form((("COMPACT",), ENGINES), "COMPACT INDEXTABLES 'path'|table"),
    Form((("DESCRIBE",), ENGINES, ("STATE",)), "DESCRIBE INDEXTABLES STATE 'path'|table"),
    Form(
        (("DESCRIBE",), ENGINES, ("TRANSACTION",), ("LOG",)),
        "DESCRIBE INDEXTABLES TRANSACTION LOG 'path'|table [INCLUDE ALL]",
    ),
    Form(
        (("PURGE",), PURGEABLES),
        "PURGE INDEXTABLE 'path'|table [OLDER THAN n DAYS|HOURS] [TRANSACTION LOG RETENTION n DAYS|HOURS] [DRY RUN]",
    ),
    Form((("TRUNCATE",), ENGINES, ("TIME",), ("TRAVEL",)), "TRUNCATE INDEXTABLES TIME TRAVEL 'path'|table [DRY RUN]"),
    Form((("DROP",), ENGINES, ("PARTITIONS",)), "DROP INDEXTABLES PARTITIONS FROM 'path'|table WHERE predicate"),
    Form(
        (("MERGE",), ("SPLITS",)),
        "MERGE SPLITS ['path'|table] [WHERE predicate] [TARGET SIZE n[M|G]] [MAX DEST SPLITS n]"
        " [MAX SOURCE SPLITS PER MERGE n] [PRECOMMIT]",
    ),
    Form(
        (("REPAIR",), ("INDEXFILES",)),
        "REPAIR INDEXFILES TRANSACTION LOG 'path/_transaction_log' AT LOCATION 'other/_transaction_log'",
    ),
    Form(
        (("INVALIDATE",), ENGINES, ("TRANSACTION",), ("LOG",), ("CACHE",)),
        "INVALIDATE INDEXTABLES TRANSACTION LOG CACHE [FOR 'path'|table]",
    ),
)

_GAP = re.compile(r"(?:\s+|--[^\n]*|/\*(?:[^*]|\*(?!/))*\*/)*")
_WORD = re.compile(r"\w+")
_LONGEST_PREFIX = max(len(form.prefix) for form in FORMS)
_LONGEST_WORD = 32
"""Comparing takes time in the square of a word's length, and no keyword is longer."""


def leading_words(text: str, count: int = _LONGEST_PREFIX) -> list[str]:
    """The first words of a text in upper case, up to the first token that is neither word, space nor comment."""
    words: list[str] = []
    position = 0
    for _ in range(count):
        gap = _GAP.match(text, position)
        word = _WORD.match(text, gap.end() if gap else position)
        if word is None:
            break
        words.append(word.group().upper())
        position = word.end()
    return words


def is_operator_statement(text: str) -> bool:
    """True if the text starts like an operator statement, right or wrong after that; another parser handles all other
    texts.
    """
    words = leading_words(text)
    return any(_starts_with(words, form.prefix) for form in FORMS)


def nearest_form(text: str) -> Form | None:
    """The probable statement of the text: the one that shares most leading words with it."""
    words = leading_words(text)

    def shared(form: Form) -> float:
        count = 0.0
        for word, spellings in zip(words, form.prefix, strict=False):
            if word in spellings:
                count += 1
            elif get_close_matches(word[:_LONGEST_WORD], spellings, n=1, cutoff=CLOSE_ENOUGH):
                count += 0.5
            else:
                break
        return count

    best = max(FORMS, key=shared)
    return best if shared(best) else None


def _starts_with(words: list[str], prefix: tuple[tuple[str, ...], ...]) -> bool:
    return len(words) >= len(prefix) and all(word in spellings for word, spellings in zip(words, prefix, strict=False))
