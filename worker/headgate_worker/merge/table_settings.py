"""The merge settings of a table: for workers, for merges on write, and for requested merges. Pure."""

from headgate_schemas.actions.actions import Metadata
from headgate_schemas.columns.column_kinds import ColumnKind, column_kind
from headgate_schemas.columns.table_schema import column_kinds
from headgate_schemas.errors import InvalidInput
from headgate_table.settings.options import TableOptions
from headgate_worker.merge.orders import ArrowLimits
from headgate_worker.merge.plan import MergeLimits, SortOrder

UNASKED_TARGET_BYTES = 128 << 20
"""Where nothing says which size to aim at. Whoever merges as files come writes a row again until its file has this size, so
it must not be large."""
ROW_GROUPS_HELD = 2
"""By one merge: one is read while another is written."""


def unasked_limits(options: TableOptions, metadata: Metadata) -> MergeLimits:
    """The limits for workers, and for requested merges without further arguments."""
    return MergeLimits(
        target_bytes=options.merge_target_bytes or UNASKED_TARGET_BYTES,
        max_sources=options.merge_max_sources,
        min_sources=min(options.merge_min_sources, options.merge_max_sources),
        sort_order=sort_order(options, metadata),
    )


def on_write_limits(options: TableOptions, metadata: Metadata) -> MergeLimits:
    """The limits for merge-on-write."""
    unasked = unasked_limits(options, metadata)
    return MergeLimits(
        target_bytes=options.merge_on_write_target_bytes or unasked.target_bytes,
        max_sources=unasked.max_sources,
        min_sources=min(options.merge_on_write_min_sources or unasked.min_sources, unasked.max_sources),
        sort_order=unasked.sort_order,
    )


def asked_limits(
    options: TableOptions,
    metadata: Metadata,
    *,
    target_bytes: int | None = None,
    max_outputs: int | None = None,
    max_sources: int | None = None,
    default_target_bytes: int = UNASKED_TARGET_BYTES,
) -> MergeLimits:
    """The limits of a requested merge: any two files are worth it. The table's settings fill in missing arguments."""
    return MergeLimits(
        target_bytes=target_bytes or options.merge_target_bytes or default_target_bytes,
        max_outputs=max_outputs,
        max_sources=max_sources or options.merge_max_sources,
        sort_order=sort_order(options, metadata),
    )


def sort_order(options: TableOptions, metadata: Metadata) -> SortOrder | None:
    """Raises `InvalidInput` for a column that the table doesn't have."""
    if not options.merge_sort_columns:
        return None
    kinds = column_kinds(metadata.schema_string)
    for column in options.merge_sort_columns:
        if column not in kinds:
            raise InvalidInput(
                f"merge.sortColumns names {column!r}, which is no column of the table; its columns are {', '.join(kinds)}"
            )
    first = column_kind(kinds[options.merge_sort_columns[0]])
    return SortOrder(options.merge_sort_columns, is_text=first is ColumnKind.STRING)


def codec_of(options: TableOptions) -> str | None:
    """The codec as an order names it: None means the codec of the first source."""
    return None if options.merge_codec == "source" else options.merge_codec


def arrow_limits(options: TableOptions, scratch_folder: str | None) -> ArrowLimits:
    """Only the process chooses `scratch_folder`: a table's settings must not choose where others write."""
    return ArrowLimits(
        row_group_bytes=max(1, options.merge_heap_bytes // ROW_GROUPS_HELD), scratch_folder=scratch_folder or None
    )


def files_until_due(waiting: tuple[int, ...], min_sources: int, groups: int) -> int:
    """The least number of new files before there can be so many groups to merge.

    `waiting` counts the files by partition that wait for others. New files may come to other partitions; then the next
    look computes the number again.
    """
    missing = sorted(max(1, min_sources - count) for count in waiting)[:groups]
    return sum(missing) + min_sources * (groups - len(missing))
