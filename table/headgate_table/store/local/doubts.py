"""Files whose names the disk did not confirm: they can be read, but a power cut may remove them.

After a failed fsync, the kernel shows the new bytes but may have dropped them, and a second fsync succeeds without
writing anything. So a doubtful file counts only after it was written again, under the same name, and the disk confirmed
it.
"""

import os
import threading

from headgate_schemas.ambient import Ambient
from headgate_table.store.local import files as local_files

MAX_DOUBTS = 10_000
"""Files that a process doubts at a time. A disk that fails so often is beyond help; beyond the bound the newest are kept."""


class Doubts:
    """The doubtful files of this process. Threads share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._files: dict[str, None] = {}

    def add(self, path: str) -> None:
        with self._lock:
            self._files[path] = None
            if len(self._files) > MAX_DOUBTS:
                del self._files[next(iter(self._files))]

    def discard(self, path: str) -> None:
        with self._lock:
            self._files.pop(path, None)

    @property
    def is_empty(self) -> bool:
        """Nearly always true, and checked at every read."""
        return not self._files

    def __contains__(self, path: str) -> bool:
        return path in self._files


PROCESS_DOUBTS = Doubts()
"""Of all stores of this process: a table that is opened again must not believe what the first one could not."""


def write_anew(path: str, ambient: Ambient) -> bool:
    """Write the file's bytes to the disk again, under its own name. False if it is gone. The caller must sync the
    folder.

    Raises `OSError` if the disk fails again.
    """
    folder = os.path.dirname(path)
    with local_files.locked(folder, ambient):
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        except FileNotFoundError:
            return False
        with open(descriptor, "rb") as file:
            temporary = local_files.write_temporary(path, file, ambient.new_id(), durable=True)
        try:
            os.replace(temporary, path)
        finally:
            local_files.remove(temporary)
    return True
