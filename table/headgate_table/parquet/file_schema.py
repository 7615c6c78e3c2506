"""The columns of one or many Parquet files, from their footers, in the form of proposals."""

from collections.abc import Iterable

from headgate_schemas.actions.actions import AddFile
from headgate_schemas.columns.file_columns import MAX_COLUMNS_CHARS, FileColumns, columns_text
from headgate_table.parquet.footer import Footer
from headgate_table.parquet.schema import Unusable, stored_columns


def described_columns(path: str, footer: Footer) -> FileColumns:
    """The columns of one file. Raises `InvalidInput` for a schema that nobody could read."""
    found = stored_columns(footer)
    types = columns_text(
        [(column.name, None if isinstance(column.type, Unusable) else column.type) for column in found]
    )
    return FileColumns(path, types, columns_with_nulls(footer))


def columns_with_nulls(footer: Footer) -> tuple[str, ...]:
    """The plain top-level columns with nulls, as far as the file counts them."""
    return tuple(
        column.name
        for column in footer.columns
        if column.leaf >= 0 and any(chunk.null_count for chunk in footer.statistics(column))
    )


def told_columns(files: Iterable[AddFile]) -> tuple[FileColumns, ...]:
    """The columns of an operation's files: one item for all files with the same columns whose footers were read."""
    found: dict[str, FileColumns] = {}
    for file in files:
        columns = getattr(file, "columns", None)
        if not isinstance(columns, FileColumns) or len(columns.types) > MAX_COLUMNS_CHARS:
            continue
        known = found.get(columns.types)
        if known is None:
            found[columns.types] = columns
        elif not set(columns.nulls) <= set(known.nulls):
            nulls = tuple(dict.fromkeys((*known.nulls, *columns.nulls)))
            found[columns.types] = FileColumns(known.path, known.types, nulls)
    return tuple(found.values())
