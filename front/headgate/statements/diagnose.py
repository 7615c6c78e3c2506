"""Explains why a text is no operator statement: what was expected, and the probable intention."""

import re
from collections.abc import Iterable
from difflib import get_close_matches

from headgate.statements.forms import CLOSE_ENOUGH, ENGINES, PURGEABLES, Form, nearest_form
from headgate.statements.statements import StatementError

PLAIN_WORDS = {
    "STRING": "a path in quotes",
    "NAME": "a table name",
    "BACKQUOTED": "a table name",
    "PREDICATE": "a predicate",
    "MERGE_PREDICATE": "a predicate",
    "AMOUNT": "a size such as 100M or 5G",
    "COUNT": "a whole number",
    "INTEGER": "a whole number",
    "UNIT": "DAYS or HOURS",
    "_ENGINE": ", ".join(ENGINES[:-1]) + f" or {ENGINES[-1]}",
    "_PURGEABLE": " or ".join(PURGEABLES),
    "_SEMICOLON": "the end of the statement",
    "$END": "the end of the statement",
}
"""What a terminal of the grammar is called; a keyword that is not listed is its own name without the underscore."""

_UNSAID = frozenset({"_DOT"})
"""Could always follow a name; saying so helps nobody."""

_CLAUSE_WORDS = frozenset(
    {"WHERE", "TARGET", "MAX", "PRECOMMIT", "OLDER", "TRANSACTION", "DRY", "INCLUDE", "FOR", "AT", "FROM"}
)
_SHOWN_CHARS = 40
_TOKEN = re.compile(r"\w+|'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.|\"\")*\"|`(?:[^`]|``)*`|\S", re.DOTALL)
_SHORT_SPAN = re.compile(r"([0-9]+)\s*([dh])\w*", re.IGNORECASE)


def explain(text: str, position: int, acceptable: frozenset[str]) -> StatementError:
    """The error of a text that the grammar refused at `position`, where one of `acceptable` was possible."""
    expected = _in_words(acceptable)
    found = _TOKEN.match(text, position)
    word = found.group() if found else ""
    form = nearest_form(text)
    if text.startswith("/*", position):
        return StatementError("This comment is never closed.", text, position, suggestion="Close it with */.")
    if word in ("'", '"', "`"):
        return StatementError(
            f"This quote is never closed: there is no second {word} after it.",
            text,
            position,
            expected=expected,
            suggestion=f"Close it with {word}; a {word} inside is written twice.",
        )
    message = f"Expected {_alternatives(expected)}, found {_shown(word)}."
    if "_CHECKPOINT" in acceptable:
        starts = f"an operator statement starts with {_alternatives(expected)}."
        message = f"{_shown(word)} starts no statement: {starts}" if word else f"There is no statement here: {starts}"
    hints = [hint for hint in (_hint(text, position, word, acceptable, form), _form_line(form)) if hint]
    return StatementError(message, text, position, expected=expected, suggestion="\n".join(hints) or None)


def _hint(text: str, position: int, word: str, acceptable: frozenset[str], form: Form | None) -> str | None:
    upper = word[:_SHOWN_CHARS].upper()
    meant = get_close_matches(upper, _spellings(acceptable), n=1, cutoff=CLOSE_ENOUGH)
    if meant:
        return f"Did you mean {meant[0]}?"
    for terminal, keyword in (("_ENGINE", ENGINES[0]), ("_PURGEABLE", PURGEABLES[0])):
        if terminal in acceptable:
            before = text[:position].split()[-1].upper()
            return f"The word after {before} says whose statement it is: write {before} {keyword} ..."
    run = _run_around(text, position)
    if "_DOT" in acceptable or "STRING" in acceptable:
        if re.search(r"[/\\:]", run) and run[0] not in "'\"`":
            return f"A path must be in quotes: '{_clipped(run)}'"
        if "_DOT" in acceptable and re.fullmatch(r"[^\s'\"`;]*[^\w\s'\"`;.][^\s'\"`;]*", run):
            return f"A name with other characters than letters, digits and _ must be in backquotes: `{_clipped(run)}`"
        if "NAME" in acceptable and word.isdecimal():
            return f"A name of digits alone must be in backquotes: `{_clipped(word)}`"
        if "STRING" in acceptable and "NAME" not in acceptable and word[:1].isalnum():
            return f"A path must be in quotes: '{_clipped(run)}'"
    if "INTEGER" in acceptable and (span := _SHORT_SPAN.fullmatch(word[:_SHOWN_CHARS])):
        return f"Write {span[1]} {'DAYS' if span[2].lower() == 'd' else 'HOURS'}."
    if "$END" in acceptable and text[:position].rstrip().endswith(";"):
        return "One statement at a time: send the next one by itself."
    if "_WHERE" in acceptable and form is not None and form.prefix[0] == ("DROP",):
        return "Partitions are never dropped without saying which: add WHERE and a predicate over partition columns."
    if upper in _CLAUSE_WORDS and form is not None:
        if upper in form.synopsis:
            return "Clauses come at most once each, in the order of the form below."
        return f"This statement has no clause {upper}."
    return None


def _form_line(form: Form | None) -> str | None:
    return None if form is None else f"The form is: {form.synopsis}"


def _spellings(acceptable: Iterable[str]) -> list[str]:
    words: set[str] = set()
    for terminal in acceptable:
        match terminal:
            case "_ENGINE":
                words.update(ENGINES)
            case "_PURGEABLE":
                words.update(PURGEABLES)
            case "UNIT":
                words.update(("DAYS", "HOURS"))
            case _ if terminal.startswith("_") and terminal not in PLAIN_WORDS and terminal not in _UNSAID:
                words.add(terminal[1:])
    return sorted(words)


def _in_words(acceptable: Iterable[str]) -> tuple[str, ...]:
    described = {
        PLAIN_WORDS.get(terminal, terminal.removeprefix("_")) for terminal in acceptable if terminal not in _UNSAID
    }
    # Values before keywords before the end: the likeliest first.
    return tuple(sorted(described, key=lambda words: (words == PLAIN_WORDS["$END"], words.isupper(), words)))


def _alternatives(expected: tuple[str, ...]) -> str:
    if len(expected) < 2:
        return "".join(expected)
    return f"{', '.join(expected[:-1])} or {expected[-1]}"


def _run_around(text: str, position: int) -> str:
    """The text around a position, up to the spaces around it."""
    start = position
    while start > 0 and not text[start - 1].isspace():
        start -= 1
    end = position
    while end < len(text) and not text[end].isspace() and text[end] != ";":
        end += 1
    return text[start:end]


def _clipped(text: str) -> str:
    shown = text if len(text) <= 2 * _SHOWN_CHARS else text[: 2 * _SHOWN_CHARS] + "..."
    return shown if shown.isprintable() else ascii(shown)


def _shown(word: str) -> str:
    if not word:
        return "the end of the statement"
    shown = word if len(word) <= _SHOWN_CHARS else word[:_SHOWN_CHARS] + "..."
    return shown if shown.isprintable() else ascii(shown)
