"""A process that tells how it is over HTTP, for as long as it runs, if it is to tell anybody."""

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

    `limits` are those of the parts that the process is going to have.
    """
    if listen is None:
        yield UNWATCHED
        return
    # A server and a metrics library, which a process that is not asked has no use for.
    from headgate.health.operator_endpoint import Telling

    telling = Telling(ambient, limits)
    with telling.listening(listen):
        yield telling.monitor
