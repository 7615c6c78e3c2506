"""Short ways to say what a test's manifests hold."""

from headgate_schemas.milvus import ColumnGroup, ColumnGroupFile


def group(*columns: str, files: tuple[tuple[str, int, int], ...] = (), format: str = "parquet") -> ColumnGroup:  # noqa: A002
    return ColumnGroup(columns, tuple(ColumnGroupFile(*file) for file in files), format)


def rows(column: str, path: str, count: int = 10, start: int = 0) -> ColumnGroup:
    """A group of one column and one file with so many rows."""
    return group(column, files=((path, start, start + count),))
