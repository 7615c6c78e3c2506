"""A committer as a process: the roots it was given are tried, then it works until it is told to stop or a successor ends it."""

from collections.abc import Callable

from headgate.health.monitoring import UNWATCHED, Monitoring
from headgate.process.roots import probe_roots
from headgate.settings.loading import Settings
from headgate_bus.interface import Bus
from headgate_committer.serving import serving
from headgate_schemas.ambient import Ambient


def run_committer(
    bus: Bus,
    settings: Settings,
    ambient: Ambient,
    stopping: Callable[[], bool],
    monitoring: Monitoring = UNWATCHED,
) -> None:
    """Serve tables until `stopping`, then settle what was taken. Raises what ends a committer before, such as `Overtaken`."""
    probe_roots(settings.committer.roots, settings, ambient, stopping)
    serve_committer(bus, settings, ambient, stopping, monitoring)


def serve_committer(
    bus: Bus,
    settings: Settings,
    ambient: Ambient,
    stopping: Callable[[], bool],
    monitoring: Monitoring = UNWATCHED,
) -> None:
    """As `run_committer`, for roots that were tried already."""
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
