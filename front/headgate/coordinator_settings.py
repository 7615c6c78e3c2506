"""The settings of a committer's process, as values, from texts under their names. Where the texts come from is `settings`'s."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any

from headgate_bus.claims import ClaimLimits
from headgate_committer.limits import CommitterLimits
from headgate_schemas.errors import InvalidInput

DEFAULT_GROUP = "headgate-committer"
MAX_ROOTS = 1_000
_MOST = 2**53


class LogForm(StrEnum):
    """How events of a process that goes on are written."""

    AUTO = "auto"
    """For people on a terminal, else as JSON."""
    CONSOLE = "console"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class CommitterSettings:
    """What one committer process is told."""

    id: str = "committer"
    """What it is called in versions and events; every run adds a number of its own."""
    group: str = DEFAULT_GROUP
    """Committers of one group share the partitions of a bus."""
    roots: tuple[str, ...] = ()
    """The tables below these addresses are served; without any, all."""
    log: LogForm = LogForm.AUTO
    """How its events are written to standard error: auto (for people on a terminal, else JSON), console or json."""
    limits: CommitterLimits = field(default_factory=CommitterLimits)


LIMITS = {found.name.replace("_", "-"): found.name for found in fields(CommitterLimits) if found.name != "claims"}
"""From the setting (`group-proposals`) to the field."""
CLAIM_LIMITS = {f"claim-{found.name.replace('_', '-')}": found.name for found in fields(ClaimLimits)}
_OWN = ("id", "group", "roots", "log")
KEYS = (*_OWN, *LIMITS, *CLAIM_LIMITS)


def committer_settings(*layers: Mapping[str, str]) -> CommitterSettings:
    """The settings from several sources, later ones over earlier ones. Raises `InvalidInput`, naming what is wrong."""
    given: dict[str, str] = {}
    for layer in layers:
        given |= {setting_key(key): text for key, text in layer.items()}
    limits: dict[str, Any] = {LIMITS[key]: _number(key, text) for key, text in given.items() if key in LIMITS}
    values: dict[str, Any] = {}
    for key in ("id", "group"):
        if key in given:
            values[key] = _word(key, given[key])
    if "roots" in given:
        values["roots"] = addresses(given["roots"])
    if "log" in given:
        values["log"] = _log_form(given["log"])
    claims = {CLAIM_LIMITS[key]: _number(key, text) for key, text in given.items() if key in CLAIM_LIMITS}
    return CommitterSettings(**values, limits=CommitterLimits(**limits, claims=ClaimLimits(**claims)))


def setting_key(given: str) -> str:
    """The setting's name, whatever stands between its words. Raises `InvalidInput` for a name that none has."""
    key = given.strip().lower().replace("_", "-").replace(".", "-").removeprefix("committer-")
    if key in KEYS:
        return key
    near = difflib.get_close_matches(key, KEYS, n=1, cutoff=0.5)
    hint = f"Did you mean {near[0]!r}?" if near else f"Known are: {', '.join(KEYS)}"
    raise InvalidInput(f"there is no setting {given!r} of the committer. {hint}")


def addresses(text: str) -> tuple[str, ...]:
    """Addresses with commas between them."""
    found = tuple(part.strip() for part in text.split(",") if part.strip())
    if len(found) > MAX_ROOTS:
        raise InvalidInput(f"roots are {len(found)}, more than the {MAX_ROOTS} that a committer takes (MAX_ROOTS)")
    return found


def _number(key: str, text: str) -> int:
    bare = text.strip().replace("_", "")
    if not (bare.isascii() and bare.isdigit() and len(bare) < 17 and 1 <= int(bare) <= _MOST):
        raise InvalidInput(f"the setting {key} of the committer is {text!r}; it takes a whole number from 1 to {_MOST}")
    return int(bare)


def _word(key: str, text: str) -> str:
    if not (0 < len(text) <= 200 and text.isascii() and text.isprintable() and " " not in text):
        raise InvalidInput(
            f"the setting {key} of the committer is {text!r}; it takes 1 to 200 visible ASCII characters"
        )
    return text


def _log_form(text: str) -> LogForm:
    try:
        return LogForm(text.strip().lower())
    except ValueError:
        known = ", ".join(form.value for form in LogForm)
        raise InvalidInput(f"the setting log of the committer is {text!r}; it takes one of {known}") from None
