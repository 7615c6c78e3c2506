"""What was asked for: whose file is whose, and which proposal may do what. The model judges versions by it."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from headgate_schemas.messages.operations import (
    Append,
    CompactState,
    Delete,
    Operation,
    Overwrite,
    Purge,
    Restore,
    Rewrite,
    Writer,
)


@dataclass(frozen=True, slots=True)
class Ask:
    """One proposal, as far as a version tells what became of it."""

    id: str
    table: str
    kind: str
    adds: frozenset[str] = frozenset()
    removes: frozenset[str] = frozenset()
    """Named ones; what a predicate selects is the table's business."""
    where: str | None = None
    """The predicate of an overwrite or a delete; None where it takes everything, or has none."""
    version: int | None = None
    """That a restore goes back to."""
    may_remove: bool = False
    may_add_anything: bool = False
    writer: Writer | None = None
    manifests: frozenset[str] = frozenset()
    """Those that a swap brings in."""
    purges: frozenset[str] = frozenset()
    of_worker: bool = False
    is_new_data: bool = False
    """An append of new files, well described, that depends on nothing: nobody may refuse it."""


def ask_of(
    proposal_id: str,
    table: str,
    operation: Operation,
    writer: Writer | None = None,
    *,
    of_worker: bool = False,
    is_new_data: bool = False,
) -> Ask:
    adds: frozenset[str] = frozenset()
    removes: frozenset[str] = frozenset()
    manifests: frozenset[str] = frozenset()
    purges: frozenset[str] = frozenset()
    where: str | None = None
    version: int | None = None
    match operation:
        case Append(files):
            adds = frozenset(file.path for file in files)
        case Overwrite(files, where):
            adds = frozenset(file.path for file in files)
        case Delete(paths, where):
            removes = frozenset(paths)
        case Restore(version):
            pass
        case Rewrite(sources, files):
            removes, adds = frozenset(sources), frozenset(file.path for file in files)
        case CompactState():
            manifests = frozenset(manifest.path for manifest in operation.adds)
        case Purge(paths):
            purges = frozenset(paths)
        case _:
            pass
    return Ask(
        proposal_id,
        table,
        type(operation).__name__,
        adds,
        removes,
        where,
        version,
        may_remove=isinstance(operation, Overwrite | Delete | Rewrite | Restore),
        may_add_anything=isinstance(operation, Restore),
        writer=writer,
        manifests=manifests,
        purges=purges,
        of_worker=of_worker,
        is_new_data=is_new_data,
    )


@dataclass(slots=True)
class Asks:
    """All that was ever asked. One id may be asked for several times, always for the same."""

    by_id: dict[str, Ask] = field(default_factory=dict)
    owners: dict[str, set[str]] = field(default_factory=dict)
    """By path, the ids of the proposals that want to add it."""

    def add(self, ask: Ask) -> None:
        known = self.by_id.setdefault(ask.id, ask)
        assert known == ask, f"the workload used the id {ask.id} for two different proposals"
        for path in ask.adds:
            self.owners.setdefault(path, set()).add(ask.id)

    def wanting(self, path: str) -> Iterator[Ask]:
        """The proposals that want to add the path."""
        return (self.by_id[identity] for identity in sorted(self.owners.get(path, ())))
