"""Finds and replaces tables named by their paths in SQL text: ``headgate.`s3://lake/events` VERSION AS OF 3``. Pure.

It understands nothing else of the text: it skips strings, comments and names in backquotes as Spark's lexer does.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from headgate.statements.statements import StatementError

FORMAT = "headgate"


@dataclass(frozen=True, slots=True)
class PathRead:
    """One place in a text that reads a table by its path."""

    start: int
    end: int
    uri: str
    version: int | None = None
    time: str | None = None
    """A SQL expression."""

    @property
    def meant(self) -> tuple[str, int | None, str | None]:
        """The table and version, without the place in the text."""
        return self.uri, self.version, self.time


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    start: int
    end: int
    text: str

    @property
    def word(self) -> str:
        """The token in upper case if it is a word, else empty."""
        return self.text.upper() if self.kind == "word" else ""


_TOKEN = re.compile(
    r"""
    (?P<space> \s+ | --(?:\\\n|[^\r\n])* )
    | (?P<comment> /\* )
    | (?P<raw> [rR] (?: '[^']*' | "[^"]*" ) )
    | (?P<string> ' (?: [^'\\] | \\. | '' )* ' | " (?: [^"\\] | \\. | "" )* " )
    | (?P<quoted> ` (?: [^`] | `` )* ` )
    | (?P<open> ['"`] .* )
    | (?P<number> [0-9]+ (?![\w.]) )
    | (?P<word> \w+ )
    | (?P<other> . )
    """,
    re.VERBOSE | re.DOTALL,
)
_COMMENT_EDGE = re.compile(r"/\*|\*/")

_CHANGES = frozenset({"INSERT", "CREATE", "REPLACE", "DROP", "ALTER", "TRUNCATE", "REFRESH"})
_BEFORE_CHANGED = frozenset({"TABLE", "EXISTS", "VIEW"})
_AFTER_MOMENT = frozenset("+-*/%|&^:[.")


def path_reads(text: str) -> list[PathRead]:
    """The places where a text reads tables by their paths, in order.

    Raises `StatementError` for a text that would change such a table, and for a time that can't be separated from the
    rest.
    """
    if FORMAT not in text.lower():
        return []
    tokens = list(_tokens(text))
    found: list[PathRead] = []
    position = 0
    while position < len(tokens):
        uri = _uri_at(tokens, position)
        if uri is None:
            position += 1
            continue
        _check_only_read(text, tokens, position)
        after, version, time = _moment(text, tokens, position + 3)
        found.append(PathRead(tokens[position].start, tokens[after - 1].end, uri, version, time))
        position = after
    return found


def replaced(text: str, reads: Sequence[PathRead], names: Sequence[str], *, is_format: bool) -> str:
    """The text with a `{name}` in the place of each read, for `spark.sql(text, name=DataFrame)`.

    `is_format`: the text has such names already, and its other braces are doubled.
    """
    parts: list[str] = []
    at = 0
    for read, name in zip(reads, names, strict=True):
        parts += [_kept(text[at : read.start], is_format), f"{{{name}}}"]
        at = read.end
    return "".join([*parts, _kept(text[at:], is_format)])


def _kept(text: str, is_format: bool) -> str:
    return text if is_format else text.replace("{", "{{").replace("}", "}}")


def _tokens(text: str) -> Iterator[_Token]:
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        assert match is not None, "the last kind takes any character"
        kind = match.lastgroup or "other"
        at = _comment_end(text, match.end()) if kind == "comment" else match.end()
        if kind not in ("space", "comment"):
            yield _Token(kind, match.start(), at, match.group())


def _comment_end(text: str, at: int) -> int:
    """Spark's comments may be nested."""
    depth = 1
    while depth:
        edge = _COMMENT_EDGE.search(text, at)
        if edge is None:
            return len(text)
        depth += 1 if edge.group() == "/*" else -1
        at = edge.end()
    return at


def _uri_at(tokens: Sequence[_Token], position: int) -> str | None:
    if position + 2 >= len(tokens) or (position and tokens[position - 1].text == "."):
        return None
    name, dot, path = tokens[position : position + 3]
    spelled = _unquoted(name.text) if name.kind == "quoted" else name.text if name.kind == "word" else ""
    if spelled.lower() != FORMAT or dot.text != "." or path.kind != "quoted":
        return None
    return _unquoted(path.text)


def _unquoted(name: str) -> str:
    return name[1:-1].replace("``", "`")


def _check_only_read(text: str, tokens: Sequence[_Token], position: int) -> None:
    first = next((token.word for token in tokens if token.text != "("), "")
    before = tokens[position - 1].word if position else ""
    changes = before in ("INTO", "OVERWRITE", "UPDATE") or (first in _CHANGES and before in _BEFORE_CHANGED)
    if changes or (first == "DELETE" and before == "FROM"):
        uri = _unquoted(tokens[position + 2].text)
        raise StatementError(
            "Spark can't change a table that is named by its path.",
            text,
            tokens[position].start,
            suggestion=(
                f"To write, name it by a view: CREATE TEMPORARY VIEW v USING headgate OPTIONS (path '{uri}'), then INSERT INTO v "
                f"or INSERT OVERWRITE v. To delete, HeadgateTable.forPath(spark, '{uri}').delete(...) or DROP HEADGATE "
                f"PARTITIONS FROM '{uri}' WHERE ..."
            ),
        )


def _moment(text: str, tokens: Sequence[_Token], position: int) -> tuple[int, int | None, str | None]:
    """The position after `[FOR] VERSION AS OF n`, or after `[FOR] TIMESTAMP AS OF expression`, and its value."""
    at = position + 1 if _word(tokens, position) == "FOR" else position
    what = _word(tokens, at)
    if _word(tokens, at + 1) != "AS" or _word(tokens, at + 2) != "OF":
        return position, None, None
    if what in ("VERSION", "SYSTEM_VERSION"):
        return at + 4, _version(text, tokens, at + 3), None
    if what in ("TIMESTAMP", "SYSTEM_TIME"):
        after = _expression_end(text, tokens, at + 3)
        return after, None, text[tokens[at + 3].start : tokens[after - 1].end]
    return position, None, None


def _version(text: str, tokens: Sequence[_Token], position: int) -> int:
    if position < len(tokens):
        token = tokens[position]
        digits = token.text[1:-1].strip() if token.kind == "string" else token.text
        if token.kind in ("string", "number") and re.fullmatch(r"[0-9]{1,18}", digits):
            return int(digits)
    raise _failure(text, tokens, position, "A version is a whole number.", "Such as VERSION AS OF 3.")


def _expression_end(text: str, tokens: Sequence[_Token], position: int) -> int:
    """The position after a literal, a call, or an expression in parentheses."""
    if position >= len(tokens):
        raise _failure(text, tokens, position, "The time is missing.", _TIMES)
    token = tokens[position]
    match token.kind:
        case "string" | "raw" | "number":
            after = position + 1
        case "word" if token.word in ("TIMESTAMP", "DATE") and _kind(tokens, position + 1) == "string":
            after = position + 2
        case "word" if position + 1 < len(tokens) and tokens[position + 1].text == "(":
            after = _closed(text, tokens, position + 1)
        case "other" if token.text == "(":
            after = _closed(text, tokens, position)
        case _:
            raise _failure(text, tokens, position, "This is no time.", _TIMES)
    if after < len(tokens) and tokens[after].text in _AFTER_MOMENT:
        raise _failure(text, tokens, after, "The expression of a time is put in parentheses.", _TIMES)
    return after


_TIMES = "Such as TIMESTAMP AS OF '2024-01-31 12:00:00', or TIMESTAMP AS OF (current_timestamp() - INTERVAL 1 HOUR)."


def _closed(text: str, tokens: Sequence[_Token], position: int) -> int:
    depth = 0
    for at in range(position, len(tokens)):
        depth += {"(": 1, ")": -1}.get(tokens[at].text, 0)
        if depth == 0:
            return at + 1
    raise _failure(text, tokens, position, "This parenthesis is not closed.", None)


def _word(tokens: Sequence[_Token], position: int) -> str:
    return tokens[position].word if position < len(tokens) else ""


def _kind(tokens: Sequence[_Token], position: int) -> str:
    return tokens[position].kind if position < len(tokens) else ""


def _failure(
    text: str, tokens: Sequence[_Token], position: int, message: str, suggestion: str | None
) -> StatementError:
    place = tokens[position].start if position < len(tokens) else len(text)
    return StatementError(message, text, place, suggestion=suggestion)
