"""One object of a store as a file that is read by ranges, one request per read. The caller buffers."""

import io

from headgate_table.store.interface import Store


class RangedFile(io.RawIOBase):
    """Raises the store's errors. The object must not change meanwhile."""

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

    def read(self, size: int | None = -1) -> bytes:
        left = max(0, self._size - self._position)
        length = left if size is None or size < 0 else min(size, left)
        if length == 0:
            return b""
        data = self._store.get_range(self._key, self._position, length)
        self._position += len(data)
        return data

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # the standard library's type is wider
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)
