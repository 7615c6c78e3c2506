"""Reading an expression of PromQL as far as tests need it: is it well-formed, and which series with which labels does it use."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

AGGREGATIONS = {"sum", "max", "min", "avg", "count", "topk", "quantile"}
FUNCTIONS = {"rate", "increase", "changes", "absent", "histogram_quantile", "label_values", "time", "abs", "clamp_min"}
GROUPINGS = {"by", "without", "on", "ignoring"}
WORDS = {"and", "or", "unless", "bool"}
TAKES_A_RANGE = {"rate", "increase", "changes"}

_TOKEN = re.compile(
    r"\s*(?:(?P<string>\"(?:[^\"\\]|\\.)*\")|(?P<range>\[(?:\d+[smhdw]|\$__\w+)\])|(?P<number>\d+(?:\.\d+)?)"
    r"|(?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*)|(?P<sign>==|!=|>=|<=|=~|!~|[-+*/^(){},=<>]))"
)


class Malformed(Exception):
    """The expression is none of PromQL, as far as this reader knows it."""


@dataclass(frozen=True, slots=True)
class Selector:
    """Series that are asked for."""

    metric: str
    labels: tuple[tuple[str, str, str], ...] = ()
    """Name, operator and text of each matcher."""
    has_range: bool = False
    inside: str = ""
    """The function that it stands in."""


@dataclass(frozen=True, slots=True)
class Used:
    selectors: tuple[Selector, ...]
    grouped_by: frozenset[str]


def used_by(expression: str) -> Used:
    """Raises `Malformed`."""
    return _Reading(list(_tokens(expression))).read()


def _tokens(expression: str) -> Iterator[tuple[str, str]]:
    position, text = 0, expression.strip()
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None:
            raise Malformed(f"{text[position : position + 20]!r} in {text!r}")
        assert found.lastgroup is not None
        yield found.lastgroup, found[found.lastgroup]
        position = found.end()


class _Reading:
    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self._tokens = tokens
        self._place = 0
        self._open: list[str] = []
        """The function, aggregation or nothing before each parenthesis that is open."""
        self._selectors: list[Selector] = []
        self._grouped: set[str] = set()

    def read(self) -> Used:
        while self._place < len(self._tokens):
            kind, text = self._next()
            if kind == "name":
                self._name(text)
            elif text == "(":
                self._open.append("")
            elif text == ")":
                if not self._open:
                    raise Malformed("a parenthesis is closed that was never opened")
                self._open.pop()
            elif kind == "range" or text in ("{", "}", "=", "=~", "!~"):
                raise Malformed(f"{text} stands where no series does")
        if self._open:
            raise Malformed("a parenthesis is not closed")
        return Used(tuple(self._selectors), frozenset(self._grouped))

    def _name(self, text: str) -> None:
        if text in WORDS:
            return
        if text in GROUPINGS:
            self._grouped.update(self._list())
            return
        if text in AGGREGATIONS and self._peek() in GROUPINGS:
            self._next()
            self._grouped.update(self._list())
            self._opens(text)
        elif self._peek() == "(":
            if text not in FUNCTIONS | AGGREGATIONS:
                raise Malformed(f"{text} is no known function")
            self._opens(text)
        elif "label_values" in self._open and self._selectors:
            return  # its second argument is a label
        else:
            self._series(text)

    def _series(self, metric: str) -> None:
        matchers: list[tuple[str, str, str]] = []
        if self._peek() == "{":
            self._next()
            while self._peek() != "}":
                _, label = self._next()
                _, operator = self._next()
                kind, value = self._next()
                if operator not in ("=", "!=", "=~", "!~") or kind != "string":
                    raise Malformed(f"{label}{operator}{value} is no matcher")
                matchers.append((label, operator, value[1:-1]))
                if self._peek() == ",":
                    self._next()
            self._next()
        has_range = self._place < len(self._tokens) and self._tokens[self._place][0] == "range"
        if has_range:
            self._next()
        inside = self._open[-1] if self._open else ""
        if has_range != (inside in TAKES_A_RANGE):
            raise Malformed(f"{metric} in {inside or 'no function'}: {'a' if has_range else 'no'} range")
        self._selectors.append(Selector(metric, tuple(matchers), has_range, inside))

    def _list(self) -> list[str]:
        self._expect("(")
        names: list[str] = []
        while self._peek() != ")":
            kind, text = self._next()
            if kind == "name":
                names.append(text)
            elif text != ",":
                raise Malformed(f"{text} is no label")
        self._next()
        return names

    def _opens(self, name: str) -> None:
        self._expect("(")
        self._open.append(name)

    def _expect(self, wanted: str) -> None:
        if self._next()[1] != wanted:
            raise Malformed(f"{wanted} is missing")

    def _peek(self) -> str:
        return self._tokens[self._place][1] if self._place < len(self._tokens) else ""

    def _next(self) -> tuple[str, str]:
        if self._place == len(self._tokens):
            raise Malformed("it ends in the middle")
        self._place += 1
        return self._tokens[self._place - 1]
