"""Deleting claims that were settled long ago, now and then, beside the commits of their table."""

from concurrent.futures import Executor

from headgate_bus.claims import sweep_claims
from headgate_committer.side_work import SideWork
from headgate_schemas.ambient import Ambient
from headgate_schemas.logs import get_logger
from headgate_table.indextables.memory import TableMemory
from headgate_table.store.interface import Store

EVERY_S = 3_600.0

_log = get_logger("headgate.committer")


class ClaimSweeper:
    """Sweeps the claims of one table after its first commit, and every hour in which something is committed."""

    def __init__(self, store: Store, ambient: Ambient, executor: Executor) -> None:
        self._store = store
        self._ambient = ambient
        self._work = SideWork(store.uri, executor, "claims_not_swept")
        self._next_s = ambient.monotonic_s()

    def after_commit(self, memory: TableMemory) -> None:
        """Proposals are decided in the order of the bus: older ones than the newest decided need their claims no more.

        Counted by the bus's clock, so that no backlog and no wrong clock takes a claim from a proposal that waits.
        """
        if self._ambient.monotonic_s() < self._next_s or self._work.is_under_way:
            return
        self._next_s = self._ambient.monotonic_s() + EVERY_S
        settled_ms, keep_ms = memory.newest_appended_ms, memory.limits.window_ms
        self._work.begin(lambda: self._sweep(settled_ms, keep_ms))

    def _sweep(self, settled_ms: int, keep_ms: int) -> None:
        gone = sweep_claims(self._store, now_ms=settled_ms, keep_ms=keep_ms)
        if gone:
            _log.info("claims_swept", table=self._store.uri, claims=len(gone))
