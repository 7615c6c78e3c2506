"""Recognises a state that a foreign writer put over a version of Headgate (docs/format.md, section 6.3).

A writer that numbers by states alone doesn't read version files, so the number seems free.
"""

from collections.abc import Sequence, Set

from headgate_schemas.actions.actions import Action, AddFile, CommitInfo, RemoveFile
from headgate_table.caching.resources import ReadResources
from headgate_table.errors import CorruptTable
from headgate_table.indextables.format.names import has_numeric_bounds, state_key
from headgate_table.indextables.format.state_manifest import StateManifest
from headgate_table.indextables.manifests.path_index import find_entries
from headgate_table.store.interface import Store


def may_be_by_states_alone(state: StateManifest) -> bool:
    """Whether a writer that numbers by states alone may have made this state.

    Such writers leave out the metadata, and their manifests have short ids. All other writers are recognised by the last manifest alone.
    """
    return state.metadata is None or not all(has_numeric_bounds(info.path) for info in state.manifests[-1:])


def check_not_overtaken(
    store: Store, resources: ReadResources, state: StateManifest, actions: Sequence[Action]
) -> None:
    """Raise `CorruptTable` if the state contradicts the version with the same number, and Headgate wrote that version."""
    if not any(isinstance(action, CommitInfo) and "nonce" in action.body for action in actions):
        return
    added = {action.path for action in actions if isinstance(action, AddFile)}
    removed = {action.path for action in actions if isinstance(action, RemoveFile)}
    check_agrees(store, resources, state, added, removed)


def check_agrees(
    store: Store, resources: ReadResources, state: StateManifest, added: Set[str], removed: Set[str]
) -> None:
    """Raise `CorruptTable` if the state contradicts Headgate's versions up to its own about these paths."""
    differing = differing_paths(store, resources, state, added, removed)
    if differing:
        raise CorruptTable(
            f"{state_key(state.version)} of {store.uri} was written by another program over version {state.version}; that "
            f"one, or one before it, says otherwise about {differing[0]}. Stop that writer; then decide which of the two "
            f"counts, and move the other file away. `headgate table verify` shows what differs"
        )


def differing_paths(
    store: Store, resources: ReadResources, state: StateManifest, added: Set[str], removed: Set[str]
) -> list[str]:
    """The paths of `added` that aren't live in the state, and those of `removed` that are."""
    live = find_entries(store, resources, state, [*added, *removed]).keys() - set(state.tombstones)
    return sorted((added - live) | (removed & live))
