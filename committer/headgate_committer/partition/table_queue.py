"""The undecided proposals of one table, in order and bounded, and when the table may be worked on. Pure bookkeeping.

Beyond the bound the queue keeps only the offset of the first proposal that it left on the bus. `HeldPartition.refill` reads on
from there.
"""

from collections import deque
from concurrent.futures import Future
from dataclasses import dataclass, field

from headgate_committer.limits import CommitterLimits
from headgate_committer.proposals.answers import Settlement
from headgate_committer.proposals.intake import QueuedProposal

_LINGER_SHARE = 0.5
"""How long a group lingers at most, as a share of the time that the last version took."""
_QUIET_SHARE = 0.2
"""How long no proposal may arrive before the lingering ends, as a share of the same time."""


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
    """When that proposal was appended."""
    work: "Future[Settlement] | None" = None
    waiting_since_s: float = 0.0
    """When work on the first pending proposal could have begun."""
    began_s: float = 0.0
    took_s: float = 0.0
    """How long the last work took."""
    awaited: int = 0
    """How many are pending once all authors that got answers have proposed again, beside those that waited meanwhile."""
    came_s: float = 0.0
    """When the last pending proposal arrived."""
    ready_at_s: float = 0.0
    """When work may begin again after a failure."""
    failures: int = 0
    failing_since_s: float = 0.0
    trouble: str = ""
    """The last failure; empty while all is well."""
    is_refused: bool = False
    """Whether the table is held until an operator has looked."""

    @property
    def oldest(self) -> int | None:
        """The oldest undecided offset."""
        return self.pending[0].offset if self.pending else self.spilled_from

    @property
    def oldest_ms(self) -> int:
        """When that one was appended, or one shortly before it."""
        return self.pending[0].record.time_ms if self.pending else self.spilled_ms

    @property
    def is_idle(self) -> bool:
        return not self.pending and self.spilled_from is None and self.work is None

    @property
    def has_room(self) -> bool:
        return len(self.pending) < self.limits.queue_proposals and self.size < self.limits.queue_bytes

    @property
    def is_half_empty(self) -> bool:
        """Whether there is enough room to read spilled proposals again."""
        return len(self.pending) <= self.limits.queue_proposals // 2 and self.size <= self.limits.queue_bytes // 2

    def add(self, item: QueuedProposal, now_s: float) -> None:
        """Hold a proposal, or remember the offset of the first one that is not held."""
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
        """Let go of all pending proposals, unless work on them is under way. They stay on the bus."""
        if self.pending and self.work is None:
            self.spilled_from = self.pending[0].offset
            self.spilled_ms = self.pending[0].record.time_ms
            self.pending.clear()
            self.size = 0

    def answered(self, through: int, now_s: float) -> list[QueuedProposal]:
        """Take out the proposals up to this offset, which have their answers. Returns them."""
        before = len(self.pending)
        answered: list[QueuedProposal] = []
        while self.pending and self.pending[0].offset <= through:
            answered.append(self.pending.popleft())
            self.size -= answered[-1].size
        if self.spilled_from is not None:
            # The outcome of a version was unknown, and some of its proposals were spilled meanwhile.
            self.spilled_from = max(self.spilled_from, through + 1)
        self.awaited = min(before, self.limits.group_proposals)
        self.took_s = now_s - self.began_s
        self.waiting_since_s = now_s
        self.failures = 0
        self.trouble = ""
        self.is_refused = False
        return answered

    def told(self, now_s: float) -> None:
        """The answers are announced. From now on their authors can propose again."""
        self.waiting_since_s = now_s

    def failed(self, trouble: str, now_s: float, pause_s: float) -> bool:
        """Pause the table. Returns whether this trouble is a new one."""
        is_new = trouble != self.trouble
        if not self.failures:
            self.failing_since_s = now_s
        self.failures += 1
        self.trouble = trouble
        self.ready_at_s = now_s + pause_s
        return is_new

    @property
    def lingers_until_s(self) -> float:
        """The end of the lingering: authors that were answered together propose again together, a little apart.

        Without lingering the late ones would wait for a whole version of the early ones, and so on in turns. It is short
        beside the work that it may save, and it ends at once when all expected proposals are there.
        """
        if len(self.pending) >= self.awaited or self.size >= self.limits.group_bytes:
            return self.waiting_since_s
        longest_s = min(self.limits.linger_ms / 1000, self.took_s * _LINGER_SHARE)
        quiet_s = min(longest_s, self.took_s * _QUIET_SHARE)
        return min(self.waiting_since_s + longest_s, max(self.waiting_since_s, self.came_s) + quiet_s)

    def is_ready(self, now_s: float, *, at_once: bool) -> bool:
        """Whether work can begin. `at_once`: without lingering."""
        if self.work is not None or not self.pending or now_s < self.ready_at_s:
            return False
        return at_once or now_s >= self.lingers_until_s
