"""The author and the decisions in a version's `commitInfo` line, as a value. Pure.

Direct commits have decisions only; a committer's versions also name the committer and the proposals that they settle.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from headgate_schemas.actions.actions import Action, CommitInfo
from headgate_schemas.messages.operations import RejectCode, Writer
from headgate_schemas.messages.sources import Source

MAX_AHEAD_MS = 3_600_000
"""By how much the time of a bus or an author may lie ahead of a version's own and be believed: clocks of machines differ."""
MAX_REASON = 500
"""Characters of a reason that a version keeps."""


@dataclass(frozen=True, slots=True, order=True)
class Term:
    """The turn of a committer: a later term fences an earlier one; equal epochs are ordered by committer id."""

    epoch: int
    committer: str


@dataclass(frozen=True, slots=True)
class Decision:
    """A version's decision on one proposal."""

    id: str
    accepted: bool
    offset: int | None = None
    writer: Writer | None = None
    code: RejectCode | None = None
    reason: str | None = None

    def to_json(self) -> dict[str, Any]:
        body: dict[str, Any] = {"id": self.id, "accepted": self.accepted}
        if self.offset is not None:
            body["offset"] = self.offset
        if self.writer is not None:
            body["writer"] = {"app": self.writer.app, "seq": self.writer.seq}
        if self.code is not None:
            body["code"] = self.code.value
            body["reason"] = (self.reason or "")[:MAX_REASON]
        return body


@dataclass(frozen=True, slots=True)
class Settled:
    """The proposals of a source that a version settles: those of the table in [first, next_offset)."""

    source: Source
    first: int
    next_offset: int
    appended_ms: int
    """When the bus took the newest of them."""
    made_ms: int | None = None
    """When the newest of the accepted ones was made, by its author's clock. None where nothing was accepted, and in versions of
    earlier releases."""

    def to_json(self) -> dict[str, Any]:
        made = {} if self.made_ms is None else {"made": self.made_ms}
        return made | {
            "cluster": self.source.cluster,
            "topic": self.source.topic,
            "partition": self.source.partition,
            "first": self.first,
            "next": self.next_offset,
            "appended": self.appended_ms,
        }


@dataclass(frozen=True, slots=True)
class CommitRecord:
    """The parts of a `commitInfo` that later decisions depend on."""

    nonce: str = ""
    previous: str = ""
    """The nonce of the version before it; "" where that is not told."""
    time_ms: int = 0
    operation: str = ""
    term: Term | None = None
    settled: Settled | None = None
    rebound: bool = False
    """The table was bound to the source by an operator: its positions in other sources count no more."""
    decisions: tuple[Decision, ...] = ()
    purged: tuple[str, ...] = ()

    @property
    def appended_ms(self) -> int:
        """When the bus took the newest proposal that this version settles, if plausible; else the version's own time.

        A client or a broker may date a batch a month ahead. A time too far ahead of the version's own is reduced.
        """
        if self.settled is None:
            return self.time_ms
        if not self.time_ms:
            return self.settled.appended_ms
        return min(self.settled.appended_ms, self.time_ms + MAX_AHEAD_MS)


def commit_record(actions: Iterable[Action]) -> CommitRecord | None:
    """The record in the version's `commitInfo`; None for a foreign version. Unreadable values count as absent."""
    for action in actions:
        if isinstance(action, CommitInfo):
            return record_of(action.body)
    return None


def nonce_and_previous(actions: Iterable[Action]) -> tuple[str, str]:
    """The nonces of the version and of the one before it, each "" where it is not told. Reads no decisions."""
    for action in actions:
        if isinstance(action, CommitInfo):
            return _text(action.body, "nonce"), _text(action.body, "previous")
    return "", ""


def record_of(body: Mapping[str, Any]) -> CommitRecord:
    """The record in the body of a `commitInfo` from any file. Unreadable values count as absent."""
    decisions = body.get("decisions")
    purged = body.get("purged")
    return CommitRecord(
        nonce=_text(body, "nonce"),
        previous=_text(body, "previous"),
        time_ms=_whole(body, "timestamp") or 0,
        operation=_text(body, "operation"),
        term=_term(body.get("committer")),
        settled=_settled(body.get("source")),
        rebound=body.get("rebound") is True,
        decisions=tuple(
            decision
            for item in (decisions if isinstance(decisions, list) else [])
            if isinstance(item, Mapping) and (decision := _decision(item)) is not None
        ),
        purged=tuple(path for path in purged if isinstance(path, str)) if isinstance(purged, list) else (),
    )


def _term(body: Any) -> Term | None:
    if not isinstance(body, Mapping):
        return None
    epoch, committer = _whole(body, "epoch"), _text(body, "id")
    return None if epoch is None or not committer else Term(epoch, committer)


def _settled(body: Any) -> Settled | None:
    if not isinstance(body, Mapping):
        return None
    partition, first, next_offset = _whole(body, "partition"), _whole(body, "first"), _whole(body, "next")
    cluster, topic = _text(body, "cluster"), _text(body, "topic")
    if partition is None or first is None or next_offset is None or not cluster or not topic:
        return None
    return Settled(
        Source(cluster, topic, partition), first, next_offset, _whole(body, "appended") or 0, _whole(body, "made")
    )


def _decision(body: Mapping[str, Any]) -> Decision | None:
    identity = _text(body, "id")
    if not identity:
        return None
    writer = body.get("writer")
    by: Writer | None = None
    if isinstance(writer, Mapping):
        app, seq = _text(writer, "app"), _whole(writer, "seq")
        by = None if not app or seq is None else Writer(app, seq)
    accepted = body.get("accepted") is True
    return Decision(
        id=identity,
        accepted=accepted,
        offset=_whole(body, "offset"),
        writer=by,
        code=None if accepted else _code(body),
        reason=None if accepted else _text(body, "reason"),
    )


def _code(body: Mapping[str, Any]) -> RejectCode:
    try:
        return RejectCode(_text(body, "code"))
    except ValueError:
        return RejectCode.INVALID  # a code of a newer release; the reason is unchanged


def _text(body: Mapping[str, Any], key: str) -> str:
    value = body.get(key)
    return value if isinstance(value, str) and _is_unicode(value) else ""


def _is_unicode(text: str) -> bool:
    """JSON can escape half of a surrogate pair, which no later event or file could hold."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _whole(body: Mapping[str, Any], key: str) -> int | None:
    value = body.get(key)
    return value if type(value) is int and value >= 0 else None
