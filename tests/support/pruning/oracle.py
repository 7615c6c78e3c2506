"""What predicates mean, written a second time and naively: one row at a time, NOT included, three truth values.

Nothing here is imported from the code under test but the predicate's own classes and the names of the kinds.
"""

import re
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np

from headgate_schemas.columns.column_kinds import ColumnKind as K
from headgate_schemas.predicates.tree import (
    AlwaysFalse,
    AlwaysTrue,
    And,
    Comparison,
    In,
    IsNotNull,
    IsNull,
    Not,
    NotIn,
    NotStartsWith,
    Op,
    Or,
    Predicate,
    StartsWith,
)

MARKER = "__HIVE_DEFAULT_PARTITION__"
_SPECIAL = [chr(n) for n in range(1, 32)] + list("\"#%'*/:=?\\{[]^\x7f")


def escaped(text: str, with_space: bool = False) -> str:
    out = ""
    for each in text:
        out += f"%{ord(each):02X}" if each in _SPECIAL or (with_space and each == " ") else each
    return out


def _plain(stored: str) -> str:
    out, i = "", 0
    while i < len(stored):
        code = stored[i + 1 : i + 3]
        if stored[i] == "%" and re.fullmatch("[0-9A-F]{2}", code) and chr(int(code, 16)) in [*_SPECIAL, " "]:
            out, i = out + chr(int(code, 16)), i + 3
        else:
            out, i = out + stored[i], i + 1
    return out


def _means(stored: str) -> str:
    plain = _plain(stored)
    return plain if stored in (escaped(plain), escaped(plain, with_space=True)) else stored


def _number(text: str) -> Any:
    if re.fullmatch(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,9})?", text):
        return Decimal(text)
    return None


def _double(text: str) -> Any:
    if text == "NaN":
        return (1, 0.0)
    if text.lstrip("+-") == "Infinity" and len(text) <= 9:
        return (0, float("-inf") if text[0] == "-" else float("inf"))
    number = _number(text)
    return None if number is None else (0, float(number))


def _float(text: str) -> Any:
    """A 32-bit column holds the nearest 32-bit number, and compares it as a 64-bit one."""
    double = _double(text)
    if double is None or not np.isfinite(double[1]) or abs(double[1]) > 3.4028235e38:
        return double
    return (double[0], float(np.float32(double[1])))


def _time(text: str) -> Any:
    try:
        moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def stored_value(stored: str | None, kind: K) -> Any:
    if stored is None or stored == "" or stored == MARKER:
        return None
    if kind is K.STRING:
        return _means(stored)
    if kind is K.DATE:
        return stored
    if kind is K.INTEGER:
        return int(stored) if re.fullmatch(r"[+-]?[0-9]+", stored) and -(2**63) <= int(stored) < 2**63 else None
    if kind is K.BOOLEAN:
        return {"true": True, "false": False}.get(stored.lower())
    if kind is K.FLOAT:
        return _float(stored)
    if kind is K.DOUBLE:
        return _double(stored)
    if kind is K.DECIMAL:
        return _number(stored)
    return _time(_plain(stored))


def literal_value(literal: Any, kind: K) -> Any:
    if kind is K.DATE:
        return literal.isoformat() if isinstance(literal, date) else literal
    if kind is K.TIMESTAMP:
        if isinstance(literal, datetime):
            return literal if literal.tzinfo is not None else literal.replace(tzinfo=UTC)
        return (
            _time(literal)
            if isinstance(literal, str)
            else datetime(literal.year, literal.month, literal.day, tzinfo=UTC)
        )
    if kind in (K.FLOAT, K.DOUBLE):
        return _double(literal) if isinstance(literal, str) else (0, float(literal))
    if kind is K.DECIMAL:
        return Decimal(str(literal))
    return literal


def _compare(stored: str | None, op: Op, literal: Any, kind: K) -> bool | None:
    left, right = stored_value(stored, kind), literal_value(literal, kind)
    if left is None:
        return None
    answers: dict[Op, bool] = {
        Op.EQ: left == right,
        Op.NE: left != right,
        Op.LT: left < right,
        Op.LE: left <= right,
        Op.GT: left > right,
        Op.GE: left >= right,
    }
    return answers[op]


def _negated(truth: bool | None) -> bool | None:
    return None if truth is None else not truth


def _any(truths: list[bool | None]) -> bool | None:
    return True if True in truths else None if None in truths else False


def truth(predicate: Predicate, row: dict[str, str | None], kinds: dict[str, K]) -> bool | None:
    """SQL's answer for one row of partition texts: true, false or unknown."""
    match predicate:
        case AlwaysTrue():
            return True
        case AlwaysFalse():
            return False
        case And(operands):
            return _negated(_any([_negated(truth(each, row, kinds)) for each in operands]))
        case Or(operands):
            return _any([truth(each, row, kinds) for each in operands])
        case Not(operand):
            return _negated(truth(operand, row, kinds))
    stored, kind = row.get(predicate.column), kinds[predicate.column]
    match predicate:
        case Comparison(_, op, literal):
            return _compare(stored, op, literal, kind)
        case In(_, values):
            return _any([_compare(stored, Op.EQ, each, kind) for each in values])
        case NotIn(_, values):
            return _negated(_any([_compare(stored, Op.EQ, each, kind) for each in values]))
        case StartsWith(_, prefix) | NotStartsWith(_, prefix):
            if stored is None or stored_value(stored, kind) is None:
                return None
            found = _means(stored).startswith(prefix)
            return found if isinstance(predicate, StartsWith) else not found
        case IsNull():
            return stored_value(stored, kind) is None
        case IsNotNull():
            return stored_value(stored, kind) is not None
    raise AssertionError(predicate)
