"""Rows in a form that other libraries accept: of a snapshot, or of a part of one."""

import difflib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from headgate_schemas.errors import InvalidInput

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


class ReadableRows(ABC):
    """Each read starts again, and streams: nothing is kept. DuckDB, Polars, pandas and DataFusion treat it as a table."""

    @property
    @abstractmethod
    def schema(self) -> pa.Schema:
        """The columns, in Arrow's types."""

    @abstractmethod
    def reader(self) -> pa.RecordBatchReader:
        """The rows as a stream of batches."""

    @abstractmethod
    def count(self) -> int:
        """The number of rows: from the log if possible, else by reading as few columns as possible."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Arrow's C stream interface, by which other libraries read the rows."""
        return self.reader().__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        return self.schema.__arrow_c_schema__()

    def to_arrow(self) -> pa.Table:
        """All rows, in memory.

        Examples:
            >>> headgate.read("lake/events").to_arrow().column("id").to_pylist()
            [1, 2...]
        """
        return self.reader().read_all()

    def to_pandas(self, **how: Any) -> "pd.DataFrame":
        """All rows as a frame of pandas; keywords are those of `pyarrow.Table.to_pandas`.

        Examples:
            >>> headgate.read("lake/events").to_pandas()["id"].tolist()
            [1, 2...]
        """
        try:
            import pandas  # noqa: F401  # PyArrow says no more than that it isn't there
        except ImportError as error:
            raise InvalidInput("to_pandas needs pandas: install it, or take to_arrow()") from error
        return self.to_arrow().to_pandas(**how)

    def to_polars(self) -> "pl.DataFrame":
        """All rows as a frame of Polars.

        Examples:
            >>> headgate.read("lake/events").to_polars()["id"].to_list()
            [1, 2...]
        """
        try:
            import polars
        except ImportError as error:
            raise InvalidInput("to_polars needs Polars: install it, or take to_arrow()") from error
        return polars.DataFrame(self.reader())


def checked_columns(columns: Sequence[str] | None, known: Sequence[str]) -> list[str]:
    """The columns to read, by default all `known` ones. Raises `InvalidInput` for invalid or unknown names."""
    if columns is None:
        return list(known)
    names = list(columns)
    if not names:
        raise InvalidInput("no columns were asked for; name at least one, or leave `columns` out for all")
    for position, name in enumerate(names):
        if name not in known:
            near = difflib.get_close_matches(str(name), known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"they are {', '.join(known[:20])}"
            raise InvalidInput(f"the table has no column {name!r}; {hint}")
        if name in names[:position]:
            raise InvalidInput(f"column {name!r} is asked for twice; name it once")
    return names
