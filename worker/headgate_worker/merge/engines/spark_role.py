"""Composition: the role `merge` of a worker that merges files on a Spark cluster, in place of `serving`'s own role."""

from dataclasses import replace
from typing import TYPE_CHECKING

from headgate_table.store.settings import StoreSettings
from headgate_table.table import Table
from headgate_worker.merge.engines.spark import SparkEngine, SparkLimits
from headgate_worker.merge.role import MergeRole
from headgate_worker.merge.table_settings import arrow_limits
from headgate_worker.roles.interface import Abandoned, Role, RoleContext, RoleMaker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def merge_on_spark(session: "SparkSession", stores: StoreSettings, limits: SparkLimits | None = None) -> RoleMaker:
    """For `serving(makers=ROLES | {"merge": merge_on_spark(…)})`. `stores` are sent to the executors.

    The worker runs as many merges at once as its schedule allows (`parallel_tasks`, `task_bytes`), each in one task of
    Spark: allow as many as the cluster has cores to spare. A table's memory settings hold for each of them.
    """
    chosen = limits or SparkLimits()

    def make(context: RoleContext) -> Role:
        def give_up() -> None:
            if context.stopping():
                raise Abandoned("the worker is stopping; the merge is planned anew by the next")

        def engine(table: Table) -> SparkEngine:
            # The worker's own scratch folder doesn't exist on an executor.
            task = arrow_limits(table.options, chosen.task.scratch_folder)
            return SparkEngine(session, stores, context.ambient, replace(chosen, task=task), give_up=give_up)

        return MergeRole(context.open_table, engine, context.ambient)

    return make
