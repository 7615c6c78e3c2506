"""What a table's own log says about earlier proposals, for when the bus can't say."""

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from headgate_schemas.operations import Receipt, Writer
from headgate_table.errors import TableNotFound

if TYPE_CHECKING:
    from headgate_table.indextables.log_reader import LogReader


class PastDecisions:
    """Reads the log of one table; threads may share it."""

    def __init__(self, open_reader: "Callable[[], LogReader]") -> None:
        self._open_reader = open_reader
        self._reader: LogReader | None = None
        self._lock = threading.Lock()

    def find(self, proposal_id: str, writer: Writer | None) -> Receipt | None:
        """None where the log tells nothing of it, or there is no table yet. Raises what reading the log raises."""
        from headgate_table.indextables.decisions import find_decision  # reading a log is rarely needed

        with self._lock:
            if self._reader is None:
                self._reader = self._open_reader()
            try:
                return find_decision(self._reader, proposal_id, writer)
            except TableNotFound:
                return None
