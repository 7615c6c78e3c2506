"""Random columns of partition texts, and predicates that nearly match them."""

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
from hypothesis import strategies as st

from headgate_schemas.columns.column_kinds import ColumnKind
from headgate_schemas.predicates.tree import (
    AlwaysFalse,
    AlwaysTrue,
    And,
    Comparison,
    In,
    IsNotNull,
    IsNull,
    Leaf,
    Not,
    NotIn,
    NotStartsWith,
    Op,
    Or,
    Predicate,
    StartsWith,
)
from support.pruning.oracle import MARKER, escaped

_nulls = st.sampled_from([None, "", MARKER])
_word = st.text("abuxyzEU-_ ", min_size=1, max_size=4).filter(lambda text: text[0] not in "-_ ")
_mixed = st.one_of(
    st.sampled_from(["9", "10", "1a", "9f", "10d", "1e1", "2b", "7z", "5a", "01", "+1", "-1", "0x1p3", "1.0", "100"]),
    st.text("0129afe.", min_size=1, max_size=3),
)
_odd = st.text("a:/%3A 2F#é\ue000\U0001f600", min_size=1, max_size=5)
_escaped = _odd.flatmap(lambda text: st.sampled_from([text, escaped(text), escaped(text, with_space=True)]))
_iso_date = st.dates(date(2023, 12, 28), date(2024, 1, 5)).map(date.isoformat)
_year = st.integers(1997, 2026).map(str)

STRING_FAMILIES = [
    _word,
    _mixed,
    st.one_of(_word, _mixed),
    st.one_of(_word, _escaped),
    st.one_of(_mixed, _escaped),
    st.one_of(_iso_date, _word),
    st.one_of(_iso_date, _iso_date.map(lambda text: text + " 10:00:00").map(escaped)),
    _year,
    st.integers(-20, 3000).map(str),
]


def _spelled_integer(number: int) -> st.SearchStrategy[str]:
    digits, minus = str(abs(number)), "-" if number < 0 else ""
    return st.sampled_from(
        [minus + digits, minus + "0" + digits, minus + digits, "+" + digits if number >= 0 else minus + digits]
    )


_integers = st.one_of(st.integers(-3, 30), st.integers(-3, 3000), st.integers(-(2**63), 2**63 - 1))
_decimals = st.decimals(-20, 120, allow_nan=False, allow_infinity=False, places=1)
_noon = datetime.combine(date(2024, 1, 1), time(12))
_times = st.timedeltas(timedelta(hours=-50), timedelta(hours=50)).map(lambda away: _noon + away)


def _spelled_time(moment: datetime) -> st.SearchStrategy[str]:
    plain = moment.isoformat(sep=" ")
    return st.sampled_from(
        [plain, escaped(plain), escaped(plain, with_space=True), moment.isoformat(), plain + "+09:00"]
    )


ODD_SINGLES = [
    *("NaN", "Infinity", "-Infinity", "-0.0", "0.1", "0.10000000149011612", "1.0E-45", "1.401298464324817e-45"),
    *("3.4028235E38", "3.4028234663852886e+38", "-3.4028234663852886e+38", "16777216", "1.6777216E7", "0.3", "-0.1"),
]
"""The same of a 32-bit column: a number is spelled with few digits or with all."""
SHORT_SINGLES = ["0.1", "0.3", "-0.1", "2.7", "-3.3", "1.1"]
"""Of a 32-bit column, and none of them a 32-bit number."""
ODD_LITERALS = [*ODD_SINGLES, "16777217", "0.30000001192092896", "3.5e38", "1e-50", "0.1000000015"]
"""Beside 32-bit numbers."""
ODD_FLOATS = ["NaN", "Infinity", "-Infinity", "0.0", "-0.0", "5E-324", "1.7976931348623157E308", "1e39", "0.1"]
"""Texts that are numbers to a floating point column, as values and as literals."""

_NORMAL_TEXTS: dict[ColumnKind, st.SearchStrategy[str]] = {
    ColumnKind.INTEGER: _integers.flatmap(_spelled_integer),
    ColumnKind.DOUBLE: st.one_of(
        _decimals.map(str),
        _decimals.map(lambda number: repr(float(number))),
        st.sampled_from(["NaN", "1.0E10", *ODD_FLOATS]),
    ),
    ColumnKind.FLOAT: st.one_of(_decimals.map(str), st.sampled_from(ODD_SINGLES)),
    ColumnKind.DECIMAL: _decimals.map(str),
    ColumnKind.BOOLEAN: st.sampled_from(["true", "false", "TRUE"]),
    ColumnKind.DATE: _iso_date,
    ColumnKind.TIMESTAMP: _times.flatmap(_spelled_time),
}

KINDS = st.sampled_from([ColumnKind.STRING] * 4 + list(_NORMAL_TEXTS))


@st.composite
def columns_of_texts(draw: st.DrawFn, kind: ColumnKind, rows: int) -> list[str | None]:
    family = draw(st.sampled_from(STRING_FAMILIES)) if kind is ColumnKind.STRING else _NORMAL_TEXTS[kind]
    values = draw(st.lists(st.one_of(family, family, family, _nulls), min_size=rows, max_size=rows))
    if draw(st.booleans()):
        values = [value or None for value in values]
    return values


def literals(kind: ColumnKind, texts: list[str | None]) -> st.SearchStrategy[Any]:
    """Literals of a kind, often one that occurs among the texts."""
    near = st.sampled_from([text for text in texts if text] or ["x"])
    match kind:
        case ColumnKind.STRING:
            return st.one_of(near, near, *STRING_FAMILIES)
        case ColumnKind.INTEGER:
            own = [int(text) for text in texts if text and text != MARKER] or [0]
            return st.one_of(st.sampled_from(own), st.sampled_from(own), _integers, _decimals)
        case ColumnKind.DOUBLE:
            return st.one_of(
                _decimals, st.sampled_from(["NaN", "NaN", *ODD_FLOATS]), st.just("NaN"), st.sampled_from([0.0, -0.0])
            )
        case ColumnKind.FLOAT:
            wide = st.sampled_from([each for each in ODD_LITERALS if each[-1].isdigit()]).map(float)
            held = [float(np.float32(text)) for text in texts if text and text[-1].isdigit()] or [0.5]
            exact = st.sampled_from(held)
            return st.one_of(
                exact, exact, _decimals, _decimals.map(float), wide, st.sampled_from([*ODD_LITERALS, *["NaN"] * 3])
            )
        case ColumnKind.DECIMAL:
            return st.one_of(_decimals, st.integers(-20, 120))
        case ColumnKind.BOOLEAN:
            return st.booleans()
        case ColumnKind.DATE:
            return st.one_of(_iso_date, _iso_date.map(date.fromisoformat))
        case ColumnKind.TIMESTAMP:
            shifted = _times.map(lambda moment: moment + timedelta(hours=30))
            return st.one_of(_times, shifted, _times.map(lambda moment: moment.replace(tzinfo=UTC)), _times.map(str))
        case _:
            raise AssertionError(kind)


@st.composite
def leaves(draw: st.DrawFn, column: str, kind: ColumnKind, texts: list[str | None]) -> Leaf:
    values = literals(kind, texts)
    shapes = ["compare", "compare", "compare", "in", "not in", "null", "not null"]
    if kind in (ColumnKind.STRING, ColumnKind.DATE):
        shapes += ["like", "not like"]
    match draw(st.sampled_from(shapes)):
        case "compare":
            return Comparison(column, draw(st.sampled_from(Op)), draw(values))
        case "in":
            return In(column, tuple(draw(st.lists(values, min_size=1, max_size=3))))
        case "not in":
            return NotIn(column, tuple(draw(st.lists(values, min_size=1, max_size=3))))
        case "null":
            return IsNull(column)
        case "not null":
            return IsNotNull(column)
        case shape:
            prefix = str(draw(literals(ColumnKind.STRING, texts)))[: draw(st.integers(0, 6))]
            return StartsWith(column, prefix) if shape == "like" else NotStartsWith(column, prefix)


def trees(leaf: st.SearchStrategy[Leaf]) -> st.SearchStrategy[Predicate]:
    return st.recursive(
        st.one_of(leaf, leaf, leaf, leaf, st.just(AlwaysTrue()), st.just(AlwaysFalse())),
        lambda inner: st.one_of(
            st.lists(inner, min_size=2, max_size=3).map(lambda parts: And(tuple(parts))),
            st.lists(inner, min_size=2, max_size=3).map(lambda parts: Or(tuple(parts))),
            inner.map(Not),
        ),
        max_leaves=5,
    )


_any_number = st.one_of(
    st.integers(-(10**30), 10**30),
    st.floats(allow_nan=False, allow_infinity=False),
    st.decimals(-(10**9), 10**9, allow_nan=False, allow_infinity=False),
)
_any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
_any_name = _any_text.filter(bool)
any_literals = st.one_of(
    _any_text,
    _any_number,
    st.booleans(),
    st.dates(),
    st.datetimes(),
    st.datetimes(timezones=st.just(UTC)),
    st.sampled_from([Decimal("1E+300"), Decimal("-1E-300"), "%", "\\", "\\%", "_", "'"]),
)
_any_values = st.lists(any_literals, min_size=1, max_size=3).map(tuple)
any_leaves: st.SearchStrategy[Leaf] = st.one_of(
    st.builds(Comparison, _any_name, st.sampled_from(Op), any_literals),
    st.builds(In, _any_name, _any_values),
    st.builds(NotIn, _any_name, _any_values),
    st.builds(StartsWith, _any_name, _any_text),
    st.builds(NotStartsWith, _any_name, _any_text),
    st.builds(IsNull, _any_name),
    st.builds(IsNotNull, _any_name),
)
any_predicates = trees(any_leaves)
"""Predicates of every shape, with arbitrary names and literals."""


mixed_texts = st.lists(_mixed, min_size=3, max_size=7)
"""Numbers and other texts side by side, which number-aware writers have no proper order for."""
