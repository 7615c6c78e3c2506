"""`Transaction`: changes to a table of Milvus manifests, collected by chained calls and committed as one version."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self, assert_never

from headgate_schemas.ambient import Ambient, SystemAmbient
from headgate_schemas.errors import InvalidInput
from headgate_schemas.logs import get_logger
from headgate_schemas.milvus import EMPTY, ColumnGroup, DeltaLog, DeltaLogType, Resolver, Stat, Updates
from headgate_table.errors import CommitConflict, StoreError
from headgate_table.milvus.format.encoding import encode_manifest
from headgate_table.milvus.format.manifest import Manifest, ManifestForm
from headgate_table.milvus.format.paths import PathPolicy, resolved, stored
from headgate_table.milvus.log import ManifestLog, ManifestNumberTaken, ManifestWritten
from headgate_table.milvus.rules.resolvers import FAIL, ResolverFunction, VersionedManifest, resolve
from headgate_table.milvus.rules.updating import Refused, check_delta_log, check_group, check_stat
from headgate_table.store.interface import Store
from headgate_table.store.open import StoreSettings, open_store

LATEST = -1
RETRY_LIMIT = 200
"""How often a commit is tried again after another writer won. Losing so often without a break takes minutes."""
SHORTEST_PAUSE_S = 0.002
LONGEST_PAUSE_S = 2.0
MOST_DOUBLINGS = 6
"""Pauses are drawn from what one attempt took, doubled with every loss up to so often: room for dozens of writers, on a disk
and on a store where an attempt takes a second."""

_log = get_logger("headgate.milvus")


@dataclass(frozen=True, slots=True)
class _Pending:
    """A version that may have been written: nothing else may be tried before its outcome is known."""

    version: int
    manifest: Manifest
    body: bytes


class Transaction:
    """One writer's changes. After a commit, it is based on the committed version, and can be used again.

    Not for several threads at once.
    """

    def __init__(
        self,
        log: ManifestLog,
        read: VersionedManifest,
        ambient: Ambient,
        *,
        resolver: Resolver | ResolverFunction,
        retry_limit: int,
        form: ManifestForm | None,
        path_policy: PathPolicy,
    ) -> None:
        self._log = log
        self._read = read
        self._newest = read
        self._ambient = ambient
        self._resolver = resolver
        self._retry_limit = retry_limit
        self._form = form
        self._policy = path_policy
        self._updates = Updates()
        self._pending: _Pending | None = None
        self._own_store: Store | None = None

    @classmethod
    def open(
        cls,
        store: Store | str | os.PathLike[str],
        base_path: str = "",
        version: int = LATEST,
        resolver: Resolver | ResolverFunction = FAIL,
        retry_limit: int = RETRY_LIMIT,
        *,
        form: ManifestForm | None = None,
        path_policy: PathPolicy = PathPolicy.BARE,
        storage: Mapping[str, str] | StoreSettings | None = None,
        ambient: Ambient | None = None,
    ) -> Self:
        """A transaction on the table at `base_path` of a store, or of the store at an address.

        It reads the newest version, or the named one; version 0 is the empty manifest of a new table. A new table gets
        raw manifests of version 1, any other keeps its form, unless `form` names another. Raises `VersionNotRetained`
        for a missing version, and `StoreError` if the store doesn't answer.
        """
        _check_choices(resolver, form, path_policy)
        if not _is_whole(version, LATEST):
            raise InvalidInput(
                f"version {version!r} is none: give LATEST, 0 for the empty manifest, or a version's number"
            )
        if not _is_whole(retry_limit, 0):
            raise InvalidInput(f"retry_limit {retry_limit!r} is none: give 0 or more")
        chosen = ambient or SystemAmbient()
        opened = None
        if isinstance(store, str | os.PathLike):
            store = opened = open_store(os.fspath(store), StoreSettings.of(storage), chosen)
        try:
            log = ManifestLog(store, base_path, chosen)
            latest = log.found().latest
            read = log.read(latest if version == LATEST else version)
            newest = read if read.version == latest else log.read(latest)
            transaction = cls(
                log,
                read,
                chosen,
                resolver=resolver,
                retry_limit=retry_limit,
                form=form,
                path_policy=path_policy,
            )
            transaction._newest = newest
        except BaseException:
            if opened is not None:
                opened.close()
            raise
        transaction._own_store = opened
        return transaction

    @property
    def read_version(self) -> int:
        """The version on which this transaction is based: the one that it read, or the one that it committed last."""
        return self._read.version

    @property
    def updates(self) -> Updates:
        """The changes of a commit, with paths in stored form."""
        return self._updates

    def get_manifest(self) -> Manifest:
        """The manifest of `read_version`, its paths resolved: relative to the store's root, absolute, or addresses."""
        return resolved(self._read.manifest, self._log.base, self._policy)

    def get_stored_manifest(self) -> Manifest:
        """The manifest of `read_version` with its paths as stored."""
        return self._read.manifest

    def add_column_group(self, group: ColumnGroup) -> Self:
        """Add columns that the table doesn't have yet, for all existing rows."""
        check_group(group)
        return self._with(Updates(added_column_groups=(group,)))

    def append_files(self, groups: Sequence[ColumnGroup]) -> Self:
        """Add rows: the files of each column group, in the table's order. The first append creates the groups."""
        if isinstance(groups, ColumnGroup):
            raise InvalidInput("one ColumnGroup was given: give a list, with a group for each of the table's")
        if not groups:
            raise InvalidInput("an append without a column group appends nothing: give a group for each of the table's")
        for group in groups:
            check_group(group)
        return self._with(Updates(appended_files=(tuple(groups),)))

    def add_delta_log(
        self,
        path: str,
        num_entries: int,
        type: int = DeltaLogType.PRIMARY_KEY,  # noqa: A002  # the name that the format has
    ) -> Self:
        log = DeltaLog(path, num_entries, type)
        check_delta_log(log)
        return self._with(Updates(added_delta_logs=(log,)))

    def update_stat(self, key: str, files: Sequence[str], metadata: Mapping[str, str] = EMPTY) -> Self:
        """Set the files of a key, in place of its present ones."""
        if isinstance(files, str) or not isinstance(files, Iterable):
            raise InvalidInput(f"the files of the stat {key!r} are {files!r:.100}: give a list of paths")
        stat = Stat(tuple(files), metadata)
        check_stat(key, stat)
        return self._with(Updates(added_stats={key: stat}))

    def commit(self) -> int:
        """Commit everything as one version, and return its number.

        Raises `InvalidInput` if there is nothing to commit or the updates don't fit the table, `CommitConflict` if
        other writers are the reason, `UnsupportedTable` if the form can't hold the result, and `OutcomeUnknown` if the
        store never answered the write: then calling `commit` again settles that first, and never commits twice.
        """
        if self._pending is not None:
            settled = self._write(self._pending, again=True)
            if settled is not None:
                return settled
        if self._updates.is_empty:
            raise InvalidInput(f"cannot commit to {self._log.uri}: no updates were recorded")
        took_s = 0.0
        for attempt in range(self._retry_limit + 1):
            if attempt:
                self._pause(attempt, took_s)
            before = self._ambient.monotonic_s()
            if attempt:
                self._newest = self._log.newest_since(self._newest)
            # The first attempt doesn't look for newer versions: if there are any, the create shows it.
            committed = self._write(self._next(self._newest))
            if committed is not None:
                return committed
            took_s = self._ambient.monotonic_s() - before
        raise CommitConflict(
            f"other writers won all {self._retry_limit + 1} attempts to commit to {self._log.uri}; nothing was committed. "
            f"Try again, raise retry_limit, or commit through a committer, which never loses"
        )

    def close(self) -> None:
        """Close the store, if it was opened here."""
        if self._own_store is not None:
            self._own_store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _with(self, more: Updates) -> Self:
        if self._pending is not None:
            raise InvalidInput(
                f"nobody knows yet whether version {self._pending.version} of {self._log.uri} was committed: call commit() "
                f"again before you add to the transaction"
            )
        more = stored(more, self._log.base, self._policy)
        has = self._updates
        self._updates = Updates(
            has.added_column_groups + more.added_column_groups,
            has.appended_files + more.appended_files,
            has.added_delta_logs + more.added_delta_logs,
            {**has.added_stats, **more.added_stats},
        )
        return self

    def _next(self, seen: VersionedManifest) -> _Pending:
        result = resolve(self._resolver, self._read, seen, self._updates, self._log.base)
        if isinstance(result, Refused):
            raise self._refusal(result, seen)
        if not isinstance(result, Manifest):
            raise InvalidInput(
                f"the resolver of a commit to {self._log.uri} returned {result!r:.100}: it has to return a Manifest, or Refused"
            )
        # Even if a resolver left them out: no resolver may drop fields that this release doesn't understand.
        result = replace(result, form=self._form or seen.manifest.form, unknown=seen.manifest.unknown or result.unknown)
        body = encode_manifest(result, sync=bytes.fromhex(self._ambient.new_id()))
        return _Pending(seen.version + 1, result, body)

    def _write(self, next_one: _Pending, *, again: bool = False) -> int | None:
        """The version's number if it is ours, None if it is another writer's."""
        self._pending = next_one  # stays, whatever interrupts the write
        try:
            outcome = self._log.write(next_one.version, next_one.body, may_be_there=again)
        except StoreError:
            if not again:
                self._pending = None  # nothing was written
            raise
        self._pending = None
        match outcome:
            case ManifestNumberTaken():
                return None
            case ManifestWritten():
                self._read = self._newest = VersionedManifest(next_one.version, next_one.manifest)
                self._updates = Updates()
                _log.info(
                    "manifest_committed",
                    table=self._log.uri,
                    version=next_one.version,
                    bytes=len(next_one.body),
                )
                return next_one.version
            case _:
                assert_never(outcome)

    def _refusal(self, refused: Refused, seen: VersionedManifest) -> InvalidInput | CommitConflict:
        said = f"commit to {self._log.uri} failed: {refused.reason}. Nothing was committed"
        if seen.version == self._read.version:
            return InvalidInput(said)
        return CommitConflict(f"{said}; open a new transaction on version {seen.version}")

    def _pause(self, attempt: int, took_s: float) -> None:
        longest = max(took_s, SHORTEST_PAUSE_S) * 2.0 ** min(attempt, MOST_DOUBLINGS)
        self._ambient.sleep(min(longest, LONGEST_PAUSE_S) * self._ambient.jitter())


def _check_choices(resolver: object, form: object, path_policy: object) -> None:
    """Check the types of these arguments: users easily pass a name, as other interfaces take one."""
    if not isinstance(resolver, Resolver) and not callable(resolver):
        raise InvalidInput(f"resolver {resolver!r:.100} is none: give FAIL, MERGE, OVERWRITE, or a function")
    if form is not None and not isinstance(form, ManifestForm):
        raise InvalidInput(f"form {form!r:.100} is none: give a ManifestForm, such as ManifestForm.CONTAINER_V6")
    if not isinstance(path_policy, PathPolicy):
        raise InvalidInput(f"path_policy {path_policy!r:.100} is none: give a PathPolicy, such as PathPolicy.BARE")


def _is_whole(number: object, least: int) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and number >= least
