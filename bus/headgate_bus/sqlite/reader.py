"""Reads a bus file from given offsets."""

from collections.abc import Callable, Mapping, Sequence

from headgate_bus.errors import BusError
from headgate_bus.interface import Record, Topic
from headgate_bus.sqlite import log as sqlite_log
from headgate_bus.sqlite.file import SqliteFile
from headgate_bus.sqlite.waiting import CALL_TIMEOUT_S, until_found
from headgate_schemas.ambient import Ambient


class SqliteReader:
    """A reader with a connection of its own, so that it waits for nobody."""

    def __init__(
        self,
        file: SqliteFile,
        ambient: Ambient,
        topic: Topic,
        offsets: Mapping[int, int],
        check_open: Callable[[], None],
    ) -> None:
        self._file = file
        self._ambient = ambient
        self._topic = topic
        self._offsets = dict(offsets)
        self._check_bus = check_open
        self._closed = False

    def read(self, timeout_s: float, max_records: int = 1_000) -> Sequence[Record]:
        found = until_found(
            self._file, self._ambient, timeout_s, lambda: self._look(max_records) or None, self._check_open
        )
        return found or []

    @property
    def closed(self) -> bool:
        return self._closed

    def offsets(self) -> Mapping[int, int]:
        return dict(sorted(self._offsets.items()))

    def close(self) -> None:
        self._closed = True
        self._file.close()

    def _look(self, max_records: int) -> list[Record]:
        found, self._offsets = self._file.read(
            self._ambient.monotonic_s() + CALL_TIMEOUT_S,
            lambda connection: sqlite_log.read(connection, self._topic, self._offsets, max_records, self._file.path),
        )
        if found:
            self._offsets = sqlite_log.turned(self._offsets)
        return found

    def _check_open(self) -> None:
        if self._closed:
            raise BusError("this reader was closed; open another")
        self._check_bus()
