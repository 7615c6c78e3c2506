"""Deleting what a plan lists, in its order and in batches, and counting what was done."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from headgate_schemas.logs import get_logger
from headgate_table.errors import StoreError
from headgate_table.indextables.cleaning import Category, Deletion
from headgate_table.store.interface import Store

BATCH = 1000
"""What the largest stores delete with one request."""

_log = get_logger("headgate.clean")


@dataclass(slots=True)
class Deleted:
    """What was deleted so far, and what went wrong."""

    done: list[Deletion] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def count(self, category: Category) -> int:
        return sum(deletion.category is category for deletion in self.done)

    def states(self) -> int:
        return count_states(self.done)

    @property
    def bytes(self) -> int:
        return sum(deletion.size for deletion in self.done)


def count_states(deletions: Sequence[Deletion]) -> int:
    """How many states these deletions take away; a folder may hold several objects."""
    return len({item.key.rpartition("/")[0] for item in deletions if item.category is Category.STATE})


def delete_all(store: Store, deletions: Sequence[Deletion], deleted: Deleted) -> bool:
    """Delete in the given order. The first failure ends it, since what comes later leans on what came before."""
    position = 0
    while position < len(deletions):
        batch = _next_batch(deletions, position)
        try:
            store.delete([deletion.key for deletion in batch])
        except StoreError as error:
            left = len(deletions) - position
            deleted.problems.append(f"{error}; {left} objects were left for the next run")
            _log.warning("delete_failed", table=store.uri, key=batch[0].key, left=left, reason=str(error))
            return False
        deleted.done.extend(batch)
        position += len(batch)
    return True


def _next_batch(deletions: Sequence[Deletion], position: int) -> Sequence[Deletion]:
    category = deletions[position].category
    if category in (Category.VERSION, Category.STATE):
        # One request deletes in any order, but versions must go as a prefix, and a state before what lies beside it.
        return deletions[position : position + 1]
    end = position
    while end < min(len(deletions), position + BATCH) and deletions[end].category is category:
        end += 1
    return deletions[position:end]
