"""Checks the arguments of public functions: a wrong type is an `InvalidInput` that names the argument, not a later
failure.

A rule takes the argument's name and value, and returns the value for the function. `checked` applies rules by name.
None stays None if it is the default.
"""

import inspect
import math
import os
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from numbers import Integral, Real
from typing import Any, ParamSpec, TypeVar, get_args

from headgate_schemas.actions.actions import AddFile
from headgate_schemas.errors import InvalidInput
from headgate_schemas.messages.operations import Operation
from headgate_schemas.predicates.tree import Predicate

Rule = Callable[[str, Any], Any]

_P = ParamSpec("_P")
_R = TypeVar("_R")
_LARGEST = 2**63 - 1


def checked(**rules: Rule) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """A decorator: the function's arguments must obey these rules, by their names."""

    def decorate(function: Callable[_P, _R]) -> Callable[_P, _R]:
        signature = inspect.signature(function)
        may_be_none = {name for name in rules if signature.parameters[name].default is None}

        @wraps(function)
        def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            bound = signature.bind(*args, **kwargs)
            given = bound.arguments
            for name, rule in rules.items():
                if name in given and not (given[name] is None and name in may_be_none):
                    given[name] = rule(name, given[name])
            return function(*bound.args, **bound.kwargs)

        return call

    return decorate


def _refused(name: str, given: object, wanted: str) -> InvalidInput:
    return InvalidInput(f"{name} is {_shown(given)}; give {wanted}")


def _shown(given: object) -> str:
    """A short text with the value's type; a failing `repr` hides nothing."""
    try:
        text = repr(given)
    except Exception:  # noqa: BLE001  # somebody's own class
        text = "an object"
    return f"{text[:80]} ({type(given).__name__})"


def whole(name: str, given: object) -> int:
    """A whole number of 64 bits. True and 1.0 are refused."""
    if isinstance(given, bool) or not isinstance(given, Integral) or not -_LARGEST - 1 <= int(given) <= _LARGEST:
        is_large = isinstance(given, int) and not isinstance(given, bool)
        raise _refused(name, given, f"a whole number up to {_LARGEST}" if is_large else "a whole number, such as 7")
    return int(given)


def seconds(name: str, given: object) -> float:
    """A time in seconds, which may be infinite."""
    if isinstance(given, bool) or not isinstance(given, Real) or math.isnan(given):
        raise _refused(name, given, "a number of seconds")
    return float(given)


def flag(name: str, given: object) -> bool:
    if not isinstance(given, bool):
        raise _refused(name, given, "True or False")
    return given


def text(name: str, given: object) -> str:
    if not isinstance(given, str):
        raise _refused(name, given, "a text")
    return given


def address(name: str, given: object) -> str:
    """A URI, or a path of the local file system in any form."""
    try:
        path = os.fspath(given)  # type: ignore[call-overload]  # what has no path is what is looked for
    except TypeError:
        path = None
    if not isinstance(path, str) or not path or "\x00" in path:
        raise _refused(name, given, "an address, such as s3://lake/events or a path")
    return path


def time(name: str, given: object) -> int | str:
    if isinstance(given, str):
        return given
    if isinstance(given, bool) or not isinstance(given, Integral):
        raise _refused(name, given, "a time: ISO 8601 (2024-01-31T12:00:00Z), or epoch milliseconds as a whole number")
    return whole(name, given)


def predicate(name: str, given: object) -> Any:
    """SQL, or a predicate as a value."""
    if not isinstance(given, (str, *get_args(Predicate))):
        raise _refused(name, given, "a predicate as a text, such as \"region = 'eu'\"")
    return given


def texts(name: str, given: object) -> tuple[str, ...]:
    """Several texts. A single text is refused, because it would be taken letter by letter."""
    return _each(name, given, str, "a list of texts", "a text")


def files(name: str, given: object) -> tuple[AddFile, ...]:
    return _each(name, given, AddFile, "a list of DataFile", "a DataFile")


def _each(name: str, given: object, kind: type, wanted: str, one: str) -> tuple[Any, ...]:
    if isinstance(given, str | bytes | bytearray | Mapping) or not isinstance(given, Iterable):
        raise _refused(name, given, wanted)
    found = tuple(given)
    for item in found:
        if not isinstance(item, kind):
            raise InvalidInput(f"{name} holds {_shown(item)}; each of them must be {one}")
    return found


def text_map(name: str, given: object) -> Mapping[str, str]:
    """A mapping of texts to texts, such as a table's configuration."""
    return _mapping(name, given, str)


def text_map_or_none(name: str, given: object) -> Mapping[str, str | None]:
    """A mapping of texts to texts or None; None removes a key."""
    return _mapping(name, given, str | None)


def _mapping(name: str, given: object, kind: Any) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise _refused(name, given, "a mapping of texts, such as {'checkpoint.interval': '10'}")
    for key, value in given.items():
        if not isinstance(key, str):
            raise InvalidInput(f"{name} holds the key {_shown(key)}; give a text")
        if not isinstance(value, kind):
            raise InvalidInput(f"{name}[{key!r}] is {_shown(value)}; give a text")
    return given


def operation(name: str, given: object) -> Operation:
    if not isinstance(given, Operation):
        raise _refused(name, given, "an operation of headgate_schemas.messages.operations")
    return given


def instance(*kinds: type) -> Rule:
    """A value of one of these classes."""

    def rule(name: str, given: object) -> object:
        if not isinstance(given, kinds):
            raise _refused(name, given, " or ".join(kind.__name__ for kind in kinds))
        return given

    return rule


def either(kind: type, other: Rule) -> Rule:
    """A value of the class, or a value that the other rule accepts."""
    return lambda name, given: given if isinstance(given, kind) else other(name, given)
