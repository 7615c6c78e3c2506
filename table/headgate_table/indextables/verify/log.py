"""Verifies the log as a whole: its names, its pointer, and gaps in its numbers. `states` verifies contents."""

from collections.abc import Collection, Sequence
from itertools import pairwise

from headgate_table.indextables.format.names import (
    LEGACY_STATE_MANIFEST,
    LOG,
    POINTER,
    STATE_MANIFEST,
    is_log_name,
    parse_state_folder,
    parse_version_name,
    state_key,
    version_key,
)
from headgate_table.indextables.format.pointer import BrokenPointer, Pointer
from headgate_table.indextables.log.inventory import LogInventory
from headgate_table.indextables.log.lost_versions import Lost
from headgate_table.indextables.log.reader import LogReader
from headgate_table.interface.findings import Findings
from headgate_table.store.interface import Store
from headgate_table.store.local.obstacles import Obstacle, local_obstacles

_STATE_NAMES = (STATE_MANIFEST, LEGACY_STATE_MANIFEST)
_CHECKPOINT = "`headgate table checkpoint` writes a pointer"


def verify_names(inventory: LogInventory, findings: Findings) -> None:
    for info in inventory.strays:
        findings.note(info.key, "it is no part of a log", "delete it if you know where it comes from")
    for folder in inventory.states.values():
        for info in folder.strays:
            findings.note(info.key, "it is no part of a state", "delete it if you know where it comes from")
    for version, parts in inventory.checkpoint_parts.items():
        if version not in inventory.checkpoints:
            findings.note(
                parts[0].key,
                f"{len(parts)} parts of checkpoint {version}, which doesn't exist",
                "purge deletes them once they are old",
            )


def verify_obstacles(store: Store, inventory: LogInventory, findings: Findings) -> None:
    """Find things with the name of an object that aren't files. No listing shows them, and nobody can write there."""
    found = [each for each in local_obstacles(store, LOG) if _is_in_the_way(each)]
    for number in inventory.states:
        folder = state_key(number, "").rstrip("/")
        found += [each for each in local_obstacles(store, folder) if each.key.rpartition("/")[2] in _STATE_NAMES]
    newest = max((*inventory.versions, *inventory.states, *inventory.checkpoints), default=-1)
    for each in found:
        version = parse_version_name(each.key.rpartition("/")[2])
        # If a version is to be written there, every commit fails once it reaches the number.
        report = findings.error if version is not None and version > newest else findings.warning
        report(
            each.key,
            f"{each.what} has the name of a part of the log: readers don't see it, and no writer can put that part there",
            "find out where it comes from, and move it away; nobody needs to be stopped for it",
        )


def _is_in_the_way(found: Obstacle) -> bool:
    name = found.key.rpartition("/")[2]
    if parse_state_folder(name) is not None:
        return found.what != "a folder"
    return found.key == POINTER or is_log_name(name)


def verify_pointer(reader: LogReader, inventory: LogInventory, findings: Findings) -> None:
    pointer = reader.pointer()
    states = inventory.readable_states()
    match pointer:
        case None:
            if states or inventory.checkpoints:
                findings.warning(POINTER, "it is missing: other implementations then ignore every state", _CHECKPOINT)
        case BrokenPointer(reason):
            findings.error(
                POINTER,
                f"it can't be used: {reason}; other implementations then refuse the table",
                "delete it; then " + _CHECKPOINT,
            )
        case Pointer():
            _verify_target(pointer, inventory, findings)


def _verify_target(pointer: Pointer, inventory: LogInventory, findings: Findings) -> None:
    states = inventory.readable_states()
    present = states if pointer.is_avro else [*inventory.checkpoints]
    if pointer.version not in present:
        findings.error(
            POINTER,
            f"it names version {pointer.version}, which has no {'state' if pointer.is_avro else 'checkpoint'}; "
            f"other implementations then refuse the table",
            "delete it; then " + _CHECKPOINT,
        )
    elif states and states[-1] > pointer.version:
        findings.note(
            POINTER,
            f"it names version {pointer.version}, but there is a state of version {states[-1]}",
            "nothing to do: readers look ahead, and the next state moves it",
        )


def verify_numbers(inventory: LogInventory, anchors: Collection[int], lost: Sequence[Lost], findings: Findings) -> None:
    """Find versions that can't be reached, and `lost` ones. `anchors` are the states and checkpoints that readers can
    start from.
    """
    told = {each.first for each in lost if any(anchor >= each.first for anchor in anchors)}
    for each in lost:
        if each.first in told:
            findings.error(version_key(each.first), f"{each.missing}; {_unreadable(each, anchors)}", each.advice)
    numbers = sorted({*inventory.versions, *anchors})
    if not numbers:
        return
    first = numbers[0]
    lowest = min(anchors, default=None)
    if first > 0 and first not in anchors and lowest is None:
        findings.error(
            f"version {first}",
            f"versions 0 to {first - 1} are missing, and there is no state or checkpoint to start from",
            "restore the missing files, or rebuild the log with `headgate table repair`",
        )
    for before, after in pairwise(numbers):
        if after == before + 1 or any(each.first in told and each.first < after <= each.last + 1 for each in lost):
            continue
        missing = f"version {before + 1}" if after == before + 2 else f"versions {before + 1} to {after - 1}"
        if after in anchors:
            findings.note(
                missing,
                f"no version file and no state; version {after} starts anew from its state or checkpoint",
                "nothing to do, if they were cleaned up, or if their writer kept none",
            )
        elif any(anchor > after for anchor in anchors):
            findings.warning(
                missing,
                f"a gap: what follows can't be rebuilt until the next state at {min(a for a in anchors if a > after)}",
                "restore the missing files if these versions are still wanted",
            )
        else:
            findings.error(
                missing,
                f"a gap: version {after} and all later ones can't be rebuilt",
                "restore the missing files; if an older copy was put back while somebody wrote to the table, move the version files "
                "above the gap away; else save what is readable with `headgate table repair`",
            )


def verify_predecessors(replaced: Sequence[int], findings: Findings) -> None:
    """Name the version files that were replaced."""
    for version in replaced:
        findings.error(
            version_key(version),
            f"version {version + 1} was written after another file than this one, which was put in its place: what version "
            f"{version} did to the table is lost",
            "restore it from a copy of the table; without one, save what is readable with `headgate table repair`",
        )


def _unreadable(lost: Lost, anchors: Collection[int]) -> str:
    """The versions that can't be rebuilt without these."""
    following = min(anchor for anchor in anchors if anchor >= lost.first)
    if following == lost.first:
        return "what the table held then is told by its state, what was decided by nothing"
    last = following - 1
    return (f"versions {lost.first} to {last}" if last > lost.first else f"version {lost.first}") + " can't be rebuilt"
