"""`Producer.write`: writes rows into files of its table and proposes them."""

from typing import TYPE_CHECKING

from headgate_producer.delivery.drafts import Terms
from headgate_producer.delivery.outbox import Outgoing, Stage
from headgate_producer.delivery.ticket import Ticket
from headgate_schemas.ambient import Ambient
from headgate_schemas.messages.operations import Duplicate, Operation, Receipt, Rejected
from headgate_table.errors import TableNotFound, WriteRefused
from headgate_table.rows.incoming import ArrowRows
from headgate_table.rows.writing import LookedAt, RowsOrder, written_rows
from headgate_table.store.interface import Store

if TYPE_CHECKING:
    from headgate_producer.producer import Producer


class ProposedTable:
    """The table of a producer, as a target of rows. Its committer creates it and adds columns."""

    def __init__(self, producer: "Producer", timeout_s: float | None) -> None:
        self._producer = producer
        self._timeout_s = timeout_s

    @property
    def address(self) -> str:
        return self._producer.table

    @property
    def store(self) -> Store:
        return self._producer.store

    @property
    def ambient(self) -> Ambient:
        return self._producer.ambient

    def look(self) -> LookedAt | None:
        try:
            log = self._producer.reader.latest()
        except TableNotFound:
            return None
        return LookedAt(log.version, self._producer.reader.metadata(log))

    def change(self, operation: Operation) -> Receipt:
        return self._producer.propose(operation).wait(self._timeout_s)


def propose_rows(
    producer: "Producer", rows: ArrowRows, order: RowsOrder, timeout_s: float | None, terms: Terms
) -> Ticket:
    """Raises `WriteRefused` if the table could not be created or get its new columns, and the errors of `written_rows`."""
    result = written_rows(ProposedTable(producer, timeout_s), rows, order)
    if isinstance(result, Rejected):
        raise WriteRefused(
            f"the table at {producer.table} was not made ready for the rows ({result.code.value}): {result.reason}; nothing was written"
        )
    return _settled(result) if isinstance(result, Duplicate) else producer.propose(result, **terms)


def _settled(receipt: Receipt) -> Ticket:
    """A ticket with its receipt, for a write that needs no proposal."""
    out = Outgoing(receipt.proposal_id, None, None, 0, stage=Stage.SETTLED, receipt=receipt)
    return Ticket(out, lambda _: receipt)
