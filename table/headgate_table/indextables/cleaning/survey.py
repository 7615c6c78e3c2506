"""Reads the facts of a log that a cleaning plan needs: the references of its states, and the dependencies between
objects.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from headgate_schemas.actions.actions import Metadata
from headgate_schemas.errors import InvalidInput
from headgate_table.coordination.commit_info import commit_record
from headgate_table.coordination.memory_text import is_memory
from headgate_table.errors import CorruptTable, ObjectMissing, UnsupportedTable
from headgate_table.indextables.cleaning.plan import Protected, Roots, StateFacts
from headgate_table.indextables.format.names import checkpoint_key, resolve_manifest, state_key
from headgate_table.indextables.format.pointer import Pointer
from headgate_table.indextables.format.state_manifest import StateManifest
from headgate_table.indextables.log.inventory import LogInventory, take_inventory
from headgate_table.indextables.log.reader import LogReader
from headgate_table.indextables.rules.named_files import swapped_manifests


@dataclass(frozen=True, slots=True)
class LogSurvey:
    inventory: LogInventory
    roots: Roots


def survey_log(reader: LogReader, protected: Protected, *, will_remember: bool = False) -> LogSurvey:
    """List the log, read its states, and last the pointer, which only moves forward: objects below it stay below it.

    `will_remember`: before anything is deleted, a state of the newest version is written, with the table's whole
    memory.
    """
    inventory = take_inventory(reader.store)
    states: dict[int, StateFacts | None] = {}
    vanished: set[int] = set()
    remembers = False
    for version in reversed(inventory.readable_states()):
        try:
            state = reader.state(version)
            # Recovery needs the newest state with a readable memory; the memories of the others are not read.
            has_coordinator = state.coordinator is not None and (remembers or is_memory(state.coordinator))
            remembers = remembers or has_coordinator
            states[version] = _facts(reader, state, version, has_coordinator=has_coordinator)
        except ObjectMissing:
            vanished.add(version)  # another program deleted it since the listing
        except (CorruptTable, UnsupportedTable):
            states[version] = None
    states = dict(sorted(states.items()))
    if vanished:
        left = {number: folder for number, folder in inventory.states.items() if number not in vanished}
        inventory = replace(inventory, states=left)
    manifests = _under_way(reader, inventory) | protected.manifests
    known = _with_metadata_versions(reader, inventory, states)
    pointer = _pointer(reader, inventory, known)
    versions_from = protected.versions_from
    if not (remembers or will_remember) and not inventory.checkpoints:  # JSON checkpoints hold only the floor
        first = _first_to_remember(reader, inventory)
        # The lowest version file of a cleaned log doesn't count: it might have come late.
        versions_from = _lower(versions_from, None if first is None else first - 1)
    roots = Roots(pointer, known, manifests, versions_from, protected.rebuilt)
    return LogSurvey(inventory, roots)


def _pointer(reader: LogReader, inventory: LogInventory, states: Mapping[int, StateFacts | None]) -> int | None:
    """The pointer's version; None without a usable one.

    Writers continue meanwhile, so the pointer may name a version newer than the listing. It then counts as the newest
    listed state or checkpoint, which it has passed, so that everything beyond stays.
    """
    found = reader.pointer()
    if not isinstance(found, Pointer):
        return None
    anchors = {*(number for number, facts in states.items() if facts is not None), *inventory.checkpoints}
    newest = max(anchors, default=None)
    number = found.version
    if number in states or number in inventory.checkpoints or (newest is not None and number < newest):
        return number
    key = state_key(number) if found.is_avro else checkpoint_key(number)
    return number if reader.store.head(key) is None else newest


def _facts(reader: LogReader, state: StateManifest, version: int, *, has_coordinator: bool) -> StateFacts:
    keys = set()
    for info in state.manifests:
        try:
            keys.add(resolve_manifest(info.path, version, reader.store.uri))
        except InvalidInput:
            continue  # outside of the table, so not ours to delete
    return StateFacts(
        created_at=state.created_at,
        manifests=frozenset(keys),
        has_metadata=state.metadata is not None,
        has_coordinator=has_coordinator,
    )


def _lower(one: int | None, other: int | None) -> int | None:
    return min((number for number in (one, other) if number is not None), default=None)


def _first_to_remember(reader: LogReader, inventory: LogInventory) -> int | None:
    """The first version of a committer, or that forbids paths.

    No state holds the memory (those of other programs don't), so recovery needs every version from this one on.
    """
    for version in sorted(inventory.versions):
        try:
            record = commit_record(reader.actions(version))
        except ObjectMissing:
            continue
        except CorruptTable:
            return version  # nobody knows, so it stays
        if record is not None and (record.term is not None or record.purged):
            return version
    return None


def _under_way(reader: LogReader, inventory: LogInventory) -> frozenset[str]:
    """Manifests that versions after the newest state name: the next state will refer to them."""
    newest = max(inventory.readable_states(), default=-1)
    keys: set[str] = set()
    for version in inventory.versions:
        if version > newest:
            try:
                keys.update(swapped_manifests(reader.actions(version)))
            except ObjectMissing:
                continue
    return frozenset(keys)


def _with_metadata_versions(
    reader: LogReader, inventory: LogInventory, states: Mapping[int, StateFacts | None]
) -> dict[int, StateFacts | None]:
    """For states without metadata, the version file from which readers take it (docs/format.md, section 5.4)."""
    found = dict(states)
    waiting = [number for number, facts in sorted(states.items()) if facts is not None and not facts.has_metadata]
    for version in sorted(inventory.versions, reverse=True):
        if not waiting:
            break
        if version > waiting[-1] or not _holds_metadata(reader, version):
            continue
        for number in [number for number in waiting if number >= version]:
            facts = found[number]
            if facts is not None:
                found[number] = replace(facts, metadata_version=version)
            waiting.remove(number)
    return found


def _holds_metadata(reader: LogReader, version: int) -> bool:
    try:
        return any(isinstance(action, Metadata) for action in reader.actions(version))
    except ObjectMissing:
        return False
    except CorruptTable:
        return True  # nobody knows, so it stays
