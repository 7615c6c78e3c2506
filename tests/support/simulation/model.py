"""One table as its store tells it: every version replayed from its JSON, every state decoded by fastavro, every delete judged.

It knows nothing of Headgate's own replay. It is told of each effect on the store, and raises `InvariantBroken` at once.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from support.raw_log import LOG, read_avro, read_lines
from support.simulation.asked import Ask, Asks
from support.simulation.broken import must
from support.stores.memory import MemoryStore

OURS = ("headgate.", "docMappingSchema.")
"""Configuration keys that belong to the committer, or that a state adds by itself."""


@dataclass(frozen=True, slots=True)
class Decided:
    """What a version says about one proposal."""

    version: int
    accepted: bool
    code: str | None
    offset: int | None


@dataclass(slots=True)
class Version:
    number: int
    digest: str
    live: dict[str, dict[str, Any]]
    """By path, the adds that are live at this version."""
    metadata: Mapping[str, Any]
    is_foreign: bool
    purged: tuple[str, ...] = ()
    swap_adds: tuple[str, ...] = ()


@dataclass(slots=True)
class State:
    manifests: frozenset[str]


@dataclass(slots=True)
class TableModel:
    uri: str
    store: MemoryStore
    asks: Asks
    versions: dict[int, Version] = field(default_factory=dict)
    """All that ever counted, also those that were cleaned up since."""
    present: set[int] = field(default_factory=set)
    """Version files that are on the store and count."""
    ghosts: set[int] = field(default_factory=set)
    """Numbers that were cleaned up and filled again by a late writer, who must not believe in it."""
    states: dict[int, State] = field(default_factory=dict)
    pointer: int = -1
    decided: dict[str, Decided] = field(default_factory=dict)
    seqs: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    """By app, its accepted (seq, version), in order."""
    newest_term: tuple[int, str] = (-1, "")
    newest_offset: dict[tuple[str, str, int], int] = field(default_factory=dict)
    added_in: dict[str, int] = field(default_factory=dict)
    deleted_files: set[str] = field(default_factory=set)
    record_at: dict[tuple[str, str, int, int], str] = field(default_factory=dict)
    """By cluster, topic, partition and offset, the id of the proposal that the bus holds there."""
    changes: int = 0

    @property
    def newest(self) -> int:
        return max(self.versions, default=-1)

    def live(self) -> dict[str, dict[str, Any]]:
        return self.versions[self.newest].live if self.versions else {}

    # -- what is written ---------------------------------------------------------------------------------------------

    def written(self, key: str, data: bytes) -> None:
        name = key.removeprefix(f"{LOG}/")
        if name == key:
            self.deleted_files.discard(key)
            return
        self.changes += 1
        if len(name) == 25 and name.endswith(".json"):
            self._version(int(name[:20]), data)
        elif name.endswith("/_manifest.avro"):
            self._state(int(name[7:27]), data)
        elif name == "_last_checkpoint":
            self._pointer(data)

    def _version(self, number: int, data: bytes) -> None:
        must(number not in self.present, f"{self.uri}: version file {number} was written over (invariant 2)")
        if number <= self.newest:
            lowest = min(self.present)
            must(number < lowest, f"{self.uri}: number {number} was filled again above version {lowest} (invariant 2)")
            self.ghosts.add(number)
            return
        must(number == self.newest + 1, f"{self.uri}: version {number} follows on {self.newest} (invariant 2)")
        actions = read_lines(data)
        before = self.live()
        version = self._replayed(number, actions, dict(before))
        version.digest = hashlib.sha256(data).hexdigest()
        info = next((action["commitInfo"] for action in actions if "commitInfo" in action), None)
        self.versions[number] = version
        self.present.add(number)
        if info is None:
            version.is_foreign = True
            self.added_in |= dict.fromkeys(_paths(actions, "add"), number)
            return
        self._judge(number, info, _paths(actions, "remove"), _paths(actions, "add"), before)

    def _replayed(self, number: int, actions: list[dict[str, Any]], live: dict[str, dict[str, Any]]) -> Version:
        metadata = self.versions[number - 1].metadata if number else {}
        info: dict[str, Any] = {}
        for action in actions:
            match action:
                case {"add": body}:
                    live.pop(body["path"], None)
                    live[body["path"]] = body
                case {"remove": body}:
                    live.pop(body["path"], None)
                case {"metaData": body}:
                    metadata = body
                case {"commitInfo": body}:
                    info = body
        swap = info.get("swap") or {}
        return Version(
            number,
            "",
            live,
            metadata,
            is_foreign=False,
            purged=tuple(info.get("purged", ())),
            swap_adds=tuple(item["path"] for item in swap.get("adds", ())),
        )

    def _judge(
        self, number: int, info: dict[str, Any], removes: list[str], adds: list[str], before: Mapping[str, object]
    ) -> None:
        where = f"{self.uri} version {number}"
        must(not set(removes) & set(adds), f"{where} removes and adds {set(removes) & set(adds)}")
        must(len(set(adds)) == len(adds), f"{where} adds a path twice")
        committer = info.get("committer")
        if committer is not None:
            term = (committer["epoch"], committer["id"])
            must(term >= self.newest_term, f"{where} is by {term}, after one by {self.newest_term} (rule 2: fenced)")
            self.newest_term = term
        accepted = self._decisions(number, info)
        gone = [path for path in removes if path not in before]
        must(not gone, f"{where} removes {gone[:3]}, which are not live")
        asks = [ask for item in accepted if (ask := self.asks.by_id.get(item)) is not None]
        if committer is not None or asks:
            self._judge_actions(where, asks, set(removes), set(adds))
        restored = any(ask.may_add_anything for ask in asks) or (not asks and info.get("operation") == "Restore")
        for path in adds:
            first = self.added_in.setdefault(path, number)
            must(
                first == number or restored,
                f"{where} adds {path}, which version {first} added already (invariant 1)",
            )
            must(
                path not in self.deleted_files,
                f"{where} adds {path}, whose file was deleted: purging didn't forbid it (rule 3, invariant 7)",
            )

    def _decisions(self, number: int, info: dict[str, Any]) -> list[str]:
        """Note what the version decides; the ids of what it accepts."""
        where = f"{self.uri} version {number}"
        source = info.get("source")
        accepted: list[str] = []
        for item in info.get("decisions", ()):
            identity, offset, writer = item["id"], item.get("offset"), item.get("writer")
            earlier = self.decided.get(identity)
            if earlier is not None:
                must(False, f"{where} decides {identity} again, which version {earlier.version} decided (invariant 1)")
            self.decided[identity] = Decided(number, item["accepted"], item.get("code"), offset)
            if source is not None and offset is not None:
                place = (source["cluster"], source["topic"], source["partition"])
                there = self.record_at.get((*place, offset))
                must(there == identity, f"{where} decides {identity} at offset {offset}, where the bus holds {there}")
                newest = self.newest_offset.get(place, -1)
                must(
                    offset > newest,
                    f"{where} decides offset {offset} after offset {newest}: not in the order of the bus (invariant 3)",
                )
                self.newest_offset[place] = offset
            if not item["accepted"]:
                continue
            accepted.append(identity)
            if writer is not None:
                history = self.seqs.setdefault(writer["app"], [])
                must(
                    not history or history[-1][0] < writer["seq"],
                    f"{where} commits seq {writer['seq']} of {writer['app']} after seq {history[-1:]} (rule 4)",
                )
                history.append((writer["seq"], number))
        return accepted

    def _judge_actions(self, where: str, asks: list[Ask], removes: set[str], adds: set[str]) -> None:
        """Every action is an accepted proposal's, and every accepted proposal is there whole."""
        wanted = frozenset[str]().union(*(ask.adds for ask in asks))
        named = frozenset[str]().union(*(ask.removes for ask in asks))
        if not any(ask.may_add_anything for ask in asks):
            stray = sorted(adds - wanted)
            must(not stray, f"{where} adds {stray[:3]}, which no proposal that it accepts asked for (invariant 1)")
        lost = sorted(wanted - adds)
        must(not lost, f"{where} accepts a proposal without its file {lost[:3]} (invariant 1)")
        left = sorted(named - removes)
        must(not left, f"{where} accepts a proposal but doesn't remove {left[:3]} (invariant 1)")
        if removes - named:
            allowed = any(ask.may_remove and not ask.removes for ask in asks)
            must(allowed, f"{where} removes {sorted(removes - named)[:3]}, which nobody asked for (invariant 1)")

    def _state(self, number: int, data: bytes) -> None:
        must(number in self.versions, f"{self.uri}: a state of version {number}, which doesn't exist")
        if number < self.pointer and self.store.head(f"{LOG}/{number:020d}.json") is None:
            return  # of a writer that was away while the log was truncated: it has to take it back, and nobody reads it
        (record,) = read_avro(data).records
        folder = f"{LOG}/state-v{number:020d}"
        gone = set(record["tombstones"])
        listed: dict[str, dict[str, Any]] = {}
        manifests: set[str] = set()
        for info in record["manifests"]:
            path = info["path"]
            key = f"{LOG}/{path}" if "/" in path else f"{folder}/{path}"
            must(self.store.head(key) is not None, f"{self.uri}: state {number} names {path}, which isn't there")
            manifests.add(key)
            for entry in self._entries(key):
                listed[entry["path"]] = entry
        there = {path: entry["size"] for path, entry in listed.items() if path not in gone}
        meant = {path: add["size"] for path, add in self.versions[number].live.items()}
        must(
            there == meant,
            f"{self.uri}: state {number} differs from the log (invariant 4): only in the state "
            f"{sorted(there.keys() - meant.keys())[:3]}, only in the log {sorted(meant.keys() - there.keys())[:3]}",
        )
        if record.get("metadata") is not None:
            told = json.loads(record["metadata"])["metaData"]
            must(
                _plain(told) == _plain(self.versions[number].metadata),
                f"{self.uri}: state {number} holds other metadata than the log (invariant 4): "
                f"{_plain(told)} instead of {_plain(self.versions[number].metadata)}",
            )
        self.states[number] = State(frozenset(manifests))

    def _entries(self, key: str) -> list[dict[str, Any]]:
        return read_avro(self.store.get(key)).records

    def _pointer(self, data: bytes) -> None:
        version = json.loads(data)["version"]
        must(version >= self.pointer, f"{self.uri}: the pointer went back from {self.pointer} to {version} (rule 7)")
        must(version in self.states, f"{self.uri}: the pointer leads to state {version}, which isn't there (rule 7)")
        self.pointer = version

    # -- what is deleted ---------------------------------------------------------------------------------------------

    def deleted(self, key: str) -> None:
        self.changes += 1
        name = key.removeprefix(f"{LOG}/")
        if name == key:
            self._file_deleted(key)
        elif len(name) == 25 and name.endswith(".json"):
            self._version_deleted(int(name[:20]))
        elif name.endswith("/_manifest.avro"):
            number = int(name[7:27])
            must(
                number < self.pointer,
                f"{self.uri}: state {number} was deleted under the pointer {self.pointer} (rule 7)",
            )
            self.states.pop(number, None)
            self._must_be_readable(f"after state {number} was deleted")
        elif name.startswith("manifests/"):
            users = [number for number, state in self.states.items() if key in state.manifests]
            must(not users, f"{self.uri}: {name} was deleted, which state {users} names (rule 8)")
            after = [
                number
                for number in self.present
                if name in self.versions[number].swap_adds and number > max(self.states, default=-1)
            ]
            must(not after, f"{self.uri}: {name} was deleted, which the swap in version {after} names (rule 8)")

    def _version_deleted(self, number: int) -> None:
        if number in self.ghosts:
            self.ghosts.discard(number)
            return
        if number not in self.present:
            return
        lowest = min(self.present)
        must(number == lowest, f"{self.uri}: version {number} was deleted before {lowest} (rule 1)")
        must(number < self.newest, f"{self.uri}: the newest version file, {number}, was deleted (rule 1)")
        must(
            number < self.pointer, f"{self.uri}: version {number} was deleted over the pointer {self.pointer} (rule 7)"
        )
        self.present.discard(number)
        self._must_be_readable(f"after version {number} was deleted")

    def _must_be_readable(self, when: str) -> None:
        newest = self.newest
        must(self.base_of(newest) is not None, f"{self.uri}: version {newest} can't be rebuilt {when} (invariant 7)")

    def base_of(self, version: int) -> int | None:
        """The state, or -1 for the beginning, from which a version can be rebuilt; None when it can't be."""
        while version >= 0:
            if version in self.states:
                return version
            if version not in self.present:
                return None
            version -= 1
        return -1

    def readable(self) -> list[int]:
        return [version for version in self.versions if self.base_of(version) is not None]

    def _file_deleted(self, key: str) -> None:
        for version in self.readable():
            must(
                key not in self.versions[version].live,
                f"{self.uri}: {key} was deleted, which version {version} needs (invariant 7)",
            )
        purged = any(key in version.purged for version in self.versions.values())
        must(purged, f"{self.uri}: {key} was deleted before a purge was accepted (rule 3)")
        self.deleted_files.add(key)

    def forget_below(self, number: int) -> list[str]:
        """Expect no version file and no state below this number any more; the keys of those that are to go."""
        versions = [version for version in self.present if version < number]
        states = [version for version in self.states if version < number]
        self.present.difference_update(versions)
        for version in states:
            del self.states[version]
        return [f"{LOG}/{version:020d}.json" for version in versions] + [
            f"{LOG}/state-v{version:020d}/_manifest.avro" for version in states
        ]

    # -- at the end --------------------------------------------------------------------------------------------------

    def check_files(self) -> None:
        """Every version file still holds what was once written."""
        for number in self.present:
            data = self.store.get(f"{LOG}/{number:020d}.json")
            digest = hashlib.sha256(data).hexdigest()
            must(digest == self.versions[number].digest, f"{self.uri}: version file {number} has changed (invariant 2)")


def _paths(actions: list[dict[str, Any]], kind: str) -> list[str]:
    return [action[kind]["path"] for action in actions if kind in action]


def _plain(metadata: Mapping[str, Any]) -> dict[str, Any]:
    configuration = metadata.get("configuration") or {}
    return {
        "schema": metadata.get("schemaString"),
        "partitions": metadata.get("partitionColumns"),
        "configuration": {key: text for key, text in configuration.items() if not key.startswith(OURS)},
    }
