"""The task on a Spark executor: one attempt at one merge, by the Arrow engine, into a file that no other attempt uses.

Spark may start a task again, or a second attempt beside the first; a lost executor may even continue for a while. No
attempt ever touches another attempt's file, so the file of the attempt that Spark accepts is complete and stays so.
"""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace

import pyarrow as pa

from headgate_schemas.ambient import SystemAmbient
from headgate_schemas.errors import HeadgateError
from headgate_table.caching.resources import ReadResources, lean_resources
from headgate_table.store.open import open_store
from headgate_table.store.paths import is_key
from headgate_worker.merge.engines.arrow import ArrowEngine
from headgate_worker.merge.orders import MergeOrder, MergeOutcome
from headgate_worker.merge.parcels import pack_outcome, unpack_order

OUTCOME_COLUMN = "outcome"

AttemptMerge = Callable[[str, int], str]
"""From a packed order and the number of the attempt, from 0, to a packed outcome."""


def merge_attempt(parcel: str, attempt: int) -> str:
    """Merge as ordered, with the settings of the order. Errors of Headgate are returned as an outcome."""
    try:
        order, settings, limits = unpack_order(parcel)
        # This process belongs to Spark, so the parts are composed here.
        ambient = SystemAmbient()
        with closing(open_store(order.table, settings, ambient)) as store, _resources(ambient) as resources:
            engine = ArrowEngine(store, resources, limits)
            outcome: MergeOutcome | HeadgateError = engine.merge(attempted(order, attempt))
    except HeadgateError as error:
        # Spark would retry at once; the process that ordered the merge knows better when to retry.
        outcome = error
    return pack_outcome(outcome)


def attempted(order: MergeOrder, attempt: int) -> MergeOrder:
    """The order with the output of this attempt. The first attempt uses the ordered name, each other one a name beside
    it.
    """
    if attempt == 0:
        return order
    folder, slash, name = order.output.rpartition("/")
    stem, dot, ending = name.rpartition(".")
    own = f"{stem}-{attempt}{dot}{ending}" if dot else f"{name}-{attempt}"
    output = f"{folder}{slash}{own}"
    # As for every output: if the path would be too long, the file goes to the root.
    return replace(order, output=output if is_key(output) else own)


def as_map(merge: AttemptMerge, parcel: str) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """For `DataFrame.mapInArrow` over a single row: turns the row into the packed outcome."""

    def headgate_merge(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        for _ in batches:
            pass
        context = TaskContext.get()
        assert context is not None, "a merge on Spark runs in a task of Spark"
        yield pa.record_batch({OUTCOME_COLUMN: pa.array([merge(parcel, context.attemptNumber())], pa.string())})

    return headgate_merge


@contextmanager
def _resources(ambient: SystemAmbient) -> Iterator[ReadResources]:
    resources = lean_resources(ambient.monotonic_s)
    try:
        yield resources
    finally:
        resources.fetchers.shutdown()
        resources.splitters.shutdown()
