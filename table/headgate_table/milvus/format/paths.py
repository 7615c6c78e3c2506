"""Interprets the paths in a manifest, and stores a user's paths. One policy for each way of known builds.

`docs/format.md`, section 10.2, has the table; this module also decides which paths are accepted.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache
from typing import assert_never

from headgate_schemas.errors import InvalidInput
from headgate_schemas.milvus import ColumnGroup, ColumnGroupFile, Stat, Updates
from headgate_table.milvus.format.manifest import Manifest
from headgate_table.milvus.format.names import DATA_FOLDER, DELTA_FOLDER, INDEX_FOLDER, LOB_FOLDER, STATS_FOLDER

MAX_PATH_BYTES = 4096
"""Of a path that we store: what file systems take, and four times what object stores do."""

_DOTS = frozenset(("", ".", ".."))
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


class PathPolicy(Enum):
    """Named by the time of the builds that follow it."""

    AS_GIVEN = "as-given"
    """Before 9 January 2026: stored as given; what begins with "_" is below the base."""
    BARE_DATA = "bare-data"
    """From 9 to 18 January: data files below `_data/` lose their folder; delta logs and stats that begin with "_" get the
    base in front when they are stored, and nothing when they are read."""
    BARE = "bare"
    """Since 19 January: every kind of file loses its own folder, and a relative path gets it back."""


@dataclass(frozen=True, slots=True)
class ManifestBase:
    """The table's folder in paths: relative to the store's root, and with the store's address before it."""

    path: str
    """Without slashes at its ends; "" for the root itself."""
    uri: str = ""

    def below(self, folder: str) -> str:
        """This table's folder of that name, with a slash at its end."""
        return _below(self.path, folder)

    def spellings(self, folder: str) -> tuple[str, ...]:
        """All ways in which a user may write that folder."""
        plain = self.below(folder)
        return (plain, f"{self.uri.rstrip('/')}/{plain}", folder) if self.uri else (plain, folder)


ROOT = ManifestBase("")
"""A table at the root of its store, whose address is not known."""


def resolved(manifest: Manifest, base: ManifestBase, policy: PathPolicy = PathPolicy.BARE) -> Manifest:
    """The same manifest with its paths as builds of that policy read them: relative to the store, or absolute."""

    def at(path: str, folder: str) -> str:
        match policy:
            case PathPolicy.AS_GIVEN:
                return _below_base(path, base)
            case PathPolicy.BARE_DATA:
                return _in_folder(path, base, folder) if folder == DATA_FOLDER else path
            case PathPolicy.BARE:
                return _in_folder(path, base, folder)
            case _:
                assert_never(policy)

    data_folder = base.below(DATA_FOLDER)
    plain = policy is not PathPolicy.AS_GIVEN

    def data_file_at(path: str) -> str:
        return data_folder + path if plain and is_bare(path) else at(path, DATA_FOLDER)

    def group_at(group: ColumnGroup) -> ColumnGroup:
        make, kind = tuple.__new__, ColumnGroupFile  # in half the time of a call, for ten thousands of them
        files = [
            make(kind, (data_file_at(path), start, stop, data, properties))
            for path, start, stop, data, properties in group.files
        ]
        return replace(group, files=tuple(files))

    return replace(
        manifest,
        column_groups=tuple(group_at(group) for group in manifest.column_groups),
        delta_logs=tuple(replace(log, path=at(log.path, DELTA_FOLDER)) for log in manifest.delta_logs),
        stats={
            key: replace(stat, paths=tuple(at(path, STATS_FOLDER) for path in stat.paths))
            for key, stat in manifest.stats.items()
        },
        indexes=tuple(replace(index, path=at(index.path, INDEX_FOLDER)) for index in manifest.indexes),
        lob_files=tuple(replace(file, path=at(file.path, LOB_FOLDER)) for file in manifest.lob_files),
    )


def stored(updates: Updates, base: ManifestBase, policy: PathPolicy = PathPolicy.BARE) -> Updates:
    """The same updates with their paths in stored form. The caller has checked the paths."""

    def as_stored(path: str, folder: str) -> str:
        match policy:
            case PathPolicy.AS_GIVEN:
                return path
            case PathPolicy.BARE_DATA:
                return _bare(path, base, folder) if folder == DATA_FOLDER else _below_base(path, base)
            case PathPolicy.BARE:
                return _bare(path, base, folder)
            case _:
                assert_never(policy)

    def group_as_stored(group: ColumnGroup) -> ColumnGroup:
        files = tuple(file._replace(path=as_stored(file.path, DATA_FOLDER)) for file in group.files)
        return replace(group, files=files)

    def stats_as_stored(stats: Mapping[str, Stat]) -> dict[str, Stat]:
        return {
            key: replace(stat, paths=tuple(as_stored(path, STATS_FOLDER) for path in stat.paths))
            for key, stat in stats.items()
        }

    return Updates(
        tuple(group_as_stored(group) for group in updates.added_column_groups),
        tuple(tuple(group_as_stored(group) for group in groups) for groups in updates.appended_files),
        tuple(replace(log, path=as_stored(log.path, DELTA_FOLDER)) for log in updates.added_delta_logs),
        stats_as_stored(updates.added_stats),
    )


def check_path(path: str) -> str:
    """Return a path that may be stored, else raise `InvalidInput`.

    It may be bare, relative, absolute or an address, because external tables have files anywhere. But every reader must
    find the same place under it, and a relative one stays below the table's folder.
    """
    if not isinstance(path, str):
        raise InvalidInput(f"path {path!r:.200} can't be stored in a manifest: give it as a text")
    problem = _problem(path)
    if problem:
        raise InvalidInput(f"path {path[:200]!r} can't be stored in a manifest: {problem}")
    return path


def normal(path: str) -> str:
    """Without ".", ".." and empty parts if the text alone shows that; a slash at the end stays."""
    root = "/" if path.startswith("/") else ""
    parts: list[str] = []
    for part in path.split("/"):
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif part == ".." and root:
            continue
        elif part not in ("", "."):
            parts.append(part)
    end = "/" if parts and parts[-1] != ".." and path.rpartition("/")[2] in ("", ".", "..") else ""
    return root + "/".join(parts) + end or "."


@lru_cache(maxsize=256)
def _below(base_path: str, folder: str) -> str:
    return normal(f"{base_path}/{folder}" if base_path else folder)


def is_bare(path: str) -> bool:
    """A plain name, as nearly all are."""
    return "/" not in path and path not in _DOTS


def bare_name(path: str, base: ManifestBase, folder: str) -> str:
    """The name of a file within the table's folder of that kind, however it is spelled; other paths are unchanged."""
    return _bare(path, base, folder)


def _in_folder(path: str, base: ManifestBase, folder: str) -> str:
    if is_bare(path):
        return base.below(folder) + path
    if path.startswith("/") or _SCHEME.match(path):
        return path
    return normal(base.below(folder) + path)


def _below_base(path: str, base: ManifestBase) -> str:
    return f"{base.path}/{path}" if path.startswith("_") and base.path else path


def _bare(path: str, base: ManifestBase, folder: str) -> str:
    for spelling in base.spellings(folder):
        if len(path) > len(spelling) and path.startswith(spelling):
            return path[len(spelling) :]
    return path


def _problem(path: str) -> str | None:
    if not path:
        return "it is empty"
    try:
        size = len(path.encode("utf-8"))
    except UnicodeEncodeError:
        return "it is not valid Unicode (a lone surrogate)"
    if size > MAX_PATH_BYTES:
        return f"it is longer than {MAX_PATH_BYTES} bytes"
    if any(ord(character) < 0x20 or ord(character) == 0x7F for character in path):
        return "it contains a control character"
    rest = path[match.end() :] if (match := _SCHEME.match(path)) else path
    rest = rest.removeprefix("/")
    parts = rest.split("/")
    if "." in parts or ".." in parts:
        return "it contains . or .. as a folder; write the path without it"
    if parts[-1] == "":
        return "it ends with a slash; a file is needed"
    if "" in parts:
        return "it contains an empty folder name (//)"
    return None
