"""The lines of an accepted operation's version file, in order. Pure; `version_writer` writes it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from headgate_schemas.actions.actions import (
    NULL_PARTITION,
    Action,
    AddFile,
    CommitInfo,
    Metadata,
    Protocol,
    StoredTexts,
)
from headgate_schemas.actions.doc_mapping import registry_key
from headgate_schemas.columns.table_schema import column_kinds
from headgate_schemas.messages.operations import CompactState, Operation
from headgate_schemas.version import __version__
from headgate_table.coordination.commit_info import Decision, Settled, Term
from headgate_table.indextables.format.doc_mappings import deduplicate
from headgate_table.indextables.format.version_seal import SEALED
from headgate_table.indextables.log.predecessor import Predecessor
from headgate_table.indextables.rules.decide import Effect
from headgate_table.parquet.statistics import limit_columns, truncate_statistics
from headgate_table.settings.options import TableOptions
from headgate_table.totals import as_total


@dataclass(frozen=True, slots=True)
class Decided:
    """A proposal, and its effect on the table; a rejected one has none."""

    operation: Operation
    effect: Effect
    decision: Decision


@dataclass(frozen=True, slots=True)
class Author:
    """The writer of a version and its term, and the proposals of the bus that the version settles."""

    term: Term
    settled: Settled | None = None
    rebound: bool = False


@dataclass(frozen=True, slots=True)
class Summary:
    """The counts of a version."""

    operation: str
    added: int
    removed: int
    added_bytes: int
    removed_bytes: int


@dataclass(frozen=True, slots=True)
class VersionBody:
    """One version, ready to be written. Its nonce is unique, and distinguishes it from other writers' versions."""

    version: int
    nonce: str
    actions: list[Action]
    summary: Summary
    proposals: tuple[str, ...]
    """The ids of all proposals that it decides."""


def version_body(
    version: int,
    decided: Sequence[Decided],
    metadata: Metadata,
    registry: Mapping[str, str],
    options: TableOptions,
    *,
    nonce: str,
    time_ms: int,
    author: Author | None = None,
    protocol: Protocol | None = None,
    before: Predecessor | None = None,
) -> VersionBody:
    """Metadata if it changes, all removes, all adds, skips, and the line with the author and the decisions.

    No path may be removed by one effect and added by another. At most one effect changes metadata or swaps manifests.
    """
    effect = _merged([item.effect for item in decided])
    adds, mappings = _stored_adds(effect, metadata, registry, options)
    if effect.swap is not None:
        mappings |= {registry_key(hash_): text for hash_, text in effect.swap.mappings.items()}
    changed = effect.metadata
    if mappings:
        changed = replace(changed or metadata, configuration={**(changed or metadata).configuration, **mappings})
    summary = Summary(
        operation=_operation(decided),
        added=len(adds),
        removed=len(effect.removes),
        added_bytes=as_total(sum(add.size for add in adds)),
        removed_bytes=as_total(sum(remove.size or 0 for remove in effect.removes)),
    )
    body: dict[str, Any] = {
        "timestamp": time_ms,
        "operation": summary.operation,
        "engine": f"headgate/{__version__}",
        "nonce": nonce,
        SEALED: True,
        "summary": {
            "added": summary.added,
            "removed": summary.removed,
            "addedBytes": summary.added_bytes,
            "removedBytes": summary.removed_bytes,
        },
        "decisions": [item.decision.to_json() for item in decided],
    }
    if before is not None and before.nonce:
        body["previous"] = before.nonce
    if author is not None:
        body["committer"] = {"id": author.term.committer, "epoch": author.term.epoch}
        if author.settled is not None:
            body["source"] = author.settled.to_json()
        if author.rebound:
            body["rebound"] = True
    if effect.purged:
        body["purged"] = list(effect.purged)
    if effect.swap is not None:
        body["swap"] = _swap_body(effect.swap)
    actions: list[Action] = [] if protocol is None else [protocol]
    actions += [] if changed is None else [changed]
    actions += [*effect.removes, *adds, *effect.skips, CommitInfo(body)]
    return VersionBody(version, nonce, actions, summary, tuple(item.decision.id for item in decided))


def _merged(effects: Sequence[Effect]) -> Effect:
    if len(effects) == 1:
        return effects[0]
    return Effect(
        removes=tuple(remove for effect in effects for remove in effect.removes),
        adds=tuple(add for effect in effects for add in effect.adds),
        metadata=next((effect.metadata for effect in effects if effect.metadata is not None), None),
        skips=tuple(skip for effect in effects for skip in effect.skips),
        purged=tuple(path for effect in effects for path in effect.purged),
        swap=next((effect.swap for effect in effects if effect.swap is not None), None),
        re_adds=any(effect.re_adds for effect in effects),
    )


def _operation(decided: Sequence[Decided]) -> str:
    names = {type(item.operation).__name__ for item in decided if item.decision.accepted}
    if not names:
        return "Reject" if decided else "Rebind"
    return names.pop() if len(names) == 1 else "Group"


def _stored_adds(
    effect: Effect, metadata: Metadata, registry: Mapping[str, str], options: TableOptions
) -> tuple[list[AddFile], dict[str, str]]:
    """The adds in the format's form: mappings by reference, statistics limited and shortened."""
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
    """A null partition value in its stored form, so that this process sees the same as all later readers."""
    given: Mapping[str, str | None] = add.partition_values
    if None not in given.values():
        return add
    values = {column: NULL_PARTITION if value is None else value for column, value in given.items()}
    return replace(add, partition_values=StoredTexts(values))


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
