"""A table's memory as text: the whole in states, its floor in the configuration. Pure.

Equal memories give equal texts. An unreadable text counts as absent; the memory is then recovered from less.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

from headgate_schemas.messages.operations import RejectCode
from headgate_schemas.messages.sources import Source
from headgate_table.coordination.commit_info import Term
from headgate_table.coordination.memory import (
    HASH_BYTES,
    RECENT_SEQS,
    Floor,
    MemoryLimits,
    PurgedPaths,
    TableMemory,
)
from headgate_table.coordination.remembered_ids import NO_REASON, IdsOfVersion, RememberedIds, RememberedRefusal
from headgate_table.settings.options import TableOptions

FORMAT = 1
_HOUR_MS = 3_600_000
_MALFORMED = (KeyError, IndexError, TypeError, ValueError, AttributeError, RecursionError)


class UnreadableMemory(ValueError):
    """The text isn't a memory, is of a newer release, or is damaged."""


@dataclass(frozen=True, slots=True)
class KeptMemory:
    """A memory at one version, as stored there. Unlike the memory itself, it never changes."""

    through: int
    field: str
    """For the state's field `coordinator`."""
    floor: str
    """For the configuration of the state's metadata: all that other writers carry along. Its length is bounded by the
    number of apps (`coordinator.writers.max`) and of sources."""


def kept_memory(memory: TableMemory) -> KeptMemory:
    return KeptMemory(memory.through, format_memory(memory), format_floor(memory.floor()))


def memory_limits(options: TableOptions) -> MemoryLimits:
    """The limits in the settings."""
    return MemoryLimits(
        window_ms=options.dedupe_window_hours * _HOUR_MS,
        max_ids=options.dedupe_max_ids,
        max_apps=options.max_writers,
    )


def format_memory(memory: TableMemory) -> str:
    floor = memory.floor()
    return _text(
        {
            "format": FORMAT,
            "through": memory.through,
            **_floor_body(floor),
            "writers": {app: [list(pair) for pair in recent] for app, recent in sorted(memory.writers.items())},
            "horizon": memory.horizon_ms,
            **_ids_bodies(memory.ids),
            "writersIds": [[version, _blob(ids)] for version, ids in memory.writers_ids.by_version()],
            "lost": memory.lost_ms,
            "metadataVersion": memory.metadata_version,
            "completeFrom": memory.complete_from,
            "decisionsFrom": memory.decisions_from,
            "removed": _removed_body(memory.removed),
            "purged": [[item.version, item.time_ms, _blob(item.paths)] for item in memory.purges],
            "newest": memory.newest_ms,
            "newestAppended": memory.newest_appended_ms,
        }
    )


def parse_memory(text: str, limits: MemoryLimits) -> TableMemory:
    """The stored memory. Raises `UnreadableMemory`."""
    try:
        return _memory(_body(text), limits)
    except _MALFORMED as error:
        raise UnreadableMemory(f"{type(error).__name__} {error}") from None


def is_memory(text: str | None) -> bool:
    """Whether a state's field holds a memory, so that the state must be kept."""
    if text is None:
        return False
    try:
        parse_memory(text, MemoryLimits())
    except UnreadableMemory:
        return False
    return True


def format_floor(floor: Floor) -> str:
    return _text({"format": FORMAT, **_floor_body(floor), "writers": [list(writer) for writer in floor.writers]})


def parse_floor(text: str) -> Floor:
    """Raises `UnreadableMemory`."""
    try:
        body = _body(text)
        return _floor(body, tuple((_str(app), _int(seq), _int(version)) for app, seq, version in body["writers"]))
    except _MALFORMED as error:
        raise UnreadableMemory(f"{type(error).__name__} {error}") from None


def _text(body: dict[str, Any]) -> str:
    return json.dumps(body, separators=(",", ":"), ensure_ascii=True)


def _body(text: str) -> dict[str, Any]:
    body = json.loads(text)
    if not isinstance(body, dict):
        raise TypeError("not an object")
    if body.get("format") != FORMAT:
        raise ValueError(f"format {body.get('format')!r}; this Headgate knows {FORMAT}")
    return body


def _floor_body(floor: Floor) -> dict[str, Any]:
    return {
        "term": None if floor.term is None else [floor.term.epoch, floor.term.committer],
        "rebound": floor.rebound_epoch,
        "source": None if floor.source is None else _source_body(floor.source),
        "positions": [[*_source_body(source), offset] for source, offset in floor.positions],
    }


def _source_body(source: Source) -> list[str | int]:
    return [source.cluster, source.topic, source.partition]


def _ids_bodies(ids: RememberedIds) -> dict[str, Any]:
    """Refusals are listed beside the accepted ids, where earlier releases read them; those without a reason have their
    own list.
    """
    entries = [
        [each.version, each.decided_ms, int(each.is_direct), _blob(each.accepted), []] for each in ids.accepted.values()
    ]
    bare: list[list[Any]] = []
    for (version, decided_ms), run in ids.runs_of_refused():
        told = [[_blob([identity]), item.code.value, item.reason] for identity, item in run if item.reason]
        if told:
            entries.append([version, decided_ms, 0, "", told])
        for code, same in groupby((each for each in run if not each[1].reason), key=lambda each: each[1].code):
            bare.append([version, decided_ms, code.value, _blob(identity for identity, _ in same)])
    entries.sort(key=itemgetter(0))
    return {
        "ids": entries,
        "made": [[each.version, each.made_ms] for each in ids.accepted.values() if each.made_ms is not None],
        "refused": bare,
        "directHorizon": ids.direct_horizon_ms,
        "refusedHorizon": ids.refused_horizon_ms,
        "forgottenThrough": ids.forgotten_through,
    }


def _removed_body(removed: dict[bytes, int]) -> list[list[Any]]:
    by_version: dict[int, list[bytes]] = {}
    for path, version in removed.items():
        by_version.setdefault(version, []).append(path)
    return [[version, _blob(sorted(paths))] for version, paths in sorted(by_version.items(), key=itemgetter(0))]


def _memory(body: dict[str, Any], limits: MemoryLimits) -> TableMemory:
    floor = _floor(body, ())
    memory = TableMemory(
        limits=limits,
        through=_int(body["through"], least=-1),
        term=floor.term,
        rebound_epoch=floor.rebound_epoch,
        source=floor.source,
        positions=dict(floor.positions),
        writers={app: _recent(recent) for app, recent in body["writers"].items()},
        ids=_ids(body),
        lost_ms=_int(body.get("lost", body["horizon"])),
        metadata_version=_int(body["metadataVersion"]),
        complete_from=_int(body["completeFrom"]),
        decisions_from=_int(body.get("decisionsFrom", body["through"] + 1)),
        newest_ms=_int(body["newest"]),
        newest_appended_ms=_int(body["newestAppended"]),
    )
    for version, blob in body.get("writersIds", ()):
        memory.writers_ids.accept(_int(version), _hashes(blob))
    for version, blob in body["removed"]:
        memory.removed.update(dict.fromkeys(_hashes(blob), _int(version)))
    for version, time_ms, blob in body["purged"]:
        memory.remember_purge(PurgedPaths(_int(version), _int(time_ms), _hashes(blob)))
    memory.ids.let_pass(memory.newest_ms)
    return memory


def _ids(body: dict[str, Any]) -> RememberedIds:
    """An earlier release kept refusals and accepted ids together, with one horizon for both."""
    horizon = body["horizon"]
    oldest = min((_int(entry[0]) for entry in body["ids"]), default=body["through"] + 1)
    ids = RememberedIds(
        horizon_ms=_int(horizon),
        direct_horizon_ms=_int(body.get("directHorizon", horizon)),
        refused_horizon_ms=_int(body.get("refusedHorizon", horizon)),
        forgotten_through=_int(body.get("forgottenThrough", oldest - 1), least=-1),
    )
    made = {_int(version): _int(made_ms) for version, made_ms in body.get("made", ())}
    for version, decided_ms, code, blob in body.get("refused", ()):
        for identity in _hashes(blob):
            ids.refuse(identity, RememberedRefusal(_int(version), _int(decided_ms), _code(code), ""))
    for version, decided_ms, is_direct, accepted, rejected in body["ids"]:
        for identity, code, reason in rejected:
            refused = RememberedRefusal(_int(version), _int(decided_ms), _code(code), _str(reason) or NO_REASON)
            ids.refuse(_one(identity), refused)
        made_ms = made.get(version)
        ids.accept(IdsOfVersion(_int(version), _int(decided_ms), _hashes(accepted), bool(_int(is_direct)), made_ms))
    return ids


def _floor(body: dict[str, Any], writers: tuple[tuple[str, int, int], ...]) -> Floor:
    term, source = body["term"], body["source"]
    return Floor(
        term=None if term is None else Term(_int(term[0]), _str(term[1])),
        rebound_epoch=_int(body["rebound"]),
        source=None if source is None else _source(source),
        positions=tuple((_source(position[:3]), _int(position[3])) for position in body["positions"]),
        writers=writers,
    )


def _source(body: Any) -> Source:
    cluster, topic, partition = body
    return Source(_str(cluster), _str(topic), _int(partition))


def _recent(pairs: Any) -> tuple[tuple[int, int], ...]:
    recent = tuple((_int(seq), _int(version)) for seq, version in pairs)
    if not 0 < len(recent) <= RECENT_SEQS:
        raise ValueError(f"{len(recent)} commits of one app")
    return recent


def _code(text: str) -> RejectCode:
    try:
        return RejectCode(text)
    except ValueError:
        return RejectCode.INVALID  # a code of a newer release; the reason is unchanged


def _blob(hashes: Iterable[bytes]) -> str:
    return b64encode(b"".join(hashes)).decode("ascii")


def _hashes(text: Any) -> tuple[bytes, ...]:
    data = b64decode(_str(text), validate=True)
    if len(data) % HASH_BYTES:
        raise ValueError("hashes that end in the middle")
    return tuple(data[start : start + HASH_BYTES] for start in range(0, len(data), HASH_BYTES))


def _one(text: Any) -> bytes:
    (identity,) = _hashes(text)
    return identity


def _int(value: Any, least: int = 0) -> int:
    if type(value) is not int or not least <= value < 2**63:
        raise TypeError(f"{value!r:.40} is no whole number from {least}")
    return value


def _str(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.40} is no text")
    return value
