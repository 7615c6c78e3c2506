"""Reads a giant table's manifests on a cluster: planned on the driver, decoded on executors with Headgate installed.

The result is that of `entry_reader.read_here` in this process, without the entries that don't match.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headgate.spark.reads.manifest_task import COLUMNS, ENTRIES, FETCHED, PLACE, ManifestTask, unpacked
from headgate_schemas.logs import get_logger
from headgate_table.caching.resources import ReadResources
from headgate_table.indextables.format.state_manifest import ManifestInfo
from headgate_table.indextables.manifests.reader import ManifestPart
from headgate_table.indextables.read.entry_reader import EntryFilter, read_here
from headgate_table.store.interface import Store
from headgate_worker.merge.engines.spark_errors import spark_errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_log = get_logger("headgate.spark")

LEAST_ENTRIES = 2_000_000
"""Fewer are decoded on the driver in about the time that a job of Spark takes to start and to end."""
MAX_TASKS = 256
"""More than this many tasks at once, and the store that they all ask becomes the bound."""


@dataclass(frozen=True, slots=True)
class ManifestsOnSpark:
    """A `ReadManifests` for `Snapshot`. Without a `where`, all entries go to the driver anyway, so the driver decodes
    them itself.

    If the job fails, as on executors without Headgate, the driver reads the manifests itself and logs a warning.
    """

    session: "SparkSession"
    least_entries: int = LEAST_ENTRIES
    everything: bool = False
    """Also without a `where`."""

    def __call__(
        self,
        store: Store,
        resources: ReadResources,
        state_version: int,
        infos: Sequence[ManifestInfo],
        columns: Sequence[str],
        where: EntryFilter | None,
    ) -> list[ManifestPart]:
        pays = sum(info.num_entries for info in infos) >= self.least_entries and len(infos) > 1
        if pays and (where is not None or self.everything):
            try:
                return self._on_executors(ManifestTask(store, state_version, tuple(infos), tuple(columns), where))
            except spark_errors() as error:
                reason = " ".join(str(error).split())[:500]
                _log.warning("manifests_read_on_driver", table=store.uri, manifests=len(infos), reason=reason)
        return read_here(store, resources, state_version, infos, columns, where)

    def _on_executors(self, task: ManifestTask) -> list[ManifestPart]:
        places = self.session.range(0, len(task.infos), 1, min(len(task.infos), MAX_TASKS))
        rows = places.mapInArrow(task.as_map(), COLUMNS).collect()
        found = {row[PLACE]: ManifestPart(unpacked(bytes(row[ENTRIES])), row[FETCHED], False) for row in rows}
        return [found[place] for place in range(len(task.infos))]
