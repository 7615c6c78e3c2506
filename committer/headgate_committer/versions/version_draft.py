"""The next version of a log: its facts are looked up, it is planned from a group of proposals, written, and remembered."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from headgate_committer.backend.interface import DraftSummary
from headgate_committer.backend.own_term import OwnTerm
from headgate_committer.deciding.creation import FirstVersion
from headgate_committer.deciding.grouping import (
    GroupFacts,
    GroupPlan,
    Item,
    OpenedProposal,
    commits_alone,
    plan_group,
    selects,
)
from headgate_committer.proposals.answers import Answer, ProposalBatch
from headgate_committer.versions.states import StateKeeper
from headgate_committer.versions.table_log import TableLog, commit_event
from headgate_schemas.actions.actions import Metadata
from headgate_schemas.ambient import Ambient
from headgate_schemas.errors import InvalidInput
from headgate_schemas.messages.events import CommitEvent
from headgate_schemas.messages.operations import Delete, Overwrite, RejectCode
from headgate_table.coordination.commit_info import CommitRecord, commit_record
from headgate_table.coordination.memory import TableMemory
from headgate_table.coordination.refusals import Refusal
from headgate_table.errors import CorruptTable
from headgate_table.indextables.format.names import MAX_VERSION
from headgate_table.indextables.format.version_file import encode_version
from headgate_table.indextables.log.predecessor import Predecessor
from headgate_table.indextables.log.reader import LoadedLog, LogReader
from headgate_table.indextables.rules.decide import LiveFile, Questions, questions
from headgate_table.indextables.rules.evidence import EvidenceReader, partitions_named
from headgate_table.indextables.write.commit_times import commit_time_ms
from headgate_table.indextables.write.version_body import Author, Decided, VersionBody, version_body
from headgate_table.indextables.write.version_writer import write_version


@dataclass(frozen=True, slots=True)
class PlannedVersion:
    """A version as it will be written, and what it decides."""

    body: VersionBody
    data: bytes
    answers: tuple[Answer, ...]
    decided: tuple[Decided, ...]
    after_file: bool
    """Whether the version before has a file, and not a state alone."""
    before: Predecessor | None
    state_at_once: bool
    """Whether it needs a state before the next version."""

    @property
    def summary(self) -> DraftSummary:
        return _summary(self.body, self.decided)


def plan_version(
    table: TableLog,
    items: Sequence[Item],
    facts: GroupFacts,
    batch: ProposalBatch,
    ambient: Ambient,
    earlier: Sequence[Decided] = (),
) -> PlannedVersion | tuple[Answer, ...]:
    """The version that decides as many of the items as go into it; answers alone where nothing is new.

    It holds the decisions `earlier` as well.
    """
    version = table.log.version + 1
    now_ms = commit_time_ms(table.reader.store, ambient, table.log.time_ms or table.memory.newest_ms)
    while True:
        plan = plan_group(items, version, table.metadata, table.memory, facts, now_ms)
        if not plan.decided:
            return plan.answers
        if version > MAX_VERSION:
            raise CorruptTable(
                f"{table.uri} has no number left: its log holds version {table.log.version}, which nobody can have "
                f"reached. Look for a stray file or folder with that number in _transaction_log, and move it away"
            )
        try:
            return _planned(table, plan, batch, ambient.new_id(), now_ms, earlier)
        except InvalidInput as error:
            # One of them asks for what can't be written, such as a line over the bound: fewer are tried until it shows which.
            if len(plan.decided) > 1:
                items = items[: len(plan.answers) // 2]
                continue
            (decision,) = (item.decision for item in plan.decided)
            if decision.offset is None or not decision.accepted:
                raise
            refused = {**facts.refused, decision.offset: Refusal(RejectCode.INVALID, str(error))}
            facts = replace(facts, refused=refused)


def _planned(
    table: TableLog, plan: GroupPlan, batch: ProposalBatch, nonce: str, now_ms: int, earlier: Sequence[Decided]
) -> PlannedVersion:
    before = table.log.tip
    decided = (*earlier, *plan.decided)
    body = version_body(
        table.log.version + 1,
        decided,
        table.metadata,
        table.log.registry,
        table.options,
        nonce=nonce,
        time_ms=now_ms,
        author=Author(table.term, batch.settled(plan.answers)),
        before=before,
    )
    effects = [each.effect for each in plan.decided]
    after_file = table.log.newest_version_file >= table.log.version
    at_once = (
        any(effect.re_adds or effect.swap is not None for effect in effects)
        or not after_file  # only states tell of the newest version
    )
    data = encode_version(body.version, body.actions, compressed=table.options.transaction_compression)
    return PlannedVersion(body, data, plan.answers, decided, after_file, before, at_once)


def find_facts(
    evidence: EvidenceReader,
    log: LoadedLog,
    memory: TableMemory,
    metadata: Metadata,
    asked: Sequence[OpenedProposal],
) -> GroupFacts:
    """The facts for these proposals, of which one that commits alone comes first."""
    refused: dict[int, Refusal] = {}
    wanted: list[tuple[OpenedProposal, Questions]] = []
    for item in asked:
        asked_for = questions(item.operation, metadata)
        if isinstance(asked_for, Refusal):
            refused[item.undecided.offset] = asked_for
            continue
        wanted.append((item, asked_for))
        read_set = item.undecided.proposal.read_set
        if read_set is not None:
            conflict = evidence.conflict(log, read_set, metadata)
            if conflict is not None:
                refused[item.undecided.offset] = Refusal(RejectCode.READ_CONFLICT, conflict)
    if wanted and commits_alone(wanted[0][0].operation):
        first, questions_of_first = wanted[0]
        taken_ms = first.undecided.record.time_ms
        alone = evidence.gather(log, memory, first.operation, questions_of_first, metadata, taken_ms=taken_ms)
        return GroupFacts(refused=refused, alone=alone)
    paths = [path for _, questions_of in wanted for path in questions_of.paths]
    partitions: dict[str, Mapping[str, str]] = {}
    for item, _ in wanted:
        partitions |= partitions_named(item.operation)
    live, blocked = evidence.known(log, memory, paths, partitions)
    matched: dict[int, Sequence[LiveFile]] = {}
    by_predicate: dict[str | None, Sequence[LiveFile]] = {}
    for item, questions_of in wanted:
        operation = item.operation
        if isinstance(operation, Overwrite | Delete) and selects(operation):
            if operation.where not in by_predicate:
                by_predicate[operation.where] = evidence.matching(log, questions_of.where, metadata)
            matched[item.undecided.offset] = by_predicate[operation.where]
    return GroupFacts(live, blocked, matched, refused)


@dataclass(frozen=True, slots=True)
class VersionDraft:
    """A planned version upon the log that it was planned for."""

    planned: PlannedVersion
    log: TableLog
    states: StateKeeper

    @property
    def version(self) -> int:
        return self.planned.body.version

    @property
    def answers(self) -> tuple[Answer, ...]:
        return self.planned.answers

    @property
    def begins(self) -> bool:
        return False

    @property
    def summary(self) -> DraftSummary:
        return self.planned.summary

    def write(self) -> CommitEvent:
        planned, log = self.planned, self.log
        body = planned.body
        seen_etag = write_version(log.reader, body, planned.data, after_file=planned.after_file, before=planned.before)
        record = commit_record(body.actions) or CommitRecord()
        log.applied(body, len(planned.data), seen_etag, record)
        swap = next((item.effect.swap for item in planned.decided if item.effect.swap is not None), None)
        self.states.after_commit(at_once=planned.state_at_once, swap=swap)
        return commit_event(log.uri, body.version, body.actions, record)


@dataclass(frozen=True, slots=True)
class FirstVersionDraft:
    """Version 0, by which a create makes the table."""

    first: FirstVersion
    reader: LogReader
    own_term: OwnTerm

    @property
    def version(self) -> int:
        return self.first.body.version

    @property
    def answers(self) -> tuple[Answer, ...]:
        return (self.first.answer,)

    @property
    def begins(self) -> bool:
        return True

    @property
    def summary(self) -> DraftSummary:
        return _summary(self.first.body, (self.first.decided,))

    def write(self) -> CommitEvent:
        reader, body = self.reader, self.first.body
        write_version(reader, body, self.first.data, after_file=False)
        reader.resources.invalidate(reader.store.uri)  # of a table that was here before
        self.own_term.write(self.own_term.first())
        return commit_event(reader.store.uri, body.version, body.actions, commit_record(body.actions) or CommitRecord())


def _summary(body: VersionBody, decided: Sequence[Decided]) -> DraftSummary:
    return DraftSummary(
        operation=body.summary.operation,
        proposals=len(body.proposals),
        rejected=sum(not item.decision.accepted for item in decided),
        added=body.summary.added,
        removed=body.summary.removed,
    )
