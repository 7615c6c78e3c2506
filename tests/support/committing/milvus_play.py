"""What committers of a Milvus table are killed over: foreign versions, proposals of every kind, and the one end they must have."""

from collections.abc import Iterable, Sequence

from headgate_schemas.messages.events import ReceiptEvent
from headgate_schemas.messages.operations import Committed, Duplicate, Operation, Receipt, Rejected, Writer
from headgate_table.coordination.memory import MemoryLimits
from headgate_table.milvus.committed.log import recover_memory
from headgate_table.store.interface import Store
from support.committing.transactions import (
    adding,
    deleting,
    fail,
    foreign_commit,
    manifest_of,
    merge,
    names_in,
    newest,
    overwrite,
    record_of,
    recorded,
)

PROPOSED: Sequence[tuple[Operation, Writer | None]] = (
    (merge(adding("a")), None),
    (fail(adding("never"), 1), None),
    (merge(deleting("d")), Writer("job", 1)),
    (overwrite(adding("b"), 3), None),
    (merge(adding("c")), Writer("job", 2)),
    (merge(adding("again")), Writer("job", 2)),
    (overwrite(adding("last"), 5), None),
)
"""In this order, on a table with the foreign versions. The second comes too late; the sixth repeats its writer's batch."""


def lay_foreign_versions(store: Store) -> None:
    """They lie under what is proposed, so that a committer seals them."""
    for name in ("x", "y", "z"):
        foreign_commit(store, adding(name))


def meaning(receipt: Receipt) -> object:
    """A duplicate names the version that the first receipt named."""
    match receipt:
        case Committed(version) | Duplicate(version):
            return version
        case Rejected(code):
            return code


def check_receipts(announced: Iterable[object], ids: Sequence[str]) -> dict[str, object]:
    """Every proposal has a receipt, and all of one proposal mean the same; what they mean."""
    told: dict[str, set[object]] = {}
    for event in announced:
        if isinstance(event, ReceiptEvent):
            told.setdefault(event.proposal, set()).add(meaning(event.to_receipt()))
    assert told.keys() == set(ids)
    assert all(len(meanings) == 1 for meanings in told.values()), told
    return {identity: meanings.pop() for identity, meanings in told.items()}


def check_end(store: Store, announced: Iterable[object], ids: Sequence[str]) -> None:
    """Everything proposed happened once, in the versions that its receipts name, and what is remembered says so."""
    told = check_receipts(announced, ids)
    assert names_in(manifest_of(store)) == ["x", "y", "z", "b", "c", "last"]
    accepted: list[tuple[str, int]] = []
    for version in range(4, newest(store) + 1):
        record = record_of(store, version)
        assert record is not None
        assert record.commit is not None
        accepted += [(decision.id, version) for decision in record.commit.decisions if decision.accepted]
        if version == 4:
            assert names_in(manifest_of(store, 4)) == ["x", "y", "z", "a", "d"]
    assert [identity for identity, _ in accepted] == [ids[0], *ids[2:5], ids[6]]
    assert all(told[identity] == version for identity, version in accepted)
    assert told[ids[5]] == told[ids[4]], "a batch that is repeated is where its first is"
    standing = recorded(store).stand()
    assert standing is not None
    memory, _ = recover_memory(recorded(store), standing.record, MemoryLimits())
    assert memory.writers["job"][-1] == (2, dict(accepted)[ids[4]])
