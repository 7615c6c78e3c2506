"""Applies updates to a manifest, or refuses them (docs/format.md, section 10.4). Values in, values out."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from headgate_schemas.errors import InvalidInput
from headgate_schemas.milvus import ColumnGroup, ColumnGroupFile, DeltaLog, Stat, Updates
from headgate_table.milvus.format.limits import MAX_ITEMS, MAX_TEXT_BYTES
from headgate_table.milvus.format.manifest import Manifest
from headgate_table.milvus.format.paths import ROOT, ManifestBase, check_path
from headgate_table.milvus.rules.held_files import repeated_delta_log, repeated_file

_MOST_SHOWN = 100
"""Characters of a name in a reason."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The updates don't fit the manifest, or their resolver refuses."""

    code: str
    """One of column_exists, concurrent_transaction, group_mismatch, path_in_use, resolver, row_count_mismatch, stat_changed,
    too_many_items."""
    reason: str


def apply_updates(manifest: Manifest, updates: Updates, base: ManifestBase = ROOT) -> Manifest | Refused:
    """The manifest after all updates. The arguments stay unchanged, so the call can be repeated.

    `base` is the table's folder, by which different spellings of a file's path are recognised.
    """
    groups: tuple[ColumnGroup, ...] = manifest.column_groups
    for appended in updates.appended_files:
        grown = _with_files(groups, appended, base)
        if isinstance(grown, Refused):
            return grown
        groups = grown
    for added in updates.added_column_groups:
        wider = _with_group(groups, added, base)
        if isinstance(wider, Refused):
            return wider
        groups = wider
    repeated = repeated_delta_log(manifest.delta_logs, updates.added_delta_logs, base)
    if repeated is not None:
        return Refused("path_in_use", f"the table holds the delta log {_cut(repeated)!r} already")
    touched = {column for each in updates.appended_files for group in each if group.files for column in group.columns}
    after = replace(
        manifest,
        column_groups=groups,
        delta_logs=manifest.delta_logs + updates.added_delta_logs,
        stats={**manifest.stats, **updates.added_stats},
        # They don't cover the new rows.
        indexes=tuple(index for index in manifest.indexes if index.column_name not in touched),
    )
    if after.num_items > MAX_ITEMS:
        return Refused(
            "too_many_items",
            f"the manifest would hold {after.num_items} records and texts; more than {MAX_ITEMS} are refused. Compact the table first",
        )
    return after


def check_updates(updates: Updates) -> None:
    """Raise `InvalidInput` for updates that no manifest may hold."""
    for group in (*updates.added_column_groups, *(group for groups in updates.appended_files for group in groups)):
        check_group(group)
    for groups in updates.appended_files:
        if not groups:
            raise InvalidInput("an append without a column group appends nothing: give a group for each of the table's")
    for log in updates.added_delta_logs:
        check_delta_log(log)
    for key, stat in updates.added_stats.items():
        check_stat(key, stat)


def check_group(group: ColumnGroup) -> None:
    if not isinstance(group, ColumnGroup):
        raise InvalidInput(f"{group!r:.100} stands where a ColumnGroup belongs")
    if not group.columns:
        raise InvalidInput("a column group needs a column at least")
    if isinstance(group.columns, str):
        raise InvalidInput(f"the columns of a group are one text, {group.columns!r:.100}: give a tuple of names")
    if len(set(group.columns)) < len(group.columns):
        raise InvalidInput(f"a column group names a column twice: {', '.join(group.columns[:20])}")
    for text in (*group.columns, group.format):
        _check_text(text, "a column's name or a format", empty=False)
    for file in group.files:
        _check_file(file)


def _check_file(file: ColumnGroupFile) -> None:
    if not isinstance(file, ColumnGroupFile):
        raise InvalidInput(f"{file!r:.100} stands where a ColumnGroupFile belongs")
    check_path(file.path)
    _check_number(file.start_index, f"the start index of {file.path}")
    _check_number(file.end_index, f"the end index of {file.path}")
    metadata: object = file.metadata
    if not isinstance(metadata, bytes) or len(metadata) > MAX_TEXT_BYTES:
        raise InvalidInput(f"the metadata of {file.path} is no bytes of up to {MAX_TEXT_BYTES}")
    for key, value in file.properties.items():
        _check_text(key, f"a property of {file.path}")
        _check_text(value, f"a property of {file.path}")


def check_delta_log(log: DeltaLog) -> None:
    check_path(log.path)
    if _check_number(log.num_entries, f"the number of entries of {log.path}") < 0:
        raise InvalidInput(f"the delta log {log.path} claims {log.num_entries} entries: give 0 or more")
    if not _is_whole(log.type, bits=32):
        raise InvalidInput(f"the delta log {log.path} has the type {log.type!r}: give a DeltaLogType")


def check_stat(key: str, stat: Stat) -> None:
    _check_text(key, "the key of a stat", empty=False)
    for path in stat.paths:
        check_path(path)
    for name, value in stat.metadata.items():
        _check_text(name, f"the metadata of the stat {key}")
        _check_text(value, f"the metadata of the stat {key}")


def _with_files(
    groups: tuple[ColumnGroup, ...], appended: tuple[ColumnGroup, ...], base: ManifestBase
) -> tuple[ColumnGroup, ...] | Refused:
    """The groups with the appended files after their own. The first append to a table creates its groups."""
    if not groups:
        repeated = _repeated(appended)
        if repeated is not None:
            return Refused("column_exists", f"column {_cut(repeated)!r} stands in two of the appended column groups")
        return _first_in_use(appended, base) or appended
    if len(groups) != len(appended):
        return Refused(
            "group_mismatch",
            f"the table has {len(groups)} column groups and the append {len(appended)}: give files for each of them",
        )
    for index, (group, new) in enumerate(zip(groups, appended, strict=True)):
        if set(group.columns) != set(new.columns):
            return Refused(
                "group_mismatch",
                f"column group {index} holds {_shown(group.columns)} in the table and {_shown(new.columns)} in the append",
            )
        if group.format != new.format:
            return Refused(
                "group_mismatch",
                f"column group {index} is stored as {_cut(group.format)!r} in the table and as {_cut(new.format)!r} in the append",
            )
        refused = _in_use(group.files, new.files, base)
        if refused is not None:
            return refused
    return tuple(replace(group, files=group.files + new.files) for group, new in zip(groups, appended, strict=True))


def _first_in_use(groups: tuple[ColumnGroup, ...], base: ManifestBase) -> Refused | None:
    return next((refused for group in groups if (refused := _in_use((), group.files, base))), None)


def _in_use(
    held: tuple[ColumnGroupFile, ...], added: tuple[ColumnGroupFile, ...], base: ManifestBase
) -> Refused | None:
    repeated = repeated_file(held, added, base)
    if repeated is None:
        return None
    return Refused("path_in_use", f"the table holds rows of the data file {_cut(repeated)!r} already")


def _with_group(
    groups: tuple[ColumnGroup, ...], added: ColumnGroup, base: ManifestBase
) -> tuple[ColumnGroup, ...] | Refused:
    repeated = _repeated((*groups, added))
    if repeated is not None:
        return Refused("column_exists", f"column {_cut(repeated)!r} already exists in a column group of the table")
    if groups and groups[0].num_rows != added.num_rows:
        return Refused(
            "row_count_mismatch",
            f"the table has {groups[0].num_rows} rows and the added column group of {_shown(added.columns)} has "
            f"{added.num_rows}: write it for the newest version",
        )
    return _in_use((), added.files, base) or (*groups, added)


def _repeated(groups: tuple[ColumnGroup, ...]) -> str | None:
    seen: set[str] = set()
    for column in _columns(groups):
        if column in seen:
            return column
        seen.add(column)
    return None


def _columns(groups: tuple[ColumnGroup, ...]) -> Iterator[str]:
    for group in groups:
        yield from group.columns


def _shown(columns: tuple[str, ...]) -> str:
    return f"({', '.join(_cut(column) for column in columns[:10])}{', …' if len(columns) > 10 else ''})"


def _cut(name: str) -> str:
    """Shortened, because a name may be long, and people read the reason."""
    return name if len(name) <= _MOST_SHOWN else f"{name[:_MOST_SHOWN]}…"


def _check_text(text: str, what: str, *, empty: bool = True) -> None:
    if not isinstance(text, str):
        raise InvalidInput(f"{what} is {text!r:.100}: give a text")
    if not text and not empty:
        raise InvalidInput(f"{what} is empty")
    try:
        size = len(text.encode("utf-8"))
    except UnicodeEncodeError:
        raise InvalidInput(f"{what} is not valid Unicode (a lone surrogate): {text[:100]!r}") from None
    if size > MAX_TEXT_BYTES:
        raise InvalidInput(f"{what} takes {size} bytes; more than {MAX_TEXT_BYTES} are refused")


def _check_number(number: int, what: str) -> int:
    if not _is_whole(number, bits=64):
        raise InvalidInput(f"{what} is {number!r}: give an integer of 64 bits")
    return number


def _is_whole(number: object, *, bits: int) -> bool:
    if not isinstance(number, int) or isinstance(number, bool):
        return False
    return -(1 << bits - 1) <= number < 1 << bits - 1
