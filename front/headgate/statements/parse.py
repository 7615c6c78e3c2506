"""Parses the text of an operator statement: applies the grammar, undoes quotes, checks numbers.

`diagnose` finds the reason for a refused text; predicates stay texts, for the predicate parser.
"""

import re
from contextlib import suppress
from functools import lru_cache
from importlib.resources import files
from typing import cast

from lark import Lark, Token, Tree, UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from headgate.statements.diagnose import explain
from headgate.statements.forms import is_operator_statement
from headgate.statements.statements import (
    MIN_MERGE_TARGET_BYTES,
    MIN_SOURCE_SPLITS,
    Checkpoint,
    Compact,
    DescribeLog,
    DescribeState,
    DropPartitions,
    InvalidateCache,
    MergeSplits,
    PurgeStatement,
    RepairLog,
    Statement,
    StatementError,
    TableName,
    TablePath,
    Target,
    TruncateTimeTravel,
)
from headgate_schemas.errors import PredicateError

__all__ = ["MAX_STATEMENT_CHARS", "is_operator_statement", "parse_statement", "predicate_error_in_statement"]

MAX_STATEMENT_CHARS = 64 * 1024
"""No statement that a person writes comes near; a generated predicate beyond it belongs into several statements."""

MAX_NAME_PARTS = 16
"""Catalog, nested namespaces, table; beyond that the text is no name."""

_MAX_LONG = 2**63 - 1
_MAX_INT = 2**31 - 1
_MAX_HOURS = _MAX_LONG // 3_600_000
"""A retention is kept in milliseconds, in 64 bits."""

_SIZE = re.compile(r"([0-9]{1,19})([MG]?)", re.IGNORECASE)
_COUNT = re.compile(r"[0-9]{1,10}")
_UNIT_BYTES = {"": 1, "M": 1024**2, "G": 1024**3}
_UNIT_HOURS = {"HOURS": 1, "DAYS": 24}


def parse_statement(text: str) -> Statement:
    """The statement in `text`. Raises `StatementError`, which shows the place of the error and a remedy."""
    if len(text) > MAX_STATEMENT_CHARS:
        raise StatementError(
            f"The statement has {len(text)} characters; the most that is read is {MAX_STATEMENT_CHARS}.",
            text,
            MAX_STATEMENT_CHARS,
            suggestion="Split it into several statements.",
        )
    try:
        tree = _parser().parse(text)
    except (UnexpectedCharacters, UnexpectedToken) as error:
        at_end = isinstance(error, UnexpectedToken) and error.token.type == "$END"
        # lark declares it as None, and sets it in both of these classes.
        position = len(text.rstrip()) if at_end else cast(int, error.pos_in_stream)
        raise explain(text, position, _acceptable(text)) from None
    return _Builder(text).statement(_only_tree(tree))


def predicate_error_in_statement(error: PredicateError, text: str, where_position: int) -> StatementError:
    """The error of a statement's WHERE predicate, with its position in the whole statement."""
    message = str(error)
    if error.position is not None:
        # PredicateError appended its own text and caret; ours replace them.
        message = message.removesuffix(f"\n  {error.text}\n  {' ' * error.position}^")
    return StatementError(message, text, min(where_position + (error.position or 0), len(text)))


@lru_cache(maxsize=1)
def _parser() -> Lark:
    grammar = files("headgate.statements").joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", lexer="contextual")


def _acceptable(text: str) -> frozenset[str]:
    """The terminals that were possible where the parser stopped."""
    attempt = _parser().parse_interactive(text)
    # It ends in the same error again; this time we read the parser's state at that point.
    with suppress(UnexpectedInput):
        attempt.exhaust_lexer()
    acceptable: set[str] = attempt.accepts()  # type: ignore[no-untyped-call]  # lark leaves this method untyped
    return frozenset(acceptable)


class _Builder:
    def __init__(self, text: str) -> None:
        self._text = text

    def statement(self, tree: Tree[Token]) -> Statement:
        clauses = {child.data: child for child in tree.children if isinstance(child, Tree)}
        tokens = [child for child in tree.children if isinstance(child, Token)]
        match str(tree.data):
            case "checkpoint":
                return Checkpoint(self._required_target(tree))
            case "compact":
                return Compact(self._required_target(tree))
            case "describe_state":
                return DescribeState(self._required_target(tree))
            case "describe_log":
                return DescribeLog(self._required_target(tree), include_all="include_all" in clauses)
            case "purge":
                return PurgeStatement(
                    self._required_target(tree),
                    older_than_hours=self._hours(clauses.get("older_than")),
                    log_retention_hours=self._hours(clauses.get("log_retention")),
                    dry_run="dry_run" in clauses,
                )
            case "truncate_time_travel":
                return TruncateTimeTravel(self._required_target(tree), dry_run="dry_run" in clauses)
            case "drop_partitions":
                return DropPartitions(
                    self._required_target(tree), where=tokens[0].rstrip(), where_position=_start(tokens[0])
                )
            case "merge_splits":
                where = _token(clauses.get("merge_where"))
                return MergeSplits(
                    self._target(tree),
                    where=None if where is None else where.rstrip(),
                    target_size_bytes=self._size(_token(clauses.get("target_size"))),
                    max_dest_splits=self._count(_token(clauses.get("max_dest_splits")), "MAX DEST SPLITS", 1),
                    max_source_splits=self._count(
                        _token(clauses.get("max_source_splits")), "MAX SOURCE SPLITS PER MERGE", MIN_SOURCE_SPLITS
                    ),
                    precommit="precommit" in clauses,
                    where_position=0 if where is None else _start(where),
                )
            case "repair_log":
                return RepairLog(source=self._path(tokens[0]), target=self._path(tokens[1]))
            case "invalidate_cache":
                return InvalidateCache(self._target(tree))
            case unknown:
                raise AssertionError(f"grammar.lark has a statement {unknown!r} that parse.py doesn't build")

    def _target(self, tree: Tree[Token]) -> Target | None:
        for child in tree.children:
            if isinstance(child, Tree) and child.data == "path":
                return TablePath(self._path(_only_token(child)))
            if isinstance(child, Tree) and child.data == "table_name":
                return self._table_name(child)
        return None

    def _required_target(self, tree: Tree[Token]) -> Target:
        target = self._target(tree)
        assert target is not None, "the grammar lets no such statement through without a target"
        return target

    def _table_name(self, tree: Tree[Token]) -> TableName:
        tokens = [child for child in tree.children if isinstance(child, Token)]
        if len(tokens) > MAX_NAME_PARTS:
            raise self._refusal(
                f"A table's name has at most {MAX_NAME_PARTS} parts, this one has {len(tokens)}.",
                tokens[MAX_NAME_PARTS],
                "If it is a path, put it in quotes.",
            )
        return TableName(tuple(self._name(token) for token in tokens))

    def _name(self, token: Token) -> str:
        if token.type == "NAME":
            return str(token)
        name = token[1:-1].replace("``", "`")
        if not name:
            raise self._refusal("A name between backquotes can't be empty.", token, "Put a name between them.")
        return name

    def _path(self, token: Token) -> str:
        path = _unquoted(token)
        if not path:
            raise self._refusal("The path is empty.", token, "Put the table's path between the quotes.")
        if any(ord(character) < 32 or ord(character) == 127 or _is_surrogate(character) for character in path):
            raise self._refusal(
                "The path holds a control character, which no path of a table can.",
                token,
                "A backslash starts an escape, as \\n for a new line: for a backslash itself write two.",
            )
        return path

    def _hours(self, clause: Tree[Token] | None) -> int | None:
        if clause is None:
            return None
        number, unit = (child for child in clause.children if isinstance(child, Token))
        # The length first: int() refuses very long texts with a message of its own.
        hours = int(number) * _UNIT_HOURS[unit.upper()] if len(number) <= 19 else _MAX_HOURS + 1
        if hours > _MAX_HOURS:
            raise self._refusal(
                "A retention this long can't be counted in milliseconds.", number, f"The most is {_MAX_HOURS} HOURS."
            )
        return hours

    def _size(self, token: Token | None) -> int | None:
        if token is None:
            return None
        spelled = _SIZE.fullmatch(_value(token))
        if spelled is None:
            raise self._refusal(
                f"{_clip(token)} is no size.",
                token,
                "Write a whole number of bytes, or one followed by M (MiB) or G (GiB), such as 100M or 5G.",
            )
        size = int(spelled[1]) * _UNIT_BYTES[spelled[2].upper()]
        if not MIN_MERGE_TARGET_BYTES <= size <= _MAX_LONG:
            raise self._refusal(
                f"A target size must be between 1M and {_MAX_LONG} bytes, this one is {size}.",
                token,
                "A number without M or G is in bytes." if not spelled[2] and size < MIN_MERGE_TARGET_BYTES else None,
            )
        return size

    def _count(self, token: Token | None, clause: str, at_least: int) -> int | None:
        if token is None:
            return None
        digits = _value(token)
        if _COUNT.fullmatch(digits) is None or not at_least <= int(digits) <= _MAX_INT:
            raise self._refusal(
                f"{clause} must be a whole number from {at_least} to {_MAX_INT}, not {_clip(token)}.", token, None
            )
        return int(digits)

    def _refusal(self, message: str, token: Token, suggestion: str | None) -> StatementError:
        return StatementError(message, self._text, _start(token), suggestion=suggestion)


_ESCAPE = re.compile(r"\\u([0-9A-Fa-f]{4})|\\([0-3][0-7]{2})|\\(.)|''|\"\"", re.DOTALL)
_ESCAPED_LETTERS = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}
"""As Spark reads them in a quoted string; any other escaped character stands for itself."""


def _unquoted(token: Token) -> str:
    quote = token[0]

    def meant(escape: re.Match[str]) -> str:
        unicode, octal, letter = escape.groups()
        if unicode:
            return chr(int(unicode, 16))
        if octal:
            return chr(int(octal, 8))
        if letter:
            return _ESCAPED_LETTERS.get(letter, letter)
        return quote if escape.group() == quote * 2 else escape.group()

    return _ESCAPE.sub(meant, token[1:-1])


def _value(token: Token) -> str:
    return _unquoted(token).strip() if token[0] in "'\"" else str(token)


def _clip(token: Token) -> str:
    return str(token) if len(token) <= 40 else f"{token[:40]}..."


def _is_surrogate(character: str) -> bool:
    return "\ud800" <= character <= "\udfff"


def _start(token: Token) -> int:
    assert token.start_pos is not None, "every token of a parsed text has its place"
    return token.start_pos


def _token(tree: Tree[Token] | None) -> Token | None:
    return None if tree is None else _only_token(tree)


def _only_token(tree: Tree[Token]) -> Token:
    (token,) = tree.children
    assert isinstance(token, Token)
    return token


def _only_tree(tree: Tree[Token]) -> Tree[Token]:
    (child,) = tree.children
    assert isinstance(child, Tree)
    return child
