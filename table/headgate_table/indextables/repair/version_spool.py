"""Keeps the versions of a new log in an unnamed local file until all of them are known. `new_log` writes them."""

import tempfile
from collections.abc import Iterator
from typing import IO

from headgate_schemas.actions.actions import AddFile, CommitInfo
from headgate_schemas.ambient import Ambient
from headgate_schemas.version import __version__
from headgate_table.errors import StoreError
from headgate_table.indextables.format.version_file import format_lines, pack
from headgate_table.indextables.format.version_seal import SEALED, sealed
from headgate_table.indextables.repair import new_log

VERSION_TEXT_BYTES = 64 << 20
"""A version ends when its lines reach this size, or `ADDS_PER_VERSION`."""

_OPERATION = "Rebuild"


def spool_file() -> "IO[bytes]":
    try:
        return tempfile.TemporaryFile(prefix="headgate-rebuild-")
    except OSError as error:
        raise _no_room(error) from error


def _no_room(error: OSError) -> StoreError:
    return StoreError(
        f"could not write a temporary file of this machine: {error.strerror or error}. See that there is room, or set TMPDIR "
        f"to a folder that has it; nothing was written to the table"
    )


class Spool:
    """Each version holds adds and the name of its writer."""

    def __init__(self, file: "IO[bytes]", ambient: Ambient) -> None:
        self._file = file
        self._lines: list[bytes] = []
        self._size = 0
        self._lengths: list[int] = []
        self.count = 0
        self.time_ms = ambient.now_ms()
        self.info = CommitInfo(
            {
                "timestamp": self.time_ms,
                "operation": _OPERATION,
                "engine": f"headgate/{__version__}",
                "nonce": ambient.new_id(),
                SEALED: True,
            }
        )

    def add(self, file: AddFile) -> None:
        line = format_lines([file])
        self._lines.append(line)
        self._size += len(line)
        self.count += 1
        if len(self._lines) >= new_log.ADDS_PER_VERSION or self._size >= VERSION_TEXT_BYTES:
            self._end_version()

    def _end_version(self) -> None:
        version = len(self._lengths) + 1
        data = pack(sealed(version, b"".join([*self._lines, format_lines([self.info])])))
        try:
            self._file.write(data)
        except OSError as error:
            raise _no_room(error) from error
        self._lengths.append(len(data))
        self._lines.clear()
        self._size = 0

    def versions(self) -> Iterator[bytes]:
        """The versions from 1 on, ready to be written."""
        if self._lines:
            self._end_version()
        try:
            self._file.seek(0)
            for length in self._lengths:
                yield self._file.read(length)
        except OSError as error:
            raise _no_room(error) from error
