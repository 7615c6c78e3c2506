"""Finds damage anywhere in a log, before anything is deleted: an unreadable part may need the objects."""

from collections.abc import Sequence

from headgate_schemas.actions.actions import Action
from headgate_table.errors import ObjectMissing, TableNotFound, UnsupportedTable
from headgate_table.indextables.cleaning.contradictions import Contradictions
from headgate_table.indextables.cleaning.survey import LogSurvey
from headgate_table.indextables.format.entries import ALL_COLUMNS
from headgate_table.indextables.format.names import POINTER
from headgate_table.indextables.format.pointer import BrokenPointer
from headgate_table.indextables.log.lost_versions import lost_versions
from headgate_table.indextables.log.predecessor import replaced_text
from headgate_table.indextables.log.reader import LogReader
from headgate_table.indextables.log.replaced_versions import Replacements
from headgate_table.indextables.log.resolve import states_in_history
from headgate_table.indextables.read.entry_reader import read_entries
from headgate_table.indextables.rules.named_files import UNTOLD, named_paths


def open_damage(reader: LogReader, survey: LogSurvey) -> str | None:
    """The damage of the log; None if its newest version and every object can be read, and none is lost.

    Reads the whole log, through the cache: a cleaner reads most of it anyway, to learn which files it names.
    """
    inventory, roots = survey.inventory, survey.roots
    pointer = reader.pointer()
    if isinstance(pointer, BrokenPointer):
        return f"{POINTER} can't be used: {pointer.reason}"
    if roots.pointer is not None and roots.pointer not in {*roots.states, *inventory.checkpoints}:
        return f"{POINTER} names version {roots.pointer}, which has neither a state nor a checkpoint"
    if pointer is not None and pointer.version == roots.pointer:
        named = roots.states if pointer.is_avro else inventory.checkpoints
        if pointer.version not in named:
            return f"{POINTER} names version {pointer.version}, which has no {'state' if pointer.is_avro else 'checkpoint'}"
    try:
        read_entries(reader.store, reader.resources, reader.latest(), ALL_COLUMNS)
        replacements, contradictions = Replacements(), Contradictions(reader)

        def see(version: int, actions: Sequence[Action]) -> None:
            replacements.see(version, actions)
            contradictions.see(version, actions)

        for _ in named_paths(reader, inventory, see=see):
            pass
        anchors = {*states_in_history(roots.states), *inventory.checkpoints}
        replaced = replacements.found(anchors, reader)
        if replaced:
            return replaced_text(replaced[0])
        contradicted = contradictions.first(inventory, anchors)
        if contradicted is not None:
            return contradicted
        lost = lost_versions(reader, inventory.versions, lambda: anchors)
    except UnsupportedTable:
        return None  # sound for a newer release; this release can't read its names, and keeps them
    except (*UNTOLD, TableNotFound, ObjectMissing) as error:
        return str(error)
    return f"{lost[0].missing}; {lost[0].advice}" if lost else None
