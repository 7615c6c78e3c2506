"""A page in this process, at a free port, as `headgate page` serves it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from headgate.health.operator_endpoint import Telling
from headgate.page.serving import ServedPage, serving_page
from headgate.settings.loading import load_settings
from headgate_schemas.ambient import SystemAmbient


@contextmanager
def a_page(
    bus: str | None,
    *,
    listen: str = "127.0.0.1:0",
    watch: Sequence[str] = (),
    roots: Sequence[str] = (),
    token: str = "",
    telling: Telling | None = None,
) -> Iterator[ServedPage]:
    said = {"listen": listen, "watch": ",".join(watch), "roots": ",".join(roots), "token": token}
    settings = load_settings({}, {}, None, bus=bus, page={key: value for key, value in said.items() if value})
    with serving_page(settings, SystemAmbient(), bus, telling) as served:
        yield served
