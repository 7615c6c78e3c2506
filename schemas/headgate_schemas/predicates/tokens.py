"""The tokens of a predicate's text, checked before the parser sees them, and errors that point into the text.

Nesting is bounded, no two operands stand side by side, and only the few words of predicates keep a meaning. `text`
interprets the tokens.
"""

import re

from sqlglot import Dialect
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from headgate_schemas.errors import PredicateError
from headgate_schemas.predicates.tree import MAX_NESTING

ALLOWED = (
    "a predicate compares columns with values by =, <>, <, <=, >, >=, <=>, IN, BETWEEN, LIKE 'prefix%' and IS [NOT] NULL, "
    "joined by AND, OR and NOT"
)

SPARK = Dialect.get_or_raise("spark")
_SHOWN_BEFORE, _SHOWN_AFTER = 60, 40
_MAX_OPEN = MAX_NESTING + 2
"""Guards the recursion of the parser; the tree itself bounds the nesting more exactly."""

_VALUES = {TokenType.STRING, TokenType.NUMBER, TokenType.TRUE, TokenType.FALSE, TokenType.NULL}
_NAMES = {TokenType.VAR, TokenType.IDENTIFIER}
_TYPED_TEXT = {
    TokenType.DATE,
    TokenType.TIMESTAMP,
    TokenType.TIMESTAMPTZ,
    TokenType.TIMESTAMPNTZ,
    TokenType.TIMESTAMPLTZ,
}
_SYNTAX = {
    *(TokenType.AND, TokenType.OR, TokenType.NOT, TokenType.IN, TokenType.BETWEEN, TokenType.IS, TokenType.LIKE),
    *(TokenType.ESCAPE, TokenType.L_PAREN, TokenType.R_PAREN, TokenType.COMMA, TokenType.DASH, TokenType.PLUS),
    *(TokenType.EQ, TokenType.NEQ, TokenType.LT, TokenType.LTE, TokenType.GT, TokenType.GTE, TokenType.NULLSAFE_EQ),
}
_WORD = re.compile(r"\w+")


class PredicateSource:
    """The text of one predicate."""

    def __init__(self, text: str) -> None:
        self.text = text

    def excerpt(self, position: int) -> tuple[str, int]:
        """The part of the text around a position on one line, and the position in it."""
        start = max(position - _SHOWN_BEFORE, 0)
        shown = self.text[start : position + _SHOWN_AFTER]
        return "".join(each if each.isprintable() else " " for each in shown), position - start

    def error(self, message: str, position: int) -> PredicateError:
        return PredicateError(message, *self.excerpt(position))

    def _tokens(self) -> list[Token]:
        try:
            return list(SPARK.tokenize(self.text))
        except TokenError as error:
            raise self.error("this quote or comment is never closed", self._unclosed()) from error

    def _unclosed(self) -> int:
        opened, quote, skip = 0, "", False
        for place, each in enumerate(self.text):
            if skip:
                skip = False
            elif quote and each == "\\" and quote != "`":
                skip = True
            elif each == quote:
                quote = ""
            elif not quote and each in "'\"`":
                opened, quote = place, each
        return opened if quote else max(self.text.find("/*"), 0)

    def checked_tokens(self) -> list[Token]:
        """The tokens, all of them allowed in predicates, with bounded nesting and no two operands side by side.

        Words with another meaning in SQL are plain names here, so they never reach the parser's other rules.
        """
        tokens = self._tokens()
        if not tokens:
            raise PredicateError(f"the predicate is empty; {ALLOWED}", self.excerpt(0)[0])
        checked: list[Token] = []
        open_places: list[int] = []
        pending = 0
        previous: Token | None = None
        for token, following in zip(tokens, [*tokens[1:], None], strict=True):
            kind = token.token_type
            after = following.token_type if following is not None else None
            if previous is not None and previous.token_type is TokenType.DCOLON:
                pass  # the type in 5L, which the tokenizer spells 5::BIGINT
            elif kind is TokenType.DCOLON and checked and checked[-1].start == token.start:
                pass
            elif (
                kind is TokenType.DOT
                and after is TokenType.NUMBER
                and (previous is None or previous.token_type in _SYNTAX)
            ):
                pass  # .5
            elif kind in _TYPED_TEXT and after is TokenType.STRING:
                self._check_operator_between(previous, token)
            elif kind in _VALUES:
                typed = previous is not None and previous.token_type in _TYPED_TEXT and kind is TokenType.STRING
                fraction = previous is not None and previous.token_type is TokenType.DOT
                if not typed and not fraction:
                    self._check_operator_between(previous, token)
            elif kind not in _SYNTAX:
                token = self._name(token, after)
                self._check_operator_between(previous, token)
            if kind is TokenType.L_PAREN:
                self._check_operator_between(previous, token)
                open_places.append(token.start)
            elif kind is TokenType.R_PAREN:
                if not open_places:
                    raise self.error("this parenthesis closes nothing", token.start)
                open_places.pop()
            pending = self._pending(pending, kind)
            if len(open_places) + pending > _MAX_OPEN:
                raise self.error(f"the predicate nests deeper than {MAX_NESTING} levels; write it flatter", token.start)
            checked.append(token)
            previous = token
        if open_places:
            raise self.error("this parenthesis is never closed", open_places[-1])
        return checked

    @staticmethod
    def _pending(pending: int, kind: TokenType) -> int:
        """The number of prefix operators that wait for their operand; AND, OR and a closing parenthesis end all of
        them.
        """
        if kind in (TokenType.AND, TokenType.OR, TokenType.R_PAREN):
            return 0
        return pending + (kind in (TokenType.NOT, TokenType.DASH, TokenType.PLUS))

    def _name(self, token: Token, after: TokenType | None) -> Token:
        if token.token_type is not TokenType.IDENTIFIER and not _WORD.fullmatch(token.text):
            if token.token_type is TokenType.DOT:
                raise self.error("a column is one name; put a name with dots in backquotes, as in `a.b`", token.start)
            raise self.error(f"this can't be used in a predicate; {ALLOWED}", token.start)
        if after is TokenType.L_PAREN:
            raise self.error(f"functions and subqueries can't be used in a predicate; {ALLOWED}", token.start)
        if token.token_type is TokenType.IDENTIFIER:
            return token
        if self.text[token.start : token.end + 1] != token.text:
            raise self.error(
                "this kind of literal can't be used in a predicate; write a number or a quoted string", token.start
            )
        return Token(TokenType.IDENTIFIER, token.text, token.line, token.col, token.start, token.end)

    def _check_operator_between(self, previous: Token | None, token: Token) -> None:
        if previous is None:
            return
        left = previous.token_type
        if left is TokenType.STRING and token.token_type is TokenType.STRING:
            raise self.error(r"two strings in a row; write a quote inside of a string as \'", token.start)
        is_type_suffix = left not in _SYNTAX | _VALUES | _NAMES | _TYPED_TEXT
        if left in _VALUES | _NAMES or left is TokenType.R_PAREN or is_type_suffix:
            raise self.error(f"an operator, AND or OR is missing before this; {ALLOWED}", token.start)
