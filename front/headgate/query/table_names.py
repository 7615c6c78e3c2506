"""Finds the addresses in a query: quoted texts, some with a version or a time behind them. Pure.

DataFusion's own parser decides which of them stand in the place of a table.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot.dialects import DuckDB
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from headgate_schemas.errors import InvalidInput

MAX_QUERY_CHARS = 1_000_000

_BEGINS = ("SELECT", "WITH", "FROM", "VALUES", "(")
_QUOTED = (TokenType.STRING, TokenType.IDENTIFIER)


@dataclass(frozen=True, slots=True)
class NamedTable:
    """A table at the newest version, at another version, or at a time."""

    uri: str
    version: int | None = None
    timestamp: str | None = None


@dataclass(frozen=True, slots=True)
class Query:
    text: str
    """In DataFusion's SQL: a version or a time has become a part of the table's name."""
    tables: Mapping[str, NamedTable]
    """By name, whatever may be the name of a table: all that is in quotes."""


def parse_query(text: str) -> Query:
    """Raises `InvalidInput` for a text that isn't a single query."""
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
    tables = {token.text: NamedTable(token.text) for token in tokens if token.token_type in _QUOTED}
    rewritten, end = "", 0
    for token, last, table in _travelled(tokens):
        name = f"{table.uri} AS OF {table.timestamp if table.version is None else table.version}"
        tables[name] = table
        rewritten += text[end : token.start] + '"' + name.replace('"', '""') + '"'
        end = last.end + 1
    return Query(rewritten + text[end:], tables)


def _travelled(tokens: Sequence[Token]) -> Iterator[tuple[Token, Token, NamedTable]]:
    """Each address with a version or a time behind it, and the last token of these."""
    for place, token in enumerate(tokens):
        if token.token_type not in _QUOTED:
            continue
        version, timestamp, last = _time_travel(tokens, place + 1)
        if last > place:
            yield token, tokens[last], NamedTable(token.text, version, timestamp)


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
