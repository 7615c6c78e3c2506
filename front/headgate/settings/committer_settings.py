"""The settings of a committer's process as values, from texts by name. `loading` reads the texts."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from headgate.settings.health_limits import HealthLimits
from headgate.settings.listen_address import ListenAddress
from headgate.settings.process_settings import HEALTH_LIMITS, LogForm, ProcessKeys
from headgate_bus.claims import ClaimLimits
from headgate_committer.limits import CommitterLimits

DEFAULT_GROUP = "headgate-committer"


@dataclass(frozen=True, slots=True)
class CommitterSettings:
    """The settings of one committer process."""

    id: str = "committer"
    """What it is called in versions and events; every run adds a number of its own."""
    group: str = DEFAULT_GROUP
    """Committers of one group share the partitions of a bus."""
    roots: tuple[str, ...] = ()
    """The tables below these addresses are served; without any, all."""
    log: LogForm = LogForm.AUTO
    """How its events are written to standard error: auto (for people on a terminal, else JSON), console or json."""
    listen: ListenAddress | None = None
    """Where it tells how it is over HTTP, at /healthz, /readyz and /metrics, as host:port; nowhere without one. Nobody is asked
    for a token there."""
    health: HealthLimits = field(default_factory=HealthLimits)
    limits: CommitterLimits = field(default_factory=CommitterLimits)


LIMITS = {found.name.replace("_", "-"): found.name for found in fields(CommitterLimits) if found.name != "claims"}
"""From the setting (`group-proposals`) to the field."""
CLAIM_LIMITS = {f"claim-{found.name.replace('_', '-')}": found.name for found in fields(ClaimLimits)}
KEYS = ("id", "group", "roots", "log", "listen", *HEALTH_LIMITS, *LIMITS, *CLAIM_LIMITS)
_SETTINGS = ProcessKeys("committer", KEYS)


def committer_settings(*layers: Mapping[str, str]) -> CommitterSettings:
    """The settings from several sources; later ones override earlier ones. Raises `InvalidInput`, naming the fault."""
    given = _SETTINGS.layered(layers)
    limits = _SETTINGS.bounds(given, LIMITS)
    claims = _SETTINGS.bounds(given, CLAIM_LIMITS)
    values: dict[str, Any] = {key: _SETTINGS.word(key, given[key]) for key in ("id", "group") if key in given}
    if "roots" in given:
        values["roots"] = _SETTINGS.addresses("roots", given["roots"])
    if "log" in given:
        values["log"] = _SETTINGS.log_form("log", given["log"])
    if "listen" in given:
        values["listen"] = _SETTINGS.listen(given["listen"])
    values["health"] = _SETTINGS.health(given, HealthLimits())
    return CommitterSettings(**values, limits=CommitterLimits(**limits, claims=ClaimLimits(**claims)))
