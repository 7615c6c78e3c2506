"""What every store must do, and the outcomes of a conditional write. No store lives here.

Keys are relative to the store's root, use "/" and obey `paths.check_key`. A missing object is `ObjectMissing`, every
other failure a `StoreError` whose message names the store, the key and what to do.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, Protocol


@dataclass(frozen=True, slots=True)
class ObjectInfo:
    """One stored object, as seen by a look from outside. `modified_ms` is the store's own clock.

    `etag` tells two looks at the same key apart. It is not the etag that `swap` takes: that one comes from
    `get_with_etag` or `Created`.
    """

    key: str
    size: int
    modified_ms: int
    etag: str


@dataclass(frozen=True, slots=True)
class Folder:
    """What lies directly under a prefix: objects, and folders. Both sorted by key.

    `folders` holds whole keys, relative to the store's root like those of objects, and ending in "/". A local store
    also shows folders that hold no object any more.
    """

    objects: tuple[ObjectInfo, ...]
    folders: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Created:
    """The object was absent and now holds exactly the given bytes."""

    etag: str
    seen_etag: str = field(default="", compare=False)
    """The etag that a look from outside shows; "" where the store doesn't say."""


@dataclass(frozen=True, slots=True)
class AlreadyExists:
    """An object is there already (or, for a swap, it is not the one that was expected); nothing was written."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """The store didn't say. The write may have happened, may still happen, or never will: read back."""

    reason: str


CreateOutcome = Created | AlreadyExists | Unknown


class Store(Protocol):
    """A place that holds named, immutable byte strings (and one pointer per table)."""

    @property
    def uri(self) -> str:
        """The root, as the user would write it, without a trailing slash."""
        ...

    @property
    def place(self) -> str:
        """Where it really lies: the same text for all addresses of one place, as far as that can be told without asking."""
        ...

    @property
    def server(self) -> str | None:
        """Who decides about conditional writes: a server and its bucket. None where no server does, as on a local disk."""
        ...

    def get(self, key: str, *, max_bytes: int | None = None) -> bytes:
        """The whole object. Larger than `max_bytes`: a `StoreError`, without reading it all."""
        ...

    def get_range(self, key: str, start: int, length: int) -> bytes:
        """`length` bytes from `start`; fewer only where the object ends."""
        ...

    def get_with_etag(self, key: str, *, max_bytes: int | None = None) -> tuple[bytes, str]:
        """The whole object, bounded as in `get`, and the etag that `swap` takes."""
        ...

    def put(self, key: str, data: bytes) -> None:
        """Write or replace; readers see the old bytes or the new ones, never a mixture. Safe to repeat."""
        ...

    def put_stream(self, key: str, stream: BinaryIO) -> None:
        """Write or replace with all that a seekable stream holds from where it stands, in bounded memory.

        For files that may be larger than memory; otherwise like `put`. The stream may be closed afterwards.
        """
        ...

    def create(self, key: str, data: bytes) -> CreateOutcome:
        """Write only if absent, atomically against every other process."""
        ...

    def swap(self, key: str, data: bytes, etag: str) -> CreateOutcome:
        """Replace only if the object still has this etag, atomically against every other process."""
        ...

    def head(self, key: str) -> ObjectInfo | None:
        """None when there is no such object."""
        ...

    def list(self, prefix: str = "", *, after: str = "") -> Iterator[ObjectInfo]:
        """Every object whose key begins with `prefix` and is greater than `after`, in byte order of the keys.

        Fetched by pages as far as the store's own order allows. Byte order of UTF-8 is the order of Python's `str`.
        Names that begin with a dot or hold "#" are staging files of others; a store may leave them out.
        """
        ...

    def list_folder(self, prefix: str = "", *, after: str = "") -> Folder:
        """What lies directly under `prefix` ("" or ending in "/"); only keys greater than the key `after`."""
        ...

    def delete(self, keys: Iterable[str]) -> None:
        """Delete all; absent ones are fine. Raises `StoreError` naming the first that could not be deleted."""
        ...

    def clock_ms(self) -> int | None:
        """What time the store itself has; None where that is the machine's own clock, or where it never told. Asks nothing."""
        ...

    def local_path(self, key: str) -> str | None:
        """The path of the object in the local file system, or None where the store has none."""
        ...

    def close(self) -> None: ...
