"""A committer as a part of a process: it works until it is asked to stop, or until a successor replaces it."""

from collections.abc import Callable

from headgate.health.monitoring import Monitoring
from headgate.settings.loading import Settings
from headgate_bus.interface import Bus
from headgate_committer.serving import serving
from headgate_schemas.ambient import Ambient


def serve_committer(
    bus: Bus,
    settings: Settings,
    ambient: Ambient,
    stopping: Callable[[], bool],
    monitoring: Monitoring,
) -> None:
    """Serve tables until `stopping`, then settle the proposals that were read. Raises the error that ends it early,
    such as `Overtaken`.
    """
    chosen = settings.committer
    with (
        serving(
            bus,
            settings.store,
            ambient,
            chosen.limits,
            roots=chosen.roots,
            overrides=settings.table,
            name=chosen.id,
            group=chosen.group,
            measures=monitoring.measures,
        ) as committer,
        monitoring.watching_committer(committer, bus, settings.store, chosen.roots),
    ):
        committer.run(stopping)
