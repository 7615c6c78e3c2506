"""Finding out what deciding a group needs to know of the table: one look for all paths, one for each predicate."""

from collections.abc import Mapping, Sequence

from headgate_committer.deciding.grouping import GroupFacts, OpenedProposal, commits_alone, selects
from headgate_committer.versions.table_log import Held
from headgate_schemas.messages.operations import Append, Delete, Operation, Overwrite, RejectCode, Rewrite
from headgate_table.indextables.rules.decide import LiveFile, Questions, Refusal, questions
from headgate_table.indextables.rules.evidence import EvidenceReader


def find_facts(evidence: EvidenceReader, held: Held, asked: Sequence[OpenedProposal]) -> GroupFacts:
    """The facts for these proposals, of which one that commits alone comes first."""
    refused: dict[int, Refusal] = {}
    wanted: list[tuple[OpenedProposal, Questions]] = []
    for item in asked:
        asked_for = questions(item.operation, held.metadata)
        if isinstance(asked_for, Refusal):
            refused[item.undecided.offset] = asked_for
            continue
        wanted.append((item, asked_for))
        read_set = item.undecided.proposal.read_set
        if read_set is not None:
            conflict = evidence.conflict(held.log, read_set, held.metadata)
            if conflict is not None:
                refused[item.undecided.offset] = Refusal(RejectCode.READ_CONFLICT, conflict)
    if wanted and commits_alone(wanted[0][0].operation):
        first, questions_of_first = wanted[0]
        taken_ms = first.undecided.record.time_ms
        alone = evidence.gather(
            held.log, held.memory, first.operation, questions_of_first, held.metadata, taken_ms=taken_ms
        )
        return GroupFacts(refused=refused, alone=alone)
    paths = [path for _, questions_of in wanted for path in questions_of.paths]
    partitions: dict[str, Mapping[str, str]] = {}
    for item, _ in wanted:
        partitions |= _partitions(item.operation)
    live, blocked = evidence.known(held.log, held.memory, paths, partitions)
    matched: dict[int, Sequence[LiveFile]] = {}
    by_predicate: dict[str | None, Sequence[LiveFile]] = {}
    for item, questions_of in wanted:
        operation = item.operation
        if isinstance(operation, Overwrite | Delete) and selects(operation):
            if operation.where not in by_predicate:
                by_predicate[operation.where] = evidence.matching(held.log, questions_of.where, held.metadata)
            matched[item.undecided.offset] = by_predicate[operation.where]
    return GroupFacts(live, blocked, matched, refused)


def _partitions(operation: Operation) -> dict[str, Mapping[str, str]]:
    match operation:
        case Append(files) | Overwrite(files) | Rewrite(adds=files):
            return {file.path: file.partition_values for file in files}
        case _:
            return {}
