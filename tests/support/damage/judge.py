"""One damaged table, judged: what readers, `verify`, `repair`, cleaning and the next commit make of it."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache

from headgate_schemas.errors import HeadgateError
from headgate_schemas.messages.operations import Committed
from headgate_table.errors import VersionNotRetained
from headgate_table.indextables.log.reader import LogReader
from headgate_table.indextables.repair.repair import repair_into
from support.ambient import FakeAmbient
from support.cleaning import one_thread
from support.damage.answers import Answer, Answers, Named, answers, retained_versions, table_on, undated
from support.damage.damages import Damage, changes
from support.damage.excuses import excuse
from support.damage.kinds import kind_named, objects_named
from support.damage.objects import Objects
from support.stores.memory import MemoryStore
from support.tables import add_file

_NOT_RETAINED = VersionNotRetained.__name__
_CLEANING = {
    "purge__retentionCheckEnabled": "false",
    "purge__quarantine.hours": "0",
    "state__retention__versions": "2",
    "state__retention__hours": "0",
    "purge__txLogRetentionHours": "0",
}


@dataclass(frozen=True, slots=True)
class Truth:
    """What the table answers without damage."""

    objects: Objects
    versions: tuple[int, ...]
    answers: Answers


@dataclass(frozen=True, slots=True)
class Verdict:
    """`outcome` is for counting; `problems` are broken promises."""

    outcome: str
    problems: tuple[str, ...] = ()


@cache
def truth_of(kind: str) -> Truth:
    objects = objects_named(kind)
    versions = retained_versions(objects)
    found = answers(objects, versions)
    refused = [name for name, answer in found.items() if isinstance(answer, Named) and name != "where"]
    if refused:
        raise AssertionError(f"{kind} without damage can't be read: {refused}")
    if not _is_sound(objects):
        raise AssertionError(f"{kind} without damage is not sound")
    return Truth(objects, versions, found)


def judge(kind: str, damage: Damage, *, deep: bool = True) -> Verdict:
    """`deep` asks more than the readers.

    Cleaning holds still for what readers refuse, and in a log of ours for whatever `verify` finds. Logs of other writers may
    contradict themselves without any damage, as `verify` says, and are cleaned all the same.
    """
    truth = truth_of(kind)
    after = truth.objects.changed(changes(truth.objects, damage))
    found = answers(after, truth.versions)
    wrong = [
        name
        for name, answer in found.items()
        if isinstance(answer, Answer) and not _is_right(answer, truth.answers[name], damage)
    ]
    named = {
        name: answer for name, answer in found.items() if isinstance(answer, Named) and answer != truth.answers[name]
    }
    reason = excuse(truth.objects, damage, after)
    problems: list[str] = []
    if wrong and reason is None:
        problems.append(f"wrong rows without an error: {', '.join(wrong)}")
    for name, refusal in named.items():
        problems += _unclear(name, refusal, {*truth.objects.log_keys(), *after.log_keys()})
    if deep and not problems:
        is_ours = kind_named(kind).is_ours
        is_open = any(not _is_only_gone(refusal, is_ours=is_ours) for refusal in named.values())
        problems += _deeper(
            truth,
            after,
            is_open=is_open,
            is_ours=is_ours,
            excused=bool(wrong),
            newest_refused="newest" in named,
        )
    outcome = f"excused: {reason}" if wrong else "named" if named else "right"
    return Verdict(outcome if not problems else "broken", tuple(f"{kind} {damage}: {problem}" for problem in problems))


def _is_right(answer: Answer, wanted: Answer | Named, damage: Damage) -> bool:
    if damage.way != "remove" or isinstance(wanted, Named):
        return answer == wanted
    return undated(answer) == undated(wanted)  # what stands in for what is gone may say less of this


def _unclear(name: str, refusal: Named, keys: set[str]) -> Iterator[str]:
    """An error names the table, or the object in it."""
    names = ["memory://test", *(key.rpartition("/")[2] for key in keys)]
    if not any(each in refusal.message for each in names):
        yield f"{name}: the error names no object: {refusal.message}"


def _deeper(
    truth: Truth, after: Objects, *, is_open: bool, is_ours: bool, excused: bool, newest_refused: bool
) -> Iterator[str]:
    is_sound = _is_sound(after)
    if is_open and is_sound:
        yield "readers refuse it, and `verify` finds nothing"
    if not excused:
        yield from _repaired(truth, after)
        yield from _continued(truth, after)
    yield from _cleaned(truth, after, is_open=is_open or (is_ours and not is_sound), silent=excused or newest_refused)


def _is_only_gone(refusal: Named, *, is_ours: bool) -> bool:
    """What is not retained any more isn't damaged; nor is a version from before the table's metadata, which others' logs have."""
    is_before_metadata = "holds no metadata any more" in refusal.message and not is_ours
    return refusal.message.startswith(_NOT_RETAINED) or is_before_metadata


def _is_sound(after: Objects) -> bool:
    """What `verify` says of it."""
    store, clock = after.store()
    try:
        return table_on(store, clock).verify(data_files=False).ok
    except HeadgateError:
        return False


def _newest(truth: Truth) -> Answer:
    newest = truth.answers["newest"]
    assert isinstance(newest, Answer)
    return newest


def _repaired(truth: Truth, after: Objects) -> Iterator[str]:
    """SUCCESS means: the files of the newest version, with what is known of them."""
    store, clock = after.store()
    target = MemoryStore(clock)
    try:
        result = repair_into(LogReader(store, one_thread()), store, target)
    except HeadgateError:
        return
    if result.status != "SUCCESS":
        return
    whole = MemoryStore(clock)
    for info in target.list():
        whole.put(f"_transaction_log/{info.key}", target.get(info.key))
    snapshot = table_on(whole, clock).snapshot()
    told = {(row["path"], row["size"], row["num_records"]) for row in snapshot.files().to_pylist()}
    wanted = {(row["path"], row["size"], row["num_records"]) for row in map(dict, _newest(truth).rows)}
    if _has_files(truth) and told != wanted:
        yield f"`repair` says SUCCESS with {sorted(row[0] for row in told ^ wanted)[:3]} wrong"


def _has_files(truth: Truth) -> bool:
    return any(not key.startswith("_") for key in truth.objects.held)


def _continued(truth: Truth, after: Objects) -> Iterator[str]:
    """A commit on top of it fails, or leaves what was there and the new file."""
    store, clock = after.store()
    try:
        receipt = table_on(store, clock, checkpoint__interval="1").append([add_file("one-more", date="2024-01-02")])
        snapshot = table_on(store, clock).snapshot()
        told = set(snapshot.paths())
    except HeadgateError:
        return
    wanted = {dict(row)["path"] for row in _newest(truth).rows}
    if isinstance(receipt, Committed) and told != wanted | {"date=2024-01-02/one-more.parquet"}:
        yield f"after one more append {sorted(told ^ wanted)[:3]} are wrong"


def _cleaned(truth: Truth, after: Objects, *, is_open: bool, silent: bool) -> Iterator[str]:
    """While damage is open nothing goes; else every version that is left reads as before, and its files are there."""
    store, clock = after.store()
    clock.advance(hours=24 * 365)
    before = {info.key for info in store.list()}
    with suppress(HeadgateError):
        table_on(store, clock, **_CLEANING).purge(older_than_hours=0)
    gone = before - {info.key for info in store.list()}
    if is_open and gone:
        yield f"cleaning deleted {sorted(gone)[:3]} while damage is open"
        return
    if silent:
        return
    needed = {dict(row)["path"] for row in _newest(truth).rows}
    if gone & needed:
        yield f"cleaning deleted the live file {min(gone & needed)}"
        return
    try:
        told = set(table_on(store, FakeAmbient("later", clock.time_ms)).snapshot().paths())
    except HeadgateError as error:
        yield f"after cleaning the table can't be read: {error}"
        return
    if told != needed:
        yield f"after cleaning {sorted(told ^ needed)[:3]} are wrong"
