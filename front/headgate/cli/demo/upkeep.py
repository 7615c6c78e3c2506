"""The workers of the demo: one merges and compacts the writers' files, another one cleans up; the demo shows their
progress.
"""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from headgate.cli.demo.processes import DemoProcess, running
from headgate_schemas.errors import HeadgateError

if TYPE_CHECKING:
    from headgate.cli.terminal.output import Output
    from headgate_schemas.ambient import Ambient
    from headgate_table.table import Table

DONE_WITHIN_S = 60.0
"""On a busy machine. A worker that is idle is done in two seconds."""
_LOOK_S = 0.1
_EAGER = {
    "sweep-ms": "500",
    "merge-cooldown-ms": "500",
    "compact-cooldown-ms": "500",
    "compact-delay-ms": "0",
}
"""Workers take minutes between two looks at a table; nobody waits for them."""
_IMPATIENT = {
    "purge.defaultRetentionHours": "0",
    "purge.txLogRetentionHours": "0",
    "purge.retentionCheckEnabled": "false",
    "state.retention.hours": "0",
}
"""Cleaning keeps everything for days; here nobody is left who could need it."""


@dataclass(frozen=True, slots=True)
class Holdings:
    """The objects of a table."""

    live_files: int
    stored_files: int
    """With those that the table doesn't hold any more."""
    tombstones: int
    log_objects: int


def holdings(table: "Table") -> Holdings:
    folder, log = Path(table.uri), table.reader.latest()
    stored = sum(1 for _ in folder.rglob("*.parquet"))
    objects = sum(path.is_file() for path in (folder / "_transaction_log").rglob("*"))
    tombstones = 0 if log.state is None else len(log.state.tombstones)
    return Holdings(table.snapshot().num_files, stored, tombstones, objects)


class RowCheck:
    """Compares the rows of the table with those before: each must be there exactly once."""

    def __init__(self, table: "Table") -> None:
        self._expected = _ids(table)

    def compare(self, table: "Table") -> tuple[int, int]:
        """The number of lost rows, and the number of repeated or unknown rows."""
        found = _ids(table)
        return (self._expected - found).total(), (found - self._expected).total()


def _ids(table: "Table") -> Counter[int]:
    return Counter(row for batch in table.snapshot().scan(["id"]) for row in batch.column("id").to_pylist())


class Upkeep:
    """Runs workers on the demo's table."""

    def __init__(self, folder: Path, bus: str, ambient: "Ambient", output: "Output") -> None:
        self._folder = folder
        self._bus = bus
        self._ambient = ambient
        self._output = output

    def merge_and_compact(self, table: "Table", partitions: int) -> None:
        """Run until each partition is one file, and the newest state lists nothing else."""
        limits = [word for key, value in _EAGER.items() for word in ("--limit", f"{key}={value}")]
        worker = DemoProcess(self._folder, self._bus, "worker", "merger", "--roles", "merge,compact", *limits)

        def is_tidy() -> bool:
            log = table.reader.latest()
            is_compact = log.state is not None and not log.state.tombstones and log.state.version == table.version
            return is_compact and table.snapshot().num_files == partitions

        self._watch(worker, is_tidy)

    def clean(self) -> None:
        """Run until the table has been cleaned once."""
        settings = [word for key, value in _IMPATIENT.items() for word in ("--set", f"{key}={value}")]
        worker = DemoProcess(self._folder, self._bus, "worker", "cleaner", "--roles", "clean", *settings)
        self._watch(worker, lambda: bool(worker.told("task_done")))

    def _watch(self, worker: DemoProcess, is_done: Callable[[], bool]) -> None:
        """Let the worker run until it is done, and print its progress."""
        told = 0
        until_s = self._ambient.monotonic_s() + DONE_WITHIN_S
        with running(worker):
            while not is_done():
                told = self._tell(worker, told)
                worker.check()
                if self._ambient.monotonic_s() > until_s:
                    raise HeadgateError(
                        f"the demo's worker was not done in {DONE_WITHIN_S:g} s:\n{worker.last_words()}"
                    )
                self._ambient.sleep(_LOOK_S)
        self._tell(worker, told)

    def _tell(self, worker: DemoProcess, told: int) -> int:
        """Print the tasks that are done since the first `told`; returns their number."""
        done = worker.told("task_done")
        for task in done[told:]:
            version = "" if task["version"] is None else f"version {task['version']}: "
            summary = re.sub(r"-([0-9a-f]{4})[0-9a-f]{28}", r"-\1…", task["summary"])
            self._output.text(f"   {task['role']:7} {version}{summary}")
        return len(done)
