"""Any store as a read-only PyArrow file system, so that PyArrow, and libraries that use it, read a table's files.

Local files are opened natively; all others are read by ranges through the store, with its credentials and its errors.
"""

from typing import Any

import pyarrow as pa
from pyarrow import fs

from headgate_table.errors import ObjectMissing, StoreError
from headgate_table.store.interface import ObjectInfo, Store
from headgate_table.store.paths import is_key
from headgate_table.store.ranged_file import RangedFile


def arrow_file_system(store: Store) -> fs.PyFileSystem:
    """A file system whose paths are keys of the store."""
    return fs.PyFileSystem(StoreFiles(store))


def system_failure(store: Store, key: str, error: BaseException) -> StoreError | None:
    """The store's failure if the operating system had one; None for PyArrow's errors about the bytes, which have no
    `errno`.
    """
    if not isinstance(error, OSError) or error.errno is None:
        return None
    return StoreError(
        f"could not read {store.uri}/{key}: {error.strerror}. See that its disk is there, that this user may read it, and that "
        f"this process may open more files"
    )


class StoreFiles(fs.FileSystemHandler):  # type: ignore[misc]  # pyarrow ships no types
    """Reads and lists. Writes raise `NotImplementedError`, as pyarrow's own file systems do for unsupported calls."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def get_type_name(self) -> str:
        return f"headgate:{self._store.uri}"

    def normalize_path(self, path: str) -> str:
        return path.strip("/")

    def get_file_info(self, paths: list[str]) -> list[fs.FileInfo]:
        return [self._info(path.strip("/")) for path in paths]

    def get_file_info_selector(self, selector: fs.FileSelector) -> list[fs.FileInfo]:
        base = selector.base_dir.strip("/")
        prefix = f"{base}/" if base else ""
        found: list[fs.FileInfo] = []
        pending = [prefix]
        while pending:
            folder = self._store.list_folder(pending.pop())
            found.extend(_file(info) for info in folder.objects)
            found.extend(fs.FileInfo(below.rstrip("/"), fs.FileType.Directory) for below in folder.folders)
            if selector.recursive:
                pending.extend(folder.folders)
        if not found and not selector.allow_not_found and self._info(base).type == fs.FileType.NotFound:
            raise FileNotFoundError(f"there is no folder {self._store.uri}/{base}")
        return sorted(found, key=lambda info: str(info.path))

    def open_input_file(self, path: str) -> pa.NativeFile:
        """Raises `FileNotFoundError`, as PyArrow expects; other failures are the store's, or the system's
        (`system_failure`).
        """
        local = self._store.local_path(path)
        if local is not None:
            return pa.OSFile(local)
        info = self._store.head(path)
        if info is None:
            raise FileNotFoundError(f"there is no file {self._store.uri}/{path}")
        return pa.PythonFile(_PyArrowsFile(self._store, path, info.size), mode="r")

    def open_input_stream(self, path: str) -> pa.NativeFile:
        return self.open_input_file(path)

    def _info(self, key: str) -> fs.FileInfo:
        if not key:
            return fs.FileInfo(key, fs.FileType.Directory)
        if not is_key(key):
            return fs.FileInfo(key, fs.FileType.NotFound)
        info = self._store.head(key)
        if info is not None:
            return _file(info)
        below = self._store.list_folder(f"{key}/")
        exists = bool(below.objects or below.folders)
        return fs.FileInfo(key, fs.FileType.Directory if exists else fs.FileType.NotFound)

    def _refuse(self, *_: Any, **__: Any) -> Any:
        # pyarrow's own file systems raise this for unsupported calls, and its callers expect it.
        raise NotImplementedError(f"{self._store.uri} is opened for reading; commit through a table to change it")

    create_dir = delete_dir = delete_dir_contents = delete_root_dir_contents = _refuse
    delete_file = move = copy_file = open_output_stream = open_append_stream = _refuse

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StoreFiles) and other._store is self._store

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = object.__hash__


def _file(info: ObjectInfo) -> fs.FileInfo:
    return fs.FileInfo(info.key, fs.FileType.File, size=info.size, mtime_ns=info.modified_ms * 1_000_000)


class _PyArrowsFile(RangedFile):
    """PyArrow reads whole column chunks, so buffering is useless; it recognises missing files by its own error."""

    def read(self, size: int | None = -1) -> bytes:
        try:
            return super().read(size)
        except ObjectMissing as error:
            raise FileNotFoundError(str(error)) from error
