"""Deciding a group: proposals of one table in order, each seeing the effects of those before, until the group must end. Pure.

In every version all removes come first, no path is both added and removed, and every accepted file is in the log: so a
group ends before a proposal that would remove what the group itself added.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from headgate_committer.deciding.group_so_far import GroupSoFar
from headgate_committer.proposals.answers import Answer
from headgate_committer.proposals.intake import QueuedProposal, UndecidableRecord
from headgate_committer.proposals.triage import AlreadyDecided
from headgate_schemas.actions.actions import Metadata
from headgate_schemas.columns.column_kinds import kinds_of
from headgate_schemas.columns.table_schema import column_kinds
from headgate_schemas.messages.operations import (
    Alter,
    CompactState,
    Create,
    Delete,
    Operation,
    Overwrite,
    Purge,
    Restore,
    Rewrite,
)
from headgate_schemas.predicates.partition_text import covering
from headgate_schemas.predicates.text import parse_predicate
from headgate_table.coordination.memory import TableMemory
from headgate_table.coordination.refusals import Refusal
from headgate_table.indextables.rules.decide import Blocked, Effect, Evidence, LiveFile, decide
from headgate_table.indextables.write.version_body import Decided


@dataclass(frozen=True, slots=True)
class OpenedProposal:
    """A new proposal whose operation is at hand."""

    undecided: QueuedProposal
    operation: Operation


Item = AlreadyDecided | OpenedProposal | UndecidableRecord

_ALONE = (Create, Alter, Restore, Purge, CompactState)
MAX_SELECTIONS = 8
"""Different predicates in one group: what they match is in memory at the same time."""


@dataclass(frozen=True, slots=True)
class GroupFacts:
    """Facts of the table that a group needs."""

    live: Mapping[str, LiveFile] = field(default_factory=dict)
    blocked: Mapping[str, Blocked] = field(default_factory=dict)
    matched: Mapping[int, Sequence[LiveFile]] = field(default_factory=dict)
    """By offset: the live files that a predicate selects."""
    refused: Mapping[int, Refusal] = field(default_factory=dict)
    """Refusals by offset that hold whatever the group does."""
    alone: Evidence | None = None
    """All facts for the first proposal, if it commits alone."""


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """One version, or none where nothing is new."""

    decided: tuple[Decided, ...]
    answers: tuple[Answer, ...]
    """To the items that were taken, in their order; true once the version is written."""


def commits_alone(operation: Operation) -> bool:
    """Whether a version must hold nothing else, because the facts for it don't count beside other effects."""
    return isinstance(operation, _ALONE)


def selects(operation: Overwrite | Delete) -> bool:
    """Whether it takes the files that match a predicate, or all."""
    return isinstance(operation, Overwrite) or operation.where is not None


class VersionGroupRule:
    """A proposal that commits alone is a group of its own. One with a read set begins a group. The number of different predicates
    is bounded, because the table is searched for each.
    """

    def __init__(self) -> None:
        self.is_full = False
        self._selections: set[str | None] = set()

    def admits(self, proposal: OpenedProposal, *, is_first: bool) -> bool:
        operation = proposal.operation
        alone = commits_alone(operation)
        if not is_first and (alone or proposal.undecided.proposal.read_set is not None):
            return False
        if isinstance(operation, Overwrite | Delete) and selects(operation):
            self._selections.add(operation.where)
            if len(self._selections) > MAX_SELECTIONS:
                return False
        self.is_full = alone
        return True


def plan_group(
    items: Sequence[Item], version: int, metadata: Metadata, memory: TableMemory, facts: GroupFacts, now_ms: int
) -> GroupPlan:
    """Decide as many of the items as go into one version, which will have this number."""
    group = _Group(version, metadata, memory, facts, now_ms)
    for item in items:
        match item:
            case AlreadyDecided() | UndecidableRecord():
                group.so_far.answer(item)
            case OpenedProposal():
                if not group.take(item):
                    break
    return GroupPlan(tuple(group.decided), tuple(group.so_far.answers))


class _Group:
    """The group so far, and the table as it would be with it."""

    def __init__(self, version: int, metadata: Metadata, memory: TableMemory, facts: GroupFacts, now_ms: int) -> None:
        self.decided: list[Decided] = []
        self.so_far = GroupSoFar(version, memory)
        self._metadata = metadata
        self._kinds = kinds_of(column_kinds(metadata.schema_string))
        self._facts = facts
        self._now_ms = now_ms
        self._added: dict[str, LiveFile] = {}
        self._removed: set[str] = set()
        self._is_closed = False

    def take(self, asked: OpenedProposal) -> bool:
        """Decide one more proposal. False where it has to wait for the next group."""
        if self.so_far.came_twice(asked.undecided):
            return True
        # A refusal that always holds doesn't end the group. The predicate of such a proposal may not even parse.
        refused = self._refused(asked)
        may_wait = self.decided and refused is None
        if self._is_closed or (may_wait and self._must_wait(asked)):
            return False
        result = refused or self._decide(asked)
        decision = self.so_far.decided(asked.undecided, result if isinstance(result, Refusal) else None)
        effect = result if isinstance(result, Effect) else Effect()
        self._apply(effect)
        self.decided.append(Decided(asked.operation, effect, decision))
        self._is_closed = commits_alone(asked.operation)
        return True

    def _must_wait(self, asked: OpenedProposal) -> bool:
        operation = asked.operation
        if commits_alone(operation):
            return True
        if asked.undecided.proposal.read_set is not None and (self._added or self._removed):
            return True  # its read set is compared with the log, which has none of these effects yet
        match operation:
            case Overwrite(where=where):
                return self._selects_added(where)
            case Delete(paths=paths, where=where):
                return any(path in self._added for path in paths) or (where is not None and self._selects_added(where))
            case Rewrite(removes=removes):
                return any(path in self._added for path in removes)
            case _:
                return False

    def _selects_added(self, where: str | None) -> bool:
        if where is None or not self._added:
            return bool(self._added)
        is_inside = covering(parse_predicate(where), self._kinds)
        return any(is_inside(file.partition_values) for file in self._added.values())

    def _refused(self, asked: OpenedProposal) -> Refusal | None:
        """The refusal that holds whatever the table contains."""
        refused = self._facts.refused.get(asked.undecided.offset)
        return refused or self.so_far.refusal_of(asked.undecided.proposal.written_by)

    def _decide(self, asked: OpenedProposal) -> Effect | Refusal:
        offset = asked.undecided.offset
        evidence = self._facts.alone
        if evidence is None or not commits_alone(asked.operation):
            evidence = self._seen_by(asked.operation, offset)
        return decide(asked.operation, self._metadata, evidence, self._now_ms)

    def _seen_by(self, operation: Operation, offset: int) -> Evidence:
        """The table with the effects of the group so far."""
        if not self._added and not self._removed:
            return Evidence(self._facts.live, self._facts.blocked, self._facts.matched.get(offset, ()))
        live = {path: file for path in _named(operation) if (file := self._live(path)) is not None}
        blocked = {
            path: Blocked.REMOVED if path in self._removed else self._facts.blocked[path]
            for path in _named(operation)
            if path in self._removed or (path in self._facts.blocked and path not in self._added)
        }
        matched = [file for file in self._facts.matched.get(offset, ()) if file.path not in self._removed]
        return Evidence(live, blocked, matched)

    def _live(self, path: str) -> LiveFile | None:
        if path in self._removed:
            return None
        return self._added.get(path) or self._facts.live.get(path)

    def _apply(self, effect: Effect) -> None:
        self._removed.update(remove.path for remove in effect.removes)
        for add in effect.adds:
            self._added[add.path] = LiveFile(add.path, add.partition_values, add.size, add.num_records)


def _named(operation: Operation) -> list[str]:
    """The paths that an operation names."""
    paths = [file.path for file in getattr(operation, "files", ())]
    match operation:
        case Delete(paths=named):
            paths += named
        case Rewrite(removes, adds):
            paths += [*removes, *(add.path for add in adds)]
        case _:
            pass
    return paths
