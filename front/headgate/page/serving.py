"""Composes a page from settings: the threads that read, and the server that shows it."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache

from headgate.health.operator_endpoint import Telling
from headgate.health.operator_routes import VITAL
from headgate.health.process_parts import ProcessParts
from headgate.page.following import BusWatcher
from headgate.page.page_state import PageState
from headgate.page.routes import page_app
from headgate.page.shared_model import PULSE_S, Board
from headgate.page.sweeping import READERS, Sweeper
from headgate.page.table_reads import TableLooks
from headgate.settings.listen_address import ListenAddress
from headgate.settings.loading import Settings
from headgate.settings.page_settings import PageSettings
from headgate.settings.token import Token
from headgate.web.server import serving_web
from headgate_schemas.ambient import Ambient
from headgate_schemas.errors import InvalidInput
from headgate_schemas.logs import get_logger
from headgate_table.store.addresses import table_address
from headgate_worker.task_threads import task_executor

VIEWERS = 4
"""Readings for browsers that run at the same time."""
KEPT_ADDRESSES = 10_000
_STOP_WITHIN_S = 5.0

_log = get_logger("headgate.page")


@dataclass(frozen=True, slots=True)
class ServedPage:
    address: ListenAddress
    new_token: Token | None = None
    """One that was made for this run, because it needs one and none was set."""


@contextmanager
def serving_page(
    settings: Settings, ambient: Ambient, bus_address: str | None, telling: Telling | None = None
) -> Iterator[ServedPage]:
    """A page until the end of the block.

    With `telling`, it also shows the parts of this process, and its server reports their health to everybody who
    reaches it. Raises `CannotListen`, and `InvalidInput` for watched tables that can't be shown.
    """
    chosen = settings.page
    token = chosen.token
    if token is None and not chosen.listen.is_loopback:
        token = Token(ambient.new_id())
    serves = within(chosen)
    board = Board(ambient)
    _show_watched(board, chosen, serves)
    looks = TableLooks(settings.store, settings.table, ambient)
    told = threading.Event()
    sweepers, viewers = task_executor(READERS), task_executor(VIEWERS)
    work: dict[str, Callable[[], None]] = {
        "headgate-page-looks": Sweeper(board, looks, sweepers, ambient, told.wait).run,
        "headgate-page-pulse": lambda: _pulse(board, None if telling is None else telling.monitor.process, told),
    }
    if bus_address is not None:
        follower = BusWatcher(board, bus_address, settings.committer.group, serves, ambient, told.wait)
        work["headgate-page-bus"] = follower.run
    threads = [threading.Thread(target=run, name=name, daemon=True) for name, run in work.items()]
    try:
        more = () if telling is None else telling.routes
        app = page_app(board, looks, viewers, chosen.listen, token, more)
        with serving_web(app, chosen.listen, vital=() if telling is None else VITAL) as listening:
            for thread in threads:
                thread.start()
            _log.info("page_is_served", url=listening.url)
            yield ServedPage(listening, token if chosen.token is None else None)
            told.set()
    finally:
        told.set()
        for executor in (sweepers, viewers):
            executor.shutdown(wait=False, cancel_futures=True)
        for thread in threads:
            if thread.is_alive():
                thread.join(_STOP_WITHIN_S)
        looks.close()


def within(chosen: PageSettings) -> Callable[[str], bool]:
    """Whether a table is shown: it must lie below the roots and have its canonical spelling."""
    roots = tuple(table_address(root) for root in chosen.roots)

    @lru_cache(KEPT_ADDRESSES)
    def serves(uri: str) -> bool:
        try:
            known = table_address(uri) == uri
        except InvalidInput:
            return False
        return known and (not roots or any(uri == root or uri.startswith(f"{root.rstrip('/')}/") for root in roots))

    return serves


def _show_watched(board: Board, chosen: PageSettings, serves: Callable[[str], bool]) -> None:
    addresses = [table_address(uri) for uri in chosen.watch]
    outside = [uri for uri in addresses if not serves(uri)]
    if outside:
        raise InvalidInput(f"the watched table {outside[0]} lies outside of the roots {', '.join(chosen.roots)}")

    def change(state: PageState, _: int) -> None:
        for uri in addresses:
            state.add_table(uri)

    board.tell(change)


def _pulse(board: Board, parts: ProcessParts | None, told: threading.Event) -> None:
    """Send the changes to browsers repeatedly."""
    while not told.wait(PULSE_S):
        if parts is not None:
            _look_inside(board, parts)
        board.pulse()


def _look_inside(board: Board, parts: ProcessParts) -> None:
    tasks, refused = [(task.table, task.role) for task in parts.tasks()], parts.refused()

    def change(state: PageState, now_ms: int) -> None:
        state.saw_running(tasks, now_ms)
        state.saw_refusals(refused)

    board.tell(change)
