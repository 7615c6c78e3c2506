"""When a state should be compacted and what to rewrite: pure plans. Running them is `compactor`'s."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from headgate_schemas.actions import NULL_PARTITION
from headgate_table.indextables.map_column import map_values
from headgate_table.indextables.options import TableOptions
from headgate_table.indextables.state_manifest import StateManifest

_INTEGERS = frozenset({"byte", "short", "integer", "long"})
_SMALL_SHARE = 4
"""A manifest under a quarter of the allowed entries counts as small."""


@dataclass(frozen=True, slots=True)
class CompactionPlan:
    """The manifests to rewrite, by their places in the state; empty when there is nothing to do."""

    rewrite: tuple[int, ...]
    reason: str

    @property
    def is_needed(self) -> bool:
        return bool(self.rewrite)


def compaction_due(state: StateManifest, options: TableOptions, new_removes: int = 0) -> str | None:
    """Why the state should be compacted, by the triggers of the format; None when it needn't be."""
    entries = sum(info.num_entries for info in state.manifests)
    dead = len(state.tombstones) + new_removes
    if state.num_files <= 0 and entries > 0:
        return "no file is live any more"
    if state.num_files > 0 and dead / state.num_files > options.compaction_tombstone_threshold:
        return f"{dead} tombstones for {state.num_files} live files"
    # A table may be so large that even a compact state has more manifests than the limit.
    allowed = max(options.compaction_max_manifests, 2 * -(-state.num_files // options.state_entries_per_manifest))
    if len(state.manifests) > allowed:
        return f"{len(state.manifests)} manifests"
    if new_removes > options.compaction_large_remove_threshold:
        return f"{new_removes} files removed at once"
    return None


def plan_compaction(
    state: StateManifest, dead: Sequence[int], options: TableOptions, *, full: bool = False
) -> CompactionPlan:
    """What to rewrite. `dead` counts the tombstoned entries of each manifest.

    `full` rewrites everything unless the state is clean and compact already. Otherwise only manifests with many dead
    entries, and small ones, are rewritten: the rest is carried.
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
    small = options.state_entries_per_manifest // _SMALL_SHARE
    chosen = [
        place
        for place, info in enumerate(state.manifests)
        if info.num_entries == 0
        or dead[place] / info.num_entries > options.compaction_tombstone_threshold
        or info.num_entries < small
    ]
    if len(chosen) == 1 and not dead[chosen[0]]:
        chosen = []  # one small manifest alone would only be copied
    rest = sum(dead[place] for place in everything if place not in set(chosen))
    if rest and len(state.tombstones) - sum(
        dead[place] for place in chosen
    ) > options.compaction_tombstone_threshold * max(1, state.num_files):
        return CompactionPlan(everything, reason)
    return CompactionPlan(tuple(chosen) or everything, reason)


def partition_order(entries: pa.Table, partition_columns: Sequence[str], kinds: Mapping[str, str]) -> pa.Array:
    """The order of entries by their partition values: integers as numbers, nulls last, otherwise as they came."""
    if not partition_columns or not entries.num_rows:
        return pa.array(range(entries.num_rows), pa.int64())
    keys = {}
    for number, column in enumerate(partition_columns):
        texts = map_values(entries.column("partition_values"), column)
        texts = pc.if_else(pc.equal(texts, NULL_PARTITION), pa.scalar(None, pa.string()), texts)
        if kinds.get(column) in _INTEGERS:
            numeric = pc.match_substring_regex(texts, r"^[+-]?[0-9]{1,18}$")
            numbers = pc.if_else(numeric, texts, pa.scalar(None, pa.string()))
            keys[f"n{number}"] = pc.replace_substring_regex(numbers, r"^\+", "").cast(pa.int64())
        keys[f"t{number}"] = texts
    return pc.sort_indices(pa.table(keys), sort_keys=[(name, "ascending", "at_end") for name in keys])


def _is_clean(state: StateManifest, options: TableOptions) -> bool:
    """No tombstones, and no more manifests than the entries need."""
    if state.tombstones:
        return False
    entries = sum(info.num_entries for info in state.manifests)
    return len(state.manifests) <= max(1, -(-entries // options.state_entries_per_manifest))
