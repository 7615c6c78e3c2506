"""Deciding a group for a Milvus table: transactions in order, each upon the manifest that those before it leave. Pure.

An `overwrite` drops what came after the version that it read, so it begins a group, as whoever makes the group sees to:
otherwise a change would be accepted in a version that doesn't hold it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from headgate_committer.deciding.group_so_far import GroupSoFar
from headgate_committer.deciding.grouping import Item, OpenedProposal
from headgate_committer.proposals.answers import Answer, set_aside
from headgate_committer.proposals.intake import UndecidableRecord
from headgate_committer.proposals.triage import AlreadyDecided
from headgate_schemas.messages.operations import Milvus, Operation, RejectCode, Rejected
from headgate_schemas.milvus import Resolver
from headgate_table.coordination.commit_info import Decision
from headgate_table.coordination.memory import TableMemory
from headgate_table.coordination.refusals import Refusal
from headgate_table.milvus.format.manifest import Manifest
from headgate_table.milvus.format.paths import ManifestBase
from headgate_table.milvus.rules.decide import SeenManifest, decide_transaction, needs_read

Fits = Callable[[Manifest], Refusal | None]
"""Why a manifest can't be written, if it can't."""


@dataclass(frozen=True, slots=True)
class ManifestPlan:
    """One version: its manifest, and what it decides. Without decisions, nothing is new."""

    manifest: Manifest
    decisions: tuple[Decision, ...]
    answers: tuple[Answer, ...]
    """To the items that were taken, in their order; true once the version is written."""

    @property
    def is_changed(self) -> bool:
        return any(decision.accepted for decision in self.decisions)


def overwrites(operation: Operation) -> bool:
    return isinstance(operation, Milvus) and operation.resolver is Resolver.OVERWRITE


def version_needed(operation: Operation) -> int | None:
    """The version whose manifest the decision depends on, besides the newest."""
    return operation.read_version if isinstance(operation, Milvus) and needs_read(operation) else None


class ManifestGroupRule:
    """A transaction that overwrites begins a group, and so does one that needs another earlier version than those before
    it: one earlier manifest is in memory at most.

    Where there is no table yet, a group ends before what isn't a transaction: nobody knows whether there will be one.
    """

    is_full = False

    def __init__(self, newest: int) -> None:
        """`newest` is the version that the group is decided upon; 0 where there is no table yet."""
        self._newest = newest
        self._earlier: int | None = None

    def admits(self, proposal: OpenedProposal, *, is_first: bool) -> bool:
        opened = proposal.operation
        needed = version_needed(opened)
        needed = None if needed is None or needed >= self._newest else needed
        begins = overwrites(opened) or not (self._newest > 0 or isinstance(opened, Milvus))
        begins = begins or not (needed is None or self._earlier is None or needed == self._earlier)
        if begins and not is_first:
            return False
        self._earlier = self._earlier if needed is None else needed
        return True


def plan_manifest(
    items: Sequence[Item],
    seen: SeenManifest,
    memory: TableMemory,
    reads: Mapping[int, Manifest],
    base: ManifestBase,
    fits: Fits | None = None,
) -> ManifestPlan:
    """Decide as many of the items as go into the next version.

    `reads` holds the versions that `needs_read` asks for, as far as they are there. With `fits`, every manifest is asked
    about, and the group ends with the first change.
    """
    version = seen.version + 1
    so_far = GroupSoFar(version, memory)
    decisions: list[Decision] = []
    manifest, is_grown = seen.manifest, False
    for item in items:
        match item:
            case AlreadyDecided() | UndecidableRecord():
                so_far.answer(item)
                continue
            case OpenedProposal():
                pass
        if so_far.came_twice(item.undecided):
            continue
        if is_grown and fits is not None:
            break
        # What this group has changed lies after every version that anybody can have read.
        met = SeenManifest(seen.version, manifest, version if is_grown else seen.same_since)
        result = _decided(item, met, reads, base, so_far)
        if fits is not None and isinstance(result, Manifest):
            result = fits(replace(result, form=seen.manifest.form)) or result
        if isinstance(result, Manifest):
            manifest, is_grown = result, True
        decisions.append(so_far.decided(item.undecided, result if isinstance(result, Refusal) else None))
    return ManifestPlan(replace(manifest, form=seen.manifest.form), tuple(decisions), tuple(so_far.answers))


def _decided(
    asked: OpenedProposal, met: SeenManifest, reads: Mapping[int, Manifest], base: ManifestBase, so_far: GroupSoFar
) -> Manifest | Refusal:
    proposal = asked.undecided.proposal
    if proposal.read_set is not None:
        return Refusal(
            RejectCode.INVALID,
            "isolation serializable compares files with a predicate, which has no meaning for a Milvus table: use the "
            "resolver `fail`",
        )
    refused = so_far.refusal_of(proposal.written_by)
    if refused is not None:
        return refused
    version = version_needed(asked.operation)
    return decide_transaction(asked.operation, met, None if version is None else reads.get(version), base)


def without_table(uri: str, items: Sequence[Item], answers: Sequence[Answer]) -> tuple[Answer, ...]:
    """The answers where nothing is accepted and there is no table yet: no rejection makes one.

    Like every proposal to a place without a table, a rejected one goes to the dead letters.
    """
    told: list[Answer] = []
    for item, answer in zip(items, answers, strict=False):
        if isinstance(item, OpenedProposal) and isinstance(answer.receipt, Rejected):
            code, reason = answer.receipt.code, answer.receipt.reason
            told.append(
                set_aside(UndecidableRecord(item.undecided.record, code, reason, item.undecided.proposal.id, uri))
            )
        else:
            told.append(answer)
    return tuple(told)
