"""Checks, before the first commit to a store, that the store creates an object only if it is absent.

Some S3-compatible servers ignore the condition and overwrite: every writer would be told that its version is committed.
A process checks each server and bucket once, by three requests, or four if nobody has checked before. `probe` checks
more, on request.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass

from headgate_table.errors import ObjectMissing, StoreError
from headgate_table.store.interface import AlreadyExists, Created, Store, Unknown

PROBE_KEY = "_headgate/probe/create-if-absent"
"""Stays, so that whoever asks next finds an object to be refused for."""
MAX_PROBE_BYTES = 1 << 10
_ATTEMPTS = 3
MAX_SERVERS = 10_000
"""Of which a process remembers that they can be trusted; beyond that it asks again."""


class TrustedServers:
    """Threads share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._names: set[str] = set()

    def __contains__(self, server: str) -> bool:
        return server in self._names

    def add(self, server: str) -> None:
        with self._lock:
            if len(self._names) >= MAX_SERVERS:
                self._names.clear()
            self._names.add(server)


TRUSTED = TrustedServers()
"""In this process. Distrust is not remembered: a server may be mended."""


def require_conditions(store: Store, unique: Callable[[], str], trusted: TrustedServers | None = None) -> None:
    """Raises `StoreError` if a create overwrites an existing object, or if the store doesn't answer: nothing was
    committed.

    `unique` returns a text that nobody else writes.
    """
    server, trusted = store.server, TRUSTED if trusted is None else trusted
    if server is None or server in trusted:
        return
    mark = unique()
    before = _before(store, mark)
    answer = _asked(store, f"{mark} second")
    # Another process that checks at the same time may have overwritten it: any change counts.
    is_overwritten = _held(store) != before
    if answer.is_created or is_overwritten:
        raise _distrust(store)
    trusted.add(server)


def _before(store: Store, mark: str) -> bytes:
    """The content of the object, which is created if missing."""
    try:
        return store.get(PROBE_KEY, max_bytes=MAX_PROBE_BYTES)
    except ObjectMissing:
        answer = _asked(store, f"{mark} first")
        return answer.data if answer.is_created else _held(store)


def _held(store: Store) -> bytes:
    try:
        return store.get(PROBE_KEY, max_bytes=MAX_PROBE_BYTES)
    except ObjectMissing:
        raise StoreError(f"{store.uri}/{PROBE_KEY} is gone as soon as it was written. Try again") from None


@dataclass(frozen=True, slots=True)
class _Answer:
    is_created: bool
    data: bytes
    """Of the request that was answered so."""


def _asked(store: Store, mark: str) -> _Answer:
    reason = ""
    for attempt in range(_ATTEMPTS):
        data = f"{mark} {attempt}".encode()  # an unanswered attempt's write must not be taken for the next one's
        match store.create(PROBE_KEY, data):
            case Created():
                return _Answer(True, data)
            case AlreadyExists():
                return _Answer(False, data)
            case Unknown(reason):
                pass
    raise StoreError(f"{store.uri} could not be asked whether it can be trusted with commits: {reason}. Try again")


def _distrust(store: Store) -> StoreError:
    return StoreError(
        f"{store.uri} can't be trusted with commits: it created {PROBE_KEY} although it was there, so it ignores If-None-Match "
        f"and writers would overwrite each other's versions. Nothing was committed. Use a server that supports conditional "
        f"writes, or a newer version of this one; `headgate doctor {store.uri}` looks closer"
    )
