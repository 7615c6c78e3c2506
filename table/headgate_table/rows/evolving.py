"""Prepares a table before files are added: it creates a missing table, and adds missing columns.

A repeat finds the table and the columns, so these steps need no ids that identify them.
"""

from collections.abc import Sequence
from typing import Protocol

from headgate_schemas.columns.rows_fit import fit_new_table, fit_rows
from headgate_schemas.messages.operations import Alter, Create, Operation, Receipt, RejectCode, Rejected
from headgate_table.errors import TableExists, WriteRefused

SCHEMA_TRIES = 10
"""How often others may change the schema while we widen it."""


class SeenTable(Protocol):
    """The parts of a table at some version to which rows must fit."""

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
        """The present table; None if there is none."""
        ...

    def change(self, operation: Operation) -> Receipt:
        """Commit the change under an id of its own, and wait for the receipt."""
        ...


def make_table(
    target: EvolvingTable, rows: str, partition_columns: Sequence[str], *, only_if_new: bool = False
) -> Rejected | None:
    """Create a table for rows of this schema, in Spark's JSON. A table that another writer has just created also
    counts, unless `only_if_new`.

    Returns a refusal. Raises `TableExists`.
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
    """Add columns until rows of this schema fit. Returns a refusal.

    Raises `InvalidInput` if they can't fit, and `WriteRefused` if the table is gone, has other partition columns than
    the written files, or is changed by other writers again and again.
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
