"""Merges a table's data files in this process, by the worker's planner and engine: for commands, statements and merges
on write.
"""

import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor

from headgate_schemas.ambient import Ambient
from headgate_table.table import Table
from headgate_worker.merge.engines.arrow import ArrowEngine
from headgate_worker.merge.merging import Merging, RunLimits
from headgate_worker.merge.plan import MergeLimits, MergePlan
from headgate_worker.merge.report import MergeReport
from headgate_worker.merge.table_settings import arrow_limits, codec_of
from headgate_worker.roles.interface import Abandoned


class TableMerge:
    """Merges of one table. Its changes are committed in the table's own way."""

    def __init__(self, table: Table, ambient: Ambient, scratch_folder: str = "") -> None:
        """`scratch_folder` is this process's own choice; without one it is the system's."""
        self._stopped = threading.Event()
        self._scratch_folder = scratch_folder
        self._table = table
        options = table.options
        engine = ArrowEngine(
            table.store, table.reader.resources, arrow_limits(options, scratch_folder), give_up=self._give_up
        )
        self._merging = Merging(table, engine, ambient, codec=codec_of(options))

    @property
    def scratch_folder(self) -> str | None:
        """The folder for incomplete files; None if they are written directly into their place."""
        if self._table.store.local_path("_") is not None:
            return None
        return self._scratch_folder or tempfile.gettempdir()

    def plan(self, limits: MergeLimits, where: str | None = None) -> MergePlan:
        """The plan of a merge now. Raises `InvalidInput` for a `where` on other columns than the table's partitions."""
        return self._merging.plan(limits, where)

    def run(self, limits: MergeLimits, where: str | None = None) -> MergeReport:
        """Merge. An interrupt stops it at once: committed merges stay, and unfinished ones have no effect."""
        bounds = RunLimits()
        with ThreadPoolExecutor(bounds.parallel_groups, thread_name_prefix="headgate-merge") as executor:
            try:
                return self._merging.merge(limits, executor, where, bounds)
            except BaseException:
                self._stopped.set()
                raise

    def _give_up(self) -> None:
        if self._stopped.is_set():
            raise Abandoned("the merge was interrupted")
