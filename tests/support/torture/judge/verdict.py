"""Whether a run kept its promises. Pure: it decides every proposal again, in the order of the bus, by rules of its own."""

import itertools
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headgate_schemas.messages.operations import RejectCode
from headgate_table.interface.findings import Severity, VerifyReport
from support.torture.judge.evidence import Asked, Evidence
from support.torture.judge.journal import Told

SHOWN = 5
REMEMBERED = 8
"""Of so many last seqs of an app a table knows the versions. A repetition of an older one is answered with that of the last."""


@dataclass(slots=True)
class Expected:
    """What must become of the proposals of one table."""

    decisions: dict[str, tuple[bool, str | None, int]] = field(default_factory=dict)
    """By id, whether it is accepted, else its code, and the offset at which that is decided."""
    seqs: dict[tuple[str, int], str] = field(default_factory=dict)
    """By app and seq, the id that was accepted."""
    same_as: dict[str, str] = field(default_factory=dict)
    """Duplicates by seq: the id that came first."""
    live: dict[str, str] = field(default_factory=dict)
    """Path to partition."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What a version file says."""

    version: int
    id: str
    accepted: bool
    code: str | None
    offset: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the authors of a proposal may be told."""

    version: int = -1
    code: str | None = None
    is_new: bool = True
    """Else it repeats a seq under another id."""
    may_be_forgotten: bool = False
    """Whether so many later seqs of the same app are committed that this one's version is forgotten: whoever takes over far
    behind the table answers repetitions again, with what it knows then."""

    def answers(self) -> set[Told]:
        if self.code is not None:
            return {("rejected", self.code)}
        exact: set[Told] = {("duplicate", self.version)} | ({("committed", self.version)} if self.is_new else set())
        return exact | ({("rejected", RejectCode.SUPERSEDED.value)} if self.may_be_forgotten else set())


def judge(evidence: Evidence) -> list[str]:
    """Every broken promise, one line each; empty when all were kept."""
    found: list[str] = [f"a version file changed after it was seen: {path}" for path in evidence.changed_files]
    found += [f"not settled: {each}" for each in evidence.unsettled]
    if evidence.dead_letters:
        found.append(f"{evidence.dead_letters} messages were set aside as dead letters")
    outcomes: dict[str, Outcome] = {}
    for table, asked in evidence.asked.items():
        found += [f"{table}: {problem}" for problem in _judge_table(table, asked, evidence, outcomes)]
    found += _judge_receipts(evidence, outcomes)
    return found


def wrong(report: VerifyReport) -> list[str]:
    """What a verification finds that isn't in order."""
    return [f"{each.object}: {each.what}" for each in report.findings if each.severity is not Severity.NOTE]


def expected(asked: Sequence[Asked]) -> Expected:
    """Decide again. No path is ever free again, since nothing is cleaned up here."""
    table = Expected()
    used: set[str] = set()
    last: dict[str, int] = {}
    for item in asked:
        if item.id in table.decisions or item.id in table.same_as:
            continue
        writer = item.body.get("writer")
        if writer is not None and writer["seq"] <= last.get(writer["app"], -1):
            table.same_as[item.id] = table.seqs.get((writer["app"], writer["seq"]), "")
            continue
        code = _decide(item.body["operation"], table.live, used)
        table.decisions[item.id] = (code is None, code, item.offset)
        if code is None and writer is not None:
            last[writer["app"]] = writer["seq"]
            table.seqs[writer["app"], writer["seq"]] = item.id
    return table


def _decide(operation: Mapping[str, Any], live: dict[str, str], used: set[str]) -> str | None:
    """The code of the rejection, or None, when the operation has taken effect."""
    files = operation.get("files", ())
    gone: list[str] = []
    match operation["type"]:
        case "append":
            pass
        case "overwrite":
            part = operation["where"].split("'")[1]
            gone = [path for path, where in live.items() if where == part]
        case "delete":
            gone = list(operation["paths"])
            if not set(gone) <= live.keys():
                return "not_live"
        case other:
            raise AssertionError(f"this judge doesn't know {other}")
    if any("part" not in file.get("partitionValues", {}) for file in files):
        return "partition_mismatch"
    if any(file["path"] in used for file in files):
        return "path_in_use"
    for path in gone:
        del live[path]
    for file in files:
        live[file["path"]] = file["partitionValues"]["part"]
        used.add(file["path"])
    return None


def _judge_table(table: str, asked: Sequence[Asked], evidence: Evidence, outcomes: dict[str, Outcome]) -> Iterator[str]:
    versions = evidence.versions[table]
    missing = sorted(set(range(max(versions) + 1)) - versions.keys())
    if missing:
        yield f"versions are missing: {missing[:SHOWN]}"
    told = list(decisions_of(versions))
    for earlier, later in itertools.pairwise(told):
        if later.offset <= earlier.offset:
            yield f"{later.id} at offset {later.offset} is decided after {earlier.id} at {earlier.offset}: not the bus's order"
    want = expected(asked)
    yield from _compare_decisions(want, told)
    outcomes |= _outcomes(want, told)
    live = yield from _replay(versions, asked, told)
    if live != want.live.keys():
        yield f"its files are not those that were asked for: {shown(live ^ want.live.keys())}"
    if evidence.live[table] != want.live.keys():
        yield f"it is read otherwise than its log tells: {shown(evidence.live[table] ^ want.live.keys())}"
    for problem in evidence.verified[table]:
        yield f"verify finds: {problem}"
    yield from judge_commits(versions, evidence.commits.get(table, {}))


def decisions_of(versions: Mapping[int, list[dict[str, Any]]]) -> Iterator[Decision]:
    """In the order of the log."""
    for version in sorted(versions):
        for info in (action["commitInfo"] for action in versions[version] if "commitInfo" in action):
            for item in info.get("decisions", ()):
                if item.get("offset") is not None:
                    yield Decision(version, item["id"], item["accepted"], item.get("code"), item["offset"])


def _outcomes(want: Expected, told: Sequence[Decision]) -> dict[str, Outcome]:
    by_app: dict[str, list[int]] = {}
    version = {each.id: each.version for each in told if each.accepted}
    for (app, seq), identity in want.seqs.items():
        if identity in version:
            by_app.setdefault(app, []).append(seq)
    of_id = {identity: writer for writer, identity in want.seqs.items()}

    def is_behind(identity: str) -> bool:
        app, seq = of_id.get(identity, ("", 0))
        return sum(each >= seq for each in by_app.get(app, ())) > REMEMBERED

    found = {
        each.id: Outcome(each.version, may_be_forgotten=is_behind(each.id))
        if each.accepted
        else Outcome(code=each.code or "")
        for each in told
    }
    for again, first in want.same_as.items():
        if first in version:
            found[again] = Outcome(version[first], is_new=False, may_be_forgotten=is_behind(first))
    return found


def _compare_decisions(want: Expected, told: Sequence[Decision]) -> Iterator[str]:
    seen: dict[str, Decision] = {}
    for each in told:
        earlier = seen.setdefault(each.id, each)
        if earlier is not each:
            yield f"{each.id} is decided twice, in versions {earlier.version} and {each.version}"
        wanted = want.decisions.get(each.id)
        if wanted is None:
            yield f"version {each.version} decides {each.id}, which " + (
                "repeats a seq" if each.id in want.same_as else "nobody proposed"
            )
        elif wanted != (each.accepted, each.code, each.offset):
            yield f"version {each.version} decides {each.id} as {each}, and not as {wanted}"
    lost = want.decisions.keys() - seen.keys()
    if lost:
        yield f"{len(lost)} proposals were never decided: {shown(lost)}"


def _replay(
    versions: Mapping[int, list[dict[str, Any]]], asked: Sequence[Asked], told: Sequence[Decision]
) -> Generator[str, None, set[str]]:
    """The live paths in the end; on the way, that every added file is asked for by what its version accepts, once."""
    files = {item.id: {file["path"] for file in item.body["operation"].get("files", ())} for item in asked}
    wanted: dict[int, set[str]] = {}
    for each in told:
        if each.accepted:
            wanted.setdefault(each.version, set()).update(files.get(each.id, ()))
    live: set[str] = set()
    added_in: dict[str, int] = {}
    for version in sorted(versions):
        adds = [action["add"]["path"] for action in versions[version] if "add" in action]
        removes = {action["remove"]["path"] for action in versions[version] if "remove" in action}
        if not removes <= live:
            yield f"version {version} removes what isn't live: {shown(removes - live)}"
        if len(set(adds)) != len(adds):
            yield f"version {version} adds a file twice"
        if set(adds) != wanted.get(version, set()):
            yield f"version {version} doesn't add what it accepts: {shown(set(adds) ^ wanted.get(version, set()))}"
        for path in adds:
            if added_in.setdefault(path, version) != version:
                yield f"{path} is added by version {added_in[path]} and again by {version}"
        live = (live - removes) | set(adds)
    return live


def judge_commits(
    versions: Mapping[int, list[dict[str, Any]]], announced: Mapping[int, list[Mapping[str, Any]]]
) -> Iterator[str]:
    """Every version of a committer is announced, and nothing else, always in the same words."""
    settled = {
        version
        for version, actions in versions.items()
        if any("commitInfo" in action and "committer" in action["commitInfo"] for action in actions)
    }
    if settled - announced.keys():
        yield f"versions were never announced: {shown(settled - announced.keys())}"
    if announced.keys() - versions.keys():
        yield f"versions were announced that aren't there: {shown(announced.keys() - versions.keys())}"
    for version, events in announced.items():
        if any(event != events[0] for event in events):
            yield f"the announcements of version {version} differ"


def _judge_receipts(evidence: Evidence, outcomes: Mapping[str, Outcome]) -> Iterator[str]:
    given: dict[str, set[Told]] = {identity: set(told) for identity, told in evidence.receipts.items()}
    for diary in evidence.diaries:
        for identity, told in diary.receipts.items():
            given.setdefault(identity, set()).update((kind, what) for kind, what in told)
    for identity, answers in given.items():
        outcome = outcomes.get(identity)
        allowed = set() if outcome is None else outcome.answers()
        if not answers <= allowed:
            yield f"{identity} was told {shown(answers)}, but its table allows {shown(allowed)}"
    silent = outcomes.keys() - evidence.receipts.keys()
    if silent:
        yield f"{len(silent)} proposals have no receipt: {shown(silent)}"
    for diary in evidence.diaries:
        if diary.unanswered:
            yield f"{len(diary.unanswered)} proposals were never answered: {shown(diary.unanswered)}"


def shown(items: Any) -> str:
    """The first few."""
    found = sorted(map(str, items))
    return ", ".join(found[:SHOWN]) + (", …" if len(found) > SHOWN else "")
