"""A store in a local folder. `files` places one file atomically.

Objects are plain files. Symbolic links are followed only if they stay inside of the root.
"""

import errno
import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from typing import BinaryIO

from headgate_schemas.ambient import Ambient
from headgate_table.errors import ObjectMissing, StoreError
from headgate_table.store.interface import AlreadyExists, Created, CreateOutcome, Folder, ObjectInfo, Unknown
from headgate_table.store.local import files as local_files
from headgate_table.store.local.doubts import PROCESS_DOUBTS, write_anew
from headgate_table.store.local.obstacles import obstacle_at
from headgate_table.store.paths import check_folder, check_key, check_prefix, is_key, is_listed_folder
from headgate_table.store.reopening import Reopening, reopened
from headgate_table.store.settings import StoreSettings

MAX_KNOWN_FOLDERS = 10_000
"""How many folders a store remembers as durable; beyond that it forgets them all and checks again."""

FOLDER_ATTEMPTS = 3
"""At making the folder of a new file. It vanishes meanwhile only if somebody deletes the last file that lay there."""

_READ_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK  # NONBLOCK: a pipe must not hang us

_ADVICE = {
    errno.ENOSPC: "the disk is full: free some space and try again",
    errno.EDQUOT: "the disk quota is used up: free some space and try again",
    errno.EACCES: "permission denied: give this user read and write permission there",
    errno.EPERM: "the operation is not permitted: check owner and mount options",
    errno.EROFS: "the file system is mounted read-only: remount it, or use another place for the table",
    errno.ENAMETOOLONG: "the name is too long for this file system: use a shorter table path",
    errno.ENOTDIR: "a part of the path is a file, not a folder",
    errno.EISDIR: "it is a folder, not a file",
    errno.ELOOP: "its symbolic links run in a circle",
    errno.EMFILE: "too many open files: raise the limit (ulimit -n)",
    errno.EAGAIN: "its folder stayed locked: look for a stopped or hanging process that writes there",
    errno.ENOTSUP: "this file system has no atomic create (hard link or exclusive rename): use another for the table",
}


_ANSWER_LOST = {errno.EIO, errno.ETIMEDOUT, errno.ESTALE}
"""A network disk may have given the file its name all the same."""


class LocalStore:
    """Every write is complete and on the disk when it returns. `durable=False` skips the disk, for tests.

    This process reads a file that the disk did not confirm only after the disk has confirmed it (`doubts`).
    """

    def __init__(self, root: str, ambient: Ambient, *, uri: str | None = None, durable: bool = True) -> None:
        self._root = os.path.realpath(root)
        self._below_root = self._root.rstrip("/") + "/"
        self._uri = (uri if uri is not None else os.path.abspath(root)).rstrip("/") or "/"
        self._ambient = ambient
        self._durable = durable
        self._known_folders: set[str] = set()

    def __reduce__(self) -> Reopening:
        return reopened, (self._uri, StoreSettings(local_durable=self._durable))

    @property
    def uri(self) -> str:
        return self._uri

    @property
    def place(self) -> str:
        return self._root

    @property
    def server(self) -> str | None:
        return None

    def get(self, key: str, *, max_bytes: int | None = None) -> bytes:
        self._settle(key)
        return self._read(key, max_bytes)

    def _read(self, key: str, max_bytes: int | None = None) -> bytes:
        descriptor, _ = self._open(key)
        with open(descriptor, "rb") as file:
            try:
                data = file.read() if max_bytes is None else file.read(max_bytes + 1)
            except OSError as error:
                raise self._failure("read", key, error) from error
        if max_bytes is not None and len(data) > max_bytes:
            raise StoreError(f"{self._uri}/{key} is larger than the {max_bytes} bytes it may have")
        return data

    def get_range(self, key: str, start: int, length: int) -> bytes:
        self._settle(key)
        descriptor, _ = self._open(key)
        with open(descriptor, "rb") as file:
            try:
                file.seek(start)
                return file.read(length)
            except OSError as error:
                raise self._failure("read", key, error) from error

    def get_with_etag(self, key: str, *, max_bytes: int | None = None) -> tuple[bytes, str]:
        data = self.get(key, max_bytes=max_bytes)
        return data, _digest(data)

    def put(self, key: str, data: bytes) -> None:
        self._put(key, data)

    def put_stream(self, key: str, stream: BinaryIO) -> None:
        self._put(key, stream)

    def _put(self, key: str, data: bytes | BinaryIO) -> None:
        path = self._path(key)
        try:
            temporary = self._write_temporary(path, data)
            try:
                with local_files.locked(os.path.dirname(path), self._ambient):
                    self._replace(temporary, path)
            finally:
                local_files.remove(temporary)
            self._confirm(path)
        except OSError as error:
            raise self._failure("write", key, error) from error

    def create(self, key: str, data: bytes) -> CreateOutcome:
        path = self._path(key)
        is_placed = False
        try:
            # The loser of a race should not first write its bytes for nothing.
            if self._is_taken(path):
                return AlreadyExists()
            temporary = self._write_temporary(path, data)
            try:
                local_files.place_if_absent(temporary, path)
                is_placed = True
            except FileExistsError:
                self._is_taken(path)
                return AlreadyExists()
            except OSError as error:
                is_placed = error.errno in _ANSWER_LOST or local_files.is_same_file(temporary, path)
                raise
            finally:
                local_files.remove(temporary)
            local_files.remove_stale_checksum(path)
            seen_etag = _seen_etag(os.lstat(path))
            self._confirm(path)
        except OSError as error:
            if not is_placed:
                raise self._failure("create", key, error) from error
            return self._unconfirmed(key, path, error)
        return Created(_digest(data), seen_etag)

    def swap(self, key: str, data: bytes, etag: str) -> CreateOutcome:
        path = self._path(key)
        is_placed = False
        try:
            if not self._is_taken(path):
                return AlreadyExists()
            temporary = self._write_temporary(path, data)
            try:
                with local_files.locked(os.path.dirname(path), self._ambient):
                    # Time and inode can repeat within one tick of the clock; the digest of the bytes can't.
                    if _digest(self._read(key)) != etag:
                        return AlreadyExists()
                    is_placed = True
                    self._replace(temporary, path)
            except ObjectMissing:
                return AlreadyExists()
            finally:
                local_files.remove(temporary)
            self._confirm(path)
        except OSError as error:
            if not is_placed:
                raise self._failure("write", key, error) from error
            return self._unconfirmed(key, path, error)
        return Created(_digest(data))

    def head(self, key: str) -> ObjectInfo | None:
        self._settle(key)
        try:
            descriptor, status = self._open(key)
        except ObjectMissing:
            return None
        os.close(descriptor)
        return _info(key, status)

    def list(self, prefix: str = "", *, after: str = "") -> Iterator[ObjectInfo]:
        folder = check_prefix(prefix).rpartition("/")[0]
        return self._walk(self._folder(folder), f"{folder}/" if folder else "", prefix, after)

    def list_folder(self, prefix: str = "", *, after: str = "") -> Folder:
        check_folder(prefix)
        path = self._folder(prefix.removesuffix("/"))
        objects: list[ObjectInfo] = []
        folders: list[str] = []
        for key, entry in self._entries(path, prefix):
            if key <= after:
                continue
            if key.endswith("/"):
                folders.append(key)
            elif (info := self._entry_info(key, entry)) is not None:
                objects.append(info)
        return Folder(tuple(objects), tuple(folders))

    def delete(self, keys: Iterable[str]) -> None:
        """No symbolic link is followed, not even one that stays inside; a link itself can be deleted."""
        changed: set[str] = set()
        for key in keys:
            folder, _, name = check_key(key).rpartition("/")
            place = self._folder(folder)
            if folder and place != self._below_root + folder:
                raise StoreError(
                    f"could not delete {self._uri}/{key}: a part of its path is a symbolic link. Delete it under the name "
                    f"that it really has, or delete the link"
                )
            try:
                # From here on by open folders, so that no link can be inserted.
                with (
                    local_files.opened_below(self._root, folder) as opened,
                    local_files.locked_open(opened, self._ambient),
                ):
                    local_files.remove_stale_checksum(name, opened)
                    if local_files.remove(name, opened):
                        changed.add(place)
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError as error:
                raise self._failure("delete", key, error) from error
        if self._durable:
            for changed_folder in sorted(changed):
                try:
                    local_files.sync_folder(changed_folder)
                except FileNotFoundError:
                    continue  # somebody has removed the whole folder since
                except OSError as error:
                    raise self._failure(
                        "delete files of", os.path.relpath(changed_folder, self._root), error
                    ) from error

    def clock_ms(self) -> int | None:
        return None

    def local_path(self, key: str) -> str | None:
        return self._path(key)

    def close(self) -> None:
        """No files stay open between calls."""

    def _path(self, key: str) -> str:
        """The path of the key. Its folder has no symbolic links left and is inside of the root."""
        folder, _, name = check_key(key).rpartition("/")
        return os.path.join(self._folder(folder), name)

    def _folder(self, folder: str) -> str:
        if not folder:
            return self._root
        real = os.path.realpath(self._below_root + folder)
        self._check_inside(real, folder)
        return real

    def _check_inside(self, real: str, key: str) -> None:
        if real != self._root and not real.startswith(self._below_root):
            raise StoreError(
                f"{self._uri}/{key} is reached through a symbolic link that leaves the store, to {real}: "
                "move the files into the store, or open the store where they are"
            )

    def _open(self, key: str) -> tuple[int, os.stat_result]:
        path = self._path(key)
        try:
            try:
                descriptor = os.open(path, _READ_FLAGS)
            except OSError as error:
                if error.errno != errno.ELOOP:
                    raise
                real = os.path.realpath(path)
                self._check_inside(real, key)
                descriptor = os.open(real, _READ_FLAGS)
            status = os.fstat(descriptor)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise ObjectMissing(f"{self._uri}/{key} doesn't exist", key) from error
        except OSError as error:
            raise self._failure("read", key, error) from error
        if not stat.S_ISREG(status.st_mode):
            os.close(descriptor)
            raise ObjectMissing(f"{self._uri}/{key} doesn't exist as a file; a folder or a device has that name", key)
        return descriptor, status

    def _is_taken(self, path: str) -> bool:
        """Whether a file has the name. Anything but a file would block the name for ever and is no object: it is
        refused.
        """
        try:
            if stat.S_ISREG(os.lstat(path).st_mode):
                return True
        except (FileNotFoundError, NotADirectoryError):
            return False
        obstacle = obstacle_at(path, self._root)
        if obstacle is not None:
            raise StoreError(
                f"could not create {self._uri}/{path.removeprefix(self._below_root)}: {obstacle} has that name, where a file belongs. Find out where it comes "
                f"from, move it away, and try again"
            )
        return True

    def _write_temporary(self, path: str, data: bytes | BinaryIO) -> str:
        unique = self._ambient.new_id()
        folder = os.path.dirname(path)
        for _ in range(FOLDER_ATTEMPTS):
            try:
                return local_files.write_temporary(path, data, unique, durable=self._durable)
            except FileNotFoundError:
                # Not created yet; or a cleaner has just found it empty, and removed it.
                try:
                    os.makedirs(folder, exist_ok=True)
                except FileExistsError as error:
                    raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), folder) from error
                self._known_folders.discard(folder)
        return local_files.write_temporary(path, data, unique, durable=self._durable)

    def _replace(self, temporary: str, path: str) -> None:
        # First the sidecar: between the two steps, a Hadoop reader then reads unchecked bytes, not "corrupt" ones.
        local_files.remove_stale_checksum(path)
        os.replace(temporary, path)

    def _unconfirmed(self, key: str, path: str, error: OSError) -> Unknown:
        if self._durable:
            PROCESS_DOUBTS.add(path)
        return Unknown(f"{self._uri}/{key} was written, but the disk didn't confirm it: {error.strerror}")

    def _confirm(self, path: str) -> None:
        """Wait until the file's new name is on the disk. If that fails, this process doubts the file from then on."""
        try:
            self._make_durable(path)
        except OSError:
            PROCESS_DOUBTS.add(path)
            raise
        PROCESS_DOUBTS.discard(path)

    def _settle(self, key: str) -> None:
        """Bring doubtful files to the disk before they count. `StoreError` if that fails again."""
        if PROCESS_DOUBTS.is_empty or (path := self._path(key)) not in PROCESS_DOUBTS:
            return
        try:
            if write_anew(path, self._ambient):
                self._make_durable(path)
        except (FileNotFoundError, NotADirectoryError):
            pass  # gone with its folder
        except OSError as error:
            raise StoreError(
                f"{self._uri}/{key} can be read, but the disk refused to keep it and does so again ({error.strerror}): a "
                f"power cut would take it away, so it counts as unknown. Look at the disk and the system's log, then try again"
            ) from error
        PROCESS_DOUBTS.discard(path)

    def _make_durable(self, path: str) -> None:
        if not self._durable:
            return
        folder = os.path.dirname(path)
        local_files.sync_folder(folder)
        # A new folder may be new to the disk as well, and so may those above it, whoever created them.
        while folder not in self._known_folders and (folder + "/").startswith(self._below_root):
            if len(self._known_folders) >= MAX_KNOWN_FOLDERS:
                self._known_folders.clear()
            above = os.path.dirname(folder)
            try:
                local_files.sync_folder(above)
            except PermissionError:
                # Only the folder above the root may be inaccessible; then somebody else created the root.
                if (above + "/").startswith(self._below_root):
                    raise
            self._known_folders.add(folder)
            folder = above

    def _walk(self, path: str, folder: str, prefix: str, after: str) -> Iterator[ObjectInfo]:
        """Depth first. A folder sorts as its name with "/", so the keys come in byte order across folders."""
        for key, entry in self._entries(path, folder):
            if key.endswith("/"):
                wanted = key.startswith(prefix) or prefix.startswith(key)
                if wanted and (key > after or after.startswith(key)):
                    yield from self._walk(entry.path, key, prefix, after)
            elif key.startswith(prefix) and key > after and (info := self._entry_info(key, entry)) is not None:
                yield info

    def _entries(self, path: str, folder: str) -> Sequence[tuple[str, "os.DirEntry[str]"]]:
        """The usable names in one folder, sorted; those of folders end in "/". Names that vanish meanwhile are left
        out.
        """
        found: list[tuple[str, os.DirEntry[str]]] = []
        try:
            with os.scandir(path) as entries:
                for entry in entries:
                    # A link to a folder is not entered: no file gets two keys, and the walk ends.
                    is_folder = entry.is_dir(follow_symlinks=False)
                    if not is_listed_folder(entry.name) if is_folder else entry.name.startswith("."):
                        continue
                    if (is_folder or "#" not in entry.name) and is_key(folder + entry.name):
                        found.append((f"{folder}{entry.name}/" if is_folder else folder + entry.name, entry))
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise self._failure("list", folder, error) from error
        found.sort(key=lambda pair: pair[0])
        return found

    def _entry_info(self, key: str, entry: "os.DirEntry[str]") -> ObjectInfo | None:
        try:
            if entry.is_symlink() and not os.path.realpath(entry.path).startswith(self._below_root):
                return None
            status = entry.stat()
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
                return None
            raise self._failure("list", key, error) from error
        return _info(key, status) if stat.S_ISREG(status.st_mode) else None

    def _failure(self, doing: str, key: str, error: OSError) -> StoreError:
        advice = _ADVICE.get(error.errno or 0, error.strerror or str(error))
        return StoreError(f"could not {doing} {self._uri}/{key}: {advice}")


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _info(key: str, status: os.stat_result) -> ObjectInfo:
    return ObjectInfo(key, status.st_size, status.st_mtime_ns // 1_000_000, _seen_etag(status))


def _seen_etag(status: os.stat_result) -> str:
    return f"{status.st_ino:x}-{status.st_mtime_ns:x}-{status.st_size:x}"
