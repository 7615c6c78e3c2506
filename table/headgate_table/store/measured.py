"""A wrapper around any store that counts and times its requests.

It doesn't see reads past the store, by the local path of an object or by an engine of its own.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO, TypeVar

from headgate_schemas.measures import Measures
from headgate_schemas.metrics import STORE_BYTES, STORE_REQUEST_SECONDS
from headgate_table.errors import ObjectMissing
from headgate_table.store.interface import (
    AlreadyExists,
    Created,
    CreateOutcome,
    Folder,
    ObjectInfo,
    Store,
    Unknown,
)

_T = TypeVar("_T")


class MeasuredStore:
    """A request that raises has failed, except if it finds no object, which is an answer. Its pickle is that of the
    store alone.
    """

    def __init__(self, store: Store, measures: Measures, monotonic_s: Callable[[], float]) -> None:
        self._store = store
        self._measures = measures
        self._monotonic_s = monotonic_s

    def __reduce__(self) -> str | tuple[Any, ...]:
        return self._store.__reduce__()

    @property
    def uri(self) -> str:
        return self._store.uri

    @property
    def place(self) -> str:
        return self._store.place

    @property
    def server(self) -> str | None:
        return self._store.server

    def get(self, key: str, *, max_bytes: int | None = None) -> bytes:
        data = self._timed("get", lambda: self._store.get(key, max_bytes=max_bytes))
        self._measures.count(STORE_BYTES, "read", by=len(data))
        return data

    def get_range(self, key: str, start: int, length: int) -> bytes:
        data = self._timed("get_range", lambda: self._store.get_range(key, start, length))
        self._measures.count(STORE_BYTES, "read", by=len(data))
        return data

    def get_with_etag(self, key: str, *, max_bytes: int | None = None) -> tuple[bytes, str]:
        data, etag = self._timed("get_with_etag", lambda: self._store.get_with_etag(key, max_bytes=max_bytes))
        self._measures.count(STORE_BYTES, "read", by=len(data))
        return data, etag

    def put(self, key: str, data: bytes) -> None:
        self._timed("put", lambda: self._store.put(key, data))
        self._measures.count(STORE_BYTES, "written", by=len(data))

    def put_stream(self, key: str, stream: BinaryIO) -> None:
        start = stream.tell()
        size = stream.seek(0, 2) - start
        stream.seek(start)
        self._timed("put_stream", lambda: self._store.put_stream(key, stream))
        self._measures.count(STORE_BYTES, "written", by=size)

    def create(self, key: str, data: bytes) -> CreateOutcome:
        return self._written(self._timed("create", lambda: self._store.create(key, data)), data)

    def swap(self, key: str, data: bytes, etag: str) -> CreateOutcome:
        return self._written(self._timed("swap", lambda: self._store.swap(key, data, etag)), data)

    def head(self, key: str) -> ObjectInfo | None:
        return self._timed("head", lambda: self._store.head(key))

    def list(self, prefix: str = "", *, after: str = "") -> Iterator[ObjectInfo]:
        """Only the store's own time counts, not that of the caller between items."""
        listing: Iterator[ObjectInfo] | None = None
        took_s = 0.0
        outcome = "failed"
        try:
            while True:
                began_s = self._monotonic_s()
                try:
                    if listing is None:
                        listing = iter(self._store.list(prefix, after=after))
                    info = next(listing, None)
                finally:
                    took_s += self._monotonic_s() - began_s
                if info is None:
                    outcome = "ok"
                    return
                yield info
        except GeneratorExit:
            outcome = "ok"  # the caller has seen enough of the listing
            raise
        finally:
            self._measures.observe(STORE_REQUEST_SECONDS, took_s, "list", outcome)

    def list_folder(self, prefix: str = "", *, after: str = "") -> Folder:
        return self._timed("list_folder", lambda: self._store.list_folder(prefix, after=after))

    def delete(self, keys: Iterable[str]) -> None:
        self._timed("delete", lambda: self._store.delete(keys))

    def clock_ms(self) -> int | None:
        return self._store.clock_ms()

    def local_path(self, key: str) -> str | None:
        return self._store.local_path(key)

    def close(self) -> None:
        self._store.close()

    def _written(self, outcome: CreateOutcome, data: bytes) -> CreateOutcome:
        if isinstance(outcome, Created):
            self._measures.count(STORE_BYTES, "written", by=len(data))
        return outcome

    def _timed(self, request: str, effect: Callable[[], _T]) -> _T:
        began_s = self._monotonic_s()
        outcome = "failed"
        try:
            found = effect()
            outcome = _outcome(request, found)
            return found
        except ObjectMissing:
            outcome = "missing"
            raise
        finally:
            self._measures.observe(STORE_REQUEST_SECONDS, self._monotonic_s() - began_s, request, outcome)


def _outcome(request: str, found: object) -> str:
    match found:
        case AlreadyExists():
            return "exists"
        case Unknown():
            return "unknown"
        case None if request == "head":
            return "missing"
        case _:
            return "ok"
