"""Who wins when others committed since a transaction was opened. Pure: the caller reads, writes and tries again."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from headgate_schemas.milvus import Resolver, Updates
from headgate_table.milvus.manifest import Manifest
from headgate_table.milvus.updating import Refused, apply_updates


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
    resolver: Resolver | ResolverFunction, read: VersionedManifest, seen: VersionedManifest, updates: Updates
) -> Manifest | Refused:
    """The manifest to write as the successor of `seen`. What a user's function raises goes through."""
    match resolver:
        case Resolver.FAIL:
            if read.version != seen.version:
                return Refused(
                    "concurrent_transaction",
                    f"concurrent transaction detected: the transaction read version {read.version}, and the newest is "
                    f"{seen.version} by now",
                )
            return apply_updates(seen.manifest, updates)
        case Resolver.MERGE:
            return apply_updates(seen.manifest, updates)
        case Resolver.OVERWRITE:
            return apply_updates(read.manifest, updates)
        case _ if callable(resolver):
            return resolver(read, seen, updates)
        case _:
            assert_never(resolver)
