"""What an accepted operation becomes in a version file: its lines, in order. Pure; writing it is `version_writer`'s."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from headgate_schemas.actions import NULL_PARTITION, Action, AddFile, CommitInfo, Metadata
from headgate_schemas.doc_mapping import registry_key
from headgate_schemas.operations import CompactState, Operation
from headgate_schemas.table_schema import column_kinds
from headgate_schemas.version import __version__
from headgate_table.indextables.decide import Effect
from headgate_table.indextables.doc_mappings import deduplicate
from headgate_table.indextables.options import TableOptions
from headgate_table.indextables.statistics import limit_columns, truncate_statistics


@dataclass(frozen=True, slots=True)
class VersionBody:
    """One version, ready to be written. The nonce belongs to this body alone: it tells ours from another's."""

    version: int
    proposal_id: str
    nonce: str
    actions: list[Action]


def version_body(
    version: int,
    operation: Operation,
    effect: Effect,
    metadata: Metadata,
    registry: Mapping[str, str],
    options: TableOptions,
    *,
    proposal_id: str,
    nonce: str,
    time_ms: int,
) -> VersionBody:
    """Metadata if it changes, removes, adds, skips, and the line that says who wrote this and what it decided."""
    adds, mappings = _stored_adds(effect, metadata, registry, options)
    if effect.swap is not None:
        mappings |= {registry_key(hash_): text for hash_, text in effect.swap.mappings.items()}
    changed = effect.metadata
    if mappings:
        changed = replace(changed or metadata, configuration={**(changed or metadata).configuration, **mappings})
    body: dict[str, Any] = {
        "timestamp": time_ms,
        "operation": type(operation).__name__,
        "engine": f"headgate/{__version__}",
        "nonce": nonce,
        "summary": {
            "added": len(adds),
            "removed": len(effect.removes),
            "addedBytes": sum(add.size for add in adds),
            "removedBytes": sum(remove.size or 0 for remove in effect.removes),
        },
        "decisions": [{"id": proposal_id, "accepted": True}],
    }
    if effect.purged:
        body["purged"] = list(effect.purged)
    if effect.swap is not None:
        body["swap"] = _swap_body(effect.swap)
    actions: list[Action] = [] if changed is None else [changed]
    actions += [*effect.removes, *adds, *effect.skips, CommitInfo(body)]
    return VersionBody(version, proposal_id, nonce, actions)


def _stored_adds(
    effect: Effect, metadata: Metadata, registry: Mapping[str, str], options: TableOptions
) -> tuple[list[AddFile], dict[str, str]]:
    """The adds as the format wants them: mappings by reference, statistics limited and shortened."""
    deduplicated = deduplicate(map(_with_stored_nulls, effect.adds), registry)
    columns = list(column_kinds(metadata.schema_string))
    limited = [
        truncate_statistics(
            limit_columns(add, columns, options.data_skipping_columns),
            metadata.partition_columns,
            max_length=options.stats_max_length,
            enabled=options.stats_truncation,
        )
        for add in deduplicated.adds
    ]
    return limited, {registry_key(hash_): text for hash_, text in deduplicated.new_entries.items()}


def _with_stored_nulls(add: AddFile) -> AddFile:
    """A null partition value as it is stored, so that this process sees what all others will read."""
    given: Mapping[str, str | None] = add.partition_values
    if None not in given.values():
        return add
    values = {column: NULL_PARTITION if value is None else value for column, value in given.items()}
    return replace(add, partition_values=values)


def _swap_body(swap: CompactState) -> dict[str, Any]:
    return {
        "base": swap.base,
        "removes": list(swap.removes),
        "adds": [
            {
                "path": manifest.path,
                "numEntries": manifest.num_entries,
                "minAddedAtVersion": manifest.min_added_at_version,
                "maxAddedAtVersion": manifest.max_added_at_version,
                "totalBytes": manifest.total_bytes,
                "partitionBounds": None
                if manifest.partition_bounds is None
                else {column: list(pair) for column, pair in manifest.partition_bounds.items()},
            }
            for manifest in swap.adds
        ],
        "tombstones": len(swap.tombstones),
    }
