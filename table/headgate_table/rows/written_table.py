"""A table as a target of rows, with the table's own way to commit: directly, or by the function with which it was
opened.
"""

from collections.abc import Callable

from headgate_schemas.ambient import Ambient
from headgate_schemas.messages.operations import Committed, Create, Operation, Receipt, RejectCode, Rejected
from headgate_schemas.messages.proposal_ids import timed_id
from headgate_table.errors import TableExists, TableNotFound
from headgate_table.interface.table_format import TableFormat
from headgate_table.rows.writing import LookedAt
from headgate_table.store.interface import Store


class WrittenTable:
    """`opened` opens the table, or raises `TableNotFound`; `made` creates it, or raises `TableExists`."""

    def __init__(
        self, store: Store, ambient: Ambient, opened: Callable[[], TableFormat], made: Callable[[Create], TableFormat]
    ) -> None:
        self._store = store
        self._ambient = ambient
        self._opened = opened
        self._made = made
        self._table: TableFormat | None = None

    @property
    def address(self) -> str:
        return self._store.uri

    @property
    def store(self) -> Store:
        return self._store

    @property
    def ambient(self) -> Ambient:
        return self._ambient

    def look(self) -> LookedAt | None:
        try:
            self._table = self._table or self._opened()
            snapshot = self._table.snapshot()
        except TableNotFound:
            return None
        return LookedAt(snapshot.version, snapshot.metadata)

    def change(self, operation: Operation) -> Receipt:
        if not isinstance(operation, Create):
            if self._table is None:
                self._table = self._opened()
            return self._table.commit(operation)
        proposal_id = timed_id(self._ambient.new_id(), self._ambient.now_ms())
        try:
            self._table = self._made(operation)
        except TableExists as error:
            return Rejected(RejectCode.ALREADY_EXISTS, str(error), proposal_id)
        return Committed(0, proposal_id)
