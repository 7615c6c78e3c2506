"""The settings of a worker's process as values, from texts by name. `loading` reads the texts."""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any, get_args

from headgate.settings.health_limits import WORKER_LIMITS as WORKER_HEALTH
from headgate.settings.health_limits import HealthLimits
from headgate.settings.listen_address import ListenAddress
from headgate.settings.process_settings import HEALTH_LIMITS, LogForm, ProcessKeys
from headgate_schemas.messages.operations import Operation
from headgate_worker.limits import DEFAULT_TERMS, RoleTerms, ScheduleLimits, WorkerLimits

DEFAULT_GROUP = "headgate-worker"
ROLES = tuple(DEFAULT_TERMS)
OPERATIONS = (*sorted(kind.__name__ for kind in get_args(Operation)), "Group")
"""As commits are announced. One that holds proposals of several kinds is a group."""


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """The settings of one worker process."""

    id: str = "worker"
    """What it is called in what it proposes and in its log; every run adds a number of its own."""
    group: str = DEFAULT_GROUP
    """Workers of one group share the tables, each table being one worker's. Unless a group is named, workers of fewer roles
    are a group of their own, called after them, such as `headgate-worker-merge`: each role needs somebody at every table."""
    roles: tuple[str, ...] = ROLES
    """What it does, of compact, merge, clean and mirror, with commas between them."""
    roots: tuple[str, ...] = ()
    """The tables below these addresses are looked after; without any, all."""
    watch: tuple[str, ...] = ()
    """Addresses of tables that are looked at now and then although no event has named them, such as those that are written
    directly."""
    spark: str | None = field(default=None, repr=False)
    """Where files are merged: a Spark Connect server (`sc://host:port`) or a master (`spark://…`, `yarn`, `k8s://…`); in the
    worker's own process without one."""
    spark_settings: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Spark's own settings for that, as `spark.executor.memory=4g`, with commas between them."""
    log: LogForm = LogForm.AUTO
    """How its events are written to standard error: auto (for people on a terminal, else JSON), console or json."""
    listen: ListenAddress | None = None
    """Where it tells how it is over HTTP, at /healthz, /readyz and /metrics, as host:port; nowhere without one. Nobody is asked
    for a token there."""
    health: HealthLimits = WORKER_HEALTH
    limits: WorkerLimits = field(default_factory=WorkerLimits)


def _default_of(kind: type, name: str) -> Any:
    [found] = [found for found in fields(kind) if found.name == name]
    return found.default


def _named(kind: type) -> dict[str, str]:
    """From the setting (`parallel-tasks`) to the field, for fields that are plain values."""
    return {
        found.name.replace("_", "-"): found.name
        for found in fields(kind)
        if found.default is not MISSING and isinstance(found.default, int | float | frozenset)
    }


LIMITS = _named(WorkerLimits)
SCHEDULE_LIMITS = _named(ScheduleLimits)
TERMS = {f"{role}-{key}": (role, name) for role in ROLES for key, name in _named(RoleTerms).items()}
"""From the setting (`merge-cooldown-ms`) to the role and the field of its terms."""
KEYS = (
    "id",
    "group",
    "roles",
    "roots",
    "watch",
    "spark",
    "spark-settings",
    "log",
    "listen",
    *HEALTH_LIMITS,
    *SCHEDULE_LIMITS,
    *LIMITS,
    *TERMS,
)
_SETTINGS = ProcessKeys("worker", KEYS)


def worker_settings(*layers: Mapping[str, str]) -> WorkerSettings:
    """The settings from several sources; later ones override earlier ones. Raises `InvalidInput`, naming the fault."""
    given = _SETTINGS.layered(layers)
    values: dict[str, Any] = {}
    if "roles" in given:
        values["roles"] = roles = _SETTINGS.chosen("roles", given["roles"], ROLES, "role")
        values["group"] = group_of(roles)
    for key in ("id", "group"):
        if key in given:
            values[key] = _SETTINGS.word(key, given[key])
    for key in ("roots", "watch"):
        if key in given:
            values[key] = _SETTINGS.addresses(key, given[key])
    if "spark" in given:
        values["spark"] = _SETTINGS.word("spark", given["spark"])
    if "spark-settings" in given:
        values["spark_settings"] = _SETTINGS.pairs("spark-settings", given["spark-settings"])
    if "log" in given:
        values["log"] = _SETTINGS.log_form("log", given["log"])
    if "listen" in given:
        values["listen"] = _SETTINGS.listen(given["listen"])
    values["health"] = _SETTINGS.health(given, WORKER_HEALTH)
    return WorkerSettings(**values, limits=_limits(given))


def group_of(roles: tuple[str, ...]) -> str:
    """The default group of workers with these roles."""
    return DEFAULT_GROUP if set(roles) in (set(), set(ROLES)) else "-".join((DEFAULT_GROUP, *roles))


def _limits(given: Mapping[str, str]) -> WorkerLimits:
    values = {name: _bound(WorkerLimits, name, key, given[key]) for key, name in LIMITS.items() if key in given}
    schedule = {
        name: _bound(ScheduleLimits, name, key, given[key]) for key, name in SCHEDULE_LIMITS.items() if key in given
    }
    terms = dict(DEFAULT_TERMS)
    for key, (role, name) in TERMS.items():
        if key in given:
            # Zero is a valid cooldown and a valid delay.
            terms[role] = replace(terms[role], **{name: _bound(RoleTerms, name, key, given[key], least=0)})
    return WorkerLimits(**values, schedule=ScheduleLimits(**schedule), terms=terms)


def _bound(kind: type, name: str, key: str, text: str, least: int = 1) -> Any:
    match _default_of(kind, name):
        case frozenset():
            return frozenset(_SETTINGS.chosen(key, text, OPERATIONS, "operation"))
        case float():
            return _SETTINGS.seconds(key, text)
        case _:
            return _SETTINGS.number(key, text, 1 if name == "after_commits" else least)
