"""The versions of a Milvus table together with their records: finds a committer's position, and seals foreign versions.

Before a committer decides on top of a version, it has read the version's record, and afterwards seen that there is no
later version (docs/milvus-protocol.md). `records` has the contents of a record.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby

from headgate_schemas.ambient import Ambient
from headgate_schemas.logs import get_logger
from headgate_table.coordination.commit_info import CommitRecord
from headgate_table.coordination.memory import MemoryLimits, TableMemory
from headgate_table.coordination.memory_text import UnreadableMemory, parse_memory
from headgate_table.errors import CommitConflict, CorruptTable, ObjectMissing, UnsupportedTable, VersionNotRetained
from headgate_table.milvus.committed.records import (
    MAX_RECORD_BYTES,
    RECORDS,
    ManifestId,
    VersionRecord,
    decode_record,
    digest_of,
    encode_record,
    first_key,
    parse_key,
)
from headgate_table.milvus.format.encoding import decode_manifest
from headgate_table.milvus.format.limits import MAX_MANIFEST_BYTES
from headgate_table.milvus.format.manifest import Manifest
from headgate_table.milvus.format.names import FoundManifests, manifest_key
from headgate_table.milvus.log import ManifestLog
from headgate_table.store.interface import AlreadyExists, Created, Store, Unknown

_ATTEMPTS = 50
"""How often it is looked anew because others wrote meanwhile, or a seal's answer was lost."""

Believed = Callable[[VersionRecord], bool]

_log = get_logger("headgate.milvus")


def _never(record: VersionRecord) -> bool:
    return False


def always(record: VersionRecord) -> bool:
    """Believes every record, because an operator has looked."""
    return True


@dataclass(frozen=True, slots=True)
class ReadVersion:
    """A manifest, and its identity."""

    id: ManifestId
    manifest: Manifest

    @property
    def version(self) -> int:
        return self.id.version


class RecordedLog:
    """One table, whose folder is the store's root. It has no state of its own."""

    def __init__(self, store: Store, ambient: Ambient) -> None:
        self.store = store
        self._manifests = ManifestLog(store, "", ambient)

    @property
    def uri(self) -> str:
        return self.store.uri

    # ---- manifests

    def found(self) -> FoundManifests:
        return self._manifests.found()

    def read(self, version: int) -> ReadVersion:
        """Raises `VersionNotRetained` if it is missing, and the errors of `decode_manifest`."""
        data = self.bytes_of(version)
        if data is None:
            found = self.found().versions
            there = f"there are {len(found)} from {found[0]} to {found[-1]}" if found else "there is none"
            raise VersionNotRetained(f"{self.uri} has no version {version}: {there}")
        manifest = decode_manifest(data, f"{self.uri}/{manifest_key('', version)}")
        return ReadVersion(ManifestId(version, digest_of(data)), manifest)

    def readable(self, version: int) -> Manifest | None:
        """An earlier version; None if it is missing or damaged, which must not block work on the newest. Version 0 is
        empty.
        """
        if version == 0:
            return Manifest()
        try:
            return self.read(version).manifest
        except VersionNotRetained:
            return None
        except (CorruptTable, UnsupportedTable) as error:
            _log.warning("manifest_unreadable", table=self.uri, version=version, reason=str(error))
            return None

    def bytes_of(self, version: int) -> bytes | None:
        try:
            return self.store.get(manifest_key("", version), max_bytes=MAX_MANIFEST_BYTES)
        except ObjectMissing:
            return None

    def is_there(self, version: int) -> bool:
        return self.store.head(manifest_key("", version)) is not None

    # ---- records

    def record(self, id: ManifestId) -> VersionRecord | None:  # noqa: A002  # the glossary's word for it
        try:
            data = self.store.get(id.key, max_bytes=MAX_RECORD_BYTES)
        except ObjectMissing:
            return None
        return decode_record(data, id, f"{self.uri}/{id.key}")

    def recorded(self, after: int = 0) -> list[ManifestId]:
        """The existing records of versions after this one, ascending; not all of them need count."""
        keys = (info.key for info in self.store.list(RECORDS, after=first_key(after + 1)))
        return sorted(found for key in keys if (found := parse_key(key)) is not None)

    def ancestors(self, record: VersionRecord) -> Iterator[VersionRecord]:
        """The records before it, newest first, as far as they are kept."""
        parent = record.parent
        while parent is not None:
            found = self.record(parent)
            if found is None:
                return
            yield found
            parent = found.parent

    def look(self) -> VersionRecord | None:
        """The newest record that counts; None if no committer has worked here. Seals nothing, so it has no effect."""
        latest = self._latest(None)
        data = self.bytes_of(latest) if latest else None
        record = None if data is None else self.record(ManifestId(latest, digest_of(data)))
        return record or self._newest_recorded(latest, None, _never)

    # ---- position

    def stand(self, known: VersionRecord | None = None, believed: Believed = _never) -> "RecordedPosition | None":
        """The newest version and its record, after a check that there is no later version. None without manifests.

        It seals all foreign versions that it finds. `known` is a record that was read before; records up to it are not
        read again. `believed` decides whether a record's version counts although the manifests that prove it are
        missing; if it doesn't, that is a `CorruptTable`.
        """
        for _ in range(_ATTEMPTS):
            latest = self._latest(known)
            if latest == 0:
                return None
            data = self.bytes_of(latest)
            if data is None:
                continue  # cleaned meanwhile
            id_ = ManifestId(latest, digest_of(data))
            if known is not None and known.id == id_:
                return RecordedPosition(known, ())
            if known is not None and latest <= known.id.version:
                # The known record is gone: another table took its place, or somebody replaced its bytes.
                anew = self.stand(None, believed)
                return None if anew is None else replace(anew, since=None)
            record = self.record(id_)
            if record is None:
                self._seal(id_, known, believed)
                continue
            if not self.is_there(latest + 1):
                manifest = decode_manifest(data, f"{self.uri}/{manifest_key('', latest)}")
                return RecordedPosition(record, self._since(record, known), manifest)
        raise CommitConflict(
            f"others wrote to {self.uri} {_ATTEMPTS} times while it was looked for the newest version; it is tried again"
        )

    def _latest(self, known: VersionRecord | None) -> int:
        if known is not None and not self.is_there(known.id.version + 1):
            if self.is_there(known.id.version):
                return known.id.version
            return self.found().latest
        latest = self.found().latest
        while self.is_there(latest + 1):
            latest += 1  # written after the listing
        return latest

    def _since(self, newest: VersionRecord, known: VersionRecord | None) -> "tuple[VersionRecord, ...] | None":
        """The records from after `known` up to the newest, oldest first; None if that one isn't among its ancestors."""
        chain = [newest]
        if known is None:
            return ()
        if newest.parent == known.id:
            return (newest,)
        for record in self.ancestors(newest):
            if record.id.version < known.id.version:
                return None
            chain.append(record)
            if record.parent == known.id:
                return tuple(reversed(chain))
        return None

    def _seal(self, newest: ManifestId, known: VersionRecord | None, believed: Believed) -> None:
        """Record that the newest version, and the first one after the last record, are foreign."""
        below = self._newest_recorded(newest.version, known, believed)
        first = (0 if below is None else below.id.version) + 1
        if first < newest.version:
            data = self.bytes_of(first)
            if data is not None:
                below = self._sealed(ManifestId(first, digest_of(data)), below)
                if below is None:
                    return
        self._sealed(newest, below)

    def _sealed(self, id: ManifestId, below: VersionRecord | None) -> VersionRecord | None:  # noqa: A002
        """The seal of this version, or its existing record; None if nobody knows."""
        parent, depth = (None, 0) if below is None else (below.id, below.since_memory + 1)
        seal = VersionRecord(id, parent, None, since_memory=depth)
        match self.store.create(id.key, encode_record(seal)):
            case Created():
                _log.info("foreign_version_sealed", table=self.uri, version=id.version)
                return seal
            case AlreadyExists():
                return self.record(id)
            case Unknown():
                return None

    def _newest_recorded(self, before: int, known: VersionRecord | None, believed: Believed) -> VersionRecord | None:
        """The record of the newest version below this one that has a record.

        Manifests are cleaned from the lowest on. If this manifest and its neighbours exist, it has always been in its
        place. Otherwise it may have been cleaned with others, or have filled a cleaned number.
        """
        after = 0 if known is None else known.id.version
        there = frozenset(self.found().versions)
        recorded = (id_ for id_ in reversed(self.recorded(after)) if id_.version < before)
        for version, ids in groupby(recorded, key=lambda id_: id_.version):
            rivals = tuple(ids)
            data = self.bytes_of(version) if version in there else None
            digest = None if data is None else digest_of(data)
            for id_ in rivals:
                if digest is not None and digest != id_.digest:
                    continue  # another writer took the number
                record = self.record(id_)
                if record is None:
                    continue
                is_whole = there.issuperset(range(max(version - 1, 1), before))
                can_tell = digest is not None or len(rivals) == 1
                if not is_whole and believed is not always and not (can_tell and believed(record)):
                    raise CorruptTable(
                        f"{self.uri} has the record of a commit {version}, but manifests around that version are gone, so "
                        f"nobody can tell whether its proposals were committed. Bring the manifests back; or compare "
                        f"manifest-{version}.avro with the newest, propose anew what is missing, and run `headgate table "
                        f"rebind {self.uri}`, which takes the commit for valid"
                    )
                return record
        return known


@dataclass(frozen=True, slots=True)
class RecordedPosition:
    """A committer's position: the version on top of which it decides, and the version's record."""

    record: VersionRecord
    since: tuple[VersionRecord, ...] | None
    """The records after the one that was known, oldest first; None where they are another history."""
    manifest: Manifest | None = None
    """None where nothing is new."""


def records_from(log: RecordedLog, newest: VersionRecord) -> Iterator[CommitRecord | None]:
    """The records of versions, from the newest back, as far as they are kept; None for foreign ones."""
    yield newest.commit
    for record in log.ancestors(newest):
        yield record.commit


def recover_memory(log: RecordedLog, newest: VersionRecord, limits: MemoryLimits) -> tuple[TableMemory, int]:
    """The table's memory at this version, and the oldest version since which the manifest hasn't changed.

    Raises `CorruptTable` if a necessary record is missing.
    """
    chain = [newest]
    while chain[-1].memory is None and chain[-1].parent is not None:
        before = log.record(chain[-1].parent)
        if before is None:
            raise CorruptTable(
                f"{log.uri} misses the commit record {chain[-1].parent.key}, without which nobody knows which proposals were "
                f"decided before. Bring it back from a copy of the table; `_headgate/commits` must not be cleaned by others"
            )
        chain.append(before)
    memory = _carried(log, chain[-1], limits)
    same_since = newest.id.version
    for record in reversed(chain):
        memory.apply_record(record.id.version, record.commit or CommitRecord())
    for record in chain:
        if record.is_changed or record.parent is None:
            break
        same_since = record.parent.version
    return memory, same_since


def _carried(log: RecordedLog, record: VersionRecord, limits: MemoryLimits) -> TableMemory:
    if record.memory is None:
        return TableMemory(limits)
    try:
        return parse_memory(record.memory, limits)
    except UnreadableMemory as error:
        raise CorruptTable(
            f"the memory in {log.uri}/{record.id.key} can't be read ({error}); use the release that wrote it, or bring the "
            f"record back from a copy of the table"
        ) from None
