"""Finds the tables of a query: texts in the places of tables, with versions or times. The rest stays unchanged. Pure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot.dialects import DuckDB
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from headgate_schemas.errors import InvalidInput

MAX_QUERY_CHARS = 1_000_000
STAND_IN = re.compile(r"\bheadgate_[0-9]+\.")
"""What stands for an address in a rewritten query, before a column: nobody who wrote the query knows it."""

_BEGINS = ("SELECT", "WITH", "FROM", "VALUES", "(")
_ENDS_FROM = {
    "WHERE",
    "GROUP",
    "HAVING",
    "ORDER",
    "LIMIT",
    "UNION",
    "INTERSECT",
    "EXCEPT",
    "WINDOW",
    "QUALIFY",
    "OFFSET",
}


@dataclass(frozen=True, slots=True)
class NamedTable:
    """One place in a query that names a table. A table that is named twice has two."""

    name: str
    """What stands for it in the rewritten query."""
    uri: str
    version: int | None = None
    timestamp: str | None = None


@dataclass(frozen=True, slots=True)
class Query:
    text: str
    """With a plain name in the place of each address."""
    tables: tuple[NamedTable, ...]


def parse_query(text: str) -> Query:
    """Raises `InvalidInput` for a text that isn't a single query, or names no table."""
    if len(text) > MAX_QUERY_CHARS:
        raise InvalidInput(f"a query of {len(text)} characters is longer than {MAX_QUERY_CHARS} (MAX_QUERY_CHARS)")
    text = text.strip().removesuffix(";")
    try:
        tokens = DuckDB().tokenize(text)
    except SqlglotError as error:
        raise InvalidInput(f"the query can't be read: {str(error)[:300]}") from error
    if not tokens or tokens[0].text.upper() not in _BEGINS:
        raise InvalidInput(
            "a query begins with SELECT or WITH, and only reads; `headgate table` and `headgate load` change tables"
        )
    if any(token.token_type is TokenType.SEMICOLON for token in tokens):
        raise InvalidInput("that is more than one query; run them one by one")
    found: list[NamedTable] = []
    rewritten, end = "", 0
    for place in _table_places(tokens):
        token = tokens[place]
        version, timestamp, last = _time_travel(tokens, place + 1)
        name = f"headgate_{len(found) + 1}"
        found.append(NamedTable(name, token.text, version, timestamp))
        rewritten += text[end : token.start] + name
        end = tokens[last].end + 1
    if not found:
        raise InvalidInput(
            "the query names no table; write its address in quotes, as in SELECT * FROM 's3://lake/events'"
        )
    return Query(rewritten + text[end:], tuple(found))


def _table_places(tokens: Sequence[Token]) -> Iterator[int]:
    """The indexes of the tokens that are addresses: quoted, right after FROM, JOIN, or a comma of FROM.

    Functions such as EXTRACT(day FROM '2024-01-01') have a FROM, too, but no SELECT in their parentheses.
    """
    # For each open parenthesis: whether it has a SELECT so far, and whether its FROM continues.
    levels = [[True, False]]
    for place, token in enumerate(tokens):
        word = token.text.upper() if token.token_type is not TokenType.STRING else ""
        level = levels[-1]
        before = tokens[place - 1] if place else None
        if token.token_type is TokenType.L_PAREN:
            # A parenthesis around joined tables continues the FROM around it.
            is_joined = level[1] and before is not None and before.text.upper() in ("FROM", "JOIN", ",", "(", "LATERAL")
            levels.append([is_joined, is_joined])
        elif token.token_type is TokenType.R_PAREN:
            levels = levels[:-1] or [[True, False]]
        elif word == "SELECT":
            level[:] = [True, False]
        elif word == "FROM" and level[0]:
            level[1] = True
        elif word.partition(" ")[0] in _ENDS_FROM:  # ORDER BY is one token
            level[1] = False
        elif (
            level[1] and before is not None and _is_address(token) and before.text.upper() in ("FROM", "JOIN", ",", "(")
        ):
            yield place


def _is_address(token: Token) -> bool:
    is_quoted_name = token.token_type is TokenType.IDENTIFIER and "/" in token.text
    return token.token_type is TokenType.STRING or is_quoted_name


def _time_travel(tokens: Sequence[Token], start: int) -> tuple[int | None, str | None, int]:
    """`[FOR] VERSION AS OF 7` or `[FOR] TIMESTAMP AS OF '2024-01-01'` after a table; and the index of the last token."""
    words = [token.text.upper() for token in tokens[start : start + 5]]
    offset = 1 if words[:1] == ["FOR"] else 0
    if words[offset : offset + 3] not in (["VERSION", "AS", "OF"], ["TIMESTAMP", "AS", "OF"]):
        return None, None, start - 1
    kind, place = words[offset], start + offset + 3
    if place >= len(tokens):
        raise InvalidInput(f"behind {kind} AS OF the query ends; give a version, or a time in quotes")
    token = tokens[place]
    if kind == "TIMESTAMP":
        if token.token_type not in (TokenType.STRING, TokenType.NUMBER):
            raise InvalidInput(
                f"TIMESTAMP AS OF {token.text} is no time; write it in quotes, as ISO 8601, or in epoch milliseconds"
            )
        return None, token.text, place
    if token.token_type is not TokenType.NUMBER or not token.text.isdigit():
        raise InvalidInput(f"VERSION AS OF {token.text} is no version; give a whole number")
    return int(token.text), None, place
