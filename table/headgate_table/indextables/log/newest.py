"""The newest version of one table's log, kept in memory, so that each look reads only the new versions."""

import threading

from headgate_table.indextables.log.reader import LoadedLog, LogReader, SeenPointer


class NewestVersion:
    """The newest version, shared by the readers and the direct writer of one `Table`. Readers don't wait for commits."""

    def __init__(self, reader: LogReader) -> None:
        self.reader = reader
        self._loaded: LoadedLog | None = None
        self._pointer: SeenPointer | None = None
        self._lock = threading.Lock()

    def find(self) -> None:
        """Check that there is a log, without reading it. Raises `TableNotFound`."""
        pointer = self.reader.find()
        with self._lock:
            self._pointer = pointer

    def current(self) -> LoadedLog:
        """The newest version, after a new look at the store."""
        with self._lock:
            if self._loaded is not None:
                self._loaded = self.reader.advance(self._loaded)
            else:
                pointer, self._pointer = self._pointer, None
                self._loaded = self.reader.latest(pointer)
            return self._loaded

    def seen(self) -> LoadedLog:
        """The last version that was seen, such as that of the last commit. Only the first call reads the store."""
        return self._loaded or self.current()

    def keep(self, log: LoadedLog) -> None:
        """Start the next look from this version, which this process has just written."""
        with self._lock:
            self._loaded = log

    def forget(self) -> None:
        """Read everything again at the next look, because files of the log were deleted or replaced."""
        with self._lock:
            self._loaded = None
