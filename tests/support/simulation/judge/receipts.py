"""What was promised to anybody: every receipt ever seen, on the bus or by a caller, compared with the log and with each other."""

import base64
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from headgate_bus.interface import Record, Topic
from headgate_schemas.messages.cloud_events import RECEIPT, kind_of, subject_of
from headgate_schemas.messages.message_shape import UnreadableMessage
from headgate_schemas.messages.operation_bodies import operation_of
from headgate_schemas.messages.operations import Committed, Duplicate, Receipt, RejectCode, Rejected, Writer
from headgate_schemas.messages.proposals import decode_proposal
from support.simulation.judge.asked import Asks, ask_of
from support.simulation.judge.broken import must
from support.simulation.judge.codes import UNDECIDED
from support.simulation.judge.model import HOUR_MS, Decided

LATE_MS = 30_000
"""docs/protocol.md, rule 5: what comes so long after it was made may be a repetition of what was refused and forgotten."""
WORKER = "headgate-worker/"
"""What workers begin with when they say who proposes."""


class Told(Protocol):
    """What receipts are compared with, of one table."""

    decided: dict[str, Decided]
    """By proposal, what a version says of it."""
    seqs: dict[str, list[tuple[int, int]]]
    """By app, its accepted (seq, version), in order."""
    record_at: dict[tuple[str, str, int, int], list[tuple[int, str]]]
    proposed_ms: dict[str, int]
    acknowledged: int
    proposed_after: dict[str, int]
    is_cut: bool
    """Whether the bus lost something of its log."""

    @property
    def home(self) -> Callable[[], int]:
        """The partition on which its proposals belong."""
        ...


@dataclass(slots=True)
class Receipts:
    """Told of all that is appended to the bus (as its witness) and of what callers were answered."""

    asks: Asks
    tables: Mapping[str, Told]
    source: tuple[str, str]
    """Cluster and topic id of the proposals."""
    former: list[tuple[str, str]] = field(default_factory=list)
    """Those of topics in whose place this one was made. A committer needs some seconds to notice."""
    generation: int = 0
    """How often the log was cut or made anew."""
    answered: dict[str, Receipt] = field(default_factory=dict)
    """By proposal, the first receipt that said something."""
    announced: set[str] = field(default_factory=set)
    set_aside: set[tuple[int, int]] = field(default_factory=set)
    proposals: dict[tuple[int, int], str] = field(default_factory=dict)
    """By partition and offset, the ids on the bus; "" for what is no proposal."""
    records: dict[tuple[int, int], Record] = field(default_factory=dict)
    """By partition and offset, what was put on the bus, which may have let go of it since."""
    lost: set[str] = field(default_factory=set)
    """Proposals of which the bus lost a record before anybody had answered it, or that a committer set aside which doesn't serve
    their table."""
    asked: list[Record] = field(default_factory=list)
    """All that was ever put on the bus, also what was lost."""
    expired: set[str] = field(default_factory=set)
    may_expire: bool = True
    """Whether anything in this run could have a table forget an accepted id, or lose what it remembers."""
    may_forget_refusals: bool = False
    """Whether so much is refused that a table forgets refusals. Then what reaches the bus late may be one of those."""
    late: set[str] = field(default_factory=set)
    """What reached the bus half a minute after it was made, or later, at least once."""
    ahead: set[str] = field(default_factory=set)
    """What was made more than an hour after it reached the bus, by its author's clock. Its refusal may be decided again when that time
    has come, once it is forgotten (docs/decisions/0016-ids-carry-their-first-time.md)."""
    count: int = 0
    events: list[Receipt] = field(default_factory=list)
    """All receipts on the bus, in their order."""

    def appended(self, topic: Topic, records: Sequence[Record]) -> None:
        for record in records:
            match topic:
                case Topic.PROPOSALS:
                    self._proposed(record)
                case Topic.EVENTS:
                    self._announced(record)
                case Topic.DEAD_LETTERS:
                    self._put_aside(json.loads(record.body))

    def _proposed(self, record: Record) -> None:
        identity = subject_of(record.headers)
        self.proposals[record.partition, record.offset] = identity
        self.records[record.partition, record.offset] = record
        self.asked.append(record)
        if self.may_forget_refusals:
            late_by_ms = _late_by_ms(record)
            if late_by_ms >= LATE_MS:
                self.late.add(identity)
            if late_by_ms < -HOUR_MS:
                self.ahead.add(identity)
        model = self.tables.get(record.key)
        if model is not None:
            for source in (self.source, *self.former):
                at = model.record_at.setdefault((*source, record.partition, record.offset), [])
                at.append((self.generation, identity))
            model.proposed_ms.setdefault(identity, record.time_ms)
            model.proposed_after.setdefault(identity, model.acknowledged)
            if identity not in self.asks.by_id:
                self._learn(identity, record)

    def _put_aside(self, letter: Mapping[str, Any]) -> None:
        """Of what lies there now, and no other that lay there before."""
        place = letter["partition"], letter["offset"]
        record = self.records.get(place)
        if record is not None and record.body.startswith(base64.b64decode(letter["body"])):
            self.set_aside.add(place)
            model = self.tables.get(record.key)
            if letter["code"] == RejectCode.UNKNOWN_TABLE.value and subject_of(record.headers) not in self.announced:
                self.lost.add(subject_of(record.headers))
            must(
                letter["code"] != RejectCode.MISPLACED.value
                or (model is not None and model.home() != record.partition),
                f"{letter['proposal']} was set aside as misplaced, but lies on partition {record.partition}, where it belongs",
            )

    def _learn(self, identity: str, record: Record) -> None:
        """What a worker asks for, nobody has told the workload of."""
        try:
            proposal = decode_proposal(record.body)
        except UnreadableMessage:
            return  # rubbish
        if proposal.operation is not None and proposal.author.startswith(WORKER):
            self.asks.add(ask_of(identity, record.key, operation_of(proposal.operation), of_worker=True))

    def _announced(self, record: Record) -> None:
        if kind_of(record.headers) != RECEIPT:
            return
        body = json.loads(record.body)
        identity = body["proposal"]
        self.announced.add(identity)
        receipt: Receipt
        match body["outcome"]:
            case "committed":
                receipt = Committed(body["version"], identity)
            case "duplicate":
                receipt = Duplicate(body["version"], identity)
            case _:
                receipt = Rejected(RejectCode(body["code"]), body.get("reason", ""), identity)
        self.events.append(receipt)
        self.seen(receipt, body.get("table"))

    def seen(self, receipt: Receipt, table: str | None) -> None:
        """Somebody has been told this."""
        self.count += 1
        identity = receipt.proposal_id
        model = None if table is None else self.tables.get(table)
        match receipt:
            case Committed(version):
                assert model is not None
                decided = model.decided.get(identity)
                must(
                    decided is not None and decided.accepted and decided.version == version,
                    f"{identity} was told to be committed in version {version} of {table}, but the log says {decided} "
                    f"(invariant 1)",
                )
            case Duplicate(version):
                assert model is not None
                self._check_duplicate(model, identity, version)
            case Rejected(code):
                if code is RejectCode.EXPIRED:
                    must(
                        self.may_expire or identity in self.lost or identity in self.late,
                        f"{identity} was told to be expired, though no clock is wrong and nothing was forgotten (rule 5)",
                    )
                    self.expired.add(identity)
                    return
                if code is RejectCode.SUPERSEDED:
                    self._check_superseded(model, identity)
                    return
                if code is RejectCode.SEQ_SKIPPED:
                    self._check_skipped(model, identity)
                decided = None if model is None else model.decided.get(identity)
                must(
                    decided is None or not decided.accepted,
                    f"{identity} was told to be rejected ({code.value}), but {decided} (invariant 1)",
                )
                must(
                    code is not RejectCode.MISPLACED,
                    f"{identity} was told to be misplaced, though it may be decided yet where it belongs (invariant 5)",
                )
                must(
                    code is not RejectCode.UNKNOWN_TABLE or model is None or not self._was_there(model, identity),
                    f"{identity} was told that there is no {table}, which somebody knew already when it was proposed",
                )
                if code not in UNDECIDED:
                    must(
                        decided is not None and decided.code == code.value,
                        f"{identity} was told {code.value}, but the log says {decided} (rule 10)",
                    )
        if model is not None:
            told = model.decided.get(identity)
            version = (
                receipt.version if isinstance(receipt, Committed | Duplicate) else -1 if told is None else told.version
            )
            model.acknowledged = max(model.acknowledged, version)
        first = self.answered.setdefault(identity, receipt)
        may_differ = isinstance(first, Rejected) and identity in self.ahead
        must(
            may_differ or _agree(first, receipt), f"{identity} was told {first} first, and {receipt} now (invariant 5)"
        )

    def _was_there(self, model: Told, identity: str) -> bool:
        """Whether the table was there when the bus took the proposal, and no version took over what was told before."""
        return model.proposed_after.get(identity, -1) >= 0 and identity not in model.decided

    def _check_duplicate(self, model: Told, identity: str, version: int) -> None:
        decided = model.decided.get(identity)
        if decided is not None:
            must(
                decided.accepted and decided.version == version,
                f"{identity} was told to be a duplicate of version {version}, but the log says {decided} (invariant 5)",
            )
            return
        ask = self.asks.by_id.get(identity)
        writer = None if ask is None else ask.writer
        must(
            writer is not None,
            f"{identity} was told to be a duplicate of version {version}, but the log says nothing of it (invariant 5)",
        )
        assert writer is not None
        history = model.seqs.get(writer.app, [])
        must(
            (writer.seq, version) in history,
            f"{identity}, seq {writer.seq} of {writer.app}, was told to be a duplicate of version {version}; "
            f"the log has {history[-8:]} (rule 4)",
        )

    def _check_superseded(self, model: Told | None, identity: str) -> None:
        """Nothing is claimed of what lies below the last commit of an app; of that one itself its version is known."""
        writer, last = self._last_of(model, identity)
        must(
            last is not None and writer.seq < last,
            f"{identity}, {writer}, was told to be superseded, but the log's last seq is {last} (rule 4)",
        )

    def _check_skipped(self, model: Told | None, identity: str) -> None:
        writer, last = self._last_of(model, identity)
        committed = () if model is None else [seq for seq, _ in model.seqs.get(writer.app, ())]
        must(
            last is not None and writer.seq < last and writer.seq not in committed,
            f"{identity}, {writer}, was told to be passed over, but the log has {committed[-8:]} (rule 4)",
        )

    def _last_of(self, model: Told | None, identity: str) -> tuple[Writer, int | None]:
        ask = self.asks.by_id.get(identity)
        assert ask is not None, f"nobody asked for {identity}"
        assert ask.writer is not None, f"{identity} has no writer, whose seq could be an older one"
        history = [] if model is None else model.seqs.get(ask.writer.app, [])
        return ask.writer, history[-1][0] if history else None

    def unanswered(self) -> list[str]:
        """Proposals on the bus that nobody was told about."""
        return [
            identity or f"offset {place[1]} of partition {place[0]}"
            for place, identity in self.proposals.items()
            if place not in self.set_aside and identity not in self.announced
        ]

    def check_offset(self, partition: int, offset: int, before: int) -> None:
        """All that lies below the committed offset has been answered."""
        for number in range(before, offset):
            place = partition, number
            identity = self.proposals.get(place)
            if identity is not None:
                must(
                    place in self.set_aside or identity in self.announced,
                    f"the committed offset of partition {partition} is {offset}, but nobody answered "
                    f"{identity or 'what lies'} at {number}",
                )

    # -- surgery

    def made_anew(self, source: tuple[str, str], *, is_same_name: bool) -> list[Record]:
        """Another log takes the place of this one. Returns what it held and nobody had answered."""
        self.former = [self.source, *self.former] if is_same_name else []
        self.source = source
        return self._lost(list(self.records))

    def cut(self, partition: int, end: int) -> list[Record]:
        """The log lost its end from an offset on. Returns what nobody had answered of it."""
        return self._lost([place for place in self.records if place[0] == partition and place[1] >= end])

    def trimmed(self, partition: int, before: int) -> list[Record]:
        """The log lost its beginning. Returns what nobody had answered of it."""
        places = [place for place in self.records if place[0] == partition and place[1] < before]
        return self._lost(
            [place for place in places if place not in self.set_aside and self.proposals[place] not in self.announced]
        )

    def take_back(self, identities: Iterable[str]) -> None:
        """An older copy took the place of the table that decided these: they have to be proposed and told again."""
        for identity in identities:
            self.lost.add(identity)
            self.announced.discard(identity)
            self.answered.pop(identity, None)

    def _lost(self, places: Sequence[tuple[int, int]]) -> list[Record]:
        self.generation += 1
        unanswered = []
        for place in places:
            record, identity = self.records.pop(place), self.proposals.pop(place)
            if place not in self.set_aside and identity not in self.announced:
                unanswered.append(record)
                self.lost.add(identity)
            self.set_aside.discard(place)
        there = set(self.proposals.values())
        for model in self.tables.values():
            for identity in [identity for identity in model.proposed_ms if identity not in there]:
                del model.proposed_ms[identity]
        return unanswered


def _late_by_ms(record: Record) -> int:
    """How long after it was made it reached the bus."""
    try:
        return record.time_ms - decode_proposal(record.body).created
    except UnreadableMessage:
        return 0  # rubbish


def _agree(first: Receipt, later: Receipt) -> bool:
    match first, later:
        case (Committed(), Committed()):
            return first == later
        case (Committed() | Duplicate(), Committed() | Duplicate()):
            return True  # each was compared with the log
        case (Rejected(code), Rejected(other)):
            return code == other
        case _:
            return False
