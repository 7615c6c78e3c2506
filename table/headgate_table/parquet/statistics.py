"""Makes bounds of columns safe, so that no reader skips a file wrongly: shortened, and only of the first columns.

docs/format.md, section 7. `read.entry_filter` compares a predicate with bounds; `bounds` makes the bounds of Parquet
files.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from headgate_schemas.actions.actions import AddFile
from headgate_schemas.errors import InvalidInput

MAX_TEXT_LENGTH = 32
"""Characters of a text bound (`stats.truncation.maxLength`)."""

INDEXED_COLUMNS = 32
"""Columns that have bounds at all (`dataSkippingNumIndexedCols`)."""

MAX_NUMBER_LENGTH = 64
"""A number is kept whole or not at all, as its beginning is another number. No column type has longer ones."""

# Texts that some known reader takes for numbers: spaces around and a type suffix (Java), digits of any script,
# hexadecimal floats, the names of the specials in any case (Rust).
_NUMBER = re.compile(
    r"[\x00-\x20\s]*[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|0x[0-9a-f]*\.?[0-9a-f]*p[+-]?\d+|nan|inf(?:inity)?)"
    r"[df]?[\x00-\x20\s]*",
    re.IGNORECASE,
)

_LAST_BEFORE_SURROGATES = 0xD7FF
_FIRST_AFTER_SURROGATES = 0xE000
_LAST_OF_BASIC_PLANE = 0xFFFF
_LAST = 0x10FFFF


def truncate_statistics(
    add: AddFile, partition_columns: Collection[str], max_length: int = MAX_TEXT_LENGTH, enabled: bool = True
) -> AddFile:
    """The file with long text bounds shortened; partition columns of the table stay unchanged.

    A lower bound becomes its beginning. An upper bound becomes the beginning of the same length with its last character
    raised, which is above every text that starts with it. So a reader that compares plain texts, by code points or by
    UTF-16 units, never skips a file with a match. (Some readers recognise a bound that is the beginning of a literal as
    shortened, but for some operators only; a plain beginning as an upper bound would lose rows with the others.) If no
    such text exists, or if shortening would turn a text into a number, the column loses both bounds.
    """
    if max_length < 1:
        raise InvalidInput(f"stats.truncation.maxLength is {max_length}; it must be at least 1")
    if not enabled or not _any_longer(add, max_length):
        return add
    lower, upper = dict(add.min_values or {}), dict(add.max_values or {})
    for column in (lower | upper).keys() - set(partition_columns):
        low, high = lower.get(column), upper.get(column)
        shorter_low = None if low is None else _shortened_lower(low, max_length)
        shorter_high = None if high is None else _shortened_upper(high, max_length)
        if (low is not None and shorter_low is None) or (high is not None and shorter_high is None):
            lower.pop(column, None)
            upper.pop(column, None)
            continue
        if shorter_low is not None:
            lower[column] = shorter_low
        if shorter_high is not None:
            upper[column] = shorter_high
    return replace(add, min_values=_or_none(add.min_values, lower), max_values=_or_none(add.max_values, upper))


def limit_columns(add: AddFile, columns_in_schema_order: Sequence[str], n: int = INDEXED_COLUMNS) -> AddFile:
    """The file with bounds of the table's first `n` columns only; a negative `n` means all of them.

    Bounds of the file's partition columns stay. Without a schema all bounds stay, because the columns can't be counted.
    """
    if n < 0 or not columns_in_schema_order or (add.min_values is None and add.max_values is None):
        return add
    wanted = {*columns_in_schema_order[:n], *add.partition_values}
    if wanted.issuperset(add.min_values or ()) and wanted.issuperset(add.max_values or ()):
        return add
    return replace(add, min_values=_only(add.min_values, wanted), max_values=_only(add.max_values, wanted))


def text_bounds(smallest: str, largest: str, max_length: int = MAX_TEXT_LENGTH) -> tuple[str, str] | None:
    """Bounds for a column of texts, from its extremes by code points; None if there are no safe ones.

    They are also safe for readers that order by UTF-16 units: those sort characters beyond the basic plane before its
    last ones, so a bound stops before the first character on which the two orders disagree. None, too, if a bound looks
    like a number: readers that don't know the column's type would compare it as one.
    """
    if may_be_number(smallest) or may_be_number(largest):
        return None
    lower = _cut(smallest, _FIRST_AFTER_SURROGATES, _LAST_OF_BASIC_PLANE)[:max_length]
    upper: str | None = _cut(largest, _LAST_OF_BASIC_PLANE + 1, _LAST)[:max_length]
    if upper is not None and upper != largest:
        upper = raised(upper)
    if (smallest and not lower) or upper is None or may_be_number(lower) or may_be_number(upper):
        return None
    return lower, upper


def may_be_number(text: str) -> bool:
    """Whether some known reader takes the text for a number."""
    return _NUMBER.fullmatch(text) is not None


def _any_longer(add: AddFile, max_length: int) -> bool:
    return any(
        len(value) > max_length for bounds in (add.min_values, add.max_values) if bounds for value in bounds.values()
    )


def _shortened_lower(value: str, max_length: int) -> str | None:
    if len(value) <= max_length:
        return value
    if may_be_number(value):
        return value if len(value) <= MAX_NUMBER_LENGTH else None
    lower = value[:max_length]
    return None if may_be_number(lower) else lower


def _shortened_upper(value: str, max_length: int) -> str | None:
    if len(value) <= max_length:
        return value
    if may_be_number(value):
        return value if len(value) <= MAX_NUMBER_LENGTH else None
    upper = raised(value[:max_length])
    return None if upper is None or may_be_number(upper) else upper


def raised(prefix: str) -> str | None:
    """A text above everything that starts with `prefix`, in both orders, and no longer than it; None if there is none.

    The last characters of the basic plane and of Unicode have no successor that is above them in both orders.
    """
    for position in range(len(prefix) - 1, -1, -1):
        code = ord(prefix[position])
        if code in (_LAST_OF_BASIC_PLANE, _LAST) or _LAST_BEFORE_SURROGATES < code < _FIRST_AFTER_SURROGATES:
            continue
        following = _FIRST_AFTER_SURROGATES if code == _LAST_BEFORE_SURROGATES else code + 1
        return prefix[:position] + chr(following)
    return None


def _cut(text: str, first: int, last: int) -> str:
    """The text before its first character in the range."""
    if text.isascii():
        return text
    for position, character in enumerate(text):
        if first <= ord(character) <= last:
            return text[:position]
    return text


def _only(bounds: Mapping[str, str] | None, wanted: set[str]) -> Mapping[str, str] | None:
    if bounds is None:
        return None
    return _or_none(bounds, {column: value for column, value in bounds.items() if column in wanted})


def _or_none(before: Mapping[str, str] | None, after: dict[str, str]) -> Mapping[str, str] | None:
    """Bounds that lost every column are absent; those that were absent or empty stay as they were."""
    return after if after else (None if before else before)
