"""Serves the health of a process over HTTP while it runs, if an address is set."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from headgate.health.monitoring import UNWATCHED, Monitoring
from headgate.settings.health_limits import HealthLimits
from headgate.settings.listen_address import ListenAddress
from headgate_schemas.ambient import Ambient


@contextmanager
def monitored(
    listen: ListenAddress | None, ambient: Ambient, limits: Mapping[str, HealthLimits]
) -> Iterator[Monitoring]:
    """Serve health and metrics at the address until the end of the block; nothing without one. Raises `CannotListen`.

    `limits` are those of the parts that the process will have.
    """
    if listen is None:
        yield UNWATCHED
        return
    # Imports a server and a metrics library, which a process without an address doesn't need.
    from headgate.health.operator_endpoint import Telling

    telling = Telling(ambient, limits)
    with telling.listening(listen):
        yield telling.monitor
