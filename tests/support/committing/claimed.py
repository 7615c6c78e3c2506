"""Proposals whose operation lies on the table's store, as large ones travel."""

from headgate_bus.claims import put_claim
from headgate_schemas.messages.proposals import Proposal, encode_claimed
from support.committing.rig import Rig


def claimed(rig: Rig, proposal: Proposal) -> Proposal:
    """The same proposal, its operation put behind a claim."""
    assert proposal.operation is not None
    claim = put_claim(
        rig.stores[proposal.table],
        proposal.id,
        encode_claimed(proposal.operation),
        files=1,
        now_ms=rig.ambient.now_ms(),
    )
    return proposal.model_copy(update={"operation": None, "claim": claim})
