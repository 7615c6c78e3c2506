"""The merge engine of a Spark cluster: each order is a job of one task, which merges on an executor in bounded memory.

A Parquet file is written from its first row to its last, so one output is work for one task. Several threads may call
the engine to merge several outputs at once. `spark_task` is the task; `spark_session` and `spark_role` compose.
"""

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headgate_schemas.ambient import Ambient
from headgate_schemas.logs import get_logger
from headgate_table.store.settings import StoreSettings
from headgate_worker.merge.engines.spark_errors import SparkFailed, spark_errors, spark_failed
from headgate_worker.merge.engines.spark_task import OUTCOME_COLUMN, AttemptMerge, as_map, merge_attempt
from headgate_worker.merge.orders import ArrowLimits, MergeOrder, MergeOutcome
from headgate_worker.merge.parcels import pack_order, unpack_outcome
from headgate_worker.task_threads import task_executor

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_log = get_logger("headgate.merge")


@dataclass(frozen=True, slots=True)
class SparkLimits:
    """The share of the cluster for one merge, and the time to wait for it."""

    task: ArrowLimits = field(default_factory=ArrowLimits)
    """Of each task; its scratch folder is the executor's."""
    job_s: float = 6 * 3600.0
    """A merge that isn't done by then, waiting for a free executor included, is cancelled: something is wrong."""
    poll_s: float = 0.25
    """How soon a worker that stops, or a merge that takes too long, is noticed."""
    cancel_s: float = 20.0
    """How long a cancelled job is waited for. What it still writes then is an orphan, which cleaning finds."""


class SparkEngine:
    """Merges files of any table. It sends store settings along, because executors read no settings of their own.

    `give_up` is called while a job runs, and raises if the work should end: the job is then cancelled. `attempt` runs
    on the executor. A table on a local disk must have the same path there.
    """

    def __init__(
        self,
        session: "SparkSession",
        settings: StoreSettings,
        ambient: Ambient,
        limits: SparkLimits | None = None,
        *,
        give_up: Callable[[], None] = lambda: None,
        attempt: AttemptMerge = merge_attempt,
    ) -> None:
        self._session = session
        self._settings = settings
        self._ambient = ambient
        self._limits = limits or SparkLimits()
        self._give_up = give_up
        self._attempt = attempt

    def merge(self, order: MergeOrder) -> MergeOutcome:
        """See `MergeEngine`. Raises `SparkFailed` if the cluster doesn't finish the merge."""
        self._give_up()
        parcel = pack_order(order, self._settings, self._limits.task)
        tag = f"headgate-merge-{self._ambient.new_id()}"
        # On a thread of its own, because a job can only be waited for; the calling thread asks `give_up`. A job that
        # can't be cancelled is like a hanging task: the process doesn't wait for it at its end.
        runner = task_executor(1)
        job = runner.submit(self._run, parcel, tag)
        try:
            self._wait(job, order)
        except BaseException:
            self._cancel(job, tag, order)
            raise
        finally:
            runner.shutdown(wait=False)
        try:
            packed = job.result()
        except spark_errors() as error:
            raise spark_failed(f"{len(order.sources)} files of {order.table} were not merged", error) from error
        return unpack_outcome(packed)

    def _run(self, parcel: str, tag: str) -> str:
        """Run the job. Its order travels in the function and not in a row: Spark shows plans, which hold rows, to
        people.
        """
        mark, unmark = self._tagging()
        mark(tag)
        try:
            one_row = self._session.range(0, 1, 1, 1)
            rows = one_row.mapInArrow(as_map(self._attempt, parcel), f"{OUTCOME_COLUMN} string").collect()
        finally:
            unmark(tag)
        return str(rows[0][OUTCOME_COLUMN])

    def _wait(self, job: "Future[str]", order: MergeOrder) -> None:
        deadline = self._ambient.monotonic_s() + self._limits.job_s
        while not job.done():
            self._ambient.wait_for_any([job], self._limits.poll_s)
            if job.done():
                return
            self._give_up()
            if self._ambient.monotonic_s() > deadline:
                raise SparkFailed(
                    f"the merge of {len(order.sources)} files of {order.table} was not done after {self._limits.job_s:.0f} s "
                    f"(job_s), and is cancelled. See that the cluster has free executors"
                )

    def _cancel(self, job: "Future[str]", tag: str, order: MergeOrder) -> None:
        """Cancel repeatedly, because Spark doesn't know a job yet that is about to begin."""
        deadline = self._ambient.monotonic_s() + self._limits.cancel_s
        while not job.done() and self._ambient.monotonic_s() < deadline:
            try:
                self._interrupt(tag)
            except spark_errors() as error:
                _log.warning("spark_job_not_cancelled", table=order.table, output=order.output, reason=str(error)[:500])
                return
            self._ambient.wait_for_any([job], self._limits.poll_s)
        if not job.done():
            _log.warning("spark_job_left", table=order.table, output=order.output, waited_s=self._limits.cancel_s)

    def _tagging(self) -> tuple[Callable[[str], None], Callable[[str], None]]:
        """The functions that tag this thread's jobs and remove the tag.

        Only the thread that set a classic session's own tags knows them, and this thread is busy with the job; so this
        uses the tags of its context. A session of Spark Connect has no context, and all threads know its own tags.
        """
        context = getattr(self._session, "sparkContext", None)
        if context is None:
            return self._session.addTag, self._session.removeTag
        return context.addJobTag, context.removeJobTag

    def _interrupt(self, tag: str) -> None:
        context = getattr(self._session, "sparkContext", None)
        if context is None:
            self._session.interruptTag(tag)
        else:
            context.cancelJobsWithTag(tag)
