"""Verifying the log as a whole: its names, its pointer, and whether its numbers leave a gap. Contents are `verify_states`'."""

from collections.abc import Collection
from itertools import pairwise

from headgate_table.indextables.log_inventory import LogInventory
from headgate_table.indextables.log_reader import LogReader
from headgate_table.indextables.names import POINTER
from headgate_table.indextables.pointer import BrokenPointer, Pointer
from headgate_table.indextables.verify_report import Findings

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


def verify_numbers(inventory: LogInventory, anchors: Collection[int], findings: Findings) -> None:
    """Look for versions that nothing leads to. `anchors` are the states and checkpoints that readers can start from."""
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
        if after == before + 1:
            continue
        missing = f"version {before + 1}" if after == before + 2 else f"versions {before + 1} to {after - 1}"
        if after in anchors:
            findings.note(
                missing,
                f"no version file and no state; version {after} starts anew from its state or checkpoint",
                "nothing to do: they were cleaned up, or their writer kept none",
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
