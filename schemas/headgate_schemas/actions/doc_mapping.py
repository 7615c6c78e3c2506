"""Document mappings: their canonical JSON, the hash that names one, and the keys under which tables keep them.

See docs/format.md, section 4. The table room handles the mappings of many files.
"""

import base64
import hashlib
import json
from collections.abc import Mapping
from typing import Any, NoReturn

from headgate_schemas.errors import InvalidInput

REGISTRY_PREFIX = "docMappingSchema."

HASH_CHARS = 16
"""96 of the 256 bits: the first 12 bytes of the digest."""

MAX_MAPPING_CHARS = 16 * 1024 * 1024
"""One mapping. A mapping of ten thousand columns has about one million characters."""

_MAX_DEPTH = 127
"""The nesting at which the strictest known writer gives up on the JSON and hashes the text as it is."""

_UINT64_LIMIT = 2**64
_INT64_LOW = -(2**63)


def mapping_hash(text: str) -> str:
    """The name of a mapping: equal for texts that differ only in whitespace, key order or the order of named items.

    A text that isn't JSON is hashed unchanged. Raises `InvalidInput` if it is too large or not valid Unicode.
    """
    if len(text) > MAX_MAPPING_CHARS:
        raise InvalidInput(f"a document mapping of {len(text)} characters is longer than {MAX_MAPPING_CHARS}")
    try:
        encoded = _canonical_or_raw(text).encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidInput(f"a document mapping holds a lone surrogate at character {error.start}") from error
    digest = hashlib.sha256(encoded).digest()
    return base64.urlsafe_b64encode(digest).decode("ascii")[:HASH_CHARS]


def canonical_json(text: str) -> str | None:
    """The text with sorted keys, sorted named items and no whitespace; None if it isn't JSON."""
    try:
        return _printed(_sorted(_DECODER.decode(text), 0))
    except (ValueError, RecursionError):
        return None


def registry_key(hash_: str) -> str:
    """The configuration key of a mapping."""
    return REGISTRY_PREFIX + hash_


def bare_hash(key: str) -> str:
    """The hash in a registry's key, with or without the prefix."""
    return key.removeprefix(REGISTRY_PREFIX)


def split_registry(configuration: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """The mappings in a table's configuration by bare hash, and the configuration without them."""
    registry: dict[str, str] = {}
    rest: dict[str, str] = {}
    for key, value in configuration.items():
        if key.startswith(REGISTRY_PREFIX):
            registry[bare_hash(key)] = value
        else:
            rest[key] = value
    return registry, rest


def look_up(ref: str, registry: Mapping[str, str]) -> str | None:
    """The mapping that `ref` names. Both may be bare or prefixed: known writers differ (docs/format.md, section 0)."""
    bare = bare_hash(ref)
    found = registry.get(bare)
    return registry.get(registry_key(bare)) if found is None else found


def _canonical_or_raw(text: str) -> str:
    canonical = canonical_json(text)
    return text if canonical is None else canonical


def _integer(text: str) -> int | float:
    # Follows the writer that prints numbers most strictly: a number outside of 64-bit integers, and -0, is a float.
    if text == "-0":
        return -0.0
    if len(text) > 20:
        return _float(text)
    number = int(text)
    return number if _INT64_LOW <= number < _UINT64_LIMIT else _float(text)


def _float(text: str) -> float:
    number = float(text)
    if abs(number) == float("inf"):
        raise ValueError("a number out of range")
    return number


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


_DECODER = json.JSONDecoder(parse_int=_integer, parse_float=_float, parse_constant=_refuse)


def _sorted(value: Any, depth: int) -> Any:
    if isinstance(value, dict):
        if depth >= _MAX_DEPTH:
            raise ValueError("too deep")
        return {_valid(key): _sorted(value[key], depth + 1) for key in sorted(value)}
    if isinstance(value, list):
        if depth >= _MAX_DEPTH:
            raise ValueError("too deep")
        items = [_sorted(item, depth + 1) for item in value]
        if all(isinstance(item, dict) and "name" in item for item in items):
            items.sort(key=_name)
        return items
    return _valid(value) if isinstance(value, str) else value


def _valid(text: str) -> str:
    """The text unchanged. Raises for an escaped lone surrogate, which the strictest known writer doesn't accept in
    JSON.
    """
    if not text.isascii():
        text.encode("utf-8")
    return text


def _name(item: dict[str, Any]) -> str:
    name = item["name"]
    return name if isinstance(name, str) else ""


def _printed(value: Any) -> str:
    if isinstance(value, float):
        return _printed_float(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{_quoted(key)}:{_printed(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_printed, value)) + "]"
    return _quoted(value)


def _quoted(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _printed_float(value: float) -> str:
    """The shortest digits that give the same number, in serde's form: 0.00001, 1e-6, 1e16, 1.5e300."""
    text = repr(value)
    if "e" not in text:
        return text
    digits, exponent = text.split("e")
    power = int(exponent)
    if power == -5:
        sign, digits = ("-", digits[1:]) if digits.startswith("-") else ("", digits)
        return f"{sign}0.0000{digits.replace('.', '')}"
    return f"{digits}e{power}"
