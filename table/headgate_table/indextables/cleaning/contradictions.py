"""Finds states of Headgate that contradict the versions below them: one of these was replaced, and what it did is lost.

Only versions of other writers are doubted. One of Headgate carries a checksum, its place, and its predecessor's name.
Headgate makes a state from the one before it and the versions between. So the two agree, whoever wrote the versions. A
state of another writer proves nothing: it may list what its writer alone knows.
"""

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from headgate_schemas.actions.actions import Action
from headgate_table.avro.seal import has_seal
from headgate_table.coordination.commit_info import nonce_and_previous
from headgate_table.errors import CorruptTable, ObjectMissing
from headgate_table.indextables.format.names import state_key
from headgate_table.indextables.format.replay import Delta
from headgate_table.indextables.format.state_manifest import MAX_STATE_BYTES, StateManifest
from headgate_table.indextables.log.inventory import LogInventory
from headgate_table.indextables.log.overtaken import differing_paths
from headgate_table.indextables.log.reader import LogReader
from headgate_table.indextables.log.replaced_versions import keeps_its_beginning
from headgate_table.indextables.read.live_difference import difference
from headgate_table.interface.findings import examples


@dataclass(frozen=True, slots=True)
class _Anchor:
    """A state, or the empty table before version 0."""

    state: StateManifest | None = None
    delta: Delta = field(default_factory=Delta)


class Contradictions:
    """Finds them in a whole log, whose version files are shown one by one."""

    def __init__(self, reader: LogReader) -> None:
        self._reader = reader
        self._foreign: list[int] = []

    def see(self, version: int, actions: Sequence[Action]) -> None:
        """One more version file, ascending."""
        if not nonce_and_previous(actions)[0]:
            self._foreign.append(version)

    def first(self, inventory: LogInventory, anchors: Collection[int]) -> str | None:
        """What the first such state contradicts, and what to do. `anchors` are states of the history, and checkpoints.

        Each state is compared with the nearest anchor below it, where that is one of Headgate as well, and where all
        versions between them are left. Reads what differs between the two, and nothing where Headgate wrote all versions.
        """
        ordered = sorted(anchors)
        left = iter(self._foreign)
        doubted = next(left, None)
        for below, number in zip([-1, *ordered], ordered, strict=False):
            while doubted is not None and doubted <= below:
                doubted = next(left, None)
            if doubted is None:
                return None
            if doubted > number or not {below, number}.isdisjoint(inventory.checkpoints):
                continue
            versions = range(below + 1, number + 1)
            if all(version in inventory.versions for version in versions):
                told = self._compared(below, versions)
                if told is not None:
                    return told
        return None

    def _compared(self, below: int, versions: range) -> str | None:
        number = versions[-1]
        with suppress(ObjectMissing):  # another cleaner was faster
            if not self._is_ours(number):
                return None
            if below >= 0 and not self._is_ours(below):
                return None
            if below < 0 and not keeps_its_beginning(self._reader):
                return None
            try:
                missing, extra = self._differing(below, versions)
            except CorruptTable:
                self._reader.store.get(state_key(number), max_bytes=MAX_STATE_BYTES)
                if below >= 0:
                    self._reader.store.get(state_key(below), max_bytes=MAX_STATE_BYTES)
                raise
            if missing or extra:
                return f"{state_key(number)}: {differs_text(missing, extra)}; {differs_advice(number)}"
        return None

    def _is_ours(self, number: int) -> bool:
        return has_seal(self._reader.store.get(state_key(number), max_bytes=MAX_STATE_BYTES))

    def _differing(self, below: int, versions: range) -> tuple[set[str], set[str]]:
        """The paths that the state lacks, and those that it has besides."""
        reader = self._reader
        delta = Delta()
        for version in versions:
            delta.apply(version, reader.actions(version))
        added, removed = delta.added.keys(), delta.removed.keys()
        state = reader.state(versions[-1])
        before = _Anchor(reader.state(below) if below >= 0 else None)
        tables = difference(reader, before, _Anchor(state), ("path", "size", "modification_time"))
        came, gone = (set(table.column("path").to_pylist()) for table in tables)
        # Files that were added as they were, or removed though they were not there, make no difference.
        wrong = set(differing_paths(reader.store, reader.resources, state, added - came, removed - gone))
        return (gone - came - removed - added) | (wrong & added), (came - gone - added) | (wrong & removed)


def differs_text(missing: set[str], extra: set[str]) -> str:
    """How a state or checkpoint differs from the versions: the paths that it lacks, and those that it has besides."""
    parts = [f"lacks {examples(missing)}"] if missing else []
    parts += [f"has {examples(extra)} besides"] if extra else []
    return f"it differs from what the versions before it make of the table: it {' and '.join(parts)}"


def differs_advice(number: int) -> str:
    """The remedy."""
    return (
        f"compare `headgate table files --version {number}` with the version files; restore or overwrite what is wrong"
    )
