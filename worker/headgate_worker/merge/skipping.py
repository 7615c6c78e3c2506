"""Decides which sources get a skip in the table's log, and proposes it. `skips` makes the skips."""

from collections.abc import Sequence
from typing import assert_never

import pyarrow as pa
import pyarrow.compute as pc

from headgate_schemas.actions.actions import AddFile, SkipFile
from headgate_schemas.ambient import Ambient
from headgate_schemas.errors import HeadgateError
from headgate_schemas.logs import get_logger
from headgate_schemas.messages.operations import Rejected, Skip
from headgate_table.indextables.rules.skips import known_skips
from headgate_table.table import Table
from headgate_worker.merge.orders import Gone, Unreadable
from headgate_worker.merge.skips import skip_of

_log = get_logger("headgate.merge")


class Skipping:
    """The skips of one table. Threads may share it."""

    def __init__(self, table: Table, ambient: Ambient) -> None:
        self._table = table
        self._ambient = ambient

    def found(self, sources: Sequence[AddFile], problems: Sequence[Unreadable | Gone]) -> list[SkipFile]:
        """Skips for sources that are faulty themselves. A file that another writer removed meanwhile gets none."""
        by_path = {source.path: source for source in sources}
        gone = [problem.path for problem in problems if isinstance(problem, Gone)]
        live = self._live_among(gone) if gone else frozenset[str]()
        reasons: dict[str, str] = {}
        for problem in problems:
            match problem:
                case Unreadable(path, reason):
                    reasons[path] = reason
                case Gone(path):
                    if path in live:
                        reasons[path] = "it is missing, though the log lists it"
                case _:
                    assert_never(problem)
        if not reasons:
            return []
        now_ms = self._ambient.now_ms()
        earlier = known_skips(self._table.reader, self._table.snapshot().log, now_ms)
        return [skip_of(by_path[path], reason, earlier, now_ms) for path, reason in reasons.items()]

    def record(self, skips: Sequence[SkipFile]) -> None:
        """Propose the skips. Without a skip the file is simply tried again, so a failure is only logged."""
        if not skips:
            return
        for skip in skips:
            _log.warning(
                "source_skipped", table=self._table.uri, path=skip.path, count=skip.skip_count, reason=skip.reason
            )
        try:
            receipt = self._table.commit(Skip(tuple(skips)))
        except HeadgateError as error:
            _log.warning("skips_not_recorded", table=self._table.uri, reason=str(error))
            return
        if isinstance(receipt, Rejected):
            _log.warning("skips_not_recorded", table=self._table.uri, reason=receipt.reason)

    def _live_among(self, paths: Sequence[str]) -> frozenset[str]:
        """The live ones of the missing files. Look them up after the files were found missing: a file is deleted only
        after a version has removed it.
        """
        listed = self._table.snapshot().files(("path",)).column("path")
        return frozenset(listed.filter(pc.is_in(listed, value_set=pa.array(paths, pa.string()))).to_pylist())
