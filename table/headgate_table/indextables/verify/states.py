"""Verifies contents: every version file, state and checkpoint decodes, and each state equals a replay of the log.

One pass over the numbers, ascending, with one set of live paths; a state's own set is dropped after its comparison.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from headgate_schemas.actions.actions import Action, AddFile, Metadata, RemoveFile
from headgate_schemas.actions.doc_mapping import bare_hash, split_registry
from headgate_table.indextables.cleaning.contradictions import differs_advice, differs_text
from headgate_table.indextables.format.json_checkpoint import read_checkpoint
from headgate_table.indextables.format.names import checkpoint_key, state_key, version_key
from headgate_table.indextables.format.state_manifest import MAX_STATE_BYTES, StateManifest
from headgate_table.indextables.format.version_file import MAX_VERSION_FILE_BYTES
from headgate_table.indextables.log.inventory import LogInventory
from headgate_table.indextables.log.reader import LogReader
from headgate_table.indextables.log.replaced_versions import Replacements
from headgate_table.indextables.log.resolve import states_in_history
from headgate_table.indextables.verify.manifests import ManifestVerifier
from headgate_table.interface.findings import Findings, examples
from headgate_table.store.interface import ObjectInfo

_T = TypeVar("_T")

_DAMAGED = "restore it, or save what is readable with `headgate table repair`"


@dataclass(slots=True)
class _Replay:
    """The live paths after the version reached so far; None while they are unknown."""

    live: set[str] | None = None
    reached: int = -1
    added: dict[str, int] = field(default_factory=dict)
    """Paths that versions since the last state added and didn't remove again, with these versions."""

    def apply(self, version: int, actions: Sequence[Action]) -> None:
        if version == 0:
            self.live = set()
        elif version != self.reached + 1:
            self.live = None
        for action in actions:
            if isinstance(action, AddFile):
                self.added[action.path] = version
                if self.live is not None:
                    self.live.add(action.path)
            elif isinstance(action, RemoveFile):
                self.added.pop(action.path, None)
                if self.live is not None:
                    self.live.discard(action.path)
        self.reached = version

    def lose(self, version: int) -> None:
        self.live = None
        self.reached = version

    def start_from(self, version: int, live: set[str] | None) -> None:
        self.live = live
        self.reached = version
        self.added = {}


@dataclass(slots=True)
class _Lost:
    """A version whose files the next state lacks: lost, unless a later version adds them all."""

    version: int
    state: int
    paths: set[str]
    certain: bool
    missing: set[str] = field(default_factory=set)
    """Those that no later version has added so far."""
    again: int = -1
    """The last version that added one of them."""


class ContentVerifier:
    """Checks the contents of one log's files, and that they agree."""

    def __init__(self, reader: LogReader, inventory: LogInventory, findings: Findings) -> None:
        self._reader = reader
        self._inventory = inventory
        self._findings = findings
        self._manifests = ManifestVerifier(reader, inventory.manifest_objects(), findings)
        self._states: dict[int, StateManifest] = {}
        self._mappings: set[str] = set()
        self._lost: list[_Lost] = []
        self._first_metadata: int | None = None
        self.replacements = Replacements()
        self.history: list[int] = []

    @property
    def referenced(self) -> set[str]:
        """The keys of all manifests that a state refers to."""
        return self._manifests.referenced

    def verify(self) -> None:
        self._read_states()
        replay = _Replay()
        inventory = self._inventory
        for number in sorted({*inventory.versions, *inventory.checkpoints, *self._states}):
            if number in inventory.versions:
                self._version(number, replay)
            elif number != replay.reached:
                replay.lose(number)
            if number in self._states:
                self._state(number, replay)
            if number in inventory.checkpoints:
                self._checkpoint(number, replay)
        for lost in self._lost:
            self._report_lost(lost)
        self._without_metadata()

    def _without_metadata(self) -> None:
        """Versions below the first one with metadata: a state needs none of its own if an earlier version has it."""
        readable = {*self.history, *self._inventory.checkpoints}
        if 0 in self._inventory.versions:
            readable.add(0)
        first = self._first_metadata
        lost = sorted(number for number in readable if first is None or number < first)
        if lost:
            self._findings.warning(
                f"version {lost[0]}",
                "nothing at or before it holds the table's metadata, so readers refuse it"
                + (f", as they do {len(lost) - 1} other states and checkpoints" if len(lost) > 1 else ""),
                "restore version file 0, or save the newest version with `headgate table repair`",
            )

    def _learn_metadata(self, number: int) -> None:
        self._first_metadata = number if self._first_metadata is None else min(number, self._first_metadata)

    def anchors(self) -> set[int]:
        """The bases for readers: states of the history, and checkpoints."""
        return {*self.history, *self._inventory.checkpoints}

    def _read_states(self) -> None:
        for number, folder in self._inventory.states.items():
            if folder.manifest is None:
                self._findings.note(
                    state_key(number, ""),
                    "a folder of a state without the state",
                    "purge deletes what nothing refers to",
                )
                continue
            state = self._read(folder.manifest, MAX_STATE_BYTES, partial(self._reader.state, number))
            self._findings.states += 1
            if state is None:
                continue
            if state.version != number:
                self._findings.error(
                    folder.manifest.key, f"it says that it is the state of version {state.version}", _DAMAGED
                )
                continue
            self._states[number] = state
            self._mappings |= {bare_hash(key) for key in state.schema_registry}
            if state.metadata is not None:
                self._learn_metadata(number)
                self._mappings |= set(split_registry(state.metadata.configuration)[0])
        self.history = states_in_history(self._states)
        for number in sorted(set(self._states) - set(self.history)):
            self._findings.note(
                state_key(number),
                "it is younger than a state with a higher number, so it is no history",
                "nothing to do: readers leave it out; purge deletes it once it is old",
            )

    def _read(self, info: ObjectInfo, limit: int, work: Callable[[], _T]) -> _T | None:
        if info.size > limit:
            self._findings.error(info.key, f"it takes {info.size} bytes; more than {limit} are refused", _DAMAGED)
            return None
        return self._findings.attempt(info.key, work, _DAMAGED)

    def _version(self, number: int, replay: _Replay) -> None:
        self._findings.versions += 1
        info = self._inventory.versions[number]
        actions = self._read(info, MAX_VERSION_FILE_BYTES, lambda: self._reader.actions(number))
        if actions is None:
            replay.lose(number)
            return
        if number == 0 and not any(isinstance(action, Metadata) for action in actions):
            self._findings.warning(info.key, "the first version has no metadata", "other implementations may refuse it")
        self._learn(number, actions)
        self.replacements.see(number, actions)
        replay.apply(number, actions)
        if self._lost:
            self._note_again(number, {action.path for action in actions if isinstance(action, AddFile)})

    def _learn(self, number: int, actions: Iterable[Action]) -> None:
        for action in actions:
            if isinstance(action, Metadata):
                self._learn_metadata(number)
                self._mappings |= set(split_registry(action.configuration)[0])

    def _state(self, number: int, replay: _Replay) -> None:
        name = state_key(number)
        live = self._manifests.verify(self._states[number], name, self._mappings)
        if number not in self.history:
            return
        if live is not None:
            lost = self._lost_commits(number, live, replay, set(self._states[number].tombstones))
            if replay.live is not None:
                self._findings.replayed += 1
                if not lost:
                    self._compare(name, number, live, replay.live)
        replay.start_from(number, live)

    def _checkpoint(self, number: int, replay: _Replay) -> None:
        self._findings.checkpoints += 1
        info = self._inventory.checkpoints[number]
        actions = self._read(info, MAX_VERSION_FILE_BYTES, lambda: read_checkpoint(number, self._bytes))
        if actions is None:
            replay.start_from(number, replay.live)
            return
        self._learn(number, actions)
        live = {action.path for action in actions if isinstance(action, AddFile)}
        if replay.live is not None:
            self._findings.replayed += 1
            self._compare(checkpoint_key(number), number, live, replay.live)
        replay.start_from(number, live)

    def _bytes(self, key: str) -> bytes:
        return self._reader.store.get(key, max_bytes=MAX_VERSION_FILE_BYTES)

    def _lost_commits(self, number: int, live: set[str], replay: _Replay, tombstones: set[str]) -> bool:
        """Versions below the state whose files the state lacks: a writer didn't see the states with their numbers."""
        by_version: dict[int, set[str]] = {}
        for path, version in replay.added.items():
            by_version.setdefault(version, set()).add(path)
        found = False
        for version, paths in sorted(by_version.items()):
            if paths & live:
                continue
            # If every version is there, or the numbers are equal, the state should have the files. Otherwise a deleted
            # version may have removed them.
            certain = replay.live is not None or version == number
            if paths <= tombstones:
                self._findings.error(
                    version_key(version),
                    f"its files ({examples(paths)}) had been removed before, and tombstones of state {number} hide them",
                    "commit them again under new names; paths must never be used twice",
                )
                found = True
                continue
            self._lost.append(_Lost(version, number, paths, certain, set(paths)))
            found = found or certain
        return found

    def _note_again(self, version: int, paths: set[str]) -> None:
        for lost in self._lost:
            if lost.version < version and lost.missing & paths:
                lost.missing -= paths
                lost.again = version

    def _report_lost(self, lost: _Lost) -> None:
        if not lost.missing:
            self._findings.note(
                version_key(lost.version),
                f"state {lost.state} holds none of its files ({examples(lost.paths)}); they were added again, up to version {lost.again}",
                "nothing to do: it came late, into a number that had been cleaned up, and its writer committed it anew",
            )
            return
        report = self._findings.error if lost.certain else self._findings.warning
        report(
            version_key(lost.version),
            f"state {lost.state} holds none of its files ({examples(lost.paths)}): its commit "
            f"{'is lost, although its writer was told otherwise' if lost.certain else 'may be lost'}",
            "if the files are wanted, append them again; never let writers that ignore states write to this table",
        )

    def _compare(self, name: str, number: int, live: set[str], replayed: set[str]) -> None:
        missing, extra = replayed - live, live - replayed
        if missing or extra:
            self._findings.error(name, differs_text(missing, extra), differs_advice(number))
