"""Tests whether a store's conditional writes really are conditional; every commit depends on that."""

from dataclasses import dataclass

from headgate_schemas.ambient import Ambient
from headgate_table.errors import StoreError
from headgate_table.store.interface import AlreadyExists, Created, CreateOutcome, Store, Unknown

PROBE_FOLDER = "_headgate/probe"


@dataclass(frozen=True, slots=True)
class ProbeReport:
    """The result; `problems` is empty for a store that can be trusted with commits."""

    uri: str
    create_is_conditional: bool
    swap_is_conditional: bool
    problems: tuple[str, ...]

    @property
    def trusted(self) -> bool:
        return not self.problems


def probe_conditional_writes(store: Store, ambient: Ambient) -> ProbeReport:
    """Create one object twice, and swap it with an outdated etag; the store must refuse both.

    Leaves nothing behind. Raises `StoreError` if the store fails or gives no answer.
    """
    key = f"{PROBE_FOLDER}/{ambient.new_id()}"
    try:
        create_problem = _probe_create(store, key)
        swap_problem = _probe_swap(store, key)
    finally:
        store.delete([key])
    problems = tuple(problem for problem in (create_problem, swap_problem) if problem)
    return ProbeReport(store.uri, not create_problem, not swap_problem, problems)


def _probe_create(store: Store, key: str) -> str:
    first = _answered(store, key, store.create(key, b"first"))
    if not isinstance(first, Created):
        return f"{store.uri} refused to create an object that didn't exist: commits would never succeed there"
    second = _answered(store, key, store.create(key, b"second"))
    if isinstance(second, Created) or store.get(key) != b"first":
        return (
            f"{store.uri} created the same object twice: it ignores If-None-Match, so two writers could overwrite each "
            "other's commits. Use a store that supports conditional writes, or a newer version of this one"
        )
    return ""


def _probe_swap(store: Store, key: str) -> str:
    store.put(key, b"old")
    _, stale = store.get_with_etag(key)
    first = _answered(store, key, store.swap(key, b"new", stale))
    if not isinstance(first, Created):
        return (
            f"{store.uri} refused to replace an object by its current etag: updates by etag would never succeed there"
        )
    second = _answered(store, key, store.swap(key, b"lost", stale))
    if isinstance(second, Created) or store.get(key) != b"new":
        return (
            f"{store.uri} replaced an object by an outdated etag: it ignores If-Match, so updates could be lost. "
            "Use a store that supports conditional writes, or a newer version of this one"
        )
    return ""


def _answered(store: Store, key: str, outcome: CreateOutcome) -> Created | AlreadyExists:
    if isinstance(outcome, Unknown):
        raise StoreError(f"{store.uri} could not be probed with {key}: {outcome.reason}. Try again")
    return outcome
