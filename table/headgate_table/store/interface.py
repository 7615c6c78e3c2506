"""The interface of every store, and the outcomes of a conditional write. No implementation.

Keys are relative to the store's root, use "/" and obey `paths.check_key`. A missing object is `ObjectMissing`, every
other failure a `StoreError` whose message names the store, the key and the remedy.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, Protocol


@dataclass(frozen=True, slots=True)
class ObjectInfo:
    """One stored object, as a listing or a HEAD shows it. `modified_ms` is the store's own clock.

    `etag` distinguishes two looks at the same key. It isn't the etag for `swap`, which comes from `get_with_etag` or
    `Created`.
    """

    key: str
    size: int
    modified_ms: int
    etag: str


@dataclass(frozen=True, slots=True)
class Folder:
    """The objects and folders directly under a prefix. Both sorted by key.

    `folders` holds whole keys, relative to the store's root like those of objects, and ending in "/". A local store
    also lists folders without objects.
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
    """An object exists already (or, for a swap, it isn't the expected one); nothing was written."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """The store gave no answer. The write may have happened, may still happen, or never will: read back."""

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
        """The real place: the same text for all addresses of one place, as far as that is known without a request."""
        ...

    @property
    def server(self) -> str | None:
        """The server and bucket that decide conditional writes. None without a server, as on a local disk."""
        ...

    def get(self, key: str, *, max_bytes: int | None = None) -> bytes:
        """The whole object. Raises `StoreError` for one larger than `max_bytes`, without reading it all."""
        ...

    def get_range(self, key: str, start: int, length: int) -> bytes:
        """`length` bytes from `start`; fewer only at the end of the object."""
        ...

    def get_with_etag(self, key: str, *, max_bytes: int | None = None) -> tuple[bytes, str]:
        """The whole object, bounded as in `get`, and the etag for `swap`."""
        ...

    def put(self, key: str, data: bytes) -> None:
        """Write or replace; readers see the old bytes or the new ones, never a mixture. Safe to repeat."""
        ...

    def put_stream(self, key: str, stream: BinaryIO) -> None:
        """Write or replace with the rest of a seekable stream, in bounded memory.

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
        """The object; None if there is no such object."""
        ...

    def list(self, prefix: str = "", *, after: str = "") -> Iterator[ObjectInfo]:
        """Every object whose key begins with `prefix` and is greater than `after`, in byte order of the keys.

        Fetched by pages as far as the store's own order allows. Byte order of UTF-8 is the order of Python's `str`.
        Names that begin with a dot or hold "#" are staging files of others; a store may leave them out.
        """
        ...

    def list_folder(self, prefix: str = "", *, after: str = "") -> Folder:
        """The objects and folders directly under `prefix` ("" or ending in "/"); only keys greater than the key
        `after`.
        """
        ...

    def delete(self, keys: Iterable[str]) -> None:
        """Delete all; absent ones are fine. Raises `StoreError` naming the first that could not be deleted."""
        ...

    def clock_ms(self) -> int | None:
        """The store's own time; None if that is the machine's own clock, or if no answer had a time yet. Sends no
        request.
        """
        ...

    def local_path(self, key: str) -> str | None:
        """The path of the object in the local file system; None for other stores."""
        ...

    def close(self) -> None: ...
