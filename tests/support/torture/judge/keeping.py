"""Whether everything that a retained version or state names is there, while cleaners are at work.

Read from the disk below the store, by the standard library and fastavro, without any of the code that cleans.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.logs.raw_log import LOG, read_avro, read_lines
from support.torture.judge.evidence import version_files, version_of
from support.torture.stage.ageing import data_files

STATE = "_manifest.avro"
KEPT_STATES = 2
"""By `state.retention.versions`."""


@dataclass(frozen=True, slots=True)
class _Names:
    """Data files in a version or a state."""

    needed: frozenset[str]
    """Reading it needs them."""
    told_of: frozenset[str]
    """Those and removed ones."""


class Keeping:
    """Of one table. A version or state is taken away before the files that it names, never after."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._named: dict[Path, _Names] = {}
        """By version file or state."""
        self._entries: dict[Path, frozenset[str]] = {}
        """By manifest."""
        self._manifest_names: set[str] = set()
        self.looks = 0
        self.lost: list[str] = []
        """What was not there although it was named."""

    def look(self) -> None:
        """Names first, then what is there: so what is missing was taken away too early, or its namer is gone by now."""
        self.looks += 1
        sources = list(self._sources())
        self._named = {source: names for source in sources if (names := self._names(source)) is not None}
        there = data_files(self._folder)
        for source, names in self._named.items():
            for name in sorted(names.needed - there):
                if source.exists() and not (self._folder / name).exists():
                    self.lost.append(f"{source.relative_to(self._folder)} names {name}, which is gone")

    def unnamed(self) -> set[str]:
        """Data files that nothing retained tells of, as far as the last look knows."""
        return data_files(self._folder).difference(*(names.told_of for names in self._named.values()))

    def was_named(self, manifest: str) -> bool:
        """Whether a state that was there at a look names it, by its own name without a folder."""
        return manifest in self._manifest_names

    def has_expired(self) -> bool:
        """Whether no version or state is left of those that age alone keeps: two states stay, and what comes after them."""
        states, versions = self.states(), version_files(self._folder / LOG)
        return 0 < len(states) <= KEPT_STATES and version_of(versions[0]) > states[0]

    def states(self) -> list[int]:
        return sorted(int(source.parent.name[7:]) for source in self._sources() if source.name == STATE)

    def _sources(self) -> Iterator[Path]:
        log = self._folder / LOG
        yield from version_files(log)
        yield from (folder / STATE for folder in sorted(log.glob("state-v*")) if (folder / STATE).exists())

    def _names(self, source: Path) -> _Names | None:
        """None for what is gone meanwhile."""
        known = self._named.get(source)
        if known is not None:
            return known
        try:
            data = source.read_bytes()
        except FileNotFoundError:
            return None
        if source.name != STATE:
            actions = read_lines(data)
            added = frozenset(action["add"]["path"] for action in actions if "add" in action)
            return _Names(added, added.union(action["remove"]["path"] for action in actions if "remove" in action))
        (state,) = read_avro(data).records
        return self._names_of_state(source, state)

    def _names_of_state(self, source: Path, state: dict[str, Any]) -> _Names | None:
        entries: set[str] = set()
        for info in state["manifests"]:
            inside = info["path"] if "/" in info["path"] else f"{source.parent.name}/{info['path']}"
            manifest = self._folder / LOG / inside
            if manifest not in self._entries:
                try:
                    records = read_avro(manifest.read_bytes()).records
                except FileNotFoundError:
                    if source.exists():
                        self.lost.append(f"{source.parent.name} names {inside}, which is gone")
                    return None
                self._manifest_names.add(manifest.name)
                self._entries[manifest] = frozenset(record["path"] for record in records)
            entries |= self._entries[manifest]
        gone = frozenset(state["tombstones"])
        return _Names(frozenset(entries - gone), frozenset(entries | gone))
