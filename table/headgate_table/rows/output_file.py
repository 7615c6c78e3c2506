"""The destination of an output until it is complete: its place on a local store, else an unnamed local file first.

A process that dies leaves an incomplete file that no log names, which cleaning finds, or nothing at all.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO, cast

from headgate_table.errors import StoreError
from headgate_table.store.interface import Store
from headgate_table.store.local.files import remove_stale_checksum, sync_folder


@contextmanager
def output_file(store: Store, key: str, scratch_folder: str | None = None) -> Iterator[BinaryIO]:
    """A stream for the bytes of the new object `key`. After the block ends without an exception, the object is complete
    and durable.

    It needs temporary disk space for one output, in `scratch_folder` (the system's own, without one). Raises
    `StoreError` if it can't be written.
    """
    local = store.local_path(key)
    try:
        if local is None:
            with tempfile.TemporaryFile(dir=scratch_folder) as scratch:
                stream = cast(BinaryIO, scratch)
                yield stream
                stream.seek(0)
                store.put_stream(key, stream)
        else:
            with _in_place(local) as stream:
                yield stream
    except OSError as error:
        where = f"{store.uri}/{key}" if local is not None else f"the temporary file for {store.uri}/{key}"
        raise StoreError(
            f"could not write {where}: {error.strerror or error}. See that there is room on that disk, and that this user "
            f"may write there; nothing was committed"
        ) from error


@contextmanager
def _in_place(path: str) -> Iterator[BinaryIO]:
    folder = os.path.dirname(path)
    made = _make_folders(folder)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        with open(descriptor, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        remove_stale_checksum(path)
        for changed in [folder, *made]:
            sync_folder(changed)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(path)
        raise


def _make_folders(folder: str) -> list[str]:
    """Create the folder; returns the folders whose lists of names have changed."""
    changed = []
    missing = folder
    while not os.path.isdir(missing):
        missing = os.path.dirname(missing)
        changed.append(missing)
    os.makedirs(folder, exist_ok=True)
    return changed
