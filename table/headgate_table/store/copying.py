"""Copying an object within a store, in bounded memory and by the store's own calls. It costs reading and writing it all."""

import io

from headgate_table.errors import ObjectMissing, StoreError
from headgate_table.store.interface import Store

BLOCK_BYTES = 8 << 20
"""Read at a time; a smaller object is copied with one read and one write."""


def copy_object(store: Store, key: str, to: str) -> bool:
    """Put the bytes of `key` under `to`, whatever was there; False when there is no such object (any more).

    The object must not change meanwhile: a size that differs from what was read is a `StoreError`.
    """
    try:
        info = store.head(key)
        if info is None:
            return False
        if info.size <= BLOCK_BYTES:
            store.put(to, store.get(key, max_bytes=BLOCK_BYTES))
        else:
            store.put_stream(to, io.BufferedReader(_Ranges(store, key, info.size), BLOCK_BYTES))
    except ObjectMissing:
        return False
    copied = store.head(to)
    if copied is None or copied.size != info.size:
        raise StoreError(f"the copy of {store.uri}/{key} at {to} is not what was copied; {key} was left where it is")
    return True


class _Ranges(io.RawIOBase):
    """One object, read by ranges."""

    def __init__(self, store: Store, key: str, size: int) -> None:
        super().__init__()
        self._store = store
        self._key = key
        self._size = size
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = max(0, start + offset)
        return self._position

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # the standard library's type is wider
        length = min(len(buffer), self._size - self._position)
        if length <= 0:
            return 0
        data = self._store.get_range(self._key, self._position, length)
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)
