"""The conditions of a query on the rows of each of its tables, as far as they help to skip files. Pure.

Only conditions that every row of the result must meet are taken: those of WHERE, joined by AND, in a SELECT whose
tables are joined by inner joins. DataFusion alone handles all others.
"""

from collections.abc import Iterator, Mapping

from sqlglot import exp, parse_one
from sqlglot.dialects import DuckDB
from sqlglot.errors import SqlglotError

from headgate_schemas.columns.column_kinds import ColumnKind
from headgate_schemas.errors import InvalidInput
from headgate_schemas.predicates.text import check_columns, parse_predicate
from headgate_schemas.predicates.tree import Predicate, all_of

_TEXTS = (ColumnKind.STRING, ColumnKind.DATE, ColumnKind.TIMESTAMP)
_NUMBERS = (ColumnKind.INTEGER, ColumnKind.DOUBLE, ColumnKind.DECIMAL)
_TAKEN = (
    exp.EQ,
    exp.NEQ,
    exp.LT,
    exp.LTE,
    exp.GT,
    exp.GTE,
    exp.In,
    exp.Between,
    exp.Is,
    exp.Like,
    exp.Or,
    exp.And,
    exp.Paren,
)


def conditions_of(text: str, kinds: Mapping[str, Mapping[str, ColumnKind]]) -> dict[str, Predicate]:
    """By the name of a table in the query; `kinds` are the columns of each. A query that is too complex has none."""
    try:
        tree = parse_one(text, dialect=DuckDB)
    except SqlglotError:
        return {}
    found: dict[str, Predicate] = {}
    for select in tree.find_all(exp.Select):
        found |= _of_select(select, kinds)
    return found


def _of_select(select: exp.Select, kinds: Mapping[str, Mapping[str, ColumnKind]]) -> dict[str, Predicate]:
    where, source = select.args.get("where"), select.args.get("from_")
    if where is None or source is None:
        return {}
    joins = select.args.get("joins") or []
    sources = [source.this, *(join.this for join in joins)]
    if not all(isinstance(each, exp.Table) for each in sources) or not all(map(_is_inner, joins)):
        return {}
    by_alias = {each.alias_or_name: each.name for each in sources}
    if len(by_alias) < len(sources):
        return {}
    asked: dict[str, list[Predicate]] = {}
    for condition in _conjuncts(where.this):
        alias = _only_source(condition, list(by_alias))
        if alias is None or by_alias[alias] not in kinds:
            continue
        name = by_alias[alias]
        predicate = _predicate(condition, kinds[name])
        if predicate is not None:
            asked.setdefault(name, []).append(predicate)
    return {name: _together(predicates) for name, predicates in asked.items()}


def _is_inner(join: exp.Join) -> bool:
    return (
        not join.args.get("side")
        and join.args.get("kind") in (None, "", "INNER", "CROSS")
        and not join.args.get("method")
    )


def _conjuncts(condition: exp.Expr) -> Iterator[exp.Expr]:
    if isinstance(condition, exp.And):
        yield from _conjuncts(condition.left)
        yield from _conjuncts(condition.right)
    elif isinstance(condition, exp.Paren):
        yield from _conjuncts(condition.this)
    else:
        yield condition


def _only_source(condition: exp.Expr, aliases: list[str]) -> str | None:
    """The single table of all columns in the condition."""
    named = {column.table for column in condition.find_all(exp.Column)}
    if named == {""} and len(aliases) == 1:
        return aliases[0]
    return next(iter(named)) if len(named) == 1 and named <= set(aliases) else None


def _predicate(condition: exp.Expr, kinds: Mapping[str, ColumnKind]) -> Predicate | None:
    """The condition as a predicate; None if it may have another meaning in DataFusion."""
    plain = condition.copy()
    for column in plain.find_all(exp.Column):
        # DataFusion reads unquoted names as lower case.
        quoted = isinstance(column.this, exp.Identifier) and bool(column.this.args.get("quoted"))
        spelled = column.name if quoted else column.name.lower()
        if spelled not in kinds:
            return None
        column.replace(exp.column(exp.to_identifier(spelled, quoted=True)))
    if not all(_compares_alike(part, kinds) for part in _leaves(plain)):
        return None
    for cast in list(plain.find_all(exp.Cast)):
        cast.replace(cast.this)  # DATE '2024-01-01' equals its text, beside a column of dates
    text = plain.sql(dialect="spark")
    try:
        predicate = parse_predicate(text)
        check_columns(predicate, text, kinds)
    except InvalidInput:
        return None
    return predicate


def _leaves(condition: exp.Expr) -> Iterator[exp.Expr]:
    if isinstance(condition, exp.And | exp.Or | exp.Paren):
        for part in condition.iter_expressions():
            yield from _leaves(part)
    else:
        yield condition


def _compares_alike(leaf: exp.Expr, kinds: Mapping[str, ColumnKind]) -> bool:
    """A column with literals of its own kind: then no engine converts them in its own way."""
    if not isinstance(leaf, _TAKEN):
        return False
    parts = list(leaf.iter_expressions())
    columns = [part for part in parts if isinstance(part, exp.Column)]
    if len(columns) != 1 or leaf.args.get("query") or leaf.args.get("unnest"):
        return False
    kind = kinds[columns[0].name]
    return all(_is_literal(part, kind) for part in parts if part is not columns[0])


def _is_literal(part: exp.Expr, kind: ColumnKind) -> bool:
    if isinstance(part, exp.Neg):
        return kind in _NUMBERS and isinstance(part.this, exp.Literal) and not part.this.is_string
    if isinstance(part, exp.Null):
        return True
    if isinstance(part, exp.Boolean):
        return kind is ColumnKind.BOOLEAN
    if isinstance(part, exp.Cast) and isinstance(part.this, exp.Literal) and part.this.is_string:
        return (
            part.to.is_type("date")
            if kind is ColumnKind.DATE
            else kind is ColumnKind.TIMESTAMP and part.to.is_type("timestamp")
        )
    return isinstance(part, exp.Literal) and kind in (_TEXTS if part.is_string else _NUMBERS)


def _together(predicates: list[Predicate]) -> Predicate:
    whole = predicates[0]
    for other in predicates[1:]:
        whole = all_of(whole, other)
    return whole
