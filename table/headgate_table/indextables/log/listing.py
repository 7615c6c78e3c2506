"""The versions, states and JSON checkpoints in a listing of the log folder. Pure except for one call."""

from collections.abc import Iterable
from dataclasses import dataclass

from headgate_table.indextables.format.names import (
    LOG,
    POINTER,
    parse_checkpoint_name,
    parse_state_folder,
    parse_version_name,
)
from headgate_table.store.interface import Folder, ObjectInfo, Store


@dataclass(frozen=True, slots=True)
class LogListing:
    """Numbers in ascending order. Versions and checkpoints below `complete_from` were not listed."""

    versions: tuple[int, ...]
    states: tuple[int, ...]
    checkpoints: tuple[int, ...]
    complete_from: int
    pointer: ObjectInfo | None
    version_objects: dict[int, ObjectInfo]

    @property
    def is_empty(self) -> bool:
        return not (self.versions or self.states or self.checkpoints)

    @property
    def highest(self) -> int:
        """The highest number in use; -1 for an empty log."""
        return max((*self.versions[-1:], *self.states[-1:], *self.checkpoints[-1:]), default=-1)


def list_log(store: Store, from_version: int = 0) -> LogListing:
    """List the log folder, without the version files below `from_version`."""
    # The bare 20 digits sort before "<digits>.checkpoint.json" and "<digits>.json".
    after = f"{LOG}/{from_version:020d}" if from_version > 0 else ""
    return read_listing(store.list_folder(f"{LOG}/", after=after), from_version)


def read_listing(folder: Folder, from_version: int = 0) -> LogListing:
    """Other names (sidecars, staging files, foreign files) are left out."""
    names = [(info, info.key.rpartition("/")[2]) for info in folder.objects]
    objects = {version: info for info, name in names if (version := parse_version_name(name)) is not None}
    return LogListing(
        versions=tuple(sorted(objects)),
        states=_numbers(parse_state_folder(name.rstrip("/").rpartition("/")[2]) for name in folder.folders),
        checkpoints=_numbers(parse_checkpoint_name(name) for _, name in names),
        complete_from=from_version,
        pointer=next((info for info, _ in names if info.key == POINTER), None),
        version_objects=objects,
    )


def _numbers(values: Iterable[int | None]) -> tuple[int, ...]:
    return tuple(sorted({value for value in values if value is not None}))
