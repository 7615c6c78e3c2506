"""A committer as a process: the roots it was given are tried, then it works until a signal or a successor ends it."""

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

from headgate.settings import Settings
from headgate_bus.interface import Bus
from headgate_committer.serving import serving
from headgate_schemas.ambient import Ambient
from headgate_schemas.errors import HeadgateError, InvalidInput
from headgate_schemas.logs import get_logger
from headgate_table.errors import StoreError
from headgate_table.store.open import open_store
from headgate_table.store.probe import probe_conditional_writes

_log = get_logger("headgate.committer")


class NotTrusted(HeadgateError):
    """A store on which commits could overwrite each other."""


def run_committer(bus: Bus, settings: Settings, ambient: Ambient, stopping: Callable[[], bool]) -> None:
    """Serve tables until `stopping`, then settle what was taken. Raises what ends a committer before, such as `Overtaken`."""
    chosen = settings.committer
    probe_roots(chosen.roots, settings, ambient)
    with serving(
        bus,
        settings.store,
        ambient,
        chosen.limits,
        roots=chosen.roots,
        overrides=settings.table,
        name=chosen.id,
        group=chosen.group,
    ) as committer:
        committer.run(stopping)


def probe_roots(roots: Sequence[str], settings: Settings, ambient: Ambient) -> None:
    """Whether the stores of these roots keep the promise that commits rest on. Raises `NotTrusted`, `StoreError`.

    The folder of a local root that isn't there yet is not made by a probe.
    """
    if not roots:
        _log.warning("every_table_is_served", advice="name the allowed roots by --root or HEADGATE_ROOTS")
    for root in roots:
        store = open_store(root, settings.store, ambient)
        try:
            if store.local_path("_") is not None and not _is_there(store.local_path("_")):
                raise InvalidInput(f"the root {root} is no folder: make it, or mend --root and HEADGATE_ROOTS")
            report = probe_conditional_writes(store, ambient)
        except StoreError as error:
            raise StoreError(
                f"the root {root} can't be used: {error}. `headgate doctor {root}` looks closer"
            ) from error
        finally:
            store.close()
        if not report.trusted:
            raise NotTrusted(f"tables below {root} are not served: {'; '.join(report.problems)}")
        _log.info("root_is_served", root=store.uri)


def _is_there(path: str | None) -> bool:
    from pathlib import Path

    return path is not None and Path(path).parent.is_dir()


@contextmanager
def until_told_to_stop() -> Iterator[Callable[[], bool]]:
    """Whether SIGTERM or SIGINT came. A second one has its usual effect, for whom the first takes too long."""
    told = threading.Event()
    signals = (signal.SIGTERM, signal.SIGINT)
    before = {number: signal.getsignal(number) for number in signals}

    def stop(number: int, _: FrameType | None) -> None:
        told.set()
        signal.signal(number, before[signal.Signals(number)] or signal.SIG_DFL)

    for number in signals:
        signal.signal(number, stop)
    try:
        yield told.is_set
    finally:
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)
