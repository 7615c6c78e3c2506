"""Which data files the retained log names: live, tombstoned, or removed in a version that is still there."""

import posixpath
from collections.abc import Container, Iterable
from urllib.parse import unquote

from headgate_schemas.actions import Action, AddFile, CommitInfo, RemoveFile
from headgate_schemas.errors import InvalidInput
from headgate_table.errors import CorruptTable, ObjectMissing, UnsupportedTable
from headgate_table.indextables.json_checkpoint import read_checkpoint
from headgate_table.indextables.log_inventory import LogInventory
from headgate_table.indextables.log_reader import LogReader
from headgate_table.indextables.manifest_reader import read_manifest
from headgate_table.indextables.names import (
    LEGACY_STATE_MANIFEST,
    STATE_MANIFEST,
    log_key,
    resolve_manifest,
    state_key,
)
from headgate_table.indextables.version_file import MAX_VERSION_FILE_BYTES

UNTOLD = (CorruptTable, InvalidInput, UnsupportedTable)
"""Raised where a part of the log doesn't tell which files it names: damaged, hostile, or of a newer release."""


def file_key(path: str, table_uri: str) -> str | None:
    """The key of the object that an entry names, or None when that lies outside of the table.

    Writers may spell a path with its whole address, or not in its shortest form.
    """
    if ":" not in path and "//" not in path and "./" not in path and path[:1] not in ("/", ""):
        return path  # as nearly all are; what follows takes ten times as long
    for prefix in (table_uri, f"file://{table_uri}", f"file:{table_uri}", table_uri.replace("s3://", "s3a://", 1)):
        if path.startswith(f"{prefix}/"):
            path = path[len(prefix) + 1 :]
            break
    if path.startswith("/") or "://" in path:
        return None
    normal = posixpath.normpath(path)
    return None if normal in (".", "..") or normal.startswith("../") else normal


def file_keys(path: str, table_uri: str) -> set[str]:
    """Every key that the path may mean: some writers escape the names of folders once more than others."""
    return {key for text in {path, unquote(path)} if (key := file_key(text, table_uri)) is not None}


def swapped_manifests(actions: Iterable[Action]) -> Iterable[str]:
    """The keys of the manifests that a swap of manifests brings in, as its `commitInfo` names them."""
    for action in actions:
        if not isinstance(action, CommitInfo):
            continue
        swap = action.body.get("swap")
        adds = swap.get("adds") if isinstance(swap, dict) else None
        for item in adds if isinstance(adds, list) else ():
            path = item.get("path") if isinstance(item, dict) else None
            if isinstance(path, str):
                yield log_key(path)


class NamedFiles:
    """Collects the keys of all data files that some part of the log names. Reads each manifest once."""

    def __init__(self, reader: LogReader) -> None:
        self._reader = reader
        self._manifests: set[str] = set()
        self.keys: set[str] = set()
        self.unescaped: set[str] = set()
        """What the paths would name if they were escaped once more than they should be."""

    def __contains__(self, key: object) -> bool:
        return key in self.keys or key in self.unescaped

    def add_path(self, path: str) -> None:
        key = file_key(path, self._reader.store.uri)
        if key is not None:
            self.keys.add(key)
        if "%" in path:
            self.unescaped |= file_keys(path, self._reader.store.uri) - self.keys

    def _add_actions(self, actions: Iterable[Action]) -> None:
        for action in actions:
            if isinstance(action, AddFile | RemoveFile):
                self.add_path(action.path)

    def add_log(self, inventory: LogInventory, without: Container[str] = ()) -> None:
        """All that the log retains, but for objects of these keys. Raises what `UNTOLD` lists."""
        for version, folder in inventory.states.items():
            if folder.manifest is not None and folder.manifest.key not in without:
                self._add_state(version)
        for version, info in inventory.checkpoints.items():
            if info.key not in without:
                self._add_checkpoint(version)
        for version, info in inventory.versions.items():
            if info.key not in without:
                self._add_version(version)

    def _add_version(self, version: int) -> None:
        try:
            actions = self._reader.actions(version)
        except ObjectMissing:
            return  # another cleaner was faster: no reader can come here any more
        self._add_actions(actions)

    def _add_checkpoint(self, version: int) -> None:
        store = self._reader.store
        try:
            actions = read_checkpoint(version, lambda key: store.get(key, max_bytes=MAX_VERSION_FILE_BYTES))
        except ObjectMissing:
            return
        self._add_actions(actions)

    def _add_state(self, version: int) -> None:
        store = self._reader.store
        try:
            state = self._reader.state(version)
        except ObjectMissing:
            return
        for path in state.tombstones:
            self.add_path(path)
        for info in state.manifests:
            key = resolve_manifest(info.path, version, store.uri)
            if key in self._manifests:
                continue
            try:
                table = read_manifest(store, self._reader.resources, key, info.num_entries, ("path",)).table
            except CorruptTable:
                if any(store.head(state_key(version, name)) for name in (STATE_MANIFEST, LEGACY_STATE_MANIFEST)):
                    raise
                return  # the whole state was cleaned up meanwhile
            for chunk in table.column("path").chunks:
                for entry in chunk.to_pylist():
                    self.add_path(entry)
            self._manifests.add(key)
