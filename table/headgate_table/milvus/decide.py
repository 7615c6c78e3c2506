"""What a proposed transaction does to a Milvus table, or why it can't: pure rules. Resolvers and updates are others' subjects.

Here a version counts as changed when a transaction was accepted in it: versions that only hold rejections have the manifest
of the one before, and are no conflict.
"""

from dataclasses import dataclass

from headgate_schemas.errors import InvalidInput
from headgate_schemas.milvus import Resolver
from headgate_schemas.operations import Create, Milvus, Operation, RejectCode
from headgate_table.indextables.decide import Refusal
from headgate_table.milvus.manifest import Manifest
from headgate_table.milvus.paths import Base, stored
from headgate_table.milvus.resolvers import VersionedManifest, resolve
from headgate_table.milvus.updating import Refused, check_updates


@dataclass(frozen=True, slots=True)
class Seen:
    """The table that a transaction meets: a version that is there, perhaps with changes that go into the next one."""

    version: int
    manifest: Manifest
    same_since: int
    """The oldest version from which on the manifest hasn't changed: who read that one, or a later one, has seen it all."""


def decide_transaction(operation: Operation, seen: Seen, read: Manifest | None, base: Base) -> Manifest | Refusal:
    """The manifest after the operation. `read` is that of the version which an `overwrite` has read, None where it is gone."""
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


def _decided(operation: Milvus, seen: Seen, read: Manifest | None, base: Base) -> Manifest | Refusal:
    try:
        check_updates(operation.updates)
        updates = stored(operation.updates, base)
    except InvalidInput as error:
        return Refusal(RejectCode.INVALID, str(error))
    if updates.is_empty:
        return Refusal(RejectCode.INVALID, "a transaction without updates changes nothing")
    newest = VersionedManifest(max(seen.version, seen.same_since), seen.manifest)
    was_read = newest
    if operation.resolver is not Resolver.MERGE:
        version = operation.read_version
        if version is None:
            return Refusal(RejectCode.INVALID, f"resolver {operation.resolver.value} needs the version that was read")
        if version > seen.version:
            return Refusal(
                RejectCode.RESOLVER_REFUSED, f"version {version} isn't there; the newest is version {seen.version}"
            )
        if operation.resolver is Resolver.OVERWRITE:
            if read is None:
                return Refusal(RejectCode.RESOLVER_REFUSED, f"version {version} isn't there any more, or can't be read")
            was_read = VersionedManifest(version, read)
        elif version < seen.same_since:
            was_read = VersionedManifest(version, seen.manifest)
    result = resolve(operation.resolver, was_read, newest, updates)
    if isinstance(result, Refused):
        code = RejectCode.OVER_BOUND if result.code == "too_many_items" else RejectCode.RESOLVER_REFUSED
        return Refusal(code, result.reason)
    return result
