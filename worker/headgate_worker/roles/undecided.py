"""Finds what undecided proposals still need of their table, and which of its versions may have to be announced again.

Cleaning keeps these (`Protected`). Data files have a second guard for later proposals: the committer decides a `purge`
in its place among them.
"""

from collections.abc import Iterable, Iterator
from contextlib import closing

from headgate_bus.claims import DEFAULT_LIMITS, ClaimLimits, open_claim
from headgate_bus.errors import ClaimRefused
from headgate_bus.interface import Bus, Record, Topic
from headgate_bus.marks import look_again
from headgate_schemas.actions.actions import CommitInfo
from headgate_schemas.ambient import Ambient
from headgate_schemas.errors import HeadgateError
from headgate_schemas.logs import get_logger
from headgate_schemas.messages.message_shape import UnreadableMessage
from headgate_schemas.messages.operation_bodies import operation_of
from headgate_schemas.messages.operations import Append, CompactState, Operation, Overwrite, Restore, Rewrite
from headgate_schemas.messages.proposals import Proposal, decode_claimed, decode_proposal
from headgate_table.coordination.commit_info import commit_record
from headgate_table.indextables.cleaning.plan import Protected
from headgate_table.indextables.format.names import log_key
from headgate_table.indextables.log.readable_versions import left_versions
from headgate_table.indextables.log.reader import LogReader
from headgate_table.indextables.rules.named_files import file_keys
from headgate_table.store.interface import Store

MAX_PROPOSALS = 50_000
"""Undecided proposals of a partition that are read. With more of them the committer has other worries than old files."""
MAX_PATHS = 1_000_000
"""Files that undecided proposals of one table may name: about 200 MB of names."""
READ_TIMEOUT_S = 30.0
"""For all of them."""
_SLICE_S = 1.0

_log = get_logger("headgate.clean")


class TooMuchUndecided(HeadgateError):
    """Nobody knows what proposals need, so nothing may be deleted. The message gives the reason, which passes with
    time.
    """


def protected_by(
    bus: Bus, committer_group: str, reader: LogReader, ambient: Ambient, claims: ClaimLimits = DEFAULT_LIMITS
) -> Protected:
    """The parts of the table that must stay although its log doesn't say so. Raises `TooMuchUndecided`, bus and store
    errors.
    """
    store = reader.store
    looked_ms = ambient.now_ms()
    partition = bus.partition_of(store.uri)
    # First, because this offset only rises: proposals that are settled later keep too much, never too little. On a
    # log that was cut or made anew, the committed offset says nothing about its present proposals.
    committed = look_again(bus, committer_group, partition)[0].start
    files: set[str] = set()
    manifests: set[str] = set()
    claimed: set[str] = set()
    rebuilt: set[int] = set()
    compared: set[int] = set()
    for record in _undecided(bus, partition, committed, ambient):
        if record.key != store.uri:
            continue
        proposal = _proposal(store, record)
        if proposal.claim is not None:
            claimed.add(proposal.claim.key)
        operation = _operation(store, record, proposal, claims)
        files.update(key for path in _added(operation) for key in file_keys(path, store.uri))
        if isinstance(operation, CompactState):
            manifests.update(log_key(manifest.path) for manifest in operation.adds)
            rebuilt.add(operation.base)
        if isinstance(operation, Restore):
            rebuilt.add(operation.version)
        if operation is not None and proposal.read_set is not None:
            compared.add(proposal.read_set.based_on)
        if len(files) > MAX_PATHS:
            raise TooMuchUndecided(
                f"undecided proposals name more than {MAX_PATHS} files of {store.uri} (MAX_PATHS): it is cleaned when the"
                " committer has decided them"
            )
    unsettled = _first_unsettled(bus, partition, committed, reader)
    if unsettled is not None:
        compared.add(unsettled)
    return Protected(
        files=frozenset(files),
        manifests=frozenset(manifests),
        claims=frozenset(claimed),
        versions_from=min(compared, default=None),
        rebuilt=frozenset(rebuilt),
        looked_ms=looked_ms,
    )


def _undecided(bus: Bus, partition: int, committed: int, ambient: Ambient) -> Iterator[Record]:
    """All proposals of the partition that the committer has not settled by now."""
    extent = bus.extent(Topic.PROPOSALS, partition)
    start = max(committed, extent.first)
    if extent.next_offset - start > MAX_PROPOSALS:
        raise TooMuchUndecided(
            f"{extent.next_offset - start} proposals of partition {partition} are undecided, more than the {MAX_PROPOSALS}"
            " that cleaning reads (MAX_PROPOSALS): is a committer running? Tables are cleaned when it has caught up"
        )
    if start >= extent.next_offset:
        return
    deadline_s = ambient.monotonic_s() + READ_TIMEOUT_S
    with closing(bus.reader(Topic.PROPOSALS, {partition: start})) as reading:
        while reading.offsets()[partition] < extent.next_offset:
            if ambient.monotonic_s() >= deadline_s:
                raise TooMuchUndecided(
                    f"the undecided proposals of partition {partition} could not be read within {READ_TIMEOUT_S:g} s"
                )
            yield from reading.read(_SLICE_S)


def _proposal(store: Store, record: Record) -> Proposal:
    try:
        return decode_proposal(record.body)
    except UnreadableMessage as error:
        raise _not_readable(store, record, error) from error


def _operation(store: Store, record: Record, proposal: Proposal, claims: ClaimLimits) -> Operation | None:
    """The proposal's operation; None if no committer will ever accept it."""
    try:
        if proposal.operation is not None:
            return operation_of(proposal.operation)
        assert proposal.claim is not None, "a proposal has one of the two"
        return decode_claimed(open_claim(store, proposal.claim, claims))
    except UnreadableMessage as error:
        raise _not_readable(store, record, error) from error
    except ClaimRefused as error:
        _log.info("claim_not_opened", table=store.uri, offset=record.offset, reason=str(error))
        return None


def _not_readable(store: Store, record: Record, error: UnreadableMessage) -> TooMuchUndecided:
    """A committer of a newer release might be able to read it."""
    return TooMuchUndecided(
        f"proposal at offset {record.offset} for {store.uri} is undecided and can't be read here ({error}); nothing is"
        " deleted before it is decided"
    )


def _added(operation: Operation | None) -> Iterable[str]:
    match operation:
        case Append(files) | Overwrite(files):
            return [add.path for add in files]
        case Rewrite(_, adds):
            return [add.path for add in adds]
        case _:
            return ()


def _first_unsettled(bus: Bus, partition: int, committed: int, reader: LogReader) -> int | None:
    """The oldest version whose proposals lie above the committed offset, because it may have to be announced again.

    The next version if there is none.
    """
    source = bus.source(partition)
    versions = sorted(reader.full_listing().versions, reverse=True)
    first = versions[0] + 1 if versions else None
    for version, actions in left_versions(reader, versions):
        if actions is None:
            first = version  # nobody knows, so it stays
            continue
        record = commit_record(action for action in actions if isinstance(action, CommitInfo))
        if record is None or record.settled is None or record.settled.source != source:
            continue  # from another program or another bus, or direct: nobody announces it again
        if record.settled.next_offset <= committed:
            return first
        first = version
    return first
