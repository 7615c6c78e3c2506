"""A committer and a worker in one process. On request both stop cleanly; if one ends by an error, so does the process."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import closing

from headgate.health.monitoring import UNWATCHED, Monitoring
from headgate.process.committer_process import serve_committer
from headgate.process.roots import probe_roots
from headgate.process.worker_process import serve_worker
from headgate.settings.loading import Settings
from headgate_bus.interface import Bus
from headgate_bus.open import open_bus
from headgate_schemas.ambient import Ambient

CLOSE_WITHIN_S = 60.0
"""How long a worker may take to end beyond its drain, once the committer has failed: it may wait for the bus meanwhile."""


def run_together(
    bus: Bus,
    address: str,
    settings: Settings,
    ambient: Ambient,
    stopping: Callable[[], bool],
    monitoring: Monitoring = UNWATCHED,
) -> None:
    """Decide proposals and maintain tables until `stopping`. The worker opens a bus of its own at the committer's
    address.

    The worker ends first, so that its last proposals are still decided. Raises the error that ends either of them
    early.
    """
    roots = dict.fromkeys((*settings.committer.roots, *settings.worker.roots))
    probe_roots(tuple(roots), settings, ambient, stopping)
    committer_failed = threading.Event()
    working: Future[None] = Future()

    def work() -> None:
        try:
            with closing(open_bus(address, ambient)) as own:
                serve_worker(own, settings, ambient, lambda: stopping() or committer_failed.is_set(), monitoring)
        except BaseException as error:  # noqa: BLE001 - raised again by the thread that waits for the result
            working.set_exception(error)
        else:
            working.set_result(None)

    threading.Thread(target=work, name="headgate-worker", daemon=True).start()
    try:
        serve_committer(bus, settings, ambient, working.done, monitoring)
    except Exception as error:
        committer_failed.set()
        wait([working], settings.worker.limits.drain_ms / 1000 + CLOSE_WITHIN_S)
        if working.done() and (other := working.exception()) is not None:
            error.add_note(f"the worker of this process had ended, too: {other}")
        raise
    working.result()
