"""Proposals for a table that isn't there. A create makes the first version, a Milvus transaction the first manifest. All others
are set aside. Pure but for ids.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from headgate_committer.proposals.answers import Answer, Settlement, set_aside
from headgate_committer.proposals.intake import QueuedProposal, UndecidableRecord
from headgate_schemas.actions.actions import Protocol
from headgate_schemas.ambient import Ambient
from headgate_schemas.errors import InvalidInput
from headgate_schemas.messages.operations import Committed, Create, Milvus, Operation, RejectCode
from headgate_schemas.messages.sources import Source
from headgate_table.coordination.commit_info import Decision, Settled, Term
from headgate_table.indextables.format.version_file import encode_version
from headgate_table.indextables.rules.decide import Effect
from headgate_table.indextables.write.create import metadata_of
from headgate_table.indextables.write.version_body import Author, Decided, VersionBody, version_body
from headgate_table.settings.options import TableOptions


@dataclass(frozen=True, slots=True)
class FirstVersion:
    """Version 0, ready to be written."""

    body: VersionBody
    decided: Decided
    answer: Answer
    data: bytes


def begin_table(
    uri: str,
    batch: Sequence[QueuedProposal],
    open_operation: Callable[[QueuedProposal], Operation | UndecidableRecord],
    source: Source,
    term: Term,
    ambient: Ambient,
    now_ms: int,
    options_for: Callable[[Mapping[str, str]], TableOptions],
    before: Callable[[], Sequence[Decided]] = tuple,
) -> Settlement | FirstVersion | None:
    """Answers to the first proposals, up to a create or transaction; or the version of a create that comes first.

    None where a transaction comes first, which is decided like every other. The version also holds the decisions `before`,
    which authors were told while there was no table. They are looked up only for a create.
    """
    answers: list[Answer] = []
    for item in batch:
        opened = open_operation(item)
        if isinstance(opened, UndecidableRecord):
            answers.append(set_aside(opened))
        elif not isinstance(opened, Create | Milvus):
            reason = f"there is no table at {uri}: create it first, or check the address"
            answers.append(
                set_aside(UndecidableRecord(item.record, RejectCode.UNKNOWN_TABLE, reason, item.proposal.id, uri))
            )
        elif answers:
            break
        elif isinstance(opened, Milvus):
            return None
        else:
            try:
                return _first_version(item, opened, source, term, ambient, now_ms, options_for, before)
            except InvalidInput as error:
                # Without a table there is no version that could hold the decision; sent again, it gets the same answer.
                return Settlement(
                    (set_aside(UndecidableRecord(item.record, RejectCode.INVALID, str(error), item.proposal.id, uri)),)
                )
    return Settlement(tuple(answers))


def _first_version(
    item: QueuedProposal,
    operation: Create,
    source: Source,
    term: Term,
    ambient: Ambient,
    now_ms: int,
    options_for: Callable[[Mapping[str, str]], TableOptions],
    before: Callable[[], Sequence[Decided]],
) -> FirstVersion:
    metadata = metadata_of(operation, ambient.new_id(), now_ms)
    options = options_for(metadata.configuration)
    decision = Decision(item.proposal.id, accepted=True, offset=item.offset, writer=item.proposal.written_by)
    decided = Decided(operation, Effect(metadata=metadata), decision)
    body = version_body(
        0,
        (*before(), decided),
        metadata,
        {},
        options,
        nonce=ambient.new_id(),
        time_ms=now_ms,
        author=Author(term, Settled(source, item.offset, item.offset + 1, item.record.time_ms, item.proposal.created)),
        protocol=Protocol(),
    )
    answer = Answer(item.offset, Committed(0, item.proposal.id))
    data = encode_version(body.version, body.actions, compressed=options.transaction_compression)
    return FirstVersion(body, decided, answer, data)
