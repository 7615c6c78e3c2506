"""Answers to proposals as values, and the messages that announce answers and versions."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from headgate_bus.interface import Message, Record
from headgate_committer.proposals.intake import QueuedProposal, UndecidableRecord
from headgate_schemas.messages.cloud_events import COMMIT, DEAD_LETTER, RECEIPT, attributes
from headgate_schemas.messages.dead_letters import DeadLetter, encode_dead_letter
from headgate_schemas.messages.events import CommitEvent, encode_event, receipt_event
from headgate_schemas.messages.message_shape import FORMAT
from headgate_schemas.messages.operations import Committed, Receipt, Rejected
from headgate_schemas.messages.sources import Source
from headgate_table.coordination.commit_info import Settled

MAX_LETTER_BODY_BYTES = 600 << 10
"""Kept of an undecidable message. In base64, and beside the longest other fields, they still fit into one message."""
_KEY_CHARACTERS = 2_000
_HEADER_CHARACTERS = 500
_HEADERS = 30


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to the proposal at this offset."""

    offset: int
    receipt: Receipt | None = None
    """None where the author is unknown, or must not be told."""
    aside: UndecidableRecord | None = None
    """Set when the record goes to the dead letters."""


@dataclass(frozen=True, slots=True)
class Settlement:
    """The result of one round of work on a table: answers to proposals, in their order, and the events of new versions."""

    answers: tuple[Answer, ...] = ()
    commits: tuple[CommitEvent, ...] = ()


@dataclass(frozen=True, slots=True)
class ProposalBatch:
    """The first undecided proposals of a table, in the order of the bus."""

    source: Source
    items: Sequence[QueuedProposal]
    position: int
    """The offset up to which the table is decided."""

    def settled(self, answers: Sequence[Answer]) -> Settled:
        """The offsets that a version settles with answers to the first of the items."""
        taken = self.items[: len(answers)]
        first = min((item.offset for item in taken if item.offset >= self.position), default=self.position)
        accepted = [isinstance(answer.receipt, Committed) for answer in answers]
        made_ms = (item.proposal.created for item, is_in in zip(taken, accepted, strict=True) if is_in)
        return Settled(
            self.source,
            first,
            max(self.position, taken[-1].offset + 1),
            max(item.record.time_ms for item in taken),
            max(made_ms, default=None),
        )


def set_aside(letter: UndecidableRecord) -> Answer:
    """The answer to a record that can't be decided here."""
    receipt = None
    if letter.proposal_id is not None and letter.is_told:
        receipt = Rejected(letter.code, letter.reason, letter.proposal_id)
    return Answer(letter.record.offset, receipt, letter)


def receipt_messages(answers: Iterable[Answer], table: str | None, committer: str, now_ms: int) -> list[Message]:
    """The receipts, one message each. Their ids are the same whenever they are announced again."""
    messages: list[Message] = []
    for answer in answers:
        receipt = answer.receipt
        if receipt is None:
            continue
        version = getattr(receipt, "version", 0)
        headers = attributes(
            kind=RECEIPT,
            event_id=f"{table or ''}/{version}/{receipt.proposal_id}",
            source=committer,
            subject=receipt.proposal_id,
            time_ms=now_ms,
        )
        messages.append(Message(table or "", headers, encode_event(receipt_event(receipt, table, now_ms))))
    return messages


def commit_messages(commits: Iterable[CommitEvent], committer: str, now_ms: int) -> list[Message]:
    return [
        Message(
            commit.table,
            attributes(
                kind=COMMIT,
                event_id=f"{commit.table}/{commit.version}",
                source=committer,
                subject=commit.table,
                time_ms=now_ms,
            ),
            encode_event(commit),
        )
        for commit in commits
    ]


def letter_message(letter: UndecidableRecord, source: Source, committer: str, now_ms: int) -> Message:
    """The dead letter of a record, with its original bytes as far as a message can hold them."""
    record: Record = letter.record
    identity = f"{source.topic}/{source.partition}/{record.offset}"
    body = DeadLetter.model_construct(
        format=FORMAT,
        id=identity,
        code=letter.code.value,
        reason=letter.reason[:2_000],
        cluster=source.cluster,
        topic=source.topic,
        partition=source.partition,
        offset=record.offset,
        appended=record.time_ms,
        table=None if letter.table is None else letter.table[:2_000],
        proposal=letter.proposal_id,
        headers={
            name[:_HEADER_CHARACTERS]: text[:_HEADER_CHARACTERS]
            for name, text in list(record.headers.items())[:_HEADERS]
        },
        body=record.body[:MAX_LETTER_BODY_BYTES],
        body_bytes=len(record.body),
        told=letter.is_told,
        time=now_ms,
    )
    headers = attributes(
        kind=DEAD_LETTER,
        event_id=identity,
        source=committer,
        subject=letter.proposal_id or identity,
        time_ms=now_ms,
    )
    return Message(record.key[:_KEY_CHARACTERS], headers, encode_dead_letter(body))
