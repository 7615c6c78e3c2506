"""The needs of a Delta mirror beside the table: which versions must stay for it, and which of its objects may be
deleted.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from headgate_table.delta.names import FOLDER, DeltaListing, delta_listing
from headgate_table.indextables.cleaning.plan import HOUR_MS, Category, Deletion, Protected, margin_ms
from headgate_table.indextables.log.inventory import LogInventory
from headgate_table.settings.options import TableOptions
from headgate_table.store.interface import Store

NO_MIRROR = DeltaListing({}, {})


@dataclass(frozen=True, slots=True)
class MirrorTerms:
    """The mirror's objects, and the time that its readers get."""

    listing: DeltaListing
    retention_ms: int

    def protecting(self, protected: Protected, now_ms: int) -> Protected:
        """Also protects the versions that the mirror has not published, and those that it published lately.

        A version file names the files that it removed, so these stay with it.
        """
        if self.listing.is_empty:
            return protected
        known = [version for version, info in self.listing.commits.items() if self._is_old(info.modified_ms, now_ms)]
        needed = max(known, default=self.listing.first - 1) + 1
        others = protected.versions_from
        return replace(protected, versions_from=needed if others is None else min(others, needed))

    def expired(self, inventory: LogInventory, gone: Collection[str], now_ms: int) -> Iterator[Deletion]:
        """Commits and checkpoints below the last checkpoint that the table's oldest version needs, after these keys are
        deleted.
        """
        retained = min(_left(inventory, gone), default=0)
        base = max((version for version in self.listing.checkpoints if version <= retained), default=0)
        reason = f"the table doesn't retain the versions below {retained} any more, and the mirror has a checkpoint at {base}"
        for info in self.listing.below(base):
            if self._is_old(info.modified_ms, now_ms):
                yield Deletion(info.key, info.size, Category.MIRROR, reason)

    def _is_old(self, modified_ms: int, now_ms: int) -> bool:
        return now_ms - modified_ms > self.retention_ms


def _left(inventory: LogInventory, gone: Collection[str]) -> Iterator[int]:
    """The numbers of versions, states and checkpoints without the deleted objects."""
    for objects in (inventory.versions, inventory.checkpoints):
        yield from (number for number, info in objects.items() if info.key not in gone)
    for number, folder in inventory.states.items():
        if folder.manifest is not None and folder.manifest.key not in gone:
            yield number


def mirror_at(store: Store, options: TableOptions) -> MirrorTerms:
    """The mirror's terms. If the settings ask for no mirror, nothing is protected and nothing expires."""
    listing = delta_listing(store.list(f"{FOLDER}/")) if "delta" in options.mirror_formats else NO_MIRROR
    return MirrorTerms(listing, options.mirror_retention_hours * HOUR_MS + margin_ms(options))
