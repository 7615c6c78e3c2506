"""Places files atomically and durably in one folder of a local file system. Other modules handle keys, roots and
outcomes.
"""

import contextlib
import ctypes
import errno
import fcntl
import os
import shutil
import stat
from collections.abc import Iterator
from typing import BinaryIO

from headgate_schemas.ambient import Ambient
from headgate_table.store.backoff import trying_again

LOCK_FILE = ".headgate.lock"
LOCK_ATTEMPTS = 6000
"""About half a minute at `LOCK_PAUSE_S`. A lock is held for one rename, so waiting longer means a stopped process."""
LOCK_PAUSE_S = 0.007
COPY_BYTES = 1 << 20
"""Of a stream, held in memory at a time."""

_LINKS_UNSUPPORTED = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}
_FOLDER_LOCKS_UNSUPPORTED = {errno.EBADF, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EISDIR}
_RENAME_NOREPLACE = 1
_AT_FDCWD = -100


def write_temporary(path: str, data: bytes | BinaryIO, unique: str, *, durable: bool) -> str:
    """Write `data` beside `path`, under a name that every reader of the log ignores, and return that name."""
    folder, name = os.path.split(path)
    # 200 bytes of the name are enough to recognise it, and leave room below the limit of 255.
    shown = name.encode()[:200].decode(errors="ignore")
    temporary = os.path.join(folder, f".{shown}.{unique}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        with open(descriptor, "wb") as file:
            if isinstance(data, bytes | bytearray | memoryview):
                file.write(data)
            else:
                shutil.copyfileobj(data, file, COPY_BYTES)
            file.flush()
            if durable:
                os.fsync(file.fileno())
    except BaseException:
        remove(temporary)
        raise
    return temporary


def place_if_absent(temporary: str, path: str) -> None:
    """Give the temporary file its name, atomically; `FileExistsError` if that name is taken.

    The temporary name may remain; the caller removes it.
    """
    try:
        os.link(temporary, path, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _LINKS_UNSUPPORTED:
            raise
        _rename_if_absent(temporary, path)


def _rename_if_absent(temporary: str, path: str) -> None:
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        raise OSError(errno.ENOTSUP, "neither hard links nor an exclusive rename work here", path)
    if rename(_AT_FDCWD, os.fsencode(temporary), _AT_FDCWD, os.fsencode(path), _RENAME_NOREPLACE) != 0:
        code = ctypes.get_errno()
        if code in (errno.EINVAL, errno.ENOSYS):
            raise OSError(errno.ENOTSUP, "neither hard links nor an exclusive rename work here", path)
        raise OSError(code, os.strerror(code), path)


def remove(path: str, folder: int | None = None) -> bool:
    """Remove the file; False if there was none. A folder of that name stays. `folder` is an open folder to look in."""
    try:
        os.unlink(path, dir_fd=folder)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        # unlink of a folder is EISDIR on Linux and EPERM elsewhere
        if _is_folder(path, folder):
            return False
        raise
    return True


def _is_folder(path: str, folder: int | None) -> bool:
    try:
        return stat.S_ISDIR(os.stat(path, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return False


def remove_stale_checksum(path: str, folder: int | None = None) -> None:
    """Remove Hadoop's sidecar of a local file, which would make our new bytes look corrupt (docs/format.md, section 1)."""
    place, name = os.path.split(path)
    try:
        remove(os.path.join(place, f".{name}.crc"), folder)
    except OSError as error:
        # No sidecar can have a name that is too long for the file system.
        if error.errno != errno.ENAMETOOLONG:
            raise


@contextlib.contextmanager
def opened_below(root: str, folder: str) -> Iterator[int]:
    """The folder below `root`, open. Links in its path are not followed but raise `NotADirectoryError`."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    with contextlib.ExitStack() as held:
        descriptor = os.open(root, flags)
        held.callback(os.close, descriptor)
        for part in filter(None, folder.split("/")):
            descriptor = os.open(part, flags | os.O_NOFOLLOW, dir_fd=descriptor)
            held.callback(os.close, descriptor)
        yield descriptor


def sync_folder(folder: str) -> None:
    """Make the names in this folder survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def is_same_file(one: str, other: str) -> bool:
    """Whether both names exist and lead to one file. False also if the disk doesn't answer."""
    try:
        first, second = os.lstat(one), os.lstat(other)
    except OSError:
        return False
    return (first.st_dev, first.st_ino) == (second.st_dev, second.st_ino)


@contextlib.contextmanager
def locked(folder: str, ambient: Ambient) -> Iterator[None]:
    """Hold the folder's lock against all threads and processes; `BlockingIOError` after about half a minute."""
    with contextlib.ExitStack() as held:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        held.callback(os.close, descriptor)
        held.enter_context(locked_open(descriptor, ambient))
        yield


@contextlib.contextmanager
def locked_open(folder: int, ambient: Ambient) -> Iterator[None]:
    """The lock of an open folder, which must be closed right afterwards: that releases the lock.

    The lock is on the folder itself; if the file system can't do that (NFS), on a file in it. All processes on one file
    system get the same answer, so they use the same lock.
    """
    with contextlib.ExitStack() as held:
        try:
            _lock(folder, ambient)
        except OSError as error:
            if error.errno not in _FOLDER_LOCKS_UNSUPPORTED:
                raise
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(LOCK_FILE, flags, 0o666, dir_fd=folder)
            held.callback(os.close, descriptor)
            _lock(descriptor, ambient)
        yield


def _lock(descriptor: int, ambient: Ambient) -> None:
    waiting = trying_again(
        ambient,
        BlockingIOError,
        attempts=LOCK_ATTEMPTS,
        first_pause_s=0.0005,
        longest_pause_s=LOCK_PAUSE_S,
    )
    for attempt in waiting:
        with attempt:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
