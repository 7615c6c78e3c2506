"""Deletes the objects of a plan: in its order, in batches, at a limited rate, and into quarantine if that is set."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from headgate_schemas.ambient import Ambient
from headgate_schemas.logs import get_logger
from headgate_schemas.measures import SILENT, Measures
from headgate_schemas.metrics import CLEANED_BYTES, CLEANED_OBJECTS
from headgate_table.errors import StoreError
from headgate_table.indextables.cleaning.plan import Category, Deletion
from headgate_table.indextables.cleaning.quarantine import QUARANTINED, quarantine_key
from headgate_table.indextables.format.names import LOG, parse_state_folder
from headgate_table.settings.options import TableOptions
from headgate_table.store.copying import copy_object
from headgate_table.store.interface import Store
from headgate_table.store.local.leftovers import remove_emptied_staging, remove_if_empty

BATCH = 1000
"""What the largest stores delete with one request."""

_log = get_logger("headgate.clean")


@dataclass(slots=True)
class Deleted:
    """The deleted objects so far, and the problems."""

    done: list[Deletion] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def count(self, category: Category) -> int:
        return sum(deletion.category is category for deletion in self.done)

    def states(self) -> int:
        return count_states(self.done)


def count_states(deletions: Sequence[Deletion]) -> int:
    """The number of states that these deletions remove; a folder may hold several objects."""
    return len({item.key.rpartition("/")[0] for item in deletions if item.category is Category.STATE})


def _always() -> bool:
    return True


def _go_on() -> None:
    return


class Deleter:
    """Deletes from one table, during one run. `give_up` is called before every request, and may raise to end the run."""

    def __init__(
        self,
        store: Store,
        ambient: Ambient,
        options: TableOptions,
        give_up: Callable[[], None] = _go_on,
        measures: Measures = SILENT,
    ) -> None:
        self._store = store
        self._ambient = ambient
        self._per_second = options.purge_deletes_per_second
        self._has_quarantine = options.purge_quarantine_hours > 0
        self._give_up = give_up
        self._measures = measures
        self._next_s = ambient.monotonic_s()

    def delete_all(
        self, deletions: Sequence[Deletion], deleted: Deleted, may_go_on: Callable[[], bool] = _always
    ) -> bool:
        """Delete in the given order; returns whether all was deleted.

        The first failure ends it, because later deletions depend on earlier ones. `may_go_on`, which is called right
        before every request, ends it too.
        """
        position = 0
        while position < len(deletions):
            batch = self._next_batch(deletions, position)
            self._wait(len(batch))
            self._give_up()
            left = len(deletions) - position
            try:
                self._copy(batch)
                if not may_go_on():  # called last, because the calls before it may have taken time
                    deleted.problems.append(f"it took too long; {left} objects were left for the next run")
                    return False
                self._store.delete([deletion.key for deletion in batch])
            except StoreError as error:
                deleted.problems.append(f"{error}; {left} objects were left for the next run")
                _log.warning("delete_failed", table=self._store.uri, key=batch[0].key, left=left, reason=str(error))
                return False
            self._remove_emptied(batch)
            deleted.done.extend(batch)
            self._measure(batch)
            position += len(batch)
        return True

    def _measure(self, batch: Sequence[Deletion]) -> None:
        """All objects of a batch have the same category."""
        category = batch[0].category.value.replace(" ", "_")
        self._measures.count(CLEANED_OBJECTS, category, by=len(batch))
        self._measures.count(CLEANED_BYTES, category, by=sum(deletion.size for deletion in batch))

    def _copy(self, batch: Sequence[Deletion]) -> None:
        if self._has_quarantine and batch[0].category in QUARANTINED:
            now_ms = self._ambient.now_ms()
            for deletion in batch:
                self._give_up()
                copy_object(self._store, deletion.key, quarantine_key(deletion.key, now_ms))

    def _remove_emptied(self, batch: Sequence[Deletion]) -> None:
        """Remove the emptied folders of a local disk.

        Every listing of the log would take a state's empty folder for a state; folders of killed batches would pile up.
        """
        for folder in sorted({deletion.key.rpartition("/")[0] for deletion in batch}):
            above, _, name = folder.rpartition("/")
            if above == LOG and parse_state_folder(name) is not None:
                remove_if_empty(self._store, folder)
            remove_emptied_staging(self._store, folder)

    def _wait(self, count: int) -> None:
        """Wait until these may be deleted: after a request with many deletes, the next one waits for all of them."""
        now_s = self._ambient.monotonic_s()
        if now_s < self._next_s:
            self._ambient.sleep(self._next_s - now_s)
        self._next_s = max(now_s, self._next_s) + count / self._per_second

    def _next_batch(self, deletions: Sequence[Deletion], position: int) -> Sequence[Deletion]:
        category = deletions[position].category
        if category in (Category.VERSION, Category.STATE, Category.CHECKPOINT):
            # One request deletes in any order, but versions must go as a prefix, and states and checkpoints before
            # their parts.
            return deletions[position : position + 1]
        most = min(BATCH, self._per_second)
        end = position
        while end < min(len(deletions), position + most) and deletions[end].category is category:
            end += 1
        return deletions[position:end]
