"""Every delete of a table's object, judged by what the model knows at that moment: who still needs it, and its age."""

from support.logs.raw_log import LOG
from support.simulation.judge.broken import must
from support.simulation.judge.mirrors import FOLDER
from support.simulation.judge.model import CLOCKS_DIFFER_MS, HOUR_MS, TableModel

PROPOSED_WITHIN_MS = HOUR_MS // 4
"""Whoever proposes new manifests this soon after writing them must find them there when the proposal is decided."""


def judge_delete(model: TableModel, key: str, modified_ms: int) -> None:
    """The object is gone; `modified_ms` is when it was written last. Raises `InvariantBroken`."""
    if key.startswith(FOLDER):
        model.mirror.deleted(key)
        return
    model.changes += 1
    model.cleaned += 1
    age_ms = model.now_ms() - modified_ms + CLOCKS_DIFFER_MS
    name = key.removeprefix(f"{LOG}/")
    if name == key:
        _data_file(model, key)
    elif len(name) == 25 and name.endswith(".json"):
        _version(model, int(name[:20]), age_ms)
    elif name.endswith("/_manifest.avro"):
        _state(model, int(name[7:27]), age_ms)
    elif name.startswith("manifests/"):
        _manifest(model, key, name, modified_ms, age_ms)


def _data_file(model: TableModel, key: str) -> None:
    model.mirror.check_file_deleted(model.uri, key, model.now_ms())
    for version in model.readable():
        must(
            key not in model.versions[version].live,
            f"{model.uri}: {key} was deleted, which version {version} needs (invariant 7)",
        )
    purged = any(key in version.purged for version in model.versions.values())
    must(purged or _is_discarded(model, key), f"{model.uri}: {key} was deleted before a purge was accepted (rule 3)")
    model.deleted_files.add(key)


def _is_discarded(model: TableModel, key: str) -> bool:
    """Whether it is a merge's own output, of which it knows that no version names it or ever will."""
    if not key.rpartition("/")[2].startswith("merged-") or key in model.added_in:
        return False
    asked = [model.decided.get(ask.id) for ask in model.asks.wanting(key)]
    return all(decided is not None and not decided.accepted for decided in asked)


def _version(model: TableModel, number: int, age_ms: int) -> None:
    if number in model.ghosts:
        model.ghosts.discard(number)
        return
    if number not in model.present:
        return
    lowest = min(model.present)
    must(number == lowest, f"{model.uri}: version {number} was deleted before {lowest} (rule 1)")
    must(number < model.newest, f"{model.uri}: the newest version file, {number}, was deleted (rule 1)")
    must(number < model.pointer, f"{model.uri}: version {number} was deleted over the pointer {model.pointer} (rule 7)")
    version = model.versions[number]
    if version.source == (*model.place(), model.home()) and version.next_offset > model.committed_offset():
        must(
            model.is_cut and not model.untold_of(number),
            f"{model.uri}: version {number} was deleted, which settles proposals up to {version.next_offset}; they may have "
            f"to be announced again, since only those up to {model.committed_offset()} are known to be (rule 11)",
        )
    if model.floors is not None:
        must(
            age_ms > model.floors.version_ms,
            f"{model.uri}: version {number} was deleted at an age of {age_ms / 1000:.0f} s (retention)",
        )
        newest_two = sorted(model.states)[-2:]
        must(
            number <= newest_two[0],
            f"{model.uri}: version {number} was deleted between the newest two states, {newest_two} (rule 7)",
        )
    model.present.discard(number)
    _must_be_readable(model, f"after version {number} was deleted")


def _state(model: TableModel, number: int, age_ms: int) -> None:
    must(number < model.pointer, f"{model.uri}: state {number} was deleted under the pointer {model.pointer} (rule 7)")
    if model.floors is not None and number in model.states:
        must(
            age_ms > model.floors.state_ms,
            f"{model.uri}: state {number} was deleted at an age of {age_ms / 1000:.0f} s (retention)",
        )
        newest_two = sorted(model.states)[-2:]
        must(number not in newest_two, f"{model.uri}: state {number} was deleted, one of the newest two (rule 7)")
    model.states.pop(number, None)
    model.void_states.discard(number)
    _must_be_readable(model, f"after state {number} was deleted")


def _manifest(model: TableModel, key: str, name: str, modified_ms: int, age_ms: int) -> None:
    users = [number for number, state in model.states.items() if key in state.manifests]
    must(not users, f"{model.uri}: {name} was deleted, which state {users} names (rule 8)")
    after = [
        number
        for number in model.present
        if name in model.versions[number].swap_adds and number > max(model.states, default=-1)
    ]
    must(not after, f"{model.uri}: {name} was deleted, which the swap in version {after} names (rule 8)")
    if model.floors is None:
        return  # who cleans in a hurry by hand doesn't look at the bus: a swap whose manifests are gone is refused
    proposed = [
        ask.id
        for ask in model.undecided()
        if name in ask.manifests and model.proposed_ms[ask.id] < modified_ms + PROPOSED_WITHIN_MS
    ]
    must(not proposed, f"{model.uri}: {name} was deleted, which the undecided {proposed} names (invariant 7)")
    must(
        age_ms > model.floors.manifest_ms,
        f"{model.uri}: {name} was deleted at an age of {age_ms / 1000:.0f} s (rule 8)",
    )


def _must_be_readable(model: TableModel, when: str) -> None:
    newest = model.newest
    must(model.base_of(newest) is not None, f"{model.uri}: version {newest} can't be rebuilt {when} (invariant 7)")
