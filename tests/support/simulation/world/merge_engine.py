"""A merge engine without Parquet: its output names the rows that its sources stand for. Some sources it can't read."""

from collections.abc import Callable

from headgate_schemas.actions.actions import AddFile
from headgate_table.errors import ObjectMissing
from headgate_worker.merge.orders import Gone, Merged, MergeOrder, MergeOutcome, NotMerged, Unreadable
from support.simulation.world.ambient import SimulatedAmbient
from support.simulation.world.data_files import content_of, rows_in
from support.simulation.world.simulated_store import SimulatedStore


class SimulatedEngine:
    """Reads every source and writes the output, each by a call of its own, between which anything may happen."""

    def __init__(self, store: SimulatedStore, ambient: SimulatedAmbient, is_damaged: Callable[[str], bool]) -> None:
        self._store = store
        self._ambient = ambient
        self._is_damaged = is_damaged

    def merge(self, order: MergeOrder) -> MergeOutcome:
        problems: list[Unreadable | Gone] = []
        rows: list[str] = []
        for source in order.sources:
            try:
                held = rows_in(self._store.get(source.path))
            except ObjectMissing:
                problems.append(Gone(source.path))
                continue
            if self._is_damaged(source.path):
                problems.append(Unreadable(source.path, "the simulation says so"))
            rows += held
        if problems:
            return NotMerged(tuple(problems))
        data = content_of(rows)
        self._store.put(order.output, data)
        return Merged(
            AddFile(
                order.output,
                order.partition_values,
                len(data),
                self._ambient.now_ms(),
                data_change=False,
                num_records=sum(source.num_records or 0 for source in order.sources),
                num_merge_ops=1 + max(source.num_merge_ops or 0 for source in order.sources),
            )
        )
