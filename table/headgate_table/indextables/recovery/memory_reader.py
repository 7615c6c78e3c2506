"""Recovers a table's memory from its log, and keeps it up to date.

It uses the newest state that holds the memory and the versions after it; without one, all remaining version files.
Copies that other writers carried along can only raise the values.

Cleaning never goes beyond the newest state with a memory, so no version after such a state came late
(`log.stale_versions`).
"""

from collections.abc import Sequence

from headgate_schemas.actions.actions import Metadata
from headgate_schemas.logs import get_logger
from headgate_table.coordination.commit_info import commit_record
from headgate_table.coordination.memory import MemoryLimits, TableMemory
from headgate_table.coordination.memory_text import UnreadableMemory, memory_limits, parse_floor, parse_memory
from headgate_table.errors import CorruptTable, ObjectMissing, UnsupportedTable
from headgate_table.indextables.format.names import state_key
from headgate_table.indextables.format.state_manifest import StateManifest
from headgate_table.indextables.log.listing import LogListing
from headgate_table.indextables.log.readable_versions import left_versions
from headgate_table.indextables.log.reader import LoadedLog, LogReader
from headgate_table.indextables.log.stale_versions import late_up_to
from headgate_table.settings.options import TableOptions

_STATES_AT_ONCE = 4
STATES_WITH_FLOOR = 256
"""So many states are looked at for a memory. Writers that drop it may write one a commit, so there may be very many."""
STATES_WITHOUT_FLOOR = 16
"""The same, where the newest don't show that there ever was one: other writers carry the floor along."""

_log = get_logger("headgate.memory")


def recover(reader: LogReader, log: LoadedLog, options: TableOptions | MemoryLimits) -> TableMemory:
    """The table's memory at the loaded version. Unknown decisions count as lost, not as never made."""
    limits = options if isinstance(options, MemoryLimits) else memory_limits(options)
    listing = reader.full_listing()
    kept = _newest_kept(reader, listing, log, limits)
    memory = kept or TableMemory(limits)
    _follow(memory, reader, log, listing, doubted=-1 if kept is not None else late_up_to(reader, listing, log))
    return memory


def advance(memory: TableMemory, reader: LogReader, log: LoadedLog, options: TableOptions | None = None) -> None:
    """Apply the versions up to the loaded one to `memory`; each version is read once."""
    if options is not None:
        memory.limits = memory_limits(options)
    if log.version == memory.through:
        return
    if log.version < memory.through:
        memory.become(recover(reader, log, memory.limits))  # another table took the place of the known one
        return
    if log.plan.base.version <= memory.through:
        _apply_all(memory, reader, range(memory.through + 1, log.version + 1), to_first_hole=True)
        if memory.through == log.version:
            return
    listing = reader.full_listing()
    files = sum(memory.through < number <= log.version for number in listing.versions)
    is_kept = False
    if not _is_left(listing, memory.through) or files < log.version - memory.through:
        later = _newest_kept(reader, listing, log, memory.limits)
        if later is not None and later.through >= memory.through:
            is_kept = True
            if later.through > memory.through:
                memory.become(later)
    _follow(memory, reader, log, listing, doubted=-1 if is_kept else late_up_to(reader, listing, log))


def _newest_kept(reader: LogReader, listing: LogListing, log: LoadedLog, limits: MemoryLimits) -> TableMemory | None:
    """The memory in the newest state that holds one."""
    numbers = [number for number in reversed(listing.states) if number <= log.version]
    looked_at = 0
    most = STATES_WITHOUT_FLOOR
    while looked_at < min(most, len(numbers)):
        some = numbers[looked_at : looked_at + (_STATES_AT_ONCE if looked_at else 1)]
        looked_at += len(some)
        for state in reader.resources.each(lambda number: _state(reader, number), some):
            memory = None if state is None else _parsed(reader, state, limits)
            if memory is not None:
                return memory
            if state is not None and state.metadata is not None and state.metadata.coordinator is not None:
                most = STATES_WITH_FLOOR
    return None


def _state(reader: LogReader, number: int) -> StateManifest | None:
    try:
        return reader.state(number)
    except (ObjectMissing, CorruptTable, UnsupportedTable):
        return None  # an earlier one also works, with more versions after it


def _parsed(reader: LogReader, state: StateManifest, limits: MemoryLimits) -> TableMemory | None:
    if state.coordinator is None:
        return None
    try:
        memory = parse_memory(state.coordinator, limits)
    except UnreadableMemory as error:
        _log.warning("memory_not_readable", table=reader.store.uri, state=state.version, reason=str(error))
        return None
    return memory if memory.through <= state.version else None


def _follow(memory: TableMemory, reader: LogReader, log: LoadedLog, listing: LogListing, *, doubted: int) -> None:
    """Apply the remaining versions up to the loaded one, and find out whether any was lost between them.

    Of versions up to `doubted`, only their effect on files counts, so that no path is used twice.
    """
    known_through = memory.through
    versions = [number for number in listing.versions if known_through < number <= log.version]
    applied, settled_ms = _apply_all(memory, reader, versions, doubted=doubted)
    memory.skip_to(log.version)
    if log.state is not None and log.state.metadata is not None:
        _raise(memory, log.state.metadata.coordinator, reader)
    if log.known_metadata is not None:
        _raise(memory, log.known_metadata.coordinator, reader)
    told = applied | _told_by_states_alone(listing, known_through, log.version)
    lost = log.version - known_through - len(told)
    if lost > 0 and memory.term is not None:
        told_ms = settled_ms or _newest_ms(memory, log, listing)
        memory.lose_window(min(told_ms, _present_ms(reader, listing) or told_ms))
        _log.warning("decisions_lost", table=reader.store.uri, versions=lost, horizon=memory.horizon_ms)


def _apply_all(
    memory: TableMemory,
    reader: LogReader,
    versions: Sequence[int],
    *,
    to_first_hole: bool = False,
    doubted: int = -1,
) -> tuple[set[int], int]:
    """Apply the readable ones of the versions.

    Returns the versions whose decisions count, and the time of the first settled proposal after which no decision can
    be hidden: all later decisions are known.
    """
    applied: set[int] = set()
    settled_ms = 0
    for version, actions in left_versions(reader, versions):
        if to_first_hole and version != memory.through + 1:
            break
        if actions is None:
            continue
        if version <= doubted:
            memory.apply_files(version, actions)
            continue
        if version != memory.through + 1:
            settled_ms = 0
        record = commit_record(actions)
        if not settled_ms and record is not None and record.settled is not None:
            settled_ms = max(record.time_ms, record.appended_ms)
        memory.apply(version, actions)
        for action in actions:
            if isinstance(action, Metadata):
                _raise(memory, action.coordinator, reader)
        applied.add(version)
    return applied, settled_ms


def _is_left(listing: LogListing, number: int) -> bool:
    """Whether the log was not cleaned beyond this version, so that the versions after it certainly belong to the log."""
    return (
        number < 0 or number in listing.version_objects or number in _told_by_states_alone(listing, number - 1, number)
    )


def _told_by_states_alone(listing: LogListing, after: int, until: int) -> set[int]:
    """Versions that never had a file: those of writers that decide only their own commits.

    Cleaning deletes the lowest files first, so a state without a file proves this only above a remaining file.
    """
    lowest = min(listing.versions, default=until + 1)
    files = set(listing.versions)
    return {number for number in listing.states if max(after, lowest) < number <= until and number not in files}


def _newest_ms(memory: TableMemory, log: LoadedLog, listing: LogListing) -> int:
    told_ms = max(memory.newest_ms, log.time_ms)
    newest = listing.version_objects.get(log.version)
    return told_ms if told_ms or newest is None else newest.modified_ms


def _present_ms(reader: LogReader, listing: LogListing) -> int:
    """The time by the store. Lost decisions were made before it, whatever the clocks of their writers said."""
    server_ms = reader.store.clock_ms()
    if server_ms is not None:
        return server_ms
    newest_state = reader.store.head(state_key(listing.states[-1])) if listing.states else None
    newest = [listing.version_objects[number] for number in listing.versions[-1:]]
    return max((info.modified_ms for info in (*newest, listing.pointer, newest_state) if info is not None), default=0)


def _raise(memory: TableMemory, text: str | None, reader: LogReader) -> None:
    if text is None:
        return
    try:
        memory.raise_floor(parse_floor(text))
    except UnreadableMemory as error:
        _log.warning("memory_not_readable", table=reader.store.uri, reason=str(error))
