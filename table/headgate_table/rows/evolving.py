"""Before files are added: the table is made where there is none, and gets the columns that it lacks.

A repetition meets the table and the columns that are there, so these steps need no ids by which they are known again.
"""

from collections.abc import Sequence
from typing import Protocol

from headgate_schemas.columns.rows_fit import fit_new_table, fit_rows
from headgate_schemas.messages.operations import Alter, Create, Operation, Receipt, RejectCode, Rejected
from headgate_table.errors import TableExists, WriteRefused

SCHEMA_TRIES = 10
"""How often others may change the schema while we widen it."""


class SeenTable(Protocol):
    """A table as it was at some version, as far as rows are to fit into it."""

    @property
    def version(self) -> int: ...

    @property
    def schema_string(self) -> str: ...

    @property
    def partition_columns(self) -> tuple[str, ...]: ...


class EvolvingTable(Protocol):
    """A table that may not exist yet."""

    @property
    def address(self) -> str: ...

    def look(self) -> SeenTable | None:
        """None where there is no table."""
        ...

    def change(self, operation: Operation) -> Receipt:
        """Commit it under an id of its own, and wait for the receipt."""
        ...


def make_table(
    target: EvolvingTable, rows: str, partition_columns: Sequence[str], *, only_if_new: bool = False
) -> Rejected | None:
    """Make a table for rows of this schema, in Spark's JSON. One that somebody else has just made will do, unless `only_if_new`.

    A refusal is returned. Raises `TableExists`.
    """
    fit = fit_new_table(rows, partition_columns)
    receipt = target.change(Create(fit.schema_string, tuple(partition_columns)))
    if not isinstance(receipt, Rejected):
        return None
    if receipt.code is not RejectCode.ALREADY_EXISTS:
        return receipt
    if only_if_new:
        raise TableExists(f"somebody else has just made a table at {target.address}: nothing was written to it")
    return None


def widen_table(
    target: EvolvingTable, rows: str, partition_columns: tuple[str, ...], *, merge_schema: bool
) -> Rejected | None:
    """Add columns until rows of this schema fit. A refusal is returned.

    Raises `InvalidInput` where they can't fit, and `WriteRefused` where the table is gone, is partitioned otherwise than the files
    were written, or is changed by others again and again.
    """
    for _ in range(SCHEMA_TRIES):
        seen = target.look()
        if seen is None:
            raise WriteRefused(f"the table at {target.address} is gone since it was made: nothing was written")
        if seen.partition_columns != partition_columns:
            raise WriteRefused(
                f"the table at {target.address} is partitioned by {columns_named(seen.partition_columns)}, but the files were written "
                f"by {columns_named(partition_columns)}: somebody else has just made it. Nothing was written; write again"
            )
        fit = fit_rows(rows, seen.schema_string, target.address, merge_schema=merge_schema)
        if not fit.new_columns:
            return None
        receipt = target.change(Alter(seen.version, schema_string=fit.schema_string))
        if isinstance(receipt, Rejected) and receipt.code is not RejectCode.METADATA_CHANGED:
            return receipt
    raise WriteRefused(
        f"the schema of {target.address} was changed by others {SCHEMA_TRIES} times while columns were to be added (SCHEMA_TRIES): "
        f"nothing was written; write again when they are done"
    )


def columns_named(columns: Sequence[str]) -> str:
    """For messages."""
    return ", ".join(columns) if columns else "nothing"
