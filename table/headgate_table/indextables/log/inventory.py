"""All objects of a log folder, sorted by kind: names, sizes and ages only, no contents."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from headgate_table.indextables.format.names import (
    LEGACY_STATE_MANIFEST,
    LOG,
    MANIFESTS,
    POINTER,
    STATE_MANIFEST,
    is_manifest_name,
    parse_checkpoint_name,
    parse_checkpoint_part_name,
    parse_state_folder,
    parse_version_name,
)
from headgate_table.store.interface import ObjectInfo, Store


@dataclass(frozen=True, slots=True)
class StateFolder:
    """One `state-v…` folder. Without a `manifest` it isn't a state (any more), but may hold manifests that states use."""

    version: int
    manifest: ObjectInfo | None
    file_manifests: tuple[ObjectInfo, ...]
    strays: tuple[ObjectInfo, ...]


@dataclass(frozen=True, slots=True)
class LogInventory:
    """The result of a listing of the whole log. Mappings by number are in ascending order."""

    versions: Mapping[int, ObjectInfo]
    states: Mapping[int, StateFolder]
    checkpoints: Mapping[int, ObjectInfo]
    checkpoint_parts: Mapping[int, tuple[ObjectInfo, ...]]
    shared_manifests: tuple[ObjectInfo, ...]
    pointer: ObjectInfo | None
    strays: tuple[ObjectInfo, ...]

    def manifest_objects(self) -> dict[str, ObjectInfo]:
        """Every file manifest by its key, shared ones and those in the folders of states."""
        found = {info.key: info for info in self.shared_manifests}
        for folder in self.states.values():
            found.update((info.key, info) for info in folder.file_manifests)
        return found

    def readable_states(self) -> list[int]:
        """The folders that hold a state, ascending."""
        return [version for version, folder in self.states.items() if folder.manifest is not None]


def take_inventory(store: Store) -> LogInventory:
    """List the whole log folder."""
    return sort_inventory(store.list(f"{LOG}/"))


def sort_inventory(infos: Iterable[ObjectInfo]) -> LogInventory:
    """Sidecars and staging files of other programs (a leading dot, a "#") are left out."""
    versions: dict[int, ObjectInfo] = {}
    checkpoints: dict[int, ObjectInfo] = {}
    parts: dict[int, list[ObjectInfo]] = {}
    folders: dict[int, list[ObjectInfo]] = {}
    shared: list[ObjectInfo] = []
    strays: list[ObjectInfo] = []
    pointer: ObjectInfo | None = None
    for info in infos:
        folder, _, name = info.key.removeprefix(f"{LOG}/").rpartition("/")
        if name.startswith(".") or "#" in name:
            continue
        state = parse_state_folder(folder)
        if info.key == POINTER:
            pointer = info
        elif state is not None:
            folders.setdefault(state, []).append(info)
        elif folder == MANIFESTS and is_manifest_name(name):
            shared.append(info)
        elif folder == "" and (version := parse_version_name(name)) is not None:
            versions[version] = info
        elif folder == "" and (version := parse_checkpoint_name(name)) is not None:
            checkpoints[version] = info
        elif folder == "" and (version := parse_checkpoint_part_name(name)) is not None:
            parts.setdefault(version, []).append(info)
        else:
            strays.append(info)
    return LogInventory(
        versions=dict(sorted(versions.items())),
        states={number: _state_folder(number, folders[number]) for number in sorted(folders)},
        checkpoints=dict(sorted(checkpoints.items())),
        checkpoint_parts={number: tuple(parts[number]) for number in sorted(parts)},
        shared_manifests=tuple(shared),
        pointer=pointer,
        strays=tuple(strays),
    )


def _state_folder(version: int, infos: list[ObjectInfo]) -> StateFolder:
    named = {info.key.rpartition("/")[2]: info for info in infos}
    manifest = named.pop(STATE_MANIFEST, None)
    legacy = named.pop(LEGACY_STATE_MANIFEST, None)
    strays = [info for name, info in named.items() if not is_manifest_name(name)]
    if manifest is not None and legacy is not None:
        strays.append(legacy)
    return StateFolder(
        version,
        manifest if manifest is not None else legacy,
        tuple(info for name, info in named.items() if is_manifest_name(name)),
        tuple(strays),
    )
