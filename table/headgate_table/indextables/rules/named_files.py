"""The data files that the retained log names: live, tombstoned, or removed in a version that still exists."""

import posixpath
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from urllib.parse import unquote

from headgate_schemas.actions.actions import Action, AddFile, CommitInfo, RemoveFile
from headgate_schemas.errors import InvalidInput
from headgate_table.errors import CorruptTable, ObjectMissing, UnsupportedTable
from headgate_table.indextables.format.json_checkpoint import read_checkpoint
from headgate_table.indextables.format.names import (
    LEGACY_STATE_MANIFEST,
    STATE_MANIFEST,
    checkpoint_key,
    log_key,
    resolve_manifest,
    state_key,
)
from headgate_table.indextables.format.version_file import MAX_VERSION_FILE_BYTES
from headgate_table.indextables.log.inventory import LogInventory
from headgate_table.indextables.log.reader import LogReader
from headgate_table.indextables.manifests.reader import read_manifest

UNTOLD = (CorruptTable, InvalidInput, UnsupportedTable)
"""Raised where a part of the log doesn't tell which files it names: damaged, hostile, or of a newer release."""


def file_key(path: str, table_uri: str) -> str | None:
    """The key of the object that an entry names, or None if it lies outside of the table.

    Writers may spell a path as a whole address, or not in its shortest form.
    """
    if ":" not in path and "//" not in path and "./" not in path and path[:1] not in ("/", ""):
        return path  # nearly all of them; the code below takes ten times as long
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
    """The keys of the manifests that a swap adds, as its `commitInfo` names them."""
    for action in actions:
        if not isinstance(action, CommitInfo):
            continue
        swap = action.body.get("swap")
        adds = swap.get("adds") if isinstance(swap, dict) else None
        for item in adds if isinstance(adds, list) else ():
            path = item.get("path") if isinstance(item, dict) else None
            if isinstance(path, str):
                yield log_key(path)


def _unseen(version: int, actions: Sequence[Action]) -> None:
    return


def named_paths(
    reader: LogReader,
    inventory: LogInventory,
    without: Container[str] = (),
    see: Callable[[int, Sequence[Action]], None] = _unseen,
) -> Iterator[Iterable[str]]:
    """The paths of all data files that the log names, object by object, except for objects with these keys.

    Every version, checkpoint, state and manifest is read, each manifest once. `see` is shown the version files, ascending.
    Raises the errors in `UNTOLD`.
    """
    seen: set[str] = set()
    for version, folder in inventory.states.items():
        if folder.manifest is not None and folder.manifest.key not in without:
            yield from _of_state(reader, version, seen)
    for version, info in inventory.checkpoints.items():
        if info.key not in without:
            yield _of_checkpoint(reader, version)
    for version, info in inventory.versions.items():
        if info.key not in without:
            actions = reader.actions_or_none(version)
            if actions is not None:  # another cleaner may have been faster
                see(version, actions)
                yield _of_actions(actions)


def _of_actions(actions: Iterable[Action]) -> list[str]:
    return [action.path for action in actions if isinstance(action, AddFile | RemoveFile)]


def _of_checkpoint(reader: LogReader, version: int) -> list[str]:
    try:
        return _of_actions(
            read_checkpoint(version, lambda key: reader.store.get(key, max_bytes=MAX_VERSION_FILE_BYTES))
        )
    except ObjectMissing as error:
        if reader.store.head(checkpoint_key(version)) is None:
            return []
        raise CorruptTable(f"{error}, but checkpoint {version} lists it") from error


def _of_state(reader: LogReader, version: int, seen: set[str]) -> Iterator[Iterable[str]]:
    state = reader.state_or_none(version)
    if state is None:
        return
    store = reader.store
    yield state.tombstones
    for info in state.manifests:
        key = resolve_manifest(info.path, version, store.uri)
        if key in seen:
            continue
        try:
            table = read_manifest(store, reader.resources, key, info.num_entries, ("path",)).table
        except CorruptTable:
            if any(store.head(state_key(version, name)) for name in (STATE_MANIFEST, LEGACY_STATE_MANIFEST)):
                raise
            return  # the whole state was cleaned meanwhile
        for chunk in table.column("path").chunks:
            yield chunk.to_pylist()
        seen.add(key)


class NamedFiles:
    """Collects the keys of all data files that some part of the log names."""

    def __init__(self, reader: LogReader) -> None:
        self._reader = reader
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

    def add_log(self, inventory: LogInventory, without: Container[str] = ()) -> None:
        """Add the whole retained log, except for objects with these keys. Raises the errors in `UNTOLD`."""
        for paths in named_paths(self._reader, inventory, without):
            for path in paths:
                self.add_path(path)
