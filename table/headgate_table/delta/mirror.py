"""Publishes the versions of a table as a Delta log beside it. `commit` makes the bytes of a commit; this module reads
and writes.

Commits are created in order, and only if absent. So any number of mirrors may run side by side, and each may be killed
at any point: the next one continues after the newest commit.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from headgate_schemas.actions.actions import Metadata
from headgate_schemas.errors import HeadgateError
from headgate_schemas.logs import get_logger
from headgate_table.delta.checkpoint import (
    ENTRY_COLUMNS,
    checkpoint_bytes,
    identity_of_checkpoint,
    last_checkpoint_bytes,
)
from headgate_table.delta.commit import MirroredVersion, VersionToMirror, commit_bytes, identity_of
from headgate_table.delta.names import (
    FOLDER,
    LAST_CHECKPOINT,
    DeltaListing,
    checkpoint_key,
    commit_key,
    delta_listing,
    version_of_hint,
)
from headgate_table.delta.schema import delta_columns
from headgate_table.errors import ObjectMissing, StoreError, VersionNotRetained
from headgate_table.indextables.log.listing import list_log
from headgate_table.indextables.log.predecessor import mark_of
from headgate_table.indextables.log.reader import LoadedLog, LogReader
from headgate_table.indextables.read.entry_reader import read_entries
from headgate_table.indextables.recovery.memory_reader import recover
from headgate_table.settings.options import TableOptions
from headgate_table.store.interface import AlreadyExists, Created, Unknown

MAX_COMMIT_BYTES = 1 << 30
"""Of one commit: a version file of 512 MiB grows a little."""
MAX_CHECKPOINT_BYTES = 2 << 30
HISTORY = 1_000
"""Earlier versions that a new mirror publishes. Readers can travel to these."""
_TRIES = 3
"""To create one commit, while the store doesn't say what became of it."""

_log = get_logger("headgate.mirror")


class MirrorStopped(HeadgateError):
    """The mirror can't continue by itself. The message gives the reason and the remedy."""


@dataclass(frozen=True, slots=True)
class MirrorStatus:
    """The progress of a mirror."""

    version: int
    """The newest version that its readers see; -1 without any."""
    table_version: int
    problem: str = ""
    """Why it can't go on; empty while it can."""

    @property
    def behind(self) -> int:
        return max(0, self.table_version - self.version)


@dataclass(frozen=True, slots=True)
class Published:
    """The result of one run."""

    first: int
    """The first version that is new in the mirror; above `version` where none is."""
    version: int
    """The newest version that readers of the mirror see."""
    checkpoint: int | None = None
    """The version of the checkpoint that was written."""

    @property
    def commits(self) -> int:
        return self.version - self.first + 1


class DeltaMirror:
    """The Delta log beside one table. `give_up` is called before each commit, and may raise to end a run."""

    def __init__(self, reader: LogReader, options: TableOptions, give_up: Callable[[], None] = lambda: None) -> None:
        self._reader = reader
        self._store = reader.store
        self._options = options
        self._give_up = give_up

    def status(self, log: LoadedLog) -> MirrorStatus:
        """The mirror's progress towards the newest version, `log`, and the reason if it has stopped. Reads a few small
        objects.
        """
        listing = self._listing()
        try:
            self._check_head(listing, log)
            delta_columns(self._reader.metadata(log))
        except HeadgateError as error:
            return MirrorStatus(listing.head, log.version, str(error))
        return MirrorStatus(listing.head, log.version)

    def publish(self) -> Published:
        """Publish every version that the mirror lacks.

        Raises `MirrorStopped` if another program has written to the Delta log, and `Unmirrorable` for a table that
        Delta can't hold. Versions that were published before that stay.
        """
        log = self._reader.latest()
        listing = self._listing()
        self._check_head(listing, log)
        delta_columns(self._reader.metadata(log))
        missing = range(listing.head + 1, log.version + 1)
        there = list_log(self._store, missing.start).version_objects
        if listing.head not in listing.commits or any(version not in there for version in missing):
            return self._begin(log, listing)
        checkpoint = max(listing.checkpoints, default=0)
        self._publish_all(missing, log, first=False)
        self._forget_below(listing, listing.base)
        return Published(missing.start, log.version, self._checkpoint_if_due(log, checkpoint))

    def rebuild(self) -> Published:
        """Delete the mirror, whoever has written to it since, and make it again.

        Raises `MirrorStopped` for a Delta log that no mirror of this table began, because it is a table of its own.
        """
        listing = delta_listing(self._store.list(f"{FOLDER}/"))
        if not listing.is_empty and not self._was_ours(listing):
            raise MirrorStopped(
                f"{self._store.uri}/{FOLDER} was not begun by a mirror of this table, so it is not deleted: it may be a table of its "
                f"own. Move it away, and mirror again"
            )
        keys = [LAST_CHECKPOINT, *(info.key for info in listing.others)]
        keys += [info.key for _, info in sorted(listing.checkpoints.items(), reverse=True)]
        # From the newest down: after a kill, the rest is an earlier state of the mirror.
        keys += [info.key for _, info in sorted(listing.commits.items(), reverse=True)]
        for key in keys:
            self._store.delete([key])
        _log.info("mirror_deleted", table=self._store.uri, objects=len(keys))
        return self.publish()

    # ---- what is there

    def _listing(self) -> DeltaListing:
        """The listing from the mirror's newest checkpoint on, if there is one."""
        start = self._hinted_checkpoint()
        found = delta_listing(self._store.list(f"{FOLDER}/", after=f"{FOLDER}/{start:020}" if start else ""))
        if start and start not in found.checkpoints:
            return delta_listing(self._store.list(f"{FOLDER}/"))
        return found

    def _hinted_checkpoint(self) -> int:
        try:
            return version_of_hint(self._store.get(LAST_CHECKPOINT, max_bytes=MAX_COMMIT_BYTES))
        except ObjectMissing:
            return 0

    def _check_head(self, listing: DeltaListing, log: LoadedLog) -> None:
        """Raises `MirrorStopped` unless a mirror of this same history wrote the newest commit."""
        if listing.is_empty:
            return
        head = listing.head
        if head > log.version:
            raise self._stopped(f"it has version {head}, and the table is at version {log.version}")
        found = self._found(head, listing)
        if found is None:
            raise self._stopped(f"no mirror wrote its version {head}")
        self._check_same(found, self._identity(head, log))

    def _found(self, version: int, listing: DeltaListing) -> MirroredVersion | None:
        if version in listing.commits:
            return identity_of(self._store.get(commit_key(version), max_bytes=MAX_COMMIT_BYTES))
        return identity_of_checkpoint(self._store.get(checkpoint_key(version), max_bytes=MAX_CHECKPOINT_BYTES))

    def _identity(self, version: int, log: LoadedLog) -> MirroredVersion:
        actions = self._reader.actions_or_none(version)
        return MirroredVersion(self._reader.metadata(log).id, version, "" if actions is None else mark_of(actions))

    def _check_same(self, found: MirroredVersion, wanted: MirroredVersion) -> None:
        if (found.table, found.version) != (wanted.table, wanted.version):
            raise self._stopped(
                f"its version {wanted.version} mirrors version {found.version} of the table {found.table}"
            )
        if found.mark and wanted.mark and found.mark != wanted.mark:
            raise self._stopped(
                f"its version {wanted.version} mirrors another version {wanted.version} than the table has: the table was put back "
                f"to an earlier copy"
            )

    def _stopped(self, why: str) -> MirrorStopped:
        return MirrorStopped(
            f"the Delta mirror in {self._store.uri}/{FOLDER} can't go on: {why}. Somebody may have written to it as a Delta table. "
            f"Nothing was overwritten. `headgate table mirror {self._store.uri} --rebuild` deletes it and makes it anew"
        )

    def _was_ours(self, listing: DeltaListing) -> bool:
        table = self._reader.metadata(self._reader.latest()).id
        lowest = min((*listing.commits, *listing.checkpoints))
        found = self._found(lowest, listing)
        return found is not None and found.table == table

    # ---- what is written

    def _begin(self, log: LoadedLog, listing: DeltaListing) -> Published:
        """Begin at a version that the table's history allows; the mirror's earlier part is deleted, because a part
        between is lost.
        """
        first = self._first(log)
        if first > 0:
            base = log if first == log.version else self._reader.at_version(first)
            self._write_checkpoint(base, hint=False)
        self._publish_all(range(first, log.version + 1), log, first=True)
        self._forget_below(listing, first)
        checkpoint = self._checkpoint_if_due(log, first)
        if first > 0 and checkpoint is None:
            checkpoint = first
            self._write_checkpoint(self._reader.at_version(first))
        return Published(first, log.version, checkpoint)

    def _forget_below(self, listing: DeltaListing, base: int) -> None:
        """Delete commits below a missing one: nobody can read them, and some readers fail on them."""
        for info in listing.below(base):
            self._store.delete([info.key])

    def _first(self, log: LoadedLog) -> int:
        """The lowest readable version, of the newest `HISTORY`, after which every version file is there."""
        listing = self._reader.full_listing()
        lowest = log.version
        while lowest > 0 and lowest in listing.version_objects and log.version - lowest < HISTORY:
            lowest -= 1
        if lowest == 0 and 0 in listing.version_objects:
            return 0
        bases = {*self._reader.states_in_order(listing), *listing.checkpoints}
        return min((base for base in bases if lowest <= base <= log.version), default=log.version)

    def _publish_all(self, versions: range, log: LoadedLog, *, first: bool) -> None:
        metadata = self._metadata_before(versions, log)
        columns = None
        for version in versions:
            self._give_up()
            actions = self._reader.actions_or_none(version) or []
            changed = self._metadata_of(version)
            if changed is not None or columns is None:
                metadata = changed or metadata
                columns = delta_columns(metadata)
            wanted = VersionToMirror(
                self._store.uri, version, actions, metadata, is_first=first and version == versions.start
            )
            self._create(wanted, commit_bytes(wanted, columns))

    def _metadata_before(self, versions: range, log: LoadedLog) -> Metadata:
        """The metadata before the first of the versions; the newest if that is not retained.

        A schema only gains columns, so the newest metadata describes every older file as well.
        """
        first = next((version for version in versions if self._metadata_of(version) is not None), None)
        if first is not None and first > versions.start:
            with suppress(VersionNotRetained):
                return self._reader.metadata(self._reader.at_version(first - 1))
        return self._reader.metadata(log)

    def _metadata_of(self, version: int) -> Metadata | None:
        """The metadata in the version file itself."""
        told = [action for action in self._reader.actions_or_none(version) or () if isinstance(action, Metadata)]
        return told[-1] if told else None

    def _create(self, version: VersionToMirror, data: bytes) -> None:
        key = commit_key(version.version)
        reason = ""
        for _ in range(_TRIES):
            match self._store.create(key, data):
                case Created():
                    return
                case Unknown(reason):
                    pass
                case AlreadyExists():
                    pass
            try:
                found = identity_of(self._store.get(key, max_bytes=MAX_COMMIT_BYTES))
            except ObjectMissing:
                continue
            if found is None:
                raise self._stopped(f"no mirror wrote its version {version.version}")
            self._check_same(found, version.identity)
            return
        raise StoreError(f"{self._store.uri}/{key} can't be created: {reason}. Try again when the store answers")

    def _checkpoint_if_due(self, log: LoadedLog, newest: int) -> int | None:
        if log.version - newest < self._options.mirror_checkpoint_interval:
            return None
        self._write_checkpoint(log)
        return log.version

    def _write_checkpoint(self, log: LoadedLog, *, hint: bool = True) -> None:
        self._give_up()
        metadata = self._reader.metadata(log)
        entries, _ = read_entries(self._store, self._reader.resources, log, ENTRY_COLUMNS)
        memory = recover(self._reader, log, self._options)
        writers = {app: max(seq for seq, _ in commits) for app, commits in memory.writers.items() if commits}
        data, actions = checkpoint_bytes(
            self._identity(log.version, log), entries, metadata, delta_columns(metadata), writers, self._store.uri
        )
        self._store.put(checkpoint_key(log.version), data)
        if hint:
            self._store.put(LAST_CHECKPOINT, last_checkpoint_bytes(log.version, actions, entries.num_rows, len(data)))
