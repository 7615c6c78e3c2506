"""A worker as a part of a process: it maintains tables until it is asked to stop."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from headgate.health.monitoring import Monitoring
from headgate.settings.loading import Settings
from headgate_bus.interface import Bus
from headgate_schemas.ambient import Ambient
from headgate_worker.roles.interface import RoleMaker
from headgate_worker.serving import ROLES, serving


def serve_worker(
    bus: Bus,
    settings: Settings,
    ambient: Ambient,
    stopping: Callable[[], bool],
    monitoring: Monitoring,
) -> None:
    """Maintain tables until `stopping`, then finish what can be finished in time. Raises `InvalidInput` without any
    role.
    """
    chosen = settings.worker
    with (
        _makers(settings) as makers,
        serving(
            bus,
            settings.store,
            ambient,
            chosen.limits,
            roles=chosen.roles,
            roots=chosen.roots,
            watched=chosen.watch,
            overrides=settings.table,
            name=chosen.id,
            group=chosen.group,
            # Both come from the committers' settings: their group, and their bounds.
            committer_group=settings.committer.group,
            claims=settings.committer.limits.claims,
            makers=makers,
            measures=monitoring.measures,
        ) as worker,
        monitoring.watching_worker(worker, bus, settings.store, chosen.roots),
    ):
        worker.run(stopping)


@contextmanager
def _makers(settings: Settings) -> Iterator[Mapping[str, RoleMaker]]:
    """The makers of roles: merges run here, or on the Spark cluster in the settings, if the worker merges at all."""
    chosen = settings.worker
    if chosen.spark is None or "merge" not in chosen.roles:
        yield ROLES
        return
    # PySpark takes a second and half a gigabyte; few workers need it.
    from headgate_worker.merge.engines.spark_role import merge_on_spark
    from headgate_worker.merge.engines.spark_session import spark_session

    with spark_session(chosen.spark, chosen.spark_settings) as session:
        yield {**ROLES, "merge": merge_on_spark(session, settings.store)}
