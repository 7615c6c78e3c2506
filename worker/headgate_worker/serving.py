"""Composes a worker process from a bus, stores' settings and limits."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from headgate_bus.claims import DEFAULT_LIMITS, ClaimLimits
from headgate_bus.interface import Bus
from headgate_schemas.ambient import Ambient
from headgate_schemas.errors import InvalidInput
from headgate_schemas.measures import SILENT, Measures
from headgate_table.caching.resources import ReadResources, lean_resources
from headgate_table.settings.options import table_options
from headgate_table.store.addresses import table_address
from headgate_table.store.settings import StoreSettings
from headgate_table.table import Table
from headgate_worker.context import WorkerContext
from headgate_worker.limits import WorkerLimits
from headgate_worker.loop.worker import COMMITTER_GROUP, DEFAULT_GROUP, Worker
from headgate_worker.merge.engines.arrow import ArrowEngine
from headgate_worker.merge.role import MergeRole
from headgate_worker.merge.table_settings import arrow_limits
from headgate_worker.roles.clean import CleanRole
from headgate_worker.roles.compact import CompactRole
from headgate_worker.roles.interface import Abandoned, Role, RoleContext, RoleMaker
from headgate_worker.roles.mirror import MirrorRole
from headgate_worker.tables import ProposedTables, Proposing
from headgate_worker.task_threads import task_executor


def _merge(context: RoleContext) -> Role:
    def give_up() -> None:
        if context.stopping():
            raise Abandoned("the worker is stopping; the merge is planned anew by the next")

    def engine(table: Table) -> ArrowEngine:
        limits = arrow_limits(table.options, context.scratch_folder)
        return ArrowEngine(table.store, table.reader.resources, limits, give_up=give_up)

    return MergeRole(context.open_table, engine, context.ambient)


def _clean(context: RoleContext) -> Role:
    def give_up() -> None:
        if context.stopping():
            raise Abandoned("the worker is stopping; the table is cleaned by the next")

    return CleanRole(
        context.open_table, context.bus, context.ambient, context.committer_group, context.claims, give_up=give_up
    )


def _mirror(context: RoleContext) -> Role:
    def give_up() -> None:
        if context.stopping():
            raise Abandoned("the worker is stopping; the next goes on with the mirror")

    return MirrorRole(context.open_table, give_up, context.measures)


ROLES: Mapping[str, RoleMaker] = {
    "compact": lambda context: CompactRole(context.open_table, context.ambient),
    "merge": _merge,
    "clean": _clean,
    "mirror": _mirror,
}
"""By the name that settings know them by."""


@contextmanager
def serving(
    bus: Bus,
    stores: StoreSettings,
    ambient: Ambient,
    limits: WorkerLimits | None = None,
    *,
    roles: Sequence[str] = tuple(ROLES),
    roots: Sequence[str] = (),
    watched: Sequence[str] = (),
    overrides: Mapping[str, str] | None = None,
    name: str = "worker",
    group: str = DEFAULT_GROUP,
    committer_group: str = COMMITTER_GROUP,
    claims: ClaimLimits = DEFAULT_LIMITS,
    makers: Mapping[str, RoleMaker] = ROLES,
    measures: Measures = SILENT,
) -> Iterator[Worker]:
    """A worker in the group, until the end of the block. `overrides` are table settings of this process.

    Raises `InvalidInput` for a role without a maker, for invalid addresses, and for a watched table outside of the
    roots.
    """
    unknown = [role for role in roles if role not in makers]
    if unknown or not roles:
        what = f"there is no role {unknown[0]!r}" if unknown else "a worker needs a role"
        raise InvalidInput(f"{what}; known are {', '.join(makers)}")
    chosen = limits or WorkerLimits()
    addresses = [table_address(uri) for uri in watched]
    bus.prepare()
    identity = f"{name}-{ambient.new_id()[:12]}"
    resources = lean_resources(ambient.monotonic_s, measures=measures)
    proposing = Proposing(bus, stores, ambient, identity, chosen.open_producers, chosen.receipt_s)
    tables = ProposedTables(stores, resources, ambient, proposing, roots, overrides, measures)
    outside = [uri for uri in addresses if not tables.serves(uri)]
    if outside:
        raise InvalidInput(f"the watched table {outside[0]} lies outside of the roots {', '.join(roots)}")
    for uri in addresses:
        tables.open(uri)  # An invalid address, or one whose library is missing, is reported at once.
    made: list[Worker] = []
    context = RoleContext(
        bus,
        ambient,
        tables.open,
        committer_group,
        lambda: any(worker.is_stopping for worker in made),
        table_options(overrides or {}).merge_temp_folder,
        claims,
        measures,
    )
    executor = task_executor(chosen.schedule.parallel_tasks)
    try:
        worker = Worker(
            bus,
            tables,
            [makers[role](context) for role in dict.fromkeys(roles)],
            WorkerContext(ambient, identity, executor, chosen, measures),
            group=group,
            committer_group=committer_group,
            watched=addresses,
        )
        made.append(worker)
        try:
            yield worker
        finally:
            worker.close()
    finally:
        # A running task ends by itself: its writes don't count before it proposes them.
        executor.shutdown(wait=False, cancel_futures=True)
        tables.close()
        _stop(resources)


def _stop(resources: ReadResources) -> None:
    resources.fetchers.shutdown(wait=False, cancel_futures=True)
    resources.splitters.shutdown(wait=False, cancel_futures=True)
