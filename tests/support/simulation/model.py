"""One table as its store tells it: every version replayed from its JSON, every state decoded by fastavro.

It knows nothing of Headgate's own replay. It is told of each effect on the store, and raises `InvariantBroken` at once.
Deletes are judged in `deletes`.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from support.raw_log import LOG, read_avro, read_lines
from support.simulation.asked import Ask, Asks
from support.simulation.broken import must
from support.simulation.data_files import rows_in
from support.stores.memory import MemoryStore

OURS = ("headgate.", "docMappingSchema.")
"""Configuration keys that belong to the committer, or that a state adds by itself."""
HOUR_MS = 3_600_000
PURGED_FOR_MS = (7 * 24 - 1) * HOUR_MS
"""A purged path is refused for at least the dedupe window; the last hour is left for clocks that differ."""
CLOCKS_DIFFER_MS = 2 * 60_000


@dataclass(frozen=True, slots=True)
class Decided:
    """What a version says about one proposal."""

    version: int
    accepted: bool
    code: str | None
    offset: int | None


@dataclass(frozen=True, slots=True)
class Floors:
    """Ages under which maintenance leaves everything alone, by its settings."""

    version_ms: int
    state_ms: int
    manifest_ms: int
    file_ms: int


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
    source: tuple[str, str, int] | None = None
    next_offset: int = 0
    """Behind the last proposal of its source that it settles."""


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
    proposed_ms: dict[str, int] = field(default_factory=dict)
    """By proposal, when the bus took it first."""
    announced: set[str] = field(default_factory=set)
    """The world's: proposals that have a receipt on the bus."""
    rows: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """By path, what a data file holds or held."""
    purged_ms: dict[str, int] = field(default_factory=dict)
    """By path, when a version forbade it last."""
    floors: Floors | None = None
    """None where somebody cleans who is in a hurry."""
    now_ms: Callable[[], int] = field(default=lambda: 0)
    committed_offset: Callable[[], int] = field(default=lambda: 0)
    """Up to where proposals of `place` are settled and announced."""
    place: Callable[[], tuple[str, str]] = field(default=lambda: ("", ""))
    changes: int = 0
    merges: int = 0
    swaps: int = 0
    cleaned: int = 0
    """Objects that were deleted."""
    _decoded: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

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
            self.rows[key] = rows_in(data)
            return
        self.changes += 1
        self._decoded.pop(key, None)
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
        self._judge(number, info, actions, before)

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
        source = info.get("source")
        return Version(
            number,
            "",
            live,
            metadata,
            is_foreign=False,
            purged=tuple(info.get("purged", ())),
            swap_adds=tuple(item["path"] for item in swap.get("adds", ())),
            source=None if source is None else (source["cluster"], source["topic"], source["partition"]),
            next_offset=0 if source is None else source["next"],
        )

    def _judge(
        self, number: int, info: dict[str, Any], actions: list[dict[str, Any]], before: Mapping[str, Any]
    ) -> None:
        removes, adds = _paths(actions, "remove"), _paths(actions, "add")
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
            must(
                self.purged_ms.get(path, -PURGED_FOR_MS) + PURGED_FOR_MS <= self.now_ms(),
                f"{where} adds {path}, which was purged within the window (rule 3)",
            )
        if not restored:
            moved = [
                _paths([action for action in actions if _keeps_data(action, kind)], kind) for kind in ("remove", "add")
            ]
            self._judge_rows(where, *moved)
        for ask in asks:
            if ask.kind == "Rewrite":
                self._judge_rows(where, ask.removes, ask.adds)
                self.merges += ask.of_worker
        version = self.versions[number]
        self._judge_purge(where, version, any(ask.of_worker for ask in asks))
        self.swaps += bool(version.swap_adds)
        lost = [path for path in version.swap_adds if self.store.head(f"{LOG}/{path}") is None]
        must(not lost, f"{where} swaps {lost[:3]} in, which are not there (rule 8)")

    def _judge_rows(self, where: str, removes: Iterable[str], adds: Iterable[str]) -> None:
        gone, come = self.rows_of(removes), self.rows_of(adds)
        must(
            gone == come,
            f"{where} rewrites files with other rows (invariant 6): {list((gone - come).elements())[:5]} are lost, "
            f"{list((come - gone).elements())[:5]} came out of nowhere",
        )

    def _judge_purge(self, where: str, version: Version, by_worker: bool) -> None:
        for path in version.purged:
            info = self.store.head(path)
            if by_worker and self.floors is not None and info is not None:
                age_ms = self.now_ms() - info.modified_ms
                must(
                    age_ms + CLOCKS_DIFFER_MS > self.floors.file_ms,
                    f"{where} purges {path}, which is {age_ms / 1000:.0f} s old (invariant 7: a job may be about to commit it)",
                )
            self.purged_ms[path] = self.now_ms()

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
                self._judge_refusal(where, identity, item.get("code"))
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

    def _judge_refusal(self, where: str, identity: str, code: str | None) -> None:
        """New data may only be refused when its author was away for as long as orphans and ids are kept."""
        ask = self.asks.by_id.get(identity)
        if ask is None or not ask.is_new_data or code == "expired":
            return
        must(
            code == "path_in_use" and any(path in self.purged_ms for path in ask.adds),
            f"{where} refuses {identity}, which appends new files: {code} (maintenance never makes an append fail)",
        )

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
                must(
                    entry["path"] not in listed or entry["path"] in gone or self._is_disturbed,
                    f"{self.uri}: state {number} lists {entry['path']} twice (invariant 6)",
                )
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
        """Manifests never change."""
        if key not in self._decoded:
            self._decoded[key] = read_avro(self.store.get(key)).records
        return self._decoded[key]

    def _pointer(self, data: bytes) -> None:
        version = json.loads(data)["version"]
        must(version >= self.pointer, f"{self.uri}: the pointer went back from {self.pointer} to {version} (rule 7)")
        must(version in self.states, f"{self.uri}: the pointer leads to state {version}, which isn't there (rule 7)")
        self.pointer = version

    # -- what can be read ---------------------------------------------------------------------------------------------

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

    @property
    def _is_disturbed(self) -> bool:
        """Whether another program has written here: such may add what is live already."""
        return any(version.is_foreign for version in self.versions.values())

    def rows_of(self, paths: Iterable[str]) -> Counter[str]:
        """What these files hold; one that nobody wrote counts for itself."""
        return Counter(row for path in paths for row in self.rows.get(path, (path,)))

    def undecided(self) -> Iterator[Ask]:
        """Proposals on the bus that nobody has been told about, and no version tells of."""
        for identity in self.proposed_ms:
            if identity not in self.decided and identity not in self.announced:
                ask = self.asks.by_id.get(identity)
                if ask is not None:
                    yield ask

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


def _keeps_data(action: dict[str, Any], kind: str) -> bool:
    return kind in action and action[kind].get("dataChange") is False


def _plain(metadata: Mapping[str, Any]) -> dict[str, Any]:
    configuration = metadata.get("configuration") or {}
    return {
        "schema": metadata.get("schemaString"),
        "partitions": metadata.get("partitionColumns"),
        "configuration": {key: text for key, text in configuration.items() if not key.startswith(OURS)},
    }
