"""The effect of a proposed transaction on a Milvus table, or the reason for its rejection: pure rules.

`resolvers` and `updating` do the parts. A version counts as changed if a transaction was accepted in it: a version with
only rejections has the manifest of the one before, and is no conflict.
"""

from dataclasses import dataclass
from typing import assert_never

from headgate_schemas.errors import InvalidInput
from headgate_schemas.messages.operations import Create, Milvus, Operation, RejectCode
from headgate_schemas.milvus import Resolver
from headgate_table.coordination.refusals import Refusal
from headgate_table.milvus.format.manifest import Manifest
from headgate_table.milvus.format.paths import ManifestBase, stored
from headgate_table.milvus.rules.resolvers import VersionedManifest, resolve
from headgate_table.milvus.rules.updating import Refused, check_updates

_CODES = {"too_many_items": RejectCode.OVER_BOUND, "path_in_use": RejectCode.PATH_IN_USE}


@dataclass(frozen=True, slots=True)
class SeenManifest:
    """The table that a transaction meets: an existing version, perhaps with changes for the next one."""

    version: int
    manifest: Manifest
    same_since: int
    """The oldest version from which on the manifest hasn't changed: who read that one, or a later one, has seen it all."""


def needs_read(operation: Operation) -> bool:
    """Whether the decision depends on the contents of the version that was read, and not on its number alone."""
    if not isinstance(operation, Milvus) or operation.read_version is None:
        return False
    match operation.resolver:
        case Resolver.FAIL:
            return False
        case Resolver.MERGE:
            return bool(operation.updates.added_stats)
        case Resolver.OVERWRITE:
            return True
        case _:
            assert_never(operation.resolver)


def decide_transaction(
    operation: Operation, seen: SeenManifest, read: Manifest | None, base: ManifestBase
) -> Manifest | Refusal:
    """The manifest after the operation.

    `read` is the manifest of the version that was read, if `needs_read` is true; None if that version is gone.
    """
    match operation:
        case Milvus():
            return _decided(operation, seen, read, base)
        case Create():
            return Refusal(RejectCode.ALREADY_EXISTS, "a Milvus table is here, which its first transaction created")
        case _:
            return Refusal(
                RejectCode.INVALID,
                f"this is a Milvus table: it takes `milvus` proposals, and has no meaning for {type(operation).__name__}",
            )


def _decided(operation: Milvus, seen: SeenManifest, read: Manifest | None, base: ManifestBase) -> Manifest | Refusal:
    try:
        check_updates(operation.updates)
        updates = stored(operation.updates, base)
    except InvalidInput as error:
        return Refusal(RejectCode.INVALID, str(error))
    if updates.is_empty:
        return Refusal(RejectCode.INVALID, "a transaction without updates changes nothing")
    newest = VersionedManifest(max(seen.version, seen.same_since), seen.manifest)
    was_read = newest
    version = operation.read_version
    if version is None:
        if operation.resolver is not Resolver.MERGE:
            return Refusal(RejectCode.INVALID, f"resolver {operation.resolver.value} needs the version that was read")
    elif version > seen.version:
        return Refusal(
            RejectCode.RESOLVER_REFUSED, f"version {version} isn't there; the newest is version {seen.version}"
        )
    elif needs_read(operation):
        if read is None:
            return Refusal(RejectCode.RESOLVER_REFUSED, f"version {version} isn't there any more, or can't be read")
        was_read = VersionedManifest(version, read)
    elif version < seen.same_since:
        was_read = VersionedManifest(version, seen.manifest)
    result = resolve(operation.resolver, was_read, newest, updates, base)
    if isinstance(result, Refused):
        return Refusal(_CODES.get(result.code, RejectCode.RESOLVER_REFUSED), result.reason)
    return result
