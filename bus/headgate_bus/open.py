"""Opens the bus of an address: the schemes, and the meaning of each part of an address."""

import difflib
import re
from urllib.parse import parse_qsl, unquote

from headgate_bus.errors import BusError
from headgate_bus.interface import Bus
from headgate_schemas.ambient import Ambient
from headgate_schemas.errors import InvalidInput

_SCHEMES = ("kafka", "sqlite")
_SHOWN = ("kafka://host:9092", "sqlite:///path/to/bus.db")
_SQLITE_OPTIONS = ("partitions", "max_file_bytes")
_KAFKA_LIBRARY = "kafka"


def open_bus(address: str, ambient: Ambient) -> Bus:
    """The bus at `address`. A file isn't opened yet. A broker is contacted; raises `BusUnavailable` when none answers.

    `sqlite:///path` is the absolute path /path, as in file:///path (a fourth slash changes nothing); `sqlite:path` is
    relative to the current folder. `?partitions=N` is the number of partitions of a new file.

    Raises `InvalidInput` for an invalid address, and `BusError` if a library is missing.
    """
    # Addresses may hold passwords, so messages show only their scheme.
    scheme, colon, rest = address.partition(":")
    scheme = scheme.strip().lower()
    if not colon or "\0" in address or not re.fullmatch(r"[a-z][a-z0-9+.-]*", scheme) or rest[:1].isdigit():
        raise InvalidInput(
            f"this is no address of a bus, because it has no scheme: write {' or '.join(_SHOWN)}{_guess(address)}"
        )
    if scheme == "sqlite":
        return _open_sqlite(rest, ambient)
    if scheme == "kafka":
        if not rest.startswith("//") or not rest.strip("/"):
            raise InvalidInput("a Kafka bus is written kafka://host:9092, with two slashes and the brokers behind them")
        return _open_kafka(address, ambient)
    near = difflib.get_close_matches(scheme, _SCHEMES, n=1, cutoff=0.5)
    hint = f" Did you mean {near[0]}:?" if near else ""
    raise InvalidInput(f"no bus has an address that begins with {scheme}:.{hint} Known are {' and '.join(_SHOWN)}")


def _guess(address: str) -> str:
    """A guess at the intended address. The text after a question mark may be a password, so it is left out."""
    address, question, _ = address.partition("?")
    more = "?…" if question else ""
    if "@" in address:
        return ""
    if re.fullmatch(r"[A-Za-z0-9._-]+:[0-9]+(/.*)?", address):
        return f". Did you mean kafka://{address}{more}?"
    if address.startswith("/"):
        return f". Did you mean sqlite://{address}{more}?"
    if address.endswith((".db", ".sqlite", ".sqlite3")):
        return f". Did you mean sqlite:{address}{more}?"
    return ""


def _open_sqlite(rest: str, ambient: Ambient) -> Bus:
    from headgate_bus.sqlite.bus import SqliteBus

    place, _, query = rest.partition("?")
    path = unquote(_sqlite_path(place))
    options = _options(query)
    limits = {"max_file_bytes": options["max_file_bytes"]} if "max_file_bytes" in options else {}
    return SqliteBus(path, ambient, partitions=options.get("partitions"), **limits)


def _sqlite_path(place: str) -> str:
    if place.startswith("///"):
        path = "/" + place.lstrip("/")
    elif place.startswith("//"):
        host = place[2:]
        raise InvalidInput(
            f"sqlite:{place} names a host, and a file has none: write sqlite:///{host} for the path /{host}, or"
            f" sqlite:{host} for a path in the current folder"
        )
    else:
        path = place
    if path.strip("/") in ("", ":memory:") or path.endswith("/"):
        raise InvalidInput(f"sqlite:{place} names no file, and processes share a file: write sqlite:///path/to/bus.db")
    return path


def _options(query: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name not in _SQLITE_OPTIONS:
            near = difflib.get_close_matches(name, _SQLITE_OPTIONS, n=1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise InvalidInput(
                f"a sqlite: address has no option {name!r}.{hint} Known are {', '.join(_SQLITE_OPTIONS)}"
            )
        if not re.fullmatch(r"[1-9][0-9]{0,17}", value):
            raise InvalidInput(f"option {name} of a sqlite: address is a positive whole number, not {value[:50]!r}")
        found[name] = int(value)
    return found


def _open_kafka(address: str, ambient: Ambient) -> Bus:
    try:
        from headgate_bus.kafka.bus import KafkaBus
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != _KAFKA_LIBRARY:
            raise
        raise BusError("a kafka:// bus needs a library that is not installed: pip install 'headgate[kafka]'") from error
    return KafkaBus(address, ambient)
