"""The meaning of a stored partition text: nulls, escaped spellings, and whether one condition is true for it.

Some writers store the escaped text of a directory's name, others the plain text (docs/format.md, section 7). Each
stored text has one meaning, and `stored_text` converts a plain text. Other modules use these rules to select files and
manifests.
"""

import re
from collections.abc import Callable, Mapping
from typing import assert_never

from headgate_schemas.actions.actions import NULL_PARTITION
from headgate_schemas.columns.column_kinds import (
    ColumnKind,
    Value,
    epoch_micros,
    literal_value,
    parse_boolean,
    parse_decimal,
    parse_float,
    parse_floating,
    parse_integer,
    parse_timestamp,
    sign,
)
from headgate_schemas.errors import PredicateError
from headgate_schemas.predicates.tree import (
    Comparison,
    In,
    IsNotNull,
    IsNull,
    Leaf,
    NotIn,
    NotStartsWith,
    Predicate,
    StartsWith,
    fold,
)

TextTest = Callable[[str | None], bool]
ValuesTest = Callable[[Mapping[str, str | None]], bool]

_ESCAPABLE = frozenset(map(chr, range(0x01, 0x20))) | frozenset("\x7f\"#%'*/:=?\\{[]^")
_TO_ESCAPED = {ord(each): f"%{ord(each):02X}" for each in _ESCAPABLE}
_TO_ESCAPED_WITH_SPACE = {**_TO_ESCAPED, ord(" "): "%20"}
_ESCAPE = re.compile("%(?:" + "|".join(f"{ord(each):02X}" for each in sorted({*_ESCAPABLE, " "})) + ")")


def escape_partition_text(text: str) -> str:
    """The text as Spark spells it in a directory's name."""
    return text.translate(_TO_ESCAPED)


def unescape_partition_text(text: str) -> str:
    """The inverse of `escape_partition_text`; "%20" is a space too, as some writers escape it. Other texts stay."""
    return _ESCAPE.sub(lambda match: chr(int(match[0][1:], 16)), text) if "%" in text else text


def spellings(text: str) -> tuple[str, ...]:
    """Every stored text that means `text`: plain, as a directory's name, and with escaped spaces."""
    return tuple(dict.fromkeys((text, text.translate(_TO_ESCAPED), text.translate(_TO_ESCAPED_WITH_SPACE))))


def meaning(stored: str) -> str:
    """The text for comparisons by order: unescaped if some writer would have spelled it like that."""
    if "%" not in stored:
        return stored
    plain = unescape_partition_text(stored)
    return plain if stored in spellings(plain) else stored


def stored_text(text: str) -> str:
    """The stored form of a plain text: unchanged, unless readers would take it for an escaped one."""
    return text if meaning(text) == text else escape_partition_text(text)


def stored_value(stored: str | None, kind: ColumnKind) -> Value | None:
    """The value of a stored text in comparisons, or None for null.

    Null is a missing key, the marker, the empty text (docs/format.md, section 7), and a text that doesn't fit the kind.
    """
    if stored is None or stored in ("", NULL_PARTITION):
        return None
    match kind:
        case ColumnKind.STRING:
            return meaning(stored)
        case ColumnKind.BOOLEAN:
            return parse_boolean(stored)
        case ColumnKind.INTEGER:
            return parse_integer(stored)
        case ColumnKind.FLOAT:
            return parse_float(stored)
        case ColumnKind.DOUBLE:
            return parse_floating(stored)
        case ColumnKind.DECIMAL:
            return parse_decimal(stored)
        case ColumnKind.DATE:
            return stored
        case ColumnKind.TIMESTAMP:
            # No time contains a percent sign, so repeated escapes don't matter.
            moment = parse_timestamp(unescape_partition_text(unescape_partition_text(stored)))
            return None if moment is None else epoch_micros(moment)
        case ColumnKind.OTHER:
            return None
        case _:
            assert_never(kind)


def text_test(leaf: Leaf, kind: ColumnKind) -> TextTest:
    """Whether one condition is true (neither false nor unknown) for a stored text; None is a missing key.

    Raises `PredicateError` if the condition isn't defined for this kind of column.
    """
    if kind is ColumnKind.OTHER:
        raise PredicateError(f"column {leaf.column!r} is {kind.value}; a predicate can't use it", leaf.column)
    match leaf:
        case IsNull():
            return lambda stored: stored_value(stored, kind) is None
        case IsNotNull():
            return lambda stored: stored_value(stored, kind) is not None
        case StartsWith(column, prefix):
            return _prefix_test(column, prefix, kind, wanted=True)
        case NotStartsWith(column, prefix):
            return _prefix_test(column, prefix, kind, wanted=False)
        case In(column, values):
            return _membership_test(frozenset(literal_value(column, kind, each) for each in values), kind, wanted=True)
        case NotIn(column, values):
            return _membership_test(frozenset(literal_value(column, kind, each) for each in values), kind, wanted=False)
        case Comparison(column, op, literal):
            return _comparison_test(op.holds, literal_value(column, kind, literal), kind)
        case _:
            assert_never(leaf)


def _comparison_test(holds: Callable[[int], bool], wanted: Value, kind: ColumnKind) -> TextTest:
    def test(stored: str | None) -> bool:
        value = stored_value(stored, kind)
        return value is not None and holds(sign(value, wanted))

    return test


def _membership_test(members: frozenset[Value], kind: ColumnKind, wanted: bool) -> TextTest:
    def test(stored: str | None) -> bool:
        value = stored_value(stored, kind)
        return value is not None and (value in members) is wanted

    return test


def _prefix_test(column: str, prefix: str, kind: ColumnKind, wanted: bool) -> TextTest:
    check_prefix_kind(column, kind)

    def test(stored: str | None) -> bool:
        if stored is None or stored_value(stored, kind) is None:
            return False
        return meaning(stored).startswith(prefix) is wanted

    return test


def check_prefix_kind(column: str, kind: ColumnKind) -> None:
    """Raises `PredicateError` if LIKE isn't defined for this kind."""
    if kind not in (ColumnKind.STRING, ColumnKind.DATE, ColumnKind.TIMESTAMP):
        raise PredicateError(f"column {column!r} is {kind.value}; LIKE is for strings, use a comparison or IN", column)


def covering(predicate: Predicate, column_kinds: Mapping[str, ColumnKind]) -> ValuesTest:
    """Whether the predicate is true for a file with given partition values. Every column must be a partition column.

    Raises `PredicateError` for an unknown column and for a condition that isn't defined for its column.
    """
    return values_test(predicate, lambda leaf: text_test(leaf, kind_of(leaf.column, column_kinds)))


def values_test(predicate: Predicate, test_of: Callable[[Leaf], TextTest]) -> ValuesTest:
    """A predicate on partition values, from a test for each condition; all tests are made before any is run."""

    def leaf_test(leaf: Leaf) -> ValuesTest:
        column, test = leaf.column, test_of(leaf)
        return lambda values: test(values.get(column))

    def all_of(tests: list[ValuesTest]) -> ValuesTest:
        return lambda values: all(test(values) for test in tests)

    def any_of(tests: list[ValuesTest]) -> ValuesTest:
        return lambda values: any(test(values) for test in tests)

    return fold(predicate, leaf_test, all_of, any_of, lambda truth: lambda values: truth)


def kind_of(column: str, column_kinds: Mapping[str, ColumnKind]) -> ColumnKind:
    try:
        return column_kinds[column]
    except KeyError:
        raise PredicateError(
            f"the table's schema has no column {column!r}; known are {sorted(column_kinds)}", column
        ) from None
