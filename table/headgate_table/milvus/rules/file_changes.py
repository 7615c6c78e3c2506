"""The added and removed data files between two manifests of a Milvus table. Pure; path and rows identify a file."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from headgate_schemas.milvus import ColumnGroup, ColumnGroupFile
from headgate_table.milvus.format.manifest import Manifest
from headgate_table.totals import as_total


@dataclass(frozen=True, slots=True)
class FileCounts:
    """Added and removed data files of a version; bytes as far as the manifest has sizes."""

    added: int = 0
    removed: int = 0
    added_bytes: int = 0
    removed_bytes: int = 0


@dataclass(frozen=True, slots=True)
class PlacedFile:
    """A data file, and its columns."""

    columns: tuple[str, ...]
    format: str
    file: ColumnGroupFile

    @property
    def size(self) -> int | None:
        """In bytes, if the manifest has the size."""
        text = self.file.properties.get("file_size", "")
        return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


def placed_files(manifest: Manifest) -> Iterator[PlacedFile]:
    for group in manifest.column_groups:
        for file in group.files:
            yield PlacedFile(group.columns, group.format, file)


def changed_files(before: Manifest, after: Manifest) -> tuple[list[PlacedFile], list[PlacedFile]]:
    """The added files, and the removed ones. A file that is named twice counts twice."""
    fresh = _appended(before.column_groups, after.column_groups)
    if fresh is not None:
        return fresh, []
    old, new = (Counter(map(_key, placed_files(manifest))) for manifest in (before, after))
    return _missing_in(old, after), _missing_in(new, before)


def file_counts(before: Manifest, after: Manifest) -> FileCounts:
    added, removed = changed_files(before, after)
    return FileCounts(len(added), len(removed), _bytes(added), _bytes(removed))


@dataclass(frozen=True, slots=True)
class Dropped:
    """The contents of one manifest that its successor lacks."""

    data_files: tuple[str, ...] = ()
    delta_logs: tuple[str, ...] = ()
    stats: tuple[str, ...] = ()
    """Keys that are gone. A stat that was set anew is not among them."""

    def __bool__(self) -> bool:
        return bool(self.data_files or self.delta_logs or self.stats)

    @property
    def counted(self) -> str:
        """The counts in words, with the first names."""
        parts = (("data files", self.data_files), ("delta logs", self.delta_logs), ("stats", self.stats))
        return "; ".join(
            f"{len(names)} {kind} ({', '.join(name[:100] for name in names[:3])}{', …' if len(names) > 3 else ''})"
            for kind, names in parts
            if names
        )


def dropped(before: Manifest, after: Manifest) -> Dropped:
    """The contents of the earlier manifest that the later one lacks."""
    _, removed = changed_files(before, after)
    logs = {(log.path, log.type) for log in after.delta_logs}
    return Dropped(
        tuple(placed.file.path for placed in removed),
        tuple(log.path for log in before.delta_logs if (log.path, log.type) not in logs),
        tuple(key for key in before.stats if key not in after.stats),
    )


def _appended(before: Sequence[ColumnGroup], after: Sequence[ColumnGroup]) -> list[PlacedFile] | None:
    """The new files, if all others are in their old places, as in nearly every version; else None."""
    if len(before) > len(after):
        return None
    fresh: list[PlacedFile] = []
    for place, group in enumerate(after):
        known = before[place] if place < len(before) else ColumnGroup(group.columns, (), group.format)
        count = len(known.files)
        if (known.columns, known.format) != (group.columns, group.format) or group.files[:count] != known.files:
            return None
        fresh += [PlacedFile(group.columns, group.format, file) for file in group.files[count:]]
    return fresh


def _missing_in(known: "Counter[tuple[str, int, int]]", manifest: Manifest) -> list[PlacedFile]:
    left = known.copy()
    found: list[PlacedFile] = []
    for placed in placed_files(manifest):
        key = _key(placed)
        if left[key] > 0:
            left[key] -= 1
        else:
            found.append(placed)
    return found


def _key(placed: PlacedFile) -> tuple[str, int, int]:
    return placed.file.path, placed.file.start_index, placed.file.end_index


def _bytes(files: Sequence[PlacedFile]) -> int:
    return as_total(sum(file.size or 0 for file in files))
