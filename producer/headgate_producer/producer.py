"""`Producer`: programs propose changes to a table with it and learn the decisions. It puts the parts of the room
together.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Unpack

from headgate_bus.interface import Bus
from headgate_producer.delivery.decision_lookup import DecisionLookup
from headgate_producer.delivery.delivery_threads import POLL_S, DeliveryThreads
from headgate_producer.delivery.drafts import Drafter, Terms
from headgate_producer.delivery.outbox import (
    ANSWER_WITHIN_S,
    MAX_IN_FLIGHT,
    Outbox,
    OutboxLimits,
    Outgoing,
    unknown_outcome,
)
from headgate_producer.delivery.receipt_reader import ReceiptReader
from headgate_producer.delivery.shared_outbox import SharedOutbox
from headgate_producer.delivery.ticket import Ticket
from headgate_producer.errors import NotSent
from headgate_schemas import arguments
from headgate_schemas.actions.actions import AddFile, SkipFile
from headgate_schemas.ambient import Ambient, SystemAmbient
from headgate_schemas.arguments import checked
from headgate_schemas.columns.table_schema import HasJson, check_partition_columns, schema_string_of
from headgate_schemas.errors import HeadgateError, InvalidInput
from headgate_schemas.messages.operations import (
    Alter,
    Append,
    CompactState,
    Create,
    Delete,
    Milvus,
    Operation,
    Overwrite,
    Purge,
    Receipt,
    Restore,
    Rewrite,
    Skip,
    Writer,
)
from headgate_schemas.messages.proposals import Claim
from headgate_schemas.milvus import Resolver, Updates
from headgate_schemas.version import __version__
from headgate_table.parquet.file_schema import told_columns
from headgate_table.settings.options import table_options
from headgate_table.store.addresses import table_address
from headgate_table.store.interface import Store
from headgate_table.store.open import open_store, split_address
from headgate_table.store.settings import StoreSettings

if TYPE_CHECKING:
    import pyarrow as pa

    from headgate_table.caching.resources import ReadResources
    from headgate_table.indextables.log.reader import LogReader
    from headgate_table.rows.incoming import ArrowRows
    from headgate_table.rows.writing import WriteMode

ROOM_WITHIN_S = 60.0
"""How long a proposal waits for room among those in flight."""
LOOK_WITHIN_S = 5.0
"""How long the table is asked when no receipt came in time."""
CLOSE_WITHIN_S = 30.0
"""How long closing waits for receipts."""


class Producer:
    """Proposes changes to one table, which need not exist yet. Threads may share it. Use it in a `with` block.

    Each proposal returns a `Ticket` immediately. It waits only while `max_in_flight` others have no receipt. A proposal
    that no committer would accept raises `InvalidInput`. A proposal that cannot be sent raises `NotSent`. In both cases,
    nothing was sent.

    Without `threads`, the caller that waits for a ticket sends the proposals and reads the receipts. Examples of the
    methods continue this block.

    Examples:
        >>> bus = "sqlite:bus.db"
        >>> a, b = (headgate.DataFile(path=name, size=100, modification_time=0) for name in ("a.parquet", "b.parquet"))
        >>> with headgate.committing(bus), headgate.Producer(bus, "lake/events") as producer:
        ...     producer.create("id BIGINT, text STRING").wait(30)
        ...     producer.append([a]).wait(30)
        Committed(version=0, proposal_id='...')
        Committed(version=1, proposal_id='...')
    """

    @checked(
        author=arguments.text,
        storage=arguments.either(StoreSettings, arguments.text_map),
        max_in_flight=arguments.whole,
        answer_within_s=arguments.seconds,
        threads=arguments.flag,
    )
    def __init__(
        self,
        bus: str | Bus,
        table: str,
        *,
        author: str | None = None,
        storage: Mapping[str, str] | StoreSettings | None = None,
        max_in_flight: int = MAX_IN_FLIGHT,
        answer_within_s: float = ANSWER_WITHIN_S,
        ambient: Ambient | None = None,
        threads: bool = True,
        store: Store | None = None,
        resources: "ReadResources | None" = None,
    ) -> None:
        if max_in_flight < 1:
            raise InvalidInput(f"max_in_flight is {max_in_flight}; it must be at least 1")
        if not isinstance(bus, str) and not hasattr(bus, "append"):
            raise InvalidInput(f"bus is {bus!r}; give its address, such as kafka://broker:9092 or sqlite:bus.db")
        if not isinstance(table, str):
            raise InvalidInput(f"table is {table!r}; give its address, such as s3://lake/events")
        if store is None:
            split_address(table)
        self._table = table_address(table)
        self._ambient = ambient or SystemAmbient()
        self._storage = StoreSettings.of(storage)
        self._given_store = store
        self._resources = resources
        self._owned_bus = _open_bus(bus, self._ambient) if isinstance(bus, str) else None
        self._bus = bus if not isinstance(bus, str) else self._owned_bus
        assert self._bus is not None
        limits = OutboxLimits(max_in_flight=max_in_flight, answer_within_s=answer_within_s)
        self._limits = limits
        self._flight = SharedOutbox(Outbox(limits), self._ambient)
        self._past = DecisionLookup(lambda: self.reader, self._ambient)
        self._drafter = Drafter(self._table, author or f"headgate-producer/{__version__}", self._put_claim)
        self._follower = ReceiptReader(self._bus, self._table, self._flight, self._past, self._ambient)
        self._is_closed = False
        self._courier = DeliveryThreads(
            self._bus,
            self._flight,
            self._follower,
            self._ambient,
            prepares=self._owned_bus is not None,
            threads=threads,
        )

    @property
    def table(self) -> str:
        """The table's address, spelled as every process spells it."""
        return self._table

    @property
    def ambient(self) -> Ambient:
        """Clock, ids, randomness and sleep of this producer."""
        return self._ambient

    @cached_property
    def store(self) -> Store:
        """The store of the table. It is opened at first use, because most proposals do not need it."""
        return self._given_store or open_store(self._table, self._storage, self._ambient)

    @cached_property
    def reader(self) -> "LogReader":
        """The table's own log."""
        # Imports Arrow and DataFusion, which programs that only propose don't need.
        from headgate_table.caching.resources import process_resources
        from headgate_table.indextables.log.reader import LogReader

        return LogReader(self.store, self._resources or process_resources())

    def append(self, files: Sequence[AddFile], **terms: Unpack[Terms]) -> Ticket:
        """Add files.

        Examples:
            >>> producer.append([b], writer=headgate.Writer("nightly", seq=17)).wait(30).version
            2
            >>> producer.append([b], writer=headgate.Writer("nightly", seq=17)).wait(30)
            Duplicate(version=2, proposal_id='...')
        """
        given = _values("files", files, AddFile)
        return self.propose(Append(given, told_columns(given)), **terms)

    def write(
        self,
        rows: "ArrowRows",
        *,
        mode: "WriteMode" = "append",
        where: str | None = None,
        partition_by: Sequence[str] | None = None,
        schema_evolution: bool = False,
        target_file_size: int | str | None = None,
        timeout: float | None = None,
        **terms: Unpack[Terms],
    ) -> Ticket:
        """Write rows into new files, and propose them in one version. The arguments are those of `headgate.write`.

        Wrong terms are refused before any file is written. Returns once the files are written. If the table must first be created or get new columns, it waits up to
        `timeout` seconds for each of these receipts. Raises `WriteRefused` if one of them is refused.

        Examples:
            >>> import pyarrow as pa
            >>> producer.write(pa.table({"id": [1], "text": ["a"]}), writer=headgate.Writer("nightly", seq=17)).wait(30)
            Committed(version=2, proposal_id='...')
        """
        from headgate_producer.proposed_rows import propose_rows  # imports PyArrow's writer
        from headgate_table.rows.writing import RowsOrder

        order = RowsOrder.of(mode, where, partition_by, schema_evolution, target_file_size)
        timeout = None if timeout is None else arguments.seconds("timeout", timeout)
        self._drafted(Append(()), terms)  # so that wrong terms are refused before files are written
        return propose_rows(self, rows, order, timeout, terms)

    def overwrite(self, files: Sequence[AddFile], where: str | None = None, **terms: Unpack[Terms]) -> Ticket:
        """Replace the files that match `where` at decision time (all, without it) by `files`.

        Examples:
            >>> producer.overwrite([b]).wait(30).version
            2
        """
        where = None if where is None else arguments.text("where", where)
        given = _values("files", files, AddFile)
        return self.propose(Overwrite(given, where, told_columns(given)), **terms)

    def delete(self, where: str | None = None, paths: Sequence[str] | None = None, **terms: Unpack[Terms]) -> Ticket:
        """Remove the named files, or those that match a predicate on partition columns.

        Examples:
            >>> producer.delete(paths=["a.parquet"]).wait(30).version
            2
        """
        if (where is None) == (paths is None):
            raise InvalidInput("delete takes either `where` or `paths`")
        where = None if where is None else arguments.text("where", where)
        return self.propose(Delete(() if paths is None else _values("paths", paths, str), where), **terms)

    def rewrite(self, removes: Sequence[str], adds: Sequence[AddFile], **terms: Unpack[Terms]) -> Ticket:
        """Replace files by files that hold the same rows.

        Examples:
            >>> producer.rewrite(["a.parquet"], [b]).wait(30).version
            2
        """
        given = _values("adds", adds, AddFile)
        return self.propose(Rewrite(_values("removes", removes, str), given, told_columns(given)), **terms)

    def restore(self, version: int, **terms: Unpack[Terms]) -> Ticket:
        """Make the files of an earlier version live again.

        Examples:
            >>> producer.restore(0).wait(30).version
            2
        """
        return self.propose(Restore(arguments.whole("version", version)), **terms)

    def skip(self, skips: Sequence[SkipFile], **terms: Unpack[Terms]) -> Ticket:
        """Tell maintenance to leave these files alone for a while.

        Examples:
            >>> from headgate_schemas.actions.actions import SkipFile
            >>> skip = SkipFile(path="a.parquet", skip_timestamp=0, reason="unreadable", operation="merge")
            >>> producer.skip([skip]).wait(30).version
            2
        """
        return self.propose(Skip(_values("skips", skips, SkipFile)), **terms)

    def alter(
        self,
        *,
        configuration: Mapping[str, str | None] | None = None,
        description: str | None = None,
        name: str | None = None,
        schema: "pa.Schema | str | HasJson | None" = None,
        **terms: Unpack[Terms],
    ) -> Ticket:
        """Change metadata as of version `based_on`. A configuration value of None removes the key.

        Examples:
            >>> producer.alter(configuration={"checkpoint.interval": "1"}, based_on=1).wait(30).version
            2
        """
        based_on = terms.get("based_on")
        if based_on is None:
            raise InvalidInput("alter needs based_on, the version whose metadata was looked at")
        schema_string = None if schema is None else schema_string_of(schema)
        changed = arguments.text_map_or_none("configuration", {} if configuration is None else configuration)
        return self.propose(Alter(based_on, dict(changed), description, name, schema_string), **terms)

    def create(
        self,
        schema: "pa.Schema | str | HasJson",
        partition_by: Sequence[str] = (),
        configuration: Mapping[str, str] | None = None,
        *,
        name: str | None = None,
        description: str | None = None,
        table_id: str | None = None,
        **terms: Unpack[Terms],
    ) -> Ticket:
        """Create the table. `schema` is an Arrow or Spark schema, Spark's JSON, or columns in SQL.

        Examples:
            >>> producer.create("id BIGINT").wait(30).code
            <RejectCode.ALREADY_EXISTS: 'already_exists'>
        """
        schema_string = schema_string_of(schema)
        columns = _values("partition_by", partition_by, str)
        check_partition_columns(schema_string, columns)
        settings = dict(arguments.text_map("configuration", {} if configuration is None else configuration))
        table_options(settings)
        operation = Create(schema_string, columns, settings, name, description, table_id)
        return self.propose(operation, **terms)

    def compact_state(self, swap: CompactState, **terms: Unpack[Terms]) -> Ticket:
        """Swap manifests for fewer and sorted ones with the same live files. Workers use it; `Table.compact` plans a swap.

        Examples:
            >>> from headgate_schemas.messages.operations import CompactState
            >>> producer.compact_state(CompactState(base=1, removes=("manifests/m.avro",), adds=())).wait(30).code
            <RejectCode.BASE_GONE: 'base_gone'>
        """
        return self.propose(swap, **terms)

    def purge(self, paths: Sequence[str], **terms: Unpack[Terms]) -> Ticket:
        """Forbid these paths for good, so that their files may be deleted.

        Examples:
            >>> producer.purge(["c.parquet"]).wait(30).version
            2
            >>> producer.append([headgate.DataFile(path="c.parquet", size=100, modification_time=0)]).wait(30).code
            <RejectCode.PATH_IN_USE: 'path_in_use'>
        """
        return self.propose(Purge(_values("paths", paths, str)), **terms)

    def milvus(
        self,
        updates: Updates,
        resolver: Resolver | str = Resolver.MERGE,
        read_version: int | None = None,
        **terms: Unpack[Terms],
    ) -> Ticket:
        """Commit a transaction to a Milvus table. The first one creates the table.

        `merge` applies the updates to the newest version. `fail` is refused if another version was committed after
        `read_version`. `overwrite` applies the updates to `read_version` and drops the later changes.

        Examples:
            >>> from headgate_table.milvus import DeltaLog, Updates
            >>> with headgate.Producer(bus, "lake/segment") as segment:
            ...     segment.milvus(Updates(added_delta_logs=(DeltaLog("pk_001.log", 200),))).wait(30).version
            1
        """
        read_version = None if read_version is None else arguments.whole("read_version", read_version)
        if not isinstance(updates, Updates):
            raise InvalidInput(f"updates is {str(updates)[:80]!r}; give headgate_table.milvus.Updates")
        try:
            chosen = Resolver(resolver)
        except ValueError:
            known = ", ".join(item.value for item in Resolver)
            raise InvalidInput(f"resolver is {str(resolver)[:80]!r}; one that a committer can run is {known}") from None
        return self.propose(Milvus(updates, chosen, read_version), **terms)

    def propose(self, operation: Operation, **terms: Unpack[Terms]) -> Ticket:
        """Propose any operation.

        Examples:
            >>> from headgate_schemas.messages.operations import Append
            >>> producer.propose(Append((b,))).wait(30).version
            2
        """
        return self._submit(self._drafted(operation, terms))

    def _drafted(self, operation: Operation, terms: Terms) -> Outgoing:
        if self._is_closed:
            raise NotSent(f"nothing was proposed to {self._table}: this producer is closed; open another")
        if self._courier.broken:
            raise NotSent(f"nothing was proposed to {self._table}: {self._courier.broken}; open another producer")
        if not isinstance(operation, Operation):
            raise InvalidInput(f"{str(operation)[:80]!r} is no operation; use the methods of the producer to make one")
        return self._drafter.draft(operation, self._ambient.new_id(), self._ambient.now_ms(), terms)

    @checked(proposal_id=arguments.text, writer=arguments.instance(Writer))
    def outcome(self, proposal_id: str, *, writer: Writer | None = None) -> Receipt:
        """The result of a proposal, from the receipts that this producer saw, else from the table's log.

        If another process sent the proposal, give its `writer` too. Raises `OutcomeUnknown`.

        Examples:
            >>> proposal_id = producer.append([b]).wait(30).proposal_id
            >>> producer.outcome(proposal_id).version
            2
        """
        if not self._courier.has_threads and self._follower.is_marked:
            self._follower.follow_once(0.0)
        out = self._flight.find(proposal_id)
        if out is not None and out.receipt is not None:
            return out.receipt
        receipt = self._follower.receipt(proposal_id)
        if receipt is None:
            known = writer if writer is not None or out is None else out.writer
            receipt = self._past_decision(proposal_id, known, "neither the events that were seen nor the table tell")
        self._flight.settle([receipt])
        return receipt

    @checked(timeout_s=arguments.seconds)
    def close(self, timeout_s: float = CLOSE_WITHIN_S) -> None:
        """Wait up to `timeout_s` for the proposals in flight, then close. Tickets without a receipt stay unknown.

        Examples:
            >>> producer.close()
            >>> producer.append([b])
            Traceback (most recent call last):
            headgate_producer.errors.NotSent: ...
        """
        if self._is_closed:
            return
        self._is_closed = True
        deadline_s = self._ambient.monotonic_s() + timeout_s
        try:
            if self._courier.has_threads:
                self._flight.wait_until_empty(timeout_s)
            else:
                while len(self._flight) and (left_s := deadline_s - self._ambient.monotonic_s()) > 0:
                    self._courier.pump(left_s)
        finally:
            self._courier.stop()
            self._flight.give_up_all("the producer was closed before its receipt came")
            if self._owned_bus is not None:
                self._owned_bus.close()
            if self._given_store is None and "store" in self.__dict__:
                self.store.close()

    def __enter__(self) -> "Producer":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _submit(self, out: Outgoing) -> Ticket:
        if self._courier.has_threads:
            ended = self._flight.submit(out, ROOM_WITHIN_S)
        else:
            deadline_s = self._ambient.monotonic_s() + ROOM_WITHIN_S
            while (ended := self._flight.try_submit(out)) is None:
                left_s = deadline_s - self._ambient.monotonic_s()
                if left_s <= 0:
                    break
                self._courier.pump(left_s)
        if ended is None:
            raise NotSent(
                f"a proposal for {self._table} was not sent: {len(self._flight)} others have had no receipt for {ROOM_WITHIN_S:g} s "
                f"(max_in_flight is {self._limits.max_in_flight}). Look whether a committer runs, and propose it again"
            )
        if self._courier.has_stopped:  # meanwhile, while the message was written
            self._flight.give_up_all(self._courier.broken or "the producer was closed before its receipt came")
        waiting = ended

        def wait(timeout: float | None) -> Receipt:
            left_s = out.deadline_s - self._ambient.monotonic_s() + 2 * POLL_S
            within_s = left_s if timeout is None else min(timeout, left_s)
            if self._courier.has_threads:
                waiting.wait(max(0.0, within_s))
            else:
                self._pump_until_ended(out, within_s)
            return self._result(out, within_s)

        return Ticket(out, wait)

    def _pump_until_ended(self, out: Outgoing, within_s: float) -> None:
        deadline_s = self._ambient.monotonic_s() + within_s
        while not out.has_ended:
            left_s = deadline_s - self._ambient.monotonic_s()
            if left_s <= 0:
                # Nobody else expires it if the process was suspended until its time was over.
                self._flight.expire()
                return
            self._courier.pump(left_s)

    def _result(self, out: Outgoing, waited_s: float) -> Receipt:
        if out.receipt is None and out.failure is not None and out.attempts == 0:
            raise out.failure
        if out.receipt is None:
            reason = out.given_up_because or f"no receipt came within {max(waited_s, 0.0):.3g} s"
            if out.attempts == 0:
                raise unknown_outcome(out.proposal_id, f"{reason}, and it is still to be sent")
            receipt = self._past_decision(out.proposal_id, out.writer, reason)
            self._flight.settle([receipt])
            return receipt
        return out.receipt

    def _past_decision(self, proposal_id: str, writer: Writer | None, reason: str) -> Receipt:
        """The table's decision; raises `OutcomeUnknown` with the reason why the table had to be asked."""
        try:
            if self._courier.has_threads:
                receipt = self._past.find_within(LOOK_WITHIN_S, proposal_id, writer)
            else:
                receipt = self._past.find(proposal_id, writer)
        except HeadgateError as error:
            raise unknown_outcome(proposal_id, f"{reason}, and the table can't be read ({error})") from error
        if receipt is None:
            raise unknown_outcome(proposal_id, reason)
        return receipt

    def _put_claim(self, proposal_id: str, body: bytes, files: int) -> Claim:
        from headgate_bus.claims import put_claim  # few proposals are that large

        return put_claim(self.store, proposal_id, body, files=files, now_ms=self._ambient.now_ms())


def _open_bus(address: str, ambient: Ambient) -> Bus:
    from headgate_bus.open import open_bus  # imports the bus of that address

    return open_bus(address, ambient)


def _values(name: str, given: object, kind: type) -> tuple:  # type: ignore[type-arg]  # as many kinds as callers
    if isinstance(given, (str, bytes)) or not isinstance(given, Sequence):
        raise InvalidInput(f"{name} is {str(given)[:80]!r}; give a list")
    for item in given:
        if not isinstance(item, kind):
            raise InvalidInput(f"{name} holds {str(item)[:80]!r}; every one of them must be {_named(kind)}")
    return tuple(given)


def _named(kind: type) -> str:
    return "a text" if kind is str else f"a {'DataFile' if kind is AddFile else kind.__name__}"
