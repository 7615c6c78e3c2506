"""The settings of the live page as values, from texts by name. `loading` reads the texts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headgate.settings.listen_address import ListenAddress, listen_address
from headgate.settings.process_settings import LogForm, ProcessKeys
from headgate.settings.token import Token
from headgate_schemas.errors import InvalidInput

MIN_TOKEN_CHARS = 16
"""Short words can be guessed."""
DEFAULT_LISTEN = ListenAddress("127.0.0.1", 8080)


@dataclass(frozen=True, slots=True)
class PageSettings:
    """The settings of a page."""

    listen: ListenAddress = DEFAULT_LISTEN
    """Where it is served. Others than this machine reach it only where a token lets them in; port 0 takes a free one."""
    token: Token | None = field(default=None, repr=False)
    """What it asks for, 16 to 200 visible ASCII characters. Beyond this machine one is made and printed at the start, if none
    is set."""
    roots: tuple[str, ...] = ()
    """The tables below these addresses are shown; without any, all that events name."""
    watch: tuple[str, ...] = ()
    """Addresses of tables that are shown although no event has named them."""
    log: LogForm = LogForm.AUTO
    """How its events are written to standard error: auto (for people on a terminal, else JSON), console or json."""


KEYS = ("listen", "token", "roots", "watch", "log")
_SETTINGS = ProcessKeys("page", KEYS)


def page_settings(*layers: Mapping[str, str]) -> PageSettings:
    """The settings from several sources; later ones override earlier ones. Raises `InvalidInput`, naming the fault."""
    given = _SETTINGS.layered(layers)
    values: dict[str, Any] = {}
    if "listen" in given:
        values["listen"] = listen_address(given["listen"])
    if given.get("token"):
        values["token"] = Token(_checked(given["token"]))
    for key in ("roots", "watch"):
        if key in given:
            values[key] = _SETTINGS.addresses(key, given[key])
    if "log" in given:
        values["log"] = _SETTINGS.log_form("log", given["log"])
    return PageSettings(**values)


def _checked(token: str) -> str:
    """The token; no error shows its text."""
    if not (MIN_TOKEN_CHARS <= len(token) <= 200 and token.isascii() and token.isprintable() and " " not in token):
        raise InvalidInput(
            f"the setting token of the page must have {MIN_TOKEN_CHARS} to 200 visible ASCII characters; leave it out, and"
            " one is made where it is needed"
        )
    return token
