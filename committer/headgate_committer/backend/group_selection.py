"""Choosing the proposals that one version may decide together, by the rule of a table's format; their operations are opened."""

from collections.abc import Sequence
from typing import Protocol

from headgate_bus.claims import ClaimLimits, open_claim
from headgate_bus.errors import ClaimFault, ClaimRefused
from headgate_committer.deciding.grouping import Item, OpenedProposal
from headgate_committer.proposals.intake import QueuedProposal, UndecidableRecord
from headgate_committer.proposals.triage import AlreadyDecided, BeyondMemory, Fresh
from headgate_schemas.messages.message_shape import UnreadableMessage
from headgate_schemas.messages.operation_bodies import operation_of
from headgate_schemas.messages.operations import Operation, RejectCode
from headgate_schemas.messages.proposals import decode_claimed
from headgate_table.store.interface import Store


class GroupRule(Protocol):
    """Which new proposals go together, as one group is put together."""

    def admits(self, proposal: OpenedProposal, *, is_first: bool) -> bool:
        """Whether the proposal joins those before it; `is_first` where there is none yet. The group ends before one that doesn't."""
        ...

    @property
    def is_full(self) -> bool:
        """Whether nothing joins any more."""
        ...


def select_group(
    triaged: Sequence[AlreadyDecided | BeyondMemory | Fresh], rule: GroupRule, store: Store, claims: ClaimLimits
) -> list[Item]:
    """As many of the first as go together. Operations are opened one by one: those beyond the group's end are never read."""
    items: list[Item] = []
    is_first = True
    for entry in triaged:
        if rule.is_full:
            break
        if isinstance(entry, AlreadyDecided):
            items.append(entry)
            continue
        if isinstance(entry, BeyondMemory):
            items.append(entry.aside)
            continue
        opened = open_operation(entry.undecided, store, claims)
        if isinstance(opened, UndecidableRecord):
            items.append(opened)
            continue
        proposal = OpenedProposal(entry.undecided, opened)
        if not rule.admits(proposal, is_first=is_first):
            break
        items.append(proposal)
        is_first = False
    return items


def open_operation(undecided: QueuedProposal, store: Store, claims: ClaimLimits) -> Operation | UndecidableRecord:
    """The operation of a proposal, from behind its claim if it has one."""
    proposal = undecided.proposal
    if proposal.operation is not None:
        return operation_of(proposal.operation)
    assert proposal.claim is not None, "a proposal has an operation or a claim"
    try:
        return decode_claimed(open_claim(store, proposal.claim, claims))
    except UnreadableMessage as error:
        code, reason = RejectCode.UNREADABLE, str(error)
    except ClaimRefused as error:
        code = RejectCode.OVER_BOUND if error.fault is ClaimFault.OVER_BOUND else RejectCode.UNREADABLE
        reason = str(error)
    return UndecidableRecord(undecided.record, code, reason, proposal.id, proposal.table)
