"""The manifests of one table on a store: finds the newest, reads one, and creates the next if absent.

The create of `manifest-N.avro` is the only commit point. Other modules decide its contents.
"""

from dataclasses import dataclass

from headgate_schemas.ambient import Ambient
from headgate_schemas.errors import InvalidInput
from headgate_schemas.logs import get_logger
from headgate_table.errors import ObjectMissing, OutcomeUnknown, StoreError, VersionNotRetained
from headgate_table.milvus.format.encoding import decode_manifest
from headgate_table.milvus.format.limits import MAX_MANIFEST_BYTES, MAX_VERSION
from headgate_table.milvus.format.manifest import Manifest
from headgate_table.milvus.format.names import (
    METADATA_FOLDER,
    FoundManifests,
    base_prefix,
    found_manifests,
    manifest_key,
)
from headgate_table.milvus.format.paths import ManifestBase
from headgate_table.milvus.rules.resolvers import VersionedManifest
from headgate_table.store.conditions import require_conditions
from headgate_table.store.interface import AlreadyExists, Created, Store, Unknown

CREATE_ATTEMPTS = 5
"""How often the same bytes are written to the same number when the store doesn't say what became of them."""
CREATE_PAUSE_S = 0.1
"""The first pause between them; it doubles. A store that answers nothing now may answer in a second."""

_log = get_logger("headgate.milvus")


@dataclass(frozen=True, slots=True)
class ManifestWritten:
    """The manifest with that number is ours."""


@dataclass(frozen=True, slots=True)
class ManifestNumberTaken:
    """The manifest with that number is another writer's."""


class ManifestLog:
    """Cheap to make. Not for several threads at once."""

    def __init__(self, store: Store, base_path: str, ambient: Ambient) -> None:
        self._store = store
        self._prefix = base_prefix(base_path)
        self._ambient = ambient
        self.base = ManifestBase(self._prefix.rstrip("/"), store.uri)

    @property
    def uri(self) -> str:
        """The table's address, for messages."""
        return f"{self._store.uri}/{self._prefix}".rstrip("/")

    def found(self) -> FoundManifests:
        """All versions, by one listing of the folder."""
        folder = self._prefix + METADATA_FOLDER
        listed = self._store.list_folder(folder)
        found = found_manifests(info.key.removeprefix(folder) for info in listed.objects)
        if found.odd:
            _log.warning(
                "manifest_names_stop_other_writers",
                table=self.uri,
                names=found.odd[:10],
                advice="other writers take them for versions that they then can't open: move them away",
            )
        return found

    def newest(self) -> VersionedManifest:
        """The version with the largest number; version 0, which is empty, if there is none."""
        return self.read(self.found().latest)

    def newest_since(self, known: VersionedManifest) -> VersionedManifest:
        """The newest version, found by asking for the next numbers instead of listing; `known` was the newest once.

        Numbers grow by one, so a version beyond a missing one was written after `known` and has lost its predecessor
        since. `write` notices that.
        """
        step, low = 1, known.version  # `low` exists; double the step until `high` doesn't
        while low + step <= MAX_VERSION and self._is_there(low + step):
            low += step
            step *= 2
        high = low + step
        while high - low > 1:
            middle = (low + high) // 2
            if self._is_there(middle):
                low = middle
            else:
                high = middle
        return known if low == known.version else self.read(low)

    def read(self, version: int) -> VersionedManifest:
        """One version. Raises `VersionNotRetained`, and the errors of `decode_manifest`."""
        if version == 0:
            return VersionedManifest(0, Manifest())
        key = manifest_key(self._prefix, version)
        try:
            data = self._store.get(key, max_bytes=MAX_MANIFEST_BYTES)
        except ObjectMissing:
            found = self.found().versions
            there = f"there are {len(found)} from {found[0]} to {found[-1]}" if found else "there is none"
            raise VersionNotRetained(f"{self.uri} has no version {version}: {there}") from None
        return VersionedManifest(version, decode_manifest(data, f"{self._store.uri}/{key}"))

    def write(self, version: int, body: bytes, *, may_be_there: bool = False) -> ManifestWritten | ManifestNumberTaken:
        """Create the version, and find out the outcome.

        Raises `OutcomeUnknown` if nobody knows the outcome, and `StoreError` if nothing was written. `may_be_there`: an
        earlier call with these arguments ended without an answer.

        After a lost answer, a manifest with exactly our bytes counts as ours. If another writer wrote it, it has the
        same bytes on the same predecessor: everything that our writer wanted is in it, exactly once. Counting it as
        foreign could apply the updates twice. A container's bytes are always ours, by its random marker.
        """
        if version > MAX_VERSION:
            raise InvalidInput(f"{self.uri} can't have a version {version}: no other reader counts so far")
        key = manifest_key(self._prefix, version)
        require_conditions(self._store, self._ambient.new_id)
        reason = ""
        try:
            for attempt in range(CREATE_ATTEMPTS):
                if attempt:
                    self._ambient.sleep(CREATE_PAUSE_S * 2 ** (attempt - 1) * (0.5 + self._ambient.jitter() / 2))
                match self._store.create(key, body):
                    case Created():
                        may_be_there = True
                        return self._counted(version)
                    case AlreadyExists():
                        # Stores never retry a conditional write by themselves, so the first such answer is plain.
                        if not may_be_there or self._bytes_at(key) != body:
                            return ManifestNumberTaken()
                        return self._counted(version)
                    case Unknown(reason):
                        may_be_there = True
                        found = self._bytes_at(key)
                        if found == body:
                            return self._counted(version)
                        if found is not None:
                            return ManifestNumberTaken()
        except StoreError as error:
            if may_be_there:
                raise self._unknown(version, str(error)) from error
            raise
        raise self._unknown(version, reason)

    def _counted(self, version: int) -> ManifestWritten:
        """Whether our manifest counts. It does if its predecessor stands, or if nothing newer does.

        Otherwise versions were deleted while this process paused, and it may have filled a number that was used before,
        below the newest, where nobody reads it.
        """
        if version > 1 and not self._is_there(version - 1):
            latest = self.found().latest
            if latest != version:
                raise self._unknown(version, f"versions before {latest} were deleted meanwhile")
        return ManifestWritten()

    def _is_there(self, version: int) -> bool:
        return self._store.head(manifest_key(self._prefix, version)) is not None

    def _bytes_at(self, key: str) -> bytes | None:
        try:
            return self._store.get(key, max_bytes=MAX_MANIFEST_BYTES)
        except ObjectMissing:
            return None

    def _unknown(self, version: int, reason: str) -> OutcomeUnknown:
        return OutcomeUnknown(
            f"nobody can say whether version {version} of {self.uri} was committed ({reason}). Call commit() of the same "
            f"transaction again to settle it, or look into manifest-{version}.avro before you repeat the updates"
        )
