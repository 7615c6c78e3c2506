"""Judging a table that was kept up while it was written to: pure, from what every version said and what is there in the end.

Nobody but the overwriter takes rows away, and that only from its own partition; so what must be readable at a version
follows from the proposals that it accepts, whatever workers did meanwhile.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from support.torture.judge.evidence import Asked
from support.torture.judge.journal import Diary, Told
from support.torture.judge.verdict import Decision, decisions_of, judge_commits, shown

INGEST = frozenset({"append", "overwrite"})
REFUSALS = {
    "rewrite": frozenset({"source_gone", "path_in_use"}),
    "compact_state": frozenset({"base_gone"}),
    "purge": frozenset({"still_needed"}),
}
"""What may become of a worker's proposal that others were faster than."""
Row = tuple[int, str, str]
"""Id, text and partition."""


@dataclass(slots=True)
class Upkeep:
    """The evidence of one run on one table."""

    asked: list[Asked]
    """In the order of the bus."""
    receipts: dict[str, list[Told]]
    commits: Mapping[int, list[Mapping[str, Any]]]
    versions: Mapping[int, list[dict[str, Any]]]
    """All that ever were."""
    left: Sequence[int]
    """Those whose files are there in the end."""
    diaries: list[Diary]
    rows: Mapping[int, list[Row]]
    """As they are read at some versions that are left; the newest is among them."""
    expected: "ExpectedRows"
    lost: list[str] = field(default_factory=list)
    """Files that were named while they were gone."""
    unnamed: set[str] = field(default_factory=set)
    """Data files that nothing names, though cleaning has had its time."""
    other_problems: list[str] = field(default_factory=list)
    """Such as what verification finds."""


@dataclass(frozen=True, slots=True)
class ExpectedRows:
    """What the rows of each proposal are, by its id."""

    appended: Mapping[str, Sequence[Row]]
    overwritten: Mapping[str, Sequence[Row]]
    """The last one counts."""

    def at(self, version: int, decisions: Sequence[Decision]) -> Counter[Row]:
        """`decisions` are in the order of the log."""
        found: Counter[Row] = Counter()
        last: Sequence[Row] = ()
        for each in decisions:
            if each.accepted and each.version <= version:
                found.update(self.appended.get(each.id, ()))
                last = self.overwritten.get(each.id, last)
        found.update(last)
        return found


def judge_upkeep(evidence: Upkeep) -> list[str]:
    """Every broken promise, one line each; empty when all were kept."""
    decisions = list(decisions_of(evidence.versions))
    found = [*evidence.lost, *evidence.other_problems]
    found += _judge_numbers(evidence)
    found += judge_commits(evidence.versions, evidence.commits)
    found += _judge_changes(evidence.versions)
    found += _judge_decisions(evidence, decisions)
    found += _judge_rows(evidence, decisions)
    if evidence.unnamed:
        found.append(
            f"{len(evidence.unnamed)} data files that nothing names were never cleaned: {shown(evidence.unnamed)}"
        )
    return found


def kind_of(item: Asked) -> str:
    """Which operation it is; those that travel as claims are told apart by nobody."""
    operation = item.body.get("operation") or {}
    return str(operation.get("type", "claimed"))


def _judge_numbers(evidence: Upkeep) -> Iterator[str]:
    newest = max(evidence.versions)
    missing = set(range(newest + 1)) - evidence.versions.keys()
    if missing:
        yield f"versions never were: {shown(missing)}"
    gaps = set(range(min(evidence.left), newest + 1)) - set(evidence.left)
    if gaps:
        yield f"versions are missing among those that are left: {shown(gaps)}"


def _judge_changes(versions: Mapping[int, list[dict[str, Any]]]) -> Iterator[str]:
    """No version removes what isn't live, or adds what ever was."""
    live: set[str] = set()
    ever: set[str] = set()
    for version in sorted(versions):
        adds = [action["add"]["path"] for action in versions[version] if "add" in action]
        removes = {action["remove"]["path"] for action in versions[version] if "remove" in action}
        if not removes <= live:
            yield f"version {version} removes what isn't live: {shown(removes - live)}"
        again = ever & set(adds)
        if again or len(set(adds)) != len(adds):
            yield f"version {version} adds what was added before: {shown(again or adds)}"
        live = (live - removes) | set(adds)
        ever |= set(adds)


def _judge_decisions(evidence: Upkeep, decisions: Sequence[Decision]) -> Iterator[str]:
    """Whatever was written is accepted, once, and all who asked are told so."""
    kinds = {item.id: kind_of(item) for item in evidence.asked}
    decided: dict[str, Decision] = {}
    for each in decisions:
        if decided.setdefault(each.id, each) is not each:
            yield f"{each.id} is decided twice, in versions {decided[each.id].version} and {each.version}"
        kind = kinds.get(each.id)
        if kind is None:
            yield f"version {each.version} decides {each.id}, which nobody proposed"
        elif not each.accepted and each.code not in REFUSALS.get(kind, ()):
            yield f"version {each.version} rejects {kind} {each.id}: {each.code}"
    told = _all_told(evidence)
    for identity, first in _firsts(evidence.asked).items():
        decision = decided.get(first)
        if decision is None:
            yield f"{kinds[first]} {first} was never decided"
        elif identity != first and identity in decided:
            yield f"version {decided[identity].version} decides {identity}, which repeats the seq of {first}"
        elif decision.accepted:
            allowed: set[Told] = {("duplicate", decision.version)}
            allowed |= {("committed", decision.version)} if identity == first else set()
            answers = told.get(identity, set())
            if not answers or not answers <= allowed:
                yield f"{identity} was told {shown(answers) or 'nothing'}, but its table allows {shown(allowed)}"
    for diary in evidence.diaries:
        if diary.unanswered:
            yield f"{len(diary.unanswered)} proposals were never answered: {shown(diary.unanswered)}"
        rejected = [each for each, answers in diary.receipts.items() if any(kind == "rejected" for kind, _ in answers)]
        if rejected:
            yield f"{len(rejected)} proposals of writers were rejected: {shown(rejected)}"


def _firsts(asked: Sequence[Asked]) -> dict[str, str]:
    """By id, the first proposal with that writer's seq, which is itself for most."""
    firsts: dict[str, str] = {}
    by_seq: dict[tuple[str, int], str] = {}
    for item in asked:
        writer = item.body.get("writer")
        first = item.id if writer is None else by_seq.setdefault((writer["app"], writer["seq"]), item.id)
        firsts.setdefault(item.id, first)
    return firsts


def _all_told(evidence: Upkeep) -> dict[str, set[Told]]:
    told = {identity: set(answers) for identity, answers in evidence.receipts.items()}
    for diary in evidence.diaries:
        for identity, answers in diary.receipts.items():
            told.setdefault(identity, set()).update((kind, what) for kind, what in answers)
    return told


def _judge_rows(evidence: Upkeep, decisions: Sequence[Decision]) -> Iterator[str]:
    for version, rows in sorted(evidence.rows.items()):
        read, wanted = Counter(rows), evidence.expected.at(version, decisions)
        missing, surplus = wanted - read, read - wanted
        if missing:
            yield f"at version {version}, {missing.total()} rows are missing: {shown(missing)}"
        if surplus:
            yield f"at version {version}, {surplus.total()} rows are read too often or were never written: {shown(surplus)}"
