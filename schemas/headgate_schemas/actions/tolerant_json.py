"""Reads JSON objects tolerantly, field by field: a value with only one possible meaning is accepted in any form.

Length and depth are bounded. `actions.action_json` has the fields of actions.
"""

import json
import re
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Any, NoReturn

from headgate_schemas.actions.actions import NULL_PARTITION, StoredTexts
from headgate_schemas.errors import MalformedAction

MAX_LINE_BYTES = 64 * 1024 * 1024
"""One action. The largest honest ones are metadata that carry a schema registry: some thousand schemas of a few KiB."""

MAX_JSON_DEPTH = 100
"""Nesting of one action. Honest ones need four levels; a decoder that recurses must not be led to its limit."""

INT64 = range(-(2**63), 2**63)
INT32 = range(-(2**31), 2**31)
_INTEGER_TEXT = re.compile(r"[+-]?[0-9]{1,20}", re.ASCII)

JsonObject = dict[str, Any]


class _Fraction(str):
    """A JSON number with a fraction or exponent, with its original text: a map needs the text, not a float's."""

    __slots__ = ()


def _refuse_constant(name: str) -> NoReturn:
    raise MalformedAction(f"the value {name} is not JSON; write a number, a text or null")


_DECODER = json.JSONDecoder(parse_float=_Fraction, parse_constant=_refuse_constant)


def decode_object(line: str | bytes) -> JsonObject:
    # A character is at least one byte, so this also bounds a text, without encoding it.
    if len(line) > MAX_LINE_BYTES:
        raise MalformedAction(f"the line is longer than {MAX_LINE_BYTES} bytes (MAX_LINE_BYTES)")
    if isinstance(line, bytes):
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise MalformedAction(f"the line is not UTF-8 at byte {error.start}") from error
    else:
        text = line
    if text.startswith("\ufeff"):
        raise MalformedAction("the line starts with a byte order mark; the log is UTF-8 without one")
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise MalformedAction(
            f"the line is not one complete JSON value: {error.msg} at character {error.pos}"
        ) from error
    except RecursionError as error:
        raise MalformedAction(_TOO_DEEP) from error
    except ValueError as error:
        raise MalformedAction(f"the line holds a number that is too long to be one: {error}") from error
    if not isinstance(value, dict):
        raise MalformedAction(f"the line holds {_shown(value)} at character 0 where an object is needed")
    # Counting brackets is cheap and bounds the depth; only a line with many of them is walked through.
    if text.count("[") + text.count("{") > MAX_JSON_DEPTH and is_too_deep(value):
        raise MalformedAction(_TOO_DEEP)
    return value


_TOO_DEEP = f"the line is nested deeper than {MAX_JSON_DEPTH} levels (MAX_JSON_DEPTH)"


def is_too_deep(value: object) -> bool:
    level: list[object] = [value]
    for _ in range(MAX_JSON_DEPTH):
        level = list(_children(level))
        if not level:
            return False
    return True


def _children(values: list[object]) -> Iterator[object]:
    """Everything directly inside of the containers among the values; texts and numbers have no children."""
    for value in values:
        if isinstance(value, dict):
            yield from (child for child in value.values() if isinstance(child, dict | list | tuple))
        elif isinstance(value, list | tuple):
            yield from (child for child in value if isinstance(child, dict | list | tuple))


def _json_text(value: Any) -> str:
    """The value as JSON, numbers with their original text."""
    if isinstance(value, _Fraction):
        return str(value)
    if isinstance(value, dict):
        inner = (f"{json.dumps(key, ensure_ascii=False)}:{_json_text(item)}" for key, item in value.items())
        return "{" + ",".join(inner) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_json_text, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def _as_text(value: Any) -> str:
    return value if type(value) is str else _json_text(value)


def as_plain(value: Any) -> Any:
    """The value with ordinary floats; a number beyond their range stays text."""
    if isinstance(value, _Fraction):
        number = float(value)
        return number if abs(number) != float("inf") else str(value)
    if isinstance(value, dict):
        return {key: as_plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [as_plain(item) for item in value]
    return value


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return "an array"
    if isinstance(value, dict):
        return "an object"
    return _json_text(value)[:60]


def integer(body: JsonObject, key: str, allowed: range = INT64) -> int | None:
    value = body.get(key)
    number: int | None = None
    if value is None:
        return None
    if type(value) is int:
        number = value
    elif isinstance(value, _Fraction):
        number = _exact_integer(value)
    elif isinstance(value, str) and _INTEGER_TEXT.fullmatch(value):
        number = int(value)
    if number is None:
        raise MalformedAction(f"field {key} holds {_shown(value)} where a whole number is needed")
    if number not in allowed:
        raise MalformedAction(f"field {key} holds {number}, outside of {allowed.start} to {allowed.stop - 1}")
    return number


def _exact_integer(text: str) -> int | None:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    # The exponent is checked before the number is expanded: 1e999999999 has a billion digits.
    if number == 0:
        return 0
    if number.adjusted() > 18 or number != number.to_integral_value():
        return None
    return int(number)


def needed_integer(body: JsonObject, key: str) -> int:
    number = integer(body, key)
    if number is None:
        raise MalformedAction(f"field {key} is missing; it is needed in every action of this kind")
    return number


def boolean(body: JsonObject, key: str) -> bool | None:
    value = body.get(key)
    if value is None or isinstance(value, bool):
        return value
    if value in ("true", "false"):
        return bool(value == "true")
    raise MalformedAction(f"field {key} holds {_shown(value)} where true or false is needed")


def text(body: JsonObject, key: str) -> str | None:
    value = body.get(key)
    return None if value is None else _as_text(value)


def path(body: JsonObject) -> str:
    value = body.get("path")
    if value is None or value == "":
        raise MalformedAction("field path is missing; it is needed in every action of this kind")
    if type(value) is not str:
        raise MalformedAction(f"field path holds {_shown(value)} where a text is needed")
    return value


def texts(body: JsonObject, key: str) -> tuple[str, ...] | None:
    value = body.get(key)
    if value is None:
        return None
    if not isinstance(value, list):
        raise MalformedAction(f"field {key} holds {_shown(value)} where an array is needed")
    return tuple(_as_text(item) for item in value if item is not None)


def text_map(body: JsonObject, key: str) -> dict[str, str] | None:
    value = optional_object(body, key)
    return None if value is None else {name: _as_text(item) for name, item in value.items() if item is not None}


def partition_values(body: JsonObject) -> StoredTexts | None:
    value = optional_object(body, "partitionValues")
    if value is None:
        return None
    for name, item in value.items():
        if isinstance(item, (list, dict)):
            raise MalformedAction(f"field partitionValues holds {_shown(item)} for {name!r}, where a text is needed")
    return StoredTexts({name: NULL_PARTITION if item is None else _as_text(item) for name, item in value.items()})


def optional_object(body: JsonObject, key: str) -> JsonObject | None:
    value = body.get(key)
    if value is None or isinstance(value, dict):
        return value
    raise MalformedAction(f"field {key} holds {_shown(value)} where an object is needed")
