"""Version files as they come: each is the next, replayed from its JSON, and does what proposals asked for and nothing else."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from support.logs.raw_log import LOG, read_lines
from support.simulation.judge.asked import Ask
from support.simulation.judge.broken import must
from support.simulation.judge.decisions import judge_decisions
from support.simulation.judge.model import CLOCKS_DIFFER_MS, HOUR_MS, TableModel, Version
from support.simulation.judge.sequence import judge_sequence
from support.simulation.world.data_files import STREAMED, amount_of

PURGED_FOR_MS = (7 * 24 - 1) * HOUR_MS
"""A purged path is refused for at least the dedupe window; the last hour is left for clocks that differ."""


def judge_version(model: TableModel, number: int, data: bytes) -> None:
    """The version file was created or replaced. Raises `InvariantBroken`."""
    must(number not in model.present, f"{model.uri}: version file {number} was written over (invariant 2)")
    if number <= model.newest:
        lowest = min(model.present)
        must(number < lowest, f"{model.uri}: number {number} was filled again above version {lowest} (invariant 2)")
        model.ghosts.add(number)
        return
    must(number == model.newest + 1, f"{model.uri}: version {number} follows on {model.newest} (invariant 2)")
    actions = read_lines(data)
    before = model.live()
    version = _replayed(model, number, actions, dict(before))
    version.digest = hashlib.sha256(data).hexdigest()
    info = next((action["commitInfo"] for action in actions if "commitInfo" in action), None)
    model.versions[number] = version
    model.present.add(number)
    if info is None:
        version.is_foreign = True
        model.added_in |= dict.fromkeys(_paths(actions, "add"), number)
        return
    _judge_actions(model, number, info, actions, before)


def _replayed(
    model: TableModel, number: int, actions: list[dict[str, Any]], live: dict[str, dict[str, Any]]
) -> Version:
    metadata = model.versions[number - 1].metadata if number else {}
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


def _judge_actions(
    model: TableModel, number: int, info: dict[str, Any], actions: list[dict[str, Any]], before: Mapping[str, Any]
) -> None:
    removes, adds = _paths(actions, "remove"), _paths(actions, "add")
    where = f"{model.uri} version {number}"
    must(not set(removes) & set(adds), f"{where} removes and adds {set(removes) & set(adds)}")
    must(len(set(adds)) == len(adds), f"{where} adds a path twice")
    must(len(set(removes)) == len(removes), f"{where} removes a path twice")
    time_ms = info["timestamp"]
    is_upon_ours = number > 0 and not model.versions[number - 1].is_foreign  # others' clocks are their own
    must(
        time_ms >= model.newest_time_ms or not is_upon_ours,
        f"{where} is dated {model.newest_time_ms - time_ms} ms before the one below it",
    )
    model.newest_time_ms = time_ms
    committer = info.get("committer")
    if committer is not None:
        term = (committer["epoch"], committer["id"])
        must(term >= model.newest_term, f"{where} is by {term}, after one by {model.newest_term} (rule 2: fenced)")
        model.newest_term = term
    accepted = judge_decisions(model, number, info)
    gone = [path for path in removes if path not in before]
    must(not gone, f"{where} removes {gone[:3]}, which are not live")
    asks = [ask for item in accepted if (ask := model.asks.by_id.get(item)) is not None]
    if committer is not None or asks:
        _judge_asked(model, where, asks, set(removes), set(adds))
        judge_sequence(model, number, info.get("decisions", ()), set(before))
    restored = any(ask.may_add_anything for ask in asks) or (not asks and info.get("operation") == "Restore")
    for path in adds:
        first = model.added_in.setdefault(path, number)
        must(
            first == number or restored,
            f"{where} adds {path}, which version {first} added already (invariant 1)",
        )
        must(
            path not in model.deleted_files,
            f"{where} adds {path}, whose file was deleted: purging didn't forbid it (rule 3, invariant 7)",
        )
        must(
            model.purged_ms.get(path, -PURGED_FOR_MS) + PURGED_FOR_MS <= model.now_ms(),
            f"{where} adds {path}, which was purged within the window (rule 3)",
        )
    if restored:
        kept = _paths([action for action in actions if _keeps_data(action, "add")], "add")
        must(not kept, f"{where} brings back {kept[:3]} as no change of data (serializable checks and feeds miss it)")
    else:
        _judge_batches(model, where, number, actions)
        moved = [
            _paths([action for action in actions if _keeps_data(action, kind)], kind) for kind in ("remove", "add")
        ]
        _judge_rows(model, where, *moved)
    for ask in asks:
        if ask.kind == "Rewrite":
            _judge_rows(model, where, ask.removes, ask.adds)
            model.merges += ask.of_worker
    version = model.versions[number]
    names = [field["name"].casefold() for field in json.loads(version.metadata["schemaString"])["fields"]]
    must(len(set(names)) == len(names), f"{where} has a column in two spellings: {sorted(names)}")
    if model.balance is not None:
        held = sum(amount_of(row) for row in model.rows_of(version.live).elements())
        must(held == model.balance, f"{where}: all accounts together hold {held} instead of {model.balance}")
    _judge_purge(model, where, version, any(ask.of_worker for ask in asks))
    model.swaps += bool(version.swap_adds)
    lost = [path for path in version.swap_adds if model.store.head(f"{LOG}/{path}") is None]
    must(not lost, f"{where} swaps {lost[:3]} in, which are not there (rule 8)")


def _judge_asked(model: TableModel, where: str, asks: list[Ask], removes: set[str], adds: set[str]) -> None:
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


def _judge_rows(model: TableModel, where: str, removes: Iterable[str], adds: Iterable[str]) -> None:
    gone, come = model.rows_of(removes), model.rows_of(adds)
    must(
        gone == come,
        f"{where} rewrites files with other rows (invariant 6): {list((gone - come).elements())[:5]} are lost, "
        f"{list((come - gone).elements())[:5]} came out of nowhere",
    )


def _judge_batches(model: TableModel, where: str, number: int, actions: list[dict[str, Any]]) -> None:
    """A batch of a stream is committed once, under whatever names its rows are written again."""
    added = [action["add"]["path"] for action in actions if "add" in action and not _keeps_data(action, "add")]
    for row in model.rows_of(added):
        if row.startswith(STREAMED):
            first = model.batch_of_row.setdefault(row, number)
            must(first == number, f"{where} adds {row}, which version {first} added already (exactly once)")


def _judge_purge(model: TableModel, where: str, version: Version, by_worker: bool) -> None:
    for path in version.purged:
        info = model.store.head(path)
        if by_worker and model.floors is not None and info is not None:
            age_ms = model.now_ms() - info.modified_ms
            must(
                age_ms + CLOCKS_DIFFER_MS > model.floors.file_ms,
                f"{where} purges {path}, which is {age_ms / 1000:.0f} s old (invariant 7: a job may be about to commit it)",
            )
        model.purged_ms[path] = model.now_ms()


def _paths(actions: list[dict[str, Any]], kind: str) -> list[str]:
    return [action[kind]["path"] for action in actions if kind in action]


def _keeps_data(action: dict[str, Any], kind: str) -> bool:
    return kind in action and action[kind].get("dataChange") is False
