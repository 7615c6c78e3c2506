"""The target table on the driver: its present state, and commits to it by a bus or directly."""

from functools import cached_property

from headgate_bus.errors import BusUnavailable
from headgate_producer.delivery.ticket import Ticket
from headgate_producer.errors import NotSent
from headgate_schemas.ambient import Ambient, SystemAmbient
from headgate_schemas.errors import HeadgateError
from headgate_schemas.logs import get_logger
from headgate_schemas.messages.operations import Committed, Create, Operation, Receipt, RejectCode, Rejected, Writer
from headgate_table.errors import OutcomeUnknown, TableExists, TableNotFound
from headgate_table.indextables.log.newest import NewestVersion
from headgate_table.indextables.write.commit import DirectCommitter
from headgate_table.settings.options import table_options
from headgate_table.store.addresses import table_address
from headgate_table.table import Table
from pyspark_headgate.effective_settings import Effective, effective
from pyspark_headgate.executor.arrow_store import StorePlace, store_place
from pyspark_headgate.options import SourceOptions
from pyspark_headgate.read.table_version import Pinned, pinned_at
from pyspark_headgate.write.kept_producers import KEPT, KeptProducers, Lent

ASK_WITHIN_S = 15.0
"""How long a receipt is waited for until the table is asked, and the bus again; a committer fails over faster."""
PAUSE_S = 0.5
"""Between two tries to reach a bus or a store."""

_log = get_logger("headgate.spark")


class TableTarget:
    """For one thread at a time."""

    def __init__(
        self, given: SourceOptions, ambient: Ambient | None = None, producers: KeptProducers | None = None
    ) -> None:
        self._given = given
        self._producers = producers or KEPT
        self.ambient = ambient or SystemAmbient()
        self.settings: Effective = effective(given)
        self.address = table_address(given.path)

    @property
    def has_bus(self) -> bool:
        return self.settings.bus is not None

    @cached_property
    def place(self) -> StorePlace:
        return store_place(self._given.path, self.settings.store)

    def look(self) -> Pinned | None:
        """The present table; None if there is none."""
        try:
            return pinned_at(self._table().snapshot())
        except TableNotFound:
            return None

    def commit(
        self, operation: Operation, proposal_id: str, writer: Writer | None = None, *, created_ms: int | None = None
    ) -> Receipt:
        """The receipt. While the outcome is unknown, the same is proposed again, until `receiptWithin` is over.

        The id can't have been proposed before `created_ms`. Raises `OutcomeUnknown` when the time is over, or `NotSent`
        if nothing was ever sent.
        """
        deadline_s = self.ambient.monotonic_s() + self._given.receipt_within_s
        if self.settings.bus is None:
            return self._commit_directly(operation, proposal_id, created_ms, deadline_s)
        with self._producers.lent(self.settings.bus, self.address, self.settings.store, self.ambient) as lent:
            return self._commit_by_bus(lent, operation, proposal_id, writer, created_ms, deadline_s)

    def _commit_by_bus(
        self,
        lent: Lent,
        operation: Operation,
        proposal_id: str,
        writer: Writer | None,
        created_ms: int | None,
        deadline_s: float,
    ) -> Receipt:
        ticket: Ticket | None = None
        while True:
            try:
                if ticket is None or ticket.done:
                    ticket = lent.producer().propose(
                        operation, proposal_id=proposal_id, writer=writer, created=created_ms
                    )
                left_s = deadline_s - self.ambient.monotonic_s()
                return ticket.wait(max(0.0, min(left_s, ASK_WITHIN_S)))
            except OutcomeUnknown as error:
                self._pause(error, proposal_id, deadline_s)
            except (BusUnavailable, NotSent) as error:
                self._pause(error, proposal_id, deadline_s)
                lent.drop()
                ticket = None

    def _commit_directly(
        self, operation: Operation, proposal_id: str, created_ms: int | None, deadline_s: float
    ) -> Receipt:
        while True:
            try:
                if isinstance(operation, Create):
                    return self._create(operation, proposal_id)
                table = self._table()
                committer = DirectCommitter(
                    NewestVersion(table.reader),
                    self.ambient,
                    lambda configuration: table_options(configuration, self.settings.table),
                )
                return committer.commit(operation, proposal_id, created_ms=created_ms)
            except OutcomeUnknown as error:
                self._pause(error, proposal_id, deadline_s)

    def _create(self, operation: Create, proposal_id: str) -> Receipt:
        try:
            Table.create(
                self._given.path,
                operation.schema_string,
                operation.partition_columns,
                operation.configuration,
                storage=self.settings.store,
                ambient=self.ambient,
            )
        except TableExists as error:
            return Rejected(RejectCode.ALREADY_EXISTS, str(error), proposal_id)
        return Committed(0, proposal_id)

    def _table(self) -> Table:
        return Table.open(self._given.path, self.settings.store, settings=self.settings.table, ambient=self.ambient)

    def _pause(self, error: HeadgateError, proposal_id: str, deadline_s: float) -> None:
        """Raises the error when the time is over."""
        left_s = deadline_s - self.ambient.monotonic_s()
        if left_s <= 0:
            if isinstance(error, OutcomeUnknown):
                raise OutcomeUnknown(
                    f"nobody knows yet what became of proposal {proposal_id} to {self.address}, after {self._given.receipt_within_s:g} s "
                    f"(receiptWithin). Look whether a committer runs, and for the proposal in `headgate events {self.address}`, before "
                    f"the same is written again; a stream may be started again as it is",
                    proposal_id,
                ) from error
            raise error
        _log.warning("receipt_awaited", table=self.address, proposal=proposal_id, reason=str(error)[:500])
        self.ambient.sleep(min(PAUSE_S, left_s))
