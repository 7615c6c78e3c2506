"""A store in memory, as strict as the strictest real one. It never fails on its own; `faulty` makes it."""

import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from headgate_schemas.ambient import Ambient
from headgate_table.errors import ObjectMissing, StoreError
from headgate_table.store.interface import AlreadyExists, Created, CreateOutcome, Folder, ObjectInfo
from headgate_table.store.paths import check_folder, check_key, check_prefix

_AHEAD_MS = 4_102_444_800_000
"""The year 2100: later than any clock of a test, or of the machine that it runs on."""


@dataclass(frozen=True, slots=True)
class _Held:
    data: bytes
    etag: str
    seen: ObjectInfo
    """As a look from outside shows it."""


class MemoryStore:
    """Objects in a dict. `a` and `a/b` can't both exist, etags are used once, and listings are stable copies.

    Without an `ambient` its clock moves by one millisecond with every write, and is ahead of everybody's: nothing is old.
    """

    def __init__(self, ambient: Ambient | None = None, *, uri: str = "memory://test") -> None:
        self._uri = uri
        self._ambient = ambient
        self._held: dict[str, _Held] = {}
        self._folders: dict[str, int] = {}
        self._writes = 0
        self._lock = threading.Lock()

    @property
    def uri(self) -> str:
        return self._uri

    @property
    def place(self) -> str:
        return self._uri

    @property
    def server(self) -> str | None:
        return None

    def get(self, key: str, *, max_bytes: int | None = None) -> bytes:
        data = self._find(key).data
        self._check_size(key, data, max_bytes)
        return data

    def get_range(self, key: str, start: int, length: int) -> bytes:
        return self._find(key).data[start : start + length]

    def get_with_etag(self, key: str, *, max_bytes: int | None = None) -> tuple[bytes, str]:
        held = self._find(key)
        self._check_size(key, held.data, max_bytes)
        return held.data, held.etag

    def put(self, key: str, data: bytes) -> None:
        with self._lock:
            self._write(check_key(key), data)

    def put_stream(self, key: str, stream: BinaryIO) -> None:
        self.put(key, stream.read())

    def create(self, key: str, data: bytes) -> CreateOutcome:
        with self._lock:
            if check_key(key) in self._held:
                return AlreadyExists()
            etag = self._write(key, data)
            return Created(etag, self._held[key].seen.etag)

    def swap(self, key: str, data: bytes, etag: str) -> CreateOutcome:
        with self._lock:
            held = self._held.get(check_key(key))
            if held is None or held.etag != etag:
                return AlreadyExists()
            return Created(self._write(key, data))

    def head(self, key: str) -> ObjectInfo | None:
        with self._lock:
            held = self._held.get(check_key(key))
        return None if held is None else held.seen

    def list(self, prefix: str = "", *, after: str = "") -> Iterator[ObjectInfo]:
        check_prefix(prefix)
        return iter([info for info in self._infos(prefix) if info.key > after])

    def list_folder(self, prefix: str = "", *, after: str = "") -> Folder:
        check_folder(prefix)
        objects: list[ObjectInfo] = []
        folders: set[str] = set()
        for info in self._infos(prefix):
            name, slash, _ = info.key[len(prefix) :].partition("/")
            if slash:
                folders.add(f"{prefix}{name}/")
            elif info.key > after:
                objects.append(info)
        return Folder(tuple(objects), tuple(sorted(folder for folder in folders if folder > after)))

    def delete(self, keys: Iterable[str]) -> None:
        for key in keys:
            with self._lock:
                if self._held.pop(check_key(key), None) is not None:
                    for folder in _folders_above(key):
                        self._folders[folder] -= 1

    def clock_ms(self) -> int | None:
        return None if self._ambient is None else self._ambient.now_ms()

    def local_path(self, key: str) -> str | None:
        return None

    def close(self) -> None:
        """Stays usable, as another process's store on the same place would."""

    def _check_size(self, key: str, data: bytes, max_bytes: int | None) -> None:
        if max_bytes is not None and len(data) > max_bytes:
            raise StoreError(f"{self._uri}/{key} is larger than the {max_bytes} bytes it may have")

    def _find(self, key: str) -> _Held:
        with self._lock:
            held = self._held.get(check_key(key))
        if held is None:
            raise ObjectMissing(f"{self._uri}/{key} doesn't exist", key)
        return held

    def _write(self, key: str, data: bytes) -> str:
        above = _folders_above(key)
        in_the_way = next((folder for folder in above if folder in self._held), None)
        if in_the_way is not None:
            raise StoreError(f"could not write {self._uri}/{key}: {in_the_way} is an object, not a folder")
        if self._folders.get(key):
            raise StoreError(f"could not write {self._uri}/{key}: it is a folder")
        self._writes += 1
        if key not in self._held:
            for folder in above:
                self._folders[folder] = self._folders.get(folder, 0) + 1
        modified_ms = self._ambient.now_ms() if self._ambient else _AHEAD_MS + self._writes
        etag = f"etag-{self._writes}"
        # A look from outside has another etag than the one that `swap` takes, as in a local store.
        self._held[key] = _Held(bytes(data), etag, ObjectInfo(key, len(data), modified_ms, f"seen-{etag}"))
        return etag

    def _infos(self, prefix: str) -> Iterable[ObjectInfo]:
        with self._lock:
            keys = sorted(key for key in self._held if key.startswith(prefix))
            return [self._held[key].seen for key in keys]


def _folders_above(key: str) -> tuple[str, ...]:
    parts = key.split("/")
    return tuple("/".join(parts[:count]) for count in range(1, len(parts)))


class Clockless(MemoryStore):
    """Tells no time, as a local disk doesn't."""

    def clock_ms(self) -> int | None:
        return None
