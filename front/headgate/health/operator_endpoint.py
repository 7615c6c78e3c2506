"""Composes monitor, metrics and server of a process. Imports a server and a metrics library."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from starlette.applications import Starlette
from starlette.routing import Route

from headgate.health.measuring import PrometheusMeasures
from headgate.health.monitoring import Monitor
from headgate.health.operator_routes import VITAL, operator_routes
from headgate.settings.health_limits import HealthLimits
from headgate.settings.listen_address import ListenAddress
from headgate.web.server import serving_web
from headgate_schemas.ambient import Ambient
from headgate_schemas.logs import get_logger

_log = get_logger("headgate.web")


class Telling:
    """The monitor of one process's parts, and the routes that show its results, at the endpoint and on the page."""

    def __init__(self, ambient: Ambient, limits: Mapping[str, HealthLimits]) -> None:
        """`limits` are those of the parts that the process will have."""
        measures = PrometheusMeasures(ambient)
        self.monitor = Monitor(ambient, measures, limits)
        measures.before_reading(self.monitor.set_gauges)
        self.routes: Sequence[Route] = operator_routes(self.monitor, measures)

    @contextmanager
    def listening(self, listen: ListenAddress | None) -> Iterator[None]:
        """Serve health and metrics at the address, if there is one, until the end of the block. Raises `CannotListen`."""
        if listen is None:
            yield
            return
        with serving_web(Starlette(routes=self.routes), listen, "headgate-operator", VITAL) as address:
            _log.info("tells_how_it_is", url=address.url, paths="/healthz /readyz /metrics")
            yield
