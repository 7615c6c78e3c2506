"""Resolves conflicts with commits since a transaction was opened. Pure: the caller reads, writes and tries again."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from headgate_schemas.milvus import Resolver, Updates
from headgate_table.milvus.format.manifest import Manifest
from headgate_table.milvus.format.paths import ROOT, ManifestBase
from headgate_table.milvus.rules.updating import Refused, apply_updates


@dataclass(frozen=True, slots=True)
class VersionedManifest:
    version: int
    manifest: Manifest


FAIL = Resolver.FAIL
MERGE = Resolver.MERGE
OVERWRITE = Resolver.OVERWRITE

ResolverFunction: TypeAlias = Callable[[VersionedManifest, VersionedManifest, Updates], Manifest | Refused]
"""Called with what was read, what is newest, and the updates; again after every attempt that another writer won."""


def resolve(
    resolver: Resolver | ResolverFunction,
    read: VersionedManifest,
    seen: VersionedManifest,
    updates: Updates,
    base: ManifestBase = ROOT,
) -> Manifest | Refused:
    """The manifest to write as the successor of `seen`. Exceptions of a user's function pass through.

    `base` is the table's folder, by which different spellings of a file's path are recognised.
    """
    match resolver:
        case Resolver.FAIL:
            if read.version != seen.version:
                return Refused(
                    "concurrent_transaction",
                    f"concurrent transaction detected: the transaction read version {read.version}, and the newest is "
                    f"{seen.version} by now",
                )
            return apply_updates(seen.manifest, updates, base)
        case Resolver.MERGE:
            changed = changed_stat(read.manifest, seen.manifest, updates)
            if changed is not None:
                return Refused(
                    "stat_changed",
                    f"the stat {changed[:100]!r} was changed after version {read.version}, which the transaction read, and "
                    f"a stat is replaced whole: read it again, and set it anew",
                )
            return apply_updates(seen.manifest, updates, base)
        case Resolver.OVERWRITE:
            return apply_updates(read.manifest, updates, base)
        case _ if callable(resolver):
            return resolver(read, seen, updates)
        case _:
            assert_never(resolver)


def changed_stat(read: Manifest, seen: Manifest, updates: Updates) -> str | None:
    """The key of a stat that the updates replace and that other writers changed since it was read; None if there is
    none.

    A key that already has exactly the new value is no conflict.
    """
    for key, stat in updates.added_stats.items():
        now = seen.stats.get(key)
        if now != read.stats.get(key) and now != stat:
            return key
    return None
