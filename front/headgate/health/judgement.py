"""Judges from facts whether a long-running process is alive and ready. Pure; `monitoring` collects the facts.

Alive: its loop makes progress; otherwise only a restart helps. Ready: it serves, or stands by while others serve.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from headgate.settings.health_limits import HealthLimits
from headgate_committer.status import CommitterStatus
from headgate_worker.loop.status import WorkerStanding

STANDBY_AFTER_S = 15.0
"""A bus has offered a partition before that, if it has one to offer: a dead member's is free after the session's time-out."""


class ReasonCode(StrEnum):
    """The values are those of the metric `headgate_unready`."""

    STARTING = "starting"
    """It has not begun, or was not given a partition yet."""
    STUCK = "stuck"
    """Its loop doesn't come round."""
    BUS_SILENT = "bus_silent"
    """The bus doesn't answer."""
    STORE_SILENT = "store_silent"
    """The store of a root doesn't answer."""
    TABLES_FAIL = "tables_fail"
    """None of the tables that have proposals can be worked on."""
    UNANNOUNCED = "unannounced"
    """The bus doesn't take what was decided."""
    LATE = "late"
    """Something waits for too long."""
    ENDING = "ending"
    """It was told to stop, and settles what it has taken."""
    ENDED = "ended"
    """Its loop is over; the process is about to end."""


@dataclass(frozen=True, slots=True)
class Reason:
    code: ReasonCode
    said: str
    """For people: what is wrong, with what, since when."""


@dataclass(frozen=True, slots=True)
class Healthy:
    notes: tuple[str, ...] = ()
    """What is worth knowing all the same."""


@dataclass(frozen=True, slots=True)
class Unready:
    reasons: tuple[Reason, ...]
    notes: tuple[str, ...] = ()


Verdict = Healthy | Unready


@dataclass(frozen=True, slots=True)
class Probed:
    """The results of a repeated probe. Seconds are from the monotonic clock."""

    name: str
    failing_since_s: float | None = None
    """When the first of the questions was asked that failed in a row; None if the last one was answered."""
    unanswered_since_s: float | None = None
    """When the question was asked that is still open."""
    problem: str = ""

    def silent_s(self, now_s: float) -> float:
        """The time without a good answer; 0 if the last one was good and none is due."""
        since_s = self.failing_since_s if self.failing_since_s is not None else self.unanswered_since_s
        return 0.0 if since_s is None else max(0.0, now_s - since_s)


@dataclass(frozen=True, slots=True)
class HealthFacts:
    """The facts about one part of a process. `standing` is None before its loop has begun."""

    now_s: float
    now_ms: int
    began_s: float
    round_s: float
    """When the loop came round for the last time; when it was begun, at first."""
    standing: CommitterStatus | WorkerStanding | None = None
    bus: Probed | None = None
    stores: tuple[Probed, ...] = ()
    has_ended: bool = False


def is_alive(facts: HealthFacts, limits: HealthLimits) -> bool:
    """Whether the process may recover by itself."""
    return not facts.has_ended and facts.now_s - facts.round_s <= limits.dead_after_ms / 1000


def judge(facts: HealthFacts, limits: HealthLimits) -> Verdict:
    """Whether the part serves, or the reason why it doesn't."""
    standing = facts.standing
    reasons = list(_surroundings(facts, limits))
    notes: list[str] = []
    if facts.has_ended:
        reasons.insert(0, Reason(ReasonCode.ENDED, "its loop is over, and the process is about to end"))
    match standing:
        case None:
            reasons.append(
                Reason(ReasonCode.STARTING, f"it began {_for(facts.now_s - facts.began_s)} ago and is not at work yet")
            )
        case CommitterStatus():
            reasons += _of_committer(standing, facts, limits)
            notes += _notes_of_committer(standing)
        case WorkerStanding():
            reasons += _of_worker(standing, facts, limits)
            if standing.is_yielding:
                notes.append("begins nothing new, because the committer is behind")
    if not reasons and _is_vacant(standing):
        notes.append("stands by: others of its group hold all partitions")
    return Unready(tuple(reasons), tuple(notes)) if reasons else Healthy(tuple(notes))


def _surroundings(facts: HealthFacts, limits: HealthLimits) -> Iterator[Reason]:
    silent_s = limits.silent_after_ms / 1000
    for code, asked in (
        (ReasonCode.BUS_SILENT, facts.bus),
        *((ReasonCode.STORE_SILENT, store) for store in facts.stores),
    ):
        if asked is not None and asked.silent_s(facts.now_s) > silent_s:
            problem = asked.problem or "it was asked and says nothing"
            yield Reason(code, f"{asked.name} has not answered for {_for(asked.silent_s(facts.now_s))}: {problem}")
    since_s = facts.now_s - facts.round_s
    if facts.standing is not None and not facts.has_ended and since_s > limits.stuck_after_ms / 1000:
        yield Reason(
            ReasonCode.STUCK,
            f"its loop has not come round for {_for(since_s)}, longer than stuck-after-ms ({limits.stuck_after_ms})",
        )


def _of_committer(standing: CommitterStatus, facts: HealthFacts, limits: HealthLimits) -> Iterator[Reason]:
    yield from _reading(standing, facts, limits)
    for lane in standing.lanes:
        unannounced_s = _since(lane.unannounced_since_s, facts)
        if unannounced_s > limits.silent_after_ms / 1000:
            yield Reason(
                ReasonCode.UNANNOUNCED,
                f"the bus has not taken what was decided on partition {lane.partition} for {_for(unannounced_s)}",
            )
        failing_s = _since(lane.failing_since_s, facts)
        if failing_s > limits.silent_after_ms / 1000:
            yield Reason(
                ReasonCode.TABLES_FAIL,
                f"none of the {lane.tables.busy} tables with proposals on partition {lane.partition} could be worked on for "
                f"{_for(failing_s)}: {lane.trouble}",
            )
    oldest = standing.oldest
    age_ms = 0 if oldest is None else facts.now_ms - oldest.appended_ms
    if oldest is not None and age_ms > limits.late_after_ms:
        why = f": {oldest.trouble}" if oldest.trouble else ""
        yield Reason(
            ReasonCode.LATE,
            f"the proposal at offset {oldest.offset} for {oldest.table} has waited for {_for(age_ms / 1000)}, longer than "
            f"late-after-ms ({limits.late_after_ms}){why}",
        )
    if standing.is_draining:
        yield Reason(ReasonCode.ENDING, "it was told to stop, and settles what it has taken")


def _notes_of_committer(standing: CommitterStatus) -> Iterator[str]:
    tables = standing.tables
    if tables.refused:
        yield f"{tables.refused} tables are held until an operator looks; the log names them (table_waits)"
    if tables.waiting > tables.refused:
        yield f"{tables.waiting - tables.refused} tables are left alone for a while, because something failed"
    if tables.spilled:
        yield f"the proposals of {tables.spilled} tables don't fit into memory, and are read from the bus again"


def _of_worker(standing: WorkerStanding, facts: HealthFacts, limits: HealthLimits) -> Iterator[Reason]:
    yield from _reading(standing, facts, limits)
    backlog = standing.backlog
    if backlog.events and backlog.age_ms > limits.late_after_ms:
        yield Reason(
            ReasonCode.LATE,
            f"{backlog.events} events are not read, the oldest for {_for(backlog.age_ms / 1000)}, longer than late-after-ms "
            f"({limits.late_after_ms})",
        )
    if standing.is_stopping:
        yield Reason(ReasonCode.ENDING, "it was told to stop, and waits for the tasks that are under way")


def _reading(standing: CommitterStatus | WorkerStanding, facts: HealthFacts, limits: HealthLimits) -> Iterator[Reason]:
    unread_s = _since(standing.unread_since_s, facts)
    if unread_s > limits.silent_after_ms / 1000:
        yield Reason(ReasonCode.BUS_SILENT, f"the bus can't be read for {_for(unread_s)}: {standing.bus_trouble}")
    vacant_s = _since(standing.vacant_since_s, facts)
    if standing.vacant_since_s is not None and vacant_s <= STANDBY_AFTER_S:
        yield Reason(ReasonCode.STARTING, f"the bus has given it no partition for {_for(vacant_s)}")


def _is_vacant(standing: CommitterStatus | WorkerStanding | None) -> bool:
    return standing is not None and standing.vacant_since_s is not None


def _since(since_s: float | None, facts: HealthFacts) -> float:
    return 0.0 if since_s is None else max(0.0, facts.now_s - since_s)


def _for(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 100 else f"{seconds:.0f} s"
