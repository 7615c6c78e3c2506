"""Every bound of a worker, with its default and its reason; and how often each role looks at a table."""

from collections.abc import Mapping
from dataclasses import dataclass, field

SECOND_MS = 1_000
MINUTE_MS = 60 * SECOND_MS
HOUR_MS = 60 * MINUTE_MS


@dataclass(frozen=True, slots=True)
class RoleTerms:
    """When a role looks at a table again."""

    after_commits: int = 1
    """New versions that make a table worth a look; the sweep looks without any."""
    at_once_after: frozenset[str] = frozenset()
    """Operations, as commit events name them, after which one version is enough."""
    delay_ms: int = 0
    """Between such a version and the look."""
    cooldown_ms: int = 5 * MINUTE_MS
    """Between two looks at one table, at least: what was done to it takes effect for its readers meanwhile."""
    eager_cooldown_ms: int = 5 * SECOND_MS
    """The same where the table's settings ask for a look by what was written: enough that looking doesn't take all the
    time there is."""


DEFAULT_TERMS: Mapping[str, RoleTerms] = {
    # A state is written every ten versions (`checkpoint.interval`), in the background: its version is announced
    # before the state exists. Between two states there is nothing new to compact.
    "compact": RoleTerms(
        after_commits=10,
        at_once_after=frozenset({"Rewrite", "Delete", "Overwrite"}),
        delay_ms=10 * SECOND_MS,
        cooldown_ms=MINUTE_MS,
    ),
    "merge": RoleTerms(cooldown_ms=5 * MINUTE_MS),
    # A look lists the whole table, and cleaning deletes only files that are days old.
    "clean": RoleTerms(cooldown_ms=24 * HOUR_MS, eager_cooldown_ms=5 * MINUTE_MS),
    # Readers wait for the mirror; a look costs two small listings.
    "mirror": RoleTerms(cooldown_ms=SECOND_MS),
}


@dataclass(frozen=True, slots=True)
class ScheduleLimits:
    """Bounds on concurrent work and on the schedule's memory."""

    parallel_tasks: int = 2
    """Looks and tasks that run side by side: as many as a small machine has cores."""
    task_bytes: int = 8 << 30
    """Bytes of the sources of all running tasks together. A task above it runs alone."""
    planned_tasks: int = 200
    """Tasks of one table and role that are kept; those beyond are planned again."""
    tables: int = 10_000
    """Tables that are remembered. The one that was quiet longest is forgotten for another, until its next event."""
    first_backoff_ms: int = 30 * SECOND_MS
    """After a role has failed at a table, or lost to others a second time; doubled with each in a row."""
    longest_backoff_ms: int = 6 * HOUR_MS
    lag_proposals: int = 1_000
    """Undecided proposals in any partition of the bus above which nothing new is begun: ingest goes first."""


@dataclass(frozen=True, slots=True)
class WorkerLimits:
    """The bounds of one worker process."""

    schedule: ScheduleLimits = ScheduleLimits()
    terms: Mapping[str, RoleTerms] = field(default_factory=lambda: dict(DEFAULT_TERMS))
    """By role; roles without terms of their own have those of `RoleTerms`."""
    sweep_ms: int = 10 * MINUTE_MS
    """Known tables are looked at this often without an event, as far as their cooldowns allow."""
    hold_ms: int = 20 * MINUTE_MS
    """An event stays unsettled this long, two sweeps: whoever takes over reads it again, and so knows the busy tables."""
    poll_records: int = 2_000
    """Events taken from the bus at once."""
    lag_check_ms: int = 2 * SECOND_MS
    """How often the bus is asked how far the committer is."""
    backlog_check_ms: int = 30 * SECOND_MS
    """How often the bus is asked how many events are unread: a few questions for each partition that is held."""
    pause_ms: int = SECOND_MS
    """After the bus didn't answer."""
    drain_ms: int = 20 * SECOND_MS
    """How long a stopping worker waits for tasks under way; then it leaves them, which loses nothing but their work."""
    receipt_s: float = 120.0
    """How long a task waits for the receipt of what it proposed. A committer that restarts or moves is back before."""
    open_producers: int = 32
    """Connections to the bus that are kept for proposing, one a table; the one that was idle longest is closed."""
