"""A disk that can be full: a file system in memory, made as small as what lies there, and large again.

Mounting needs root, or a namespace of one's own where one is: `as_root_of_a_namespace` starts a program again in one.
"""

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOMY_BYTES = 4 << 30
"""What nothing that is written there comes near to."""
LEFT_BYTES = 16384
"""What a full disk still takes, so that some writes begin and can't be ended."""
MOUNT_LIMIT_S = 30.0
NAMESPACE = ("unshare", "--user", "--map-root-user", "--mount")


class SmallDisk:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def fill(self) -> None:
        """From now on there is no room: the kernel's own refusal, in the middle of a write."""
        left_bytes = LEFT_BYTES
        while not self._shrink(left_bytes):
            left_bytes *= 2  # more than was left has been written since we looked
            assert left_bytes < ROOMY_BYTES, f"{self._folder} can't be made small"

    def _shrink(self, left_bytes: int) -> bool:
        space = os.statvfs(self._folder)
        used = (space.f_blocks - space.f_bfree) * space.f_frsize
        try:
            self._resize(used + left_bytes)
        except subprocess.CalledProcessError:
            return False
        return True

    def make_room(self) -> None:
        self._resize(ROOMY_BYTES)

    def _resize(self, size: int) -> None:
        _mount("-o", f"remount,size={size}", str(self._folder))


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[SmallDisk | None]:
    """Makes the folder. None where nobody may mount anything: then it is a folder like any other."""
    folder.mkdir()
    if not _may_mount(folder):
        yield None
        return
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(("umount", "--lazy", str(folder)), check=True, timeout=MOUNT_LIMIT_S)


def as_root_of_a_namespace(module: str, arguments: Sequence[str]) -> None:
    """Begin again where mounting is allowed, unless it is allowed here; where that can't be, go on as it is."""
    if os.geteuid() == 0 or shutil.which(NAMESPACE[0]) is None:
        return
    if subprocess.run((*NAMESPACE, "true"), capture_output=True, timeout=MOUNT_LIMIT_S, check=False).returncode == 0:
        os.execvp(NAMESPACE[0], (*NAMESPACE, sys.executable, "-m", module, *arguments))


def _may_mount(folder: Path) -> bool:
    if os.geteuid() != 0:
        return False
    try:
        _mount("-t", "tmpfs", "-o", f"size={ROOMY_BYTES}", "headgate-torture", str(folder))
    except (OSError, subprocess.CalledProcessError):
        return False
    return True


def _mount(*arguments: str) -> None:
    subprocess.run(("mount", *arguments), check=True, capture_output=True, timeout=MOUNT_LIMIT_S)
