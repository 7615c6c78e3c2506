"""Rebuilds the same version from the rest of its log, for a reader whose first base was cleaned."""

from headgate_table.indextables.log.identity import is_same
from headgate_table.indextables.log.overtaken import differing_paths
from headgate_table.indextables.log.reader import LoadedLog, LogReader


def same_version(reader: LogReader, log: LoadedLog) -> LoadedLog | None:
    """The version of `log`, read again; None if its number belongs to another table or another history by now.

    Raises `VersionNotRetained` if too little is left to rebuild it.
    """
    found = reader.at_version(log.version)
    return found if _is_of_same_table(log, found) and _tells_the_same(reader, log, found) else None


def _is_of_same_table(log: LoadedLog, found: LoadedLog) -> bool:
    if log.seen is not None:
        number, known = log.seen
        now = found.listing.version_objects.get(number)
        if now is not None:
            return is_same(known, now)
    if log.known_metadata is None or found.known_metadata is None:
        return False
    return log.known_metadata.id == found.known_metadata.id


def _tells_the_same(reader: LogReader, log: LoadedLog, found: LoadedLog) -> bool:
    """As far as the remaining objects show: the number of a state may have been reused (docs/format.md, 5.4)."""
    state, known = found.state, log.state
    if state is None or (known is not None and state.version < known.version):
        return True
    if known is not None and state.version == known.version:
        return (state.created_at, state.manifests) == (known.created_at, known.manifests)
    added = log.delta.added.keys() - found.delta.added.keys()
    removed = log.delta.removed.keys() - found.delta.removed.keys()
    return not differing_paths(reader.store, reader.resources, state, added, removed)
