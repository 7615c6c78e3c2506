"""Plans when a state is compacted and which of its manifests are rewritten. Pure; `compactor` runs the plan."""

from collections.abc import Sequence
from dataclasses import dataclass

from headgate_table.indextables.format.state_manifest import StateManifest
from headgate_table.settings.options import TableOptions

_SMALL_SHARE = 4
"""A manifest under a quarter of the allowed entries counts as small."""


@dataclass(frozen=True, slots=True)
class CompactionPlan:
    """The manifests to rewrite, by their indexes in the state; empty if there is nothing to do."""

    rewrite: tuple[int, ...]
    reason: str
    idle: tuple[str, ...] = ()
    """Tombstones that hide nothing, and are let go."""

    @property
    def is_needed(self) -> bool:
        return bool(self.rewrite)


def compaction_due(state: StateManifest, options: TableOptions, new_removes: int = 0) -> str | None:
    """The reason to compact the state, by the triggers of the format; None if there is none."""
    entries = sum(info.num_entries for info in state.manifests)
    dead = len(state.tombstones) + new_removes
    if state.num_files <= 0 and entries > 0:
        return "no file is live any more"
    if state.num_files > 0 and dead / state.num_files > options.compaction_tombstone_threshold:
        return f"{dead} tombstones for {state.num_files} live files"
    if len(state.manifests) > _allowed_manifests(state, options):
        return f"{len(state.manifests)} manifests"
    if new_removes > options.compaction_large_remove_threshold:
        return f"{new_removes} files removed at once"
    return None


def plan_compaction(
    state: StateManifest, dead: Sequence[int], options: TableOptions, *, full: bool = False, idle: Sequence[str] = ()
) -> CompactionPlan:
    """The manifests to rewrite. `dead` counts the tombstoned entries of each manifest; `idle` are the tombstones
    without entries.

    `full` rewrites everything unless the state is clean and compact already. Otherwise only manifests with many dead
    entries, and small ones, are rewritten and the rest is carried over; unless compaction would then still be due.
    """
    everything = tuple(range(len(state.manifests)))
    if full:
        return (
            CompactionPlan((), "the state is compact already")
            if _is_clean(state, options)
            else CompactionPlan(everything, "full")
        )
    reason = compaction_due(state, options)
    if reason is None:
        return CompactionPlan((), "compaction is not due")
    step = options.state_entries_per_manifest
    chosen = [
        place
        for place, info in enumerate(state.manifests)
        if info.num_entries == 0
        or dead[place] / info.num_entries > options.compaction_tombstone_threshold
        or info.num_entries < step // _SMALL_SHARE
    ]
    if len(chosen) == 1 and not dead[chosen[0]]:
        chosen = []  # one small manifest alone would only be copied
    gone = sum(dead[place] for place in chosen)
    left = len(state.tombstones) - gone - len(idle)
    written = sum(state.manifests[place].num_entries for place in chosen) - gone
    manifests = len(state.manifests) - len(chosen) + -(-written // step)
    is_enough = left <= options.compaction_tombstone_threshold * max(
        1, state.num_files
    ) and manifests <= _allowed_manifests(state, options)
    if not chosen or not is_enough:
        return CompactionPlan(everything, reason)
    return CompactionPlan(tuple(chosen), reason, tuple(idle))


def _allowed_manifests(state: StateManifest, options: TableOptions) -> int:
    """A table may be so large that even a compact state has more manifests than the limit."""
    return max(options.compaction_max_manifests, 2 * -(-state.num_files // options.state_entries_per_manifest))


def _is_clean(state: StateManifest, options: TableOptions) -> bool:
    """No tombstones, and no more manifests than the entries need."""
    if state.tombstones:
        return False
    entries = sum(info.num_entries for info in state.manifests)
    return len(state.manifests) <= max(1, -(-entries // options.state_entries_per_manifest))
