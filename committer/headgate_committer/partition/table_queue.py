"""The undecided proposals of one table, in order and bounded, and when the table may be worked on. Pure bookkeeping.

Beyond the bound only the first offset that was left on the bus is kept: what follows is read again (`HeldPartition.refill`).
"""

from collections import deque
from concurrent.futures import Future
from dataclasses import dataclass, field

from headgate_committer.limits import CommitterLimits
from headgate_committer.proposals.answers import Settlement
from headgate_committer.proposals.intake import QueuedProposal

_LINGER_SHARE = 0.5
"""How long company is waited for at most, of the time that the last version took."""
_QUIET_SHARE = 0.2
"""For how long nobody may have come, of the same time; then nobody is waited for any more."""


@dataclass(slots=True)
class TableQueue:
    """`pending` holds a proposal until it is answered; a batch in work stays in it."""

    uri: str
    limits: CommitterLimits
    pending: deque[QueuedProposal] = field(default_factory=deque)
    size: int = 0
    spilled_from: int | None = None
    """The first offset whose proposal is not held, if there is one; nothing after it is held either."""
    spilled_ms: int = 0
    """When the bus took what was left there first."""
    work: "Future[Settlement] | None" = None
    waiting_since_s: float = 0.0
    """Since when the first of the pending could have been worked on."""
    began_s: float = 0.0
    took_s: float = 0.0
    """How long the last work took."""
    awaited: int = 0
    """How many there are when all are back who were answered then, and those who waited meanwhile are there still."""
    came_s: float = 0.0
    """When the last of the pending came."""
    ready_at_s: float = 0.0
    """Before it, the table is left alone, because its store failed or it waits for company."""
    failures: int = 0
    failing_since_s: float = 0.0
    trouble: str = ""
    """Why it is left alone."""
    is_refused: bool = False
    """Its log can't be the one that fed it before: an operator has to look."""

    @property
    def oldest(self) -> int | None:
        """The oldest undecided offset."""
        return self.pending[0].offset if self.pending else self.spilled_from

    @property
    def oldest_ms(self) -> int:
        """When the bus took that one, or one shortly before it."""
        return self.pending[0].record.time_ms if self.pending else self.spilled_ms

    @property
    def is_idle(self) -> bool:
        return not self.pending and self.spilled_from is None and self.work is None

    @property
    def has_room(self) -> bool:
        return len(self.pending) < self.limits.queue_proposals and self.size < self.limits.queue_bytes

    @property
    def is_half_empty(self) -> bool:
        """Whether reading again is worth its while."""
        return len(self.pending) <= self.limits.queue_proposals // 2 and self.size <= self.limits.queue_bytes // 2

    def add(self, item: QueuedProposal, now_s: float) -> None:
        """Hold a proposal, or remember where those begin that are not held."""
        if self.spilled_from is not None:
            return  # it lies behind that offset, and is read again with it
        if not self.has_room:
            self.spilled_ms = item.record.time_ms
            self.spilled_from = item.offset
            return
        self.hold(item, now_s)

    def hold(self, item: QueuedProposal, now_s: float) -> None:
        if not self.pending:
            self.waiting_since_s = now_s
        self.came_s = now_s
        self.pending.append(item)
        self.size += item.size

    def spill(self) -> None:
        """Let go of everything that is not in work: it stays on the bus."""
        if self.pending and self.work is None:
            self.spilled_from = self.pending[0].offset
            self.spilled_ms = self.pending[0].record.time_ms
            self.pending.clear()
            self.size = 0

    def answered(self, through: int, now_s: float) -> list[QueuedProposal]:
        """Work has ended, and proposals up to this offset have their answers. Returns them."""
        before = len(self.pending)
        answered: list[QueuedProposal] = []
        while self.pending and self.pending[0].offset <= through:
            answered.append(self.pending.popleft())
            self.size -= answered[-1].size
        if self.spilled_from is not None:
            # Of a version that turned out to stand, some may have been let go of meanwhile.
            self.spilled_from = max(self.spilled_from, through + 1)
        self.awaited = min(before, self.limits.group_proposals)
        self.took_s = now_s - self.began_s
        self.waiting_since_s = now_s
        self.failures = 0
        self.trouble = ""
        self.is_refused = False
        return answered

    def told(self, now_s: float) -> None:
        """The authors of what was answered know it now: from here on they can come back."""
        self.waiting_since_s = now_s

    def failed(self, trouble: str, now_s: float, pause_s: float) -> bool:
        """Leave the table alone for a while; whether this trouble is a new one."""
        is_new = trouble != self.trouble
        if not self.failures:
            self.failing_since_s = now_s
        self.failures += 1
        self.trouble = trouble
        self.ready_at_s = now_s + pause_s
        return is_new

    @property
    def lingers_until_s(self) -> float:
        """Until when the pending wait for company: those who were answered together come back together, a little apart.

        Were they not waited for, they would have to wait for a whole version of those who are here, and so on in turns.
        Short beside the work that it may save them, and not at all once all are here who can be expected.
        """
        if len(self.pending) >= self.awaited or self.size >= self.limits.group_bytes:
            return self.waiting_since_s
        longest_s = min(self.limits.linger_ms / 1000, self.took_s * _LINGER_SHARE)
        quiet_s = min(longest_s, self.took_s * _QUIET_SHARE)
        return min(self.waiting_since_s + longest_s, max(self.waiting_since_s, self.came_s) + quiet_s)

    def is_ready(self, now_s: float, *, at_once: bool) -> bool:
        """Whether work can begin. `at_once`: nobody waits for company any more."""
        if self.work is not None or not self.pending or now_s < self.ready_at_s:
            return False
        return at_once or now_s >= self.lingers_until_s
