"""A process that tells how it is over HTTP, for as long as it runs. Composition of monitor, metrics and server."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from headgate.health_limits import HealthLimits
from headgate.listen_address import ListenAddress
from headgate.monitoring import UNWATCHED, Monitor, Monitoring
from headgate_schemas.ambient import Ambient
from headgate_schemas.logs import get_logger

_log = get_logger("headgate.web")


@contextmanager
def monitored(
    listen: ListenAddress | None, ambient: Ambient, limits: Mapping[str, HealthLimits]
) -> Iterator[Monitoring]:
    """Serve health and metrics at the address until the end of the block; nothing without one. Raises `CannotListen`.

    `limits` are those of the parts that the process is going to have.
    """
    if listen is None:
        yield UNWATCHED
        return
    # A server and a metrics library, which a process that is not asked has no use for.
    from starlette.applications import Starlette

    from headgate.measuring import PrometheusMeasures
    from headgate.operator_routes import operator_routes
    from headgate.web_server import serving_web

    measures = PrometheusMeasures(ambient)
    monitor = Monitor(ambient, measures, limits)
    measures.before_reading(monitor.set_gauges)
    with serving_web(Starlette(routes=operator_routes(monitor, measures)), listen, "headgate-operator") as address:
        _log.info("tells_how_it_is", url=address.url, paths="/healthz /readyz /metrics")
        yield monitor
