"""The effect of a run of version files on a table, as a value: pure, strict in file order (docs/format.md, section
5.3).
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from headgate_schemas.actions.actions import (
    Action,
    AddFile,
    CommitInfo,
    Metadata,
    Protocol,
    RemoveFile,
    SkipFile,
    UnknownAction,
)
from headgate_schemas.actions.doc_mapping import split_registry
from headgate_schemas.actions.tolerant_json import INT64


@dataclass(frozen=True, slots=True)
class AddedFile:
    """A file that a version added, with the fields of an entry that the add action lacks."""

    add: AddFile
    version: int
    timestamp: int


@dataclass(slots=True)
class Delta:
    """The net effect of some versions on any base below them.

    A path that ends live is in `added`, one that ends removed is in `removed`; both hide the base's entry.
    """

    added: dict[str, AddedFile] = field(default_factory=dict)
    removed: dict[str, RemoveFile] = field(default_factory=dict)
    metadata: Metadata | None = None
    protocol: Protocol | None = None
    registry: dict[str, str] = field(default_factory=dict)
    skips: dict[str, SkipFile] = field(default_factory=dict)
    last_time_ms: int = 0
    """The commit time that the newest version tells of those that tell one; 0 where none does."""

    def apply(self, version: int, actions: Iterable[Action]) -> None:
        """Apply one more version."""
        timestamp = commit_time(actions := list(actions))
        for action in actions:
            match action:
                case AddFile():
                    added_at = timestamp if timestamp is not None else action.modification_time
                    self.removed.pop(action.path, None)
                    # Removed first: a path that is added again moves to the end of the order.
                    self.added.pop(action.path, None)
                    self.added[action.path] = AddedFile(action, version, added_at)
                case RemoveFile():
                    self.added.pop(action.path, None)
                    self.removed[action.path] = action
                case Metadata():
                    self.metadata = _over(self.metadata, action)
                    self.registry.update(split_registry(action.configuration)[0])
                case Protocol():
                    self.protocol = action
                case SkipFile():
                    self.skips[action.path] = action
                case CommitInfo() | UnknownAction():
                    pass
        self.last_time_ms = timestamp or self.last_time_ms

    def copy(self) -> "Delta":
        return replace(
            self,
            added=dict(self.added),
            removed=dict(self.removed),
            registry=dict(self.registry),
            skips=dict(self.skips),
        )


def _over(earlier: Metadata | None, later: Metadata) -> Metadata:
    """The later metadata. Version files lack the additional entries of a checkpoint's metadata, so these stay."""
    if later.coordinator is not None or earlier is None or earlier.coordinator is None:
        return later
    return replace(later, coordinator=earlier.coordinator)


def commit_time(actions: Iterable[Action]) -> int | None:
    """The commit time in a version's `commitInfo`, if it is a number that entries and states can hold."""
    for action in actions:
        if isinstance(action, CommitInfo):
            value = action.body.get("timestamp")
            return value if type(value) is int and value in INT64 else None
    return None
