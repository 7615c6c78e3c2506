"""What decisions mean, one after the other: the version that holds them must be what they make of the version before it.

Files are judged by their paths alone, which name their partition. Nothing of Headgate's own rules is used.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from headgate_schemas.messages.operations import RejectCode
from support.simulation.judge.asked import Ask
from support.simulation.judge.broken import must
from support.simulation.judge.codes import may_hold
from support.simulation.judge.model import TableModel

_REGIONS = re.compile(r"\s*region\s*(?:=\s*'(\w+)'|IN\s*\(([^)]*)\))\s*", re.IGNORECASE)


def judge_sequence(model: TableModel, number: int, decisions: Sequence[Mapping[str, Any]], before: set[str]) -> None:
    """`before` are the paths that were live. Raises `InvariantBroken`."""
    where = f"{model.uri} version {number}"
    live: set[str] | None = set(before)
    for item in decisions:
        ask = model.asks.by_id.get(item["id"])
        if ask is None:
            live = None  # of a tool that commits by itself, and tells nobody what it means to do
        elif not item["accepted"]:
            _judge_refusal(model, where, ask, RejectCode(item["code"]), live)
        elif live is not None:
            live = _after(model, where, ask, live)
    if live is not None:
        there = model.versions[number].live.keys()
        must(
            live == there,
            f"{where} isn't what its decisions make of the version before it: {sorted(live - there)[:3]} are missing, "
            f"{sorted(there - live)[:3]} too much (linearizability)",
        )


def _after(model: TableModel, where: str, ask: Ask, live: set[str]) -> set[str]:
    match ask.kind:
        case "Overwrite":
            return {path for path in live if not _matches(path, ask.where)} | ask.adds
        case "Delete" if not ask.removes:
            return {path for path in live if not _matches(path, ask.where)}
        case "Restore":
            assert ask.version is not None
            return set(model.versions[ask.version].live)
        case _:
            gone = ask.removes - live
            must(not gone, f"{where} accepts {ask.id}, though {sorted(gone)[:3]} were not live at its turn")
            return live - ask.removes | ask.adds


def _judge_refusal(model: TableModel, where: str, ask: Ask, code: RejectCode, live: set[str] | None) -> None:
    """That there was a reason for it, as far as paths tell."""
    must(
        may_hold(ask.kind, code, by_writer=ask.writer is not None),
        f"{where} refuses {ask.id} by {code.value}, which no {ask.kind} can be refused for (rule 12)",
    )
    match code:
        case RejectCode.SEQ_SKIPPED:
            assert ask.writer is not None
            committed = [seq for seq, _ in model.seqs.get(ask.writer.app, ())]
            must(
                ask.writer.seq not in committed and max(committed, default=-1) > ask.writer.seq,
                f"{where} says that {ask.id}, {ask.writer}, was passed over, but its app has committed {committed[-8:]} (rule 4)",
            )
        case RejectCode.NOT_LIVE | RejectCode.SOURCE_GONE if live is not None:
            must(
                not ask.removes <= live,
                f"{where} refuses {ask.id} by {code.value}, though all of it was live (rule 12)",
            )
        case RejectCode.PATH_IN_USE:
            used = {path for path in ask.adds if path in model.added_in or path in model.purged_ms}
            must(bool(used), f"{where} refuses {ask.id} by {code.value}, though nobody ever used its paths (rule 12)")
        case RejectCode.STILL_NEEDED:
            known = {path for path in ask.purges if path in model.added_in}
            must(
                bool(known),
                f"{where} refuses {ask.id} by {code.value}, though no version ever named a path of it (rule 12)",
            )
        case _:
            pass


def _matches(path: str, where: str | None) -> bool:
    if where is None:
        return True
    found = _REGIONS.fullmatch(where)
    assert found is not None, f"no workload uses such a predicate: {where}"
    one, many = found.groups()
    regions = {one} if one is not None else {text.strip().strip("'") for text in many.split(",")}
    return path.partition("/")[0].removeprefix("region=") in regions
