"""Looks up earlier decisions in a table's own log, for cases in which the bus can't answer."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import TYPE_CHECKING

from headgate_schemas.ambient import Ambient
from headgate_schemas.errors import HeadgateError
from headgate_schemas.messages.operations import Receipt, Writer
from headgate_table.errors import TableNotFound

if TYPE_CHECKING:
    from headgate_table.indextables.log.reader import LogReader


class NotToldInTime(HeadgateError):
    """The table's store takes too long."""


class DecisionLookup:
    """Reads the log of one table; threads may share it."""

    def __init__(self, open_reader: "Callable[[], LogReader]", ambient: Ambient) -> None:
        self._ambient = ambient
        self._open_reader = open_reader
        self._reader: LogReader | None = None
        self._lock = threading.Lock()
        self._look: Future[Receipt | None] | None = None

    def find_within(self, seconds: float, proposal_id: str, writer: Writer | None) -> Receipt | None:
        """`find` on a thread of its own, which is abandoned if the store hangs. Raises `NotToldInTime`."""
        if self._look is not None and not self._look.done():
            raise NotToldInTime("its store still hasn't answered an earlier question")
        look: Future[Receipt | None] = Future()
        self._look = look

        def work() -> None:
            try:
                look.set_result(self.find(proposal_id, writer))
            except BaseException as error:  # noqa: BLE001  # handed to the thread that waits, whatever it is
                look.set_exception(error)

        threading.Thread(target=work, name="headgate-past-decisions", daemon=True).start()
        try:
            return look.result(seconds)
        except FutureTimeout:
            raise NotToldInTime(f"its store didn't answer within {seconds:g} s") from None

    def find(self, proposal_id: str, writer: Writer | None) -> Receipt | None:
        """The decision; None if the log doesn't have it, or if there is no table yet. Raises the errors of reading the
        log.
        """
        # imported here, because reading a log is rarely needed
        from headgate_table.indextables.recovery.decisions import find_decision

        with self._lock:
            if self._reader is None:
                self._reader = self._open_reader()
            try:
                return find_decision(self._reader, proposal_id, writer)
            except TableNotFound:
                return self._find_recorded(self._reader, proposal_id, writer)

    def _find_recorded(self, reader: "LogReader", proposal_id: str, writer: Writer | None) -> Receipt | None:
        """The decision in the records of a Milvus table, if the table is one."""
        from headgate_table.milvus.committed.decisions import find_recorded
        from headgate_table.milvus.committed.log import RecordedLog

        return find_recorded(RecordedLog(reader.store, self._ambient), proposal_id, writer)
