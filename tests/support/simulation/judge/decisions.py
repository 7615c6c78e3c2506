"""What versions say that they decide: each proposal once, in the order of the bus, and no new data refused without reason."""

from collections.abc import Mapping
from typing import Any, Protocol

from support.simulation.judge.broken import must
from support.simulation.judge.model import Decided, TableModel
from support.simulation.world.real_time import judge_real_time


def judge_decisions(model: TableModel, number: int, info: dict[str, Any]) -> list[str]:
    """Note what the version decides; the ids of what it accepts."""
    where = f"{model.uri} version {number}"
    source = info.get("source")
    accepted: list[str] = []
    for item in info.get("decisions", ()):
        identity, offset, writer = item["id"], item.get("offset"), item.get("writer")
        earlier = model.decided.get(identity)
        if earlier is not None and (earlier.accepted or identity not in model.ahead):
            must(False, f"{where} decides {identity} again, which version {earlier.version} decided (invariant 1)")
        judge_real_time(model.proposed_after, identity, number, model.uri)
        model.decided[identity] = Decided(number, item["accepted"], item.get("code"), offset)
        if source is not None and offset is not None:
            home = model.home()
            must(
                source["partition"] == home,
                f"{where} decides {identity} of partition {source['partition']}, but the table's proposals belong on {home}",
            )
            judge_order(model, where, identity, offset, source)
        if not item["accepted"]:
            _judge_refusal(model, where, identity, item.get("code"))
            continue
        accepted.append(identity)
        if writer is not None:
            history = model.seqs.setdefault(writer["app"], [])
            must(
                not history or history[-1][0] < writer["seq"],
                f"{where} commits seq {writer['seq']} of {writer['app']} after seq {history[-1:]} (rule 4)",
            )
            history.append((writer["seq"], number))
    return accepted


class Ordered(Protocol):
    """A table whose decisions come in the order of the bus."""

    record_at: dict[tuple[str, str, int, int], list[tuple[int, str]]]
    newest_offset: dict[tuple[str, str, int], tuple[int, int]]
    lost: set[str]
    is_cut: bool


def judge_order(model: Ordered, where: str, identity: str, offset: int, source: Mapping[str, Any]) -> None:
    """A version decides what lies at this offset, and no earlier one decided anything behind it."""
    place = (source["cluster"], source["topic"], source["partition"])
    there = model.record_at.get((*place, offset), [])
    held = [generation for generation, known in there if known == identity]
    must(bool(held), f"{where} decides {identity} at offset {offset}, where the bus holds {there}")
    newest = model.newest_offset.get(place, (-1, -1))
    after = [generation for generation in held if (generation, offset) > newest]
    # What a committer set aside that doesn't serve the table, is read again where the log is read from its beginning.
    must(
        bool(after) or (model.is_cut and identity in model.lost),
        f"{where} decides offset {offset} after offset {newest[1]}: not in the order of the bus (invariant 3)",
    )
    if after:
        model.newest_offset[place] = (min(after), offset)


def _judge_refusal(model: TableModel, where: str, identity: str, code: str | None) -> None:
    """New data may only be refused when its author was away for as long as orphans and ids are kept."""
    ask = model.asks.by_id.get(identity)
    must(
        code != "unknown_table" or model.versions[0].source is not None or identity in model.announced,
        f"{where} refuses {identity} as if there were no such table, which nobody was told",
    )
    # What was told before the table was there is in its first version.
    if ask is None or not ask.is_new_data or code in ("expired", "unknown_table"):
        return
    if code == "seq_skipped" and identity in model.lost:
        return  # the next of its author came before anybody proposed it again
    must(
        code == "path_in_use" and any(path in model.purged_ms for path in ask.adds),
        f"{where} refuses {identity}, which appends new files: {code} (maintenance never makes an append fail)",
    )
