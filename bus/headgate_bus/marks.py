"""Marks identify a log: a committed offset carries a mark of the newest record below it, which is looked up here.

Equal offsets prove nothing: a log that lost its end, was restored from a copy or was recreated grows beyond every
offset again.
"""

import hashlib
import json
import re
from contextlib import closing
from dataclasses import dataclass
from enum import Enum

from headgate_bus.errors import BusUnavailable, OffsetGone
from headgate_bus.interface import Bus, Extent, Mark, Record, Topic
from headgate_schemas.messages.cloud_events import subject_of
from headgate_schemas.messages.sources import Source

READ_WITHIN_S = 10.0
"""For one record that lies on the bus already."""
NOTHING_KNOWN = -1
"""The offset of a mark that says: the log was cut, and nothing of it is settled for certain."""
_PLAIN_ID = re.compile(r"[!-~]{1,200}")


class Proof(Enum):
    KNOWN = "known"
    """The marked record lies where it did: everything up to it is as it was."""
    UNTOLD = "untold"
    """There is no mark, as older releases leave none, or its record was trimmed."""
    CUT = "cut"
    """The log lost its end since, or was restored from a copy; it may have grown again."""
    REPLACED = "replaced"
    """The topic was made anew: the offset was said of another log."""


@dataclass(frozen=True, slots=True)
class KnownLog:
    """The meaning of a committed offset for the present log."""

    proof: Proof
    start: int
    """Everything below it that is there now is settled."""
    reason: str = ""
    """Why the committed offset doesn't count, where it doesn't."""


def mark_of(topic: str, record: Record) -> Mark:
    """The mark of a record. `topic` is the topic's id."""
    return Mark(topic, record.offset, identity_of(record), record.leader_epoch)


def cut_mark(topic: str) -> Mark:
    return Mark(topic, NOTHING_KNOWN, "")


def identity_of(record: Record) -> str:
    """The proposal's id from the headers; for other records a digest of the body."""
    subject = subject_of(record.headers)
    return subject if _PLAIN_ID.fullmatch(subject) else f"sha256:{hashlib.sha256(record.body).hexdigest()[:32]}"


def mark_text(mark: Mark | None) -> str:
    """The text that is stored with the offset; at most a few hundred characters."""
    if mark is None:
        return ""
    known = {"topic": mark.topic, "offset": mark.offset, "id": mark.identity, "epoch": mark.leader_epoch}
    return json.dumps({name: value for name, value in known.items() if value is not None}, separators=(",", ":"))


def read_mark(text: str | None) -> Mark | None:
    """The mark in the text; None if there is none, or if another program wrote the text."""
    try:
        found = json.loads(text or "null")
    except ValueError:
        return None
    if not isinstance(found, dict):
        return None
    topic, offset, identity, epoch = (found.get(name) for name in ("topic", "offset", "id", "epoch"))
    if not isinstance(topic, str) or not isinstance(identity, str) or type(offset) is not int:
        return None
    return Mark(topic, offset, identity, epoch if type(epoch) is int else None)


def known_again(bus: Bus, source: Source, extent: Extent, committed: int | None, mark: Mark | None) -> KnownLog:
    """Whether the present log is the one that `committed` refers to. Raises `BusUnavailable`."""
    first = extent.first
    if committed is None:
        return KnownLog(Proof.UNTOLD, first)
    if mark is not None and mark.topic != source.topic:
        reason = f"offset {committed} was settled on topic {mark.topic}; it was made anew, and is {source.topic} now"
        return KnownLog(Proof.REPLACED, first, reason)
    if mark is not None and mark.offset == NOTHING_KNOWN:
        return KnownLog(Proof.CUT, first, "the log was cut, and nothing was settled since")
    if committed > extent.next_offset:
        reason = (
            f"offset {committed} was settled, but the log ends at {extent.next_offset}: it was truncated or restored"
        )
        return KnownLog(Proof.CUT, first, f"{reason} from a copy")
    if mark is None:
        return KnownLog(Proof.UNTOLD, max(committed, first))
    if mark.offset < first:
        return KnownLog(Proof.UNTOLD, first)
    try:
        record = record_at(bus, source.partition, mark.offset)
    except OffsetGone as gone:
        if mark.offset < gone.first:
            return KnownLog(Proof.UNTOLD, gone.first)  # trimmed a moment ago
        record = None
    if record is not None and _is_marked(record, mark):
        return KnownLog(Proof.KNOWN, min(committed, mark.offset + 1))
    reason = (
        f"offset {committed} was settled, the last with record {mark.identity} at offset {mark.offset}, but the log holds "
        f"{'nothing' if record is None else 'something else'} there: it was truncated or restored from a copy, and has grown since"
    )
    return KnownLog(Proof.CUT, first, reason)


def look_again(bus: Bus, group: str, partition: int) -> tuple[KnownLog, Extent]:
    """The meaning of the group's committed offset, for callers that aren't members of the group."""
    committed, mark = bus.committed(group, partition), bus.mark(group, partition)
    source, extent = bus.source(partition), bus.extent(Topic.PROPOSALS, partition)
    return known_again(bus, source, extent, committed, mark), extent


def record_at(bus: Bus, partition: int, offset: int) -> Record | None:
    """The record at this offset, or None. Raises `OffsetGone` outside of the extent, and `BusUnavailable`."""
    with closing(bus.reader(Topic.PROPOSALS, {partition: offset})) as reader:
        records = reader.read(READ_WITHIN_S, 1)
        if records:
            return records[0] if records[0].offset == offset else None
        if reader.offsets()[partition] > offset:
            return None
    raise BusUnavailable(
        f"proposal {offset} of partition {partition} of {bus.address} could not be read within {READ_WITHIN_S:g} s; it is "
        f"tried again"
    )


def _is_marked(record: Record, mark: Mark) -> bool:
    epochs = record.leader_epoch, mark.leader_epoch
    return identity_of(record) == mark.identity and (None in epochs or epochs[0] == epochs[1])
