"""The model of the page, and how events change it. Pure: no clock, threads or I/O.

Facts go in by `saw_…`. `picture` is the whole model, `changes` are the changes since the last call; both consist of
JSON values. Everything is bounded: the entry that was quiet longest is dropped first.
"""

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, assert_never

from headgate.page.proposal_preview import Glimpse
from headgate.page.rates import BUCKET_MS, BUCKETS, RateKind, Rates
from headgate.page.table_rows import TableFacts, TableRow
from headgate_schemas.messages.dead_letters import DeadLetter
from headgate_schemas.messages.events import CommitEvent, ReceiptEvent
from headgate_schemas.messages.operations import RejectCode

MAX_TABLES = 500
MAX_FLOW = 200
MAX_TASKS = 60
MAX_LETTERS = 100
MAX_REASON_CHARS = 600
MAX_WAITING = 5_000
"""Proposals without a receipt that are remembered, in each partition."""
MAX_ANSWERED = 4_000
"""Receipts by which a repetition, or a proposal that is read after them, is known."""
MAX_COMMITS = 4_000
GRACE_MS = 10_000
"""How long a receipt may take to be read here after the committer has settled its proposal."""

ROLES = {"rewrite": "merge", "skip": "merge", "compact_state": "compact", "purge": "clean"}
"""From the operations of maintenance to the role whose work they are."""
WAITING = "waiting"
NO_TABLE = RejectCode.UNKNOWN_TABLE.value


@dataclass(slots=True)
class Entry:
    """One proposal in the flow, and its outcome."""

    number: int
    """Grows with every entry; the page keeps them in this order."""
    time_ms: int
    proposal: str
    table: str
    author: str = ""
    operation: str = ""
    files: int | None = None
    outcome: str = WAITING
    version: int | None = None
    code: str = ""
    reason: str = ""
    answered_ms: int | None = None
    proposed_ms: int | None = None
    settled_ms: int | None = None
    """When it was learned that the committer has settled it, whatever its receipt says."""

    @property
    def latency_ms(self) -> int | None:
        if self.answered_ms is None or self.proposed_ms is None:
            return None
        return max(0, self.answered_ms - self.proposed_ms)

    def take(self, seen: Glimpse) -> None:
        """Add the contents of its proposal."""
        self.author, self.operation, self.files = seen.author, seen.operation, seen.files
        self.proposed_ms = seen.time_ms

    def shown(self) -> dict[str, Any]:
        return {
            "n": self.number,
            "time": self.time_ms,
            "id": self.proposal,
            "table": self.table,
            "author": self.author,
            "operation": self.operation,
            "role": ROLES.get(self.operation, ""),
            "files": self.files,
            "outcome": self.outcome,
            "version": self.version,
            "code": self.code,
            "reason": self.reason,
            "latency": self.latency_ms,
        }


@dataclass(frozen=True, slots=True)
class Lag:
    """The committers' lag, over all partitions."""

    proposals: int
    age_ms: int | None
    """Of the oldest undecided proposal; None where there is none, or it isn't known."""


@dataclass(slots=True)
class _Partition:
    waiting: deque[tuple[int, int]] = field(default_factory=deque)
    """Offset and time of what was proposed, from the oldest undecided on."""
    settled: int = 0
    """What lies below is decided."""
    seen: int = 0
    """What lies below was read, and is read again when the bus was away."""


class PageState:
    def __init__(self) -> None:
        self._rates = Rates()
        self._tables: OrderedDict[str, TableRow] = OrderedDict()
        """The one that was quiet longest first."""
        self._flow: deque[Entry] = deque(maxlen=MAX_FLOW)
        self._tasks: deque[Entry] = deque(maxlen=MAX_TASKS)
        self._letters: OrderedDict[str, dict[str, Any]] = OrderedDict()
        self._waiting: OrderedDict[str, list[tuple[int, int, Entry]]] = OrderedDict()
        """By proposal: partition, offset and entry of those that have no receipt yet."""
        self._answered: OrderedDict[tuple[str, str], Entry] = OrderedDict()
        """By proposal and outcome."""
        self._passed: OrderedDict[str, Glimpse] = OrderedDict()
        """Proposals that were settled when they were read, for receipts that are read after them."""
        self._commits: OrderedDict[tuple[str, int], None] = OrderedDict()
        self._partitions: dict[int, _Partition] = {}
        self._lag: Lag | None = None
        self._sources: dict[str, dict[str, Any]] = {}
        self._running: dict[tuple[str, str], int] | None = None
        """By table and role, since when."""
        self._numbers = 0
        self._changed_tables: set[str] = set()
        self._gone_tables: set[str] = set()
        self._changed_entries: set[int] = set()
        self._new_letters: list[dict[str, Any]] = []
        self._changed_parts: set[str] = set()

    # ---- facts from the bus

    def saw_proposal(self, seen: Glimpse, now_ms: int) -> None:
        """A proposal was seen. Its receipt may have been read before."""
        entry = self._answered_before(seen.id)
        if entry is not None:
            if entry.proposed_ms is None:
                self._complete(entry, seen, now_ms)
            return
        partition = self._partition(seen.partition)
        is_new = seen.offset >= partition.seen
        partition.seen = max(partition.seen, seen.offset + 1)
        if seen.offset < partition.settled or not is_new:
            # Its receipt is still to come, or lies before the start of reading.
            self._passed[seen.id] = seen
            while len(self._passed) > MAX_ANSWERED:
                self._passed.popitem(last=False)
            return
        if len(partition.waiting) >= MAX_WAITING:
            return
        partition.waiting.append((seen.offset, seen.time_ms))
        entry = self._new_entry(seen.time_ms, seen.id, seen.table)
        entry.take(seen)
        self._show(entry)
        self._waiting.setdefault(seen.id, []).append((seen.partition, seen.offset, entry))
        if seen.table:
            self._row(seen.table).waiting[entry.number] = seen.time_ms
            self._changed_tables.add(seen.table)

    def saw_settled(self, partition: int, offset: int, now_ms: int) -> None:
        """The committers have settled everything below this offset of a partition of proposals."""
        known = self._partition(partition)
        known.settled = max(known.settled, offset)
        while known.waiting and known.waiting[0][0] < known.settled:
            known.waiting.popleft()
        for items in list(self._waiting.values()):
            for where, place, entry in items:
                if where == partition and place < known.settled:
                    self._settle(entry, now_ms)

    def saw_lag(self, proposals: int, now_ms: int) -> None:
        """The number of undecided proposals, by the bus's own count."""
        oldest = min((known.waiting[0][1] for known in self._partitions.values() if known.waiting), default=None)
        age_ms = max(0, now_ms - oldest) if proposals and oldest is not None else None
        self._lag = Lag(proposals, age_ms)
        self._rates.lagged(proposals, now_ms)
        self._changed_parts.add("lag")

    def saw_event(self, event: ReceiptEvent | CommitEvent, now_ms: int) -> None:
        """An event was announced. Events may come more than once, and count once."""
        match event:
            case ReceiptEvent():
                self._saw_receipt(event, now_ms)
            case CommitEvent():
                self._saw_commit(event, now_ms)
            case _:
                assert_never(event)

    def saw_dead_letter(self, letter: DeadLetter) -> None:
        if letter.id in self._letters:
            return
        shown = {
            "id": letter.id,
            "time": letter.time,
            "code": letter.code,
            "reason": letter.reason,
            "table": letter.table or "",
            "proposal": letter.proposal or "",
            "partition": letter.partition,
            "offset": letter.offset,
            "appended": letter.appended,
            "bytes": letter.body_bytes,
        }
        self._letters[letter.id] = shown
        while len(self._letters) > MAX_LETTERS:
            self._letters.popitem(last=False)
        self._new_letters = [*self._new_letters, shown][-MAX_LETTERS:]

    # ---- facts from tables and from this process

    @property
    def tables(self) -> Sequence[str]:
        """The tables' addresses, the one that was quiet longest first."""
        return tuple(self._tables)

    def version_of(self, uri: str) -> int | None:
        """The newest known version of a table; None if the table isn't shown or nothing is known."""
        row = self._tables.get(uri)
        return None if row is None or row.version < 0 else row.version

    def is_late(self, uri: str) -> bool:
        """Whether a proposal to the table has been undecided for long, as of the last picture."""
        row = self._tables.get(uri)
        return row is not None and row.is_late

    def shows(self, uri: str) -> bool:
        return uri in self._tables

    def add_table(self, uri: str) -> None:
        """Add a table before any fact about it is known."""
        self._row(uri)

    def saw_facts(self, uri: str, facts: TableFacts) -> None:
        row = self._tables.get(uri)
        if row is not None:
            row.read(facts)
            self._changed_tables.add(uri)

    def saw_trouble(self, uri: str, reason: str) -> None:
        """The table could not be read, so its facts are out of date from now on."""
        row = self._tables.get(uri)
        if row is not None and row.trouble != reason:
            row.trouble = reason
            self._changed_tables.add(uri)

    def saw_refusals(self, refused: dict[str, str]) -> None:
        """By table, the reason why the committer of this process holds it until an operator has looked."""
        for uri in refused:
            self._row(uri)
        for uri, row in self._tables.items():
            if row.refused != refused.get(uri, ""):
                row.refused = refused.get(uri, "")
                self._changed_tables.add(uri)

    def saw_running(self, tasks: Iterable[tuple[str, str]], now_ms: int) -> None:
        """The running work of this process's worker: tables and roles. Known work continues."""
        before = self._running or {}
        found = {task: before.get(task, now_ms) for task in tasks}
        if found != self._running:
            self._running = found
            self._changed_parts.add("running")

    def saw_source(self, name: str, address: str, trouble: str, now_ms: int) -> None:
        """Whether a source of the page answers: an empty trouble means yes."""
        before = self._sources.get(name)
        if before is not None and (before["trouble"], before["address"]) == (trouble, address):
            return
        since_ms = before["since"] if before is not None and before["trouble"] and trouble else now_ms
        self._sources[name] = {"address": address, "trouble": trouble, "since": since_ms}
        self._changed_parts.add("sources")

    # ---- what is shown

    def picture(self, now_ms: int) -> dict[str, Any]:
        """The whole model, for a new browser."""
        for uri, row in self._tables.items():
            if row.look(now_ms):
                self._changed_tables.add(uri)  # the others must get it as well
        return {
            "now": now_ms,
            "tables": [row.shown() for row in self._tables.values()],
            "flow": [entry.shown() for entry in self._flow],
            "tasks": [entry.shown() for entry in self._tasks],
            "letters": list(self._letters.values()),
            "rates": {"step": BUCKET_MS, "count": BUCKETS, "rows": self._rates.rows(now_ms)},
            **self._part("lag"),
            **self._part("sources"),
            **self._part("running"),
        }

    def changes(self, now_ms: int) -> dict[str, Any] | None:
        """The parts that a browser must replace; None if nothing changed."""
        for uri, row in self._tables.items():
            if row.look(now_ms):
                self._changed_tables.add(uri)
        changed: dict[str, Any] = {}
        if self._changed_tables:
            changed["tables"] = [self._tables[uri].shown() for uri in self._changed_tables if uri in self._tables]
        if self._gone_tables:
            changed["gone"] = sorted(self._gone_tables)
        for name, entries in (("flow", self._flow), ("tasks", self._tasks)):
            found = [entry.shown() for entry in entries if entry.number in self._changed_entries]
            if found:
                changed[name] = found
        if self._new_letters:
            changed["letters"] = self._new_letters
        rows = self._rates.changed_rows(now_ms)
        if rows:
            changed["rates"] = rows
        for part in sorted(self._changed_parts):
            changed |= self._part(part)
        self._changed_tables, self._gone_tables, self._changed_entries = set(), set(), set()
        self._new_letters, self._changed_parts = [], set()
        return {"now": now_ms, **changed} if changed else None

    def _part(self, name: str) -> dict[str, Any]:
        made: dict[str, Callable[[], Any]] = {
            "lag": lambda: None if self._lag is None else {"proposals": self._lag.proposals, "age": self._lag.age_ms},
            "sources": lambda: self._sources,
            "running": lambda: (
                None
                if self._running is None
                else [{"table": table, "role": role, "since": since} for (table, role), since in self._running.items()]
            ),
        }
        return {name: made[name]()}

    # ---- within

    def _saw_receipt(self, receipt: ReceiptEvent, now_ms: int) -> None:
        key = (receipt.proposal, receipt.outcome)
        waiting = self._waiting.get(receipt.proposal)
        if waiting:
            _, _, entry = waiting.pop(0)
            if not waiting:
                del self._waiting[receipt.proposal]
        elif key in self._answered:
            return
        else:
            entry = self._new_entry(receipt.time, receipt.proposal, receipt.table or "")
            seen = self._passed.pop(receipt.proposal, None)
            if seen is not None:
                entry.take(seen)
            self._show(entry)
        entry.outcome, entry.version = receipt.outcome, receipt.version
        entry.code, entry.reason = receipt.code or "", (receipt.reason or "")[:MAX_REASON_CHARS]
        entry.answered_ms = receipt.time
        self._changed_entries.add(entry.number)
        self._answered[key] = entry
        while len(self._answered) > MAX_ANSWERED:
            self._answered.popitem(last=False)
        self._rates.count(_KINDS[receipt.outcome], receipt.time, now_ms)
        self._note_latency(entry, now_ms)
        if receipt.code == NO_TABLE and receipt.table:
            self._forget_unread(receipt.table)
        elif receipt.table:
            row = self._row(receipt.table)
            row.waiting.pop(entry.number, None)
            row.count(receipt.outcome)
            self._changed_tables.add(receipt.table)

    def _saw_commit(self, commit: CommitEvent, now_ms: int) -> None:
        key = (commit.table, commit.version)
        if key in self._commits:
            return
        self._commits[key] = None
        while len(self._commits) > MAX_COMMITS:
            self._commits.popitem(last=False)
        self._row(commit.table).committed(commit)
        self._changed_tables.add(commit.table)
        self._rates.count(RateKind.COMMIT, commit.time, now_ms)

    def _complete(self, entry: Entry, seen: Glimpse, now_ms: int) -> None:
        """Complete the proposal whose receipt was read before it."""
        entry.take(seen)
        self._changed_entries.add(entry.number)
        self._note_latency(entry, now_ms)
        if entry.operation in ROLES:
            self._tasks.append(entry)

    def _note_latency(self, entry: Entry, now_ms: int) -> None:
        if entry.latency_ms is not None and entry.answered_ms is not None:
            self._rates.took(entry.latency_ms, entry.answered_ms, now_ms)

    def _answered_before(self, proposal: str) -> Entry | None:
        found = (self._answered.get((proposal, outcome)) for outcome in _KINDS)
        return next((entry for entry in found if entry is not None and entry.proposed_ms is None), None)

    def _new_entry(self, time_ms: int, proposal: str, table: str) -> Entry:
        self._numbers += 1
        return Entry(self._numbers, time_ms, proposal, table)

    def _show(self, entry: Entry) -> None:
        self._flow.append(entry)
        if entry.operation in ROLES:
            self._tasks.append(entry)
        self._changed_entries.add(entry.number)

    def _forget_unread(self, uri: str) -> None:
        """A proposal has named a table that doesn't exist or isn't served by the committer."""
        row = self._tables.get(uri)
        if row is not None and row.version < 0:
            del self._tables[uri]
            self._gone_tables.add(uri)
            self._changed_tables.discard(uri)

    def _settle(self, entry: Entry, now_ms: int) -> None:
        """The proposal is decided. If its receipt doesn't come for a while, none will come."""
        row = self._tables.get(entry.table)
        if row is not None and row.waiting.pop(entry.number, None) is not None:
            self._changed_tables.add(entry.table)
        if entry.settled_ms is None:
            entry.settled_ms = now_ms
        told = self._told_again(entry.proposal)
        if told is not None:
            entry.outcome, entry.version, entry.code, entry.reason = told.outcome, told.version, told.code, told.reason
        elif now_ms - entry.settled_ms > GRACE_MS:
            entry.outcome = "unknown"
        else:
            return
        self._changed_entries.add(entry.number)
        self._forget_waiting(entry)

    def _told_again(self, proposal: str) -> Entry | None:
        """Of this proposal's attempts, one after which another receipt looks the same as a repeated event. All have the
        same content.
        """
        return self._answered.get((proposal, "duplicate")) or self._answered.get((proposal, "rejected"))

    def _forget_waiting(self, entry: Entry) -> None:
        left = [item for item in self._waiting.pop(entry.proposal) if item[2] is not entry]
        if left:
            self._waiting[entry.proposal] = left

    def _partition(self, number: int) -> _Partition:
        return self._partitions.setdefault(number, _Partition())

    def _row(self, uri: str) -> TableRow:
        row = self._tables.get(uri)
        if row is None:
            row = self._tables[uri] = TableRow(uri)
            self._changed_tables.add(uri)
            self._gone_tables.discard(uri)
            for quietest in list(islice(self._tables, max(0, len(self._tables) - MAX_TABLES))):
                del self._tables[quietest]
                self._gone_tables.add(quietest)
        else:
            self._tables.move_to_end(uri)
        return row


_KINDS = {"committed": RateKind.ACCEPTED, "rejected": RateKind.REJECTED, "duplicate": RateKind.DUPLICATE}
