"""The page's thread that keeps the list of tables up to date. It decides when to read which table, to limit the load on
stores.
"""

from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass

from headgate.page.shared_model import Board
from headgate.page.table_reads import TableLooks
from headgate.page.table_rows import TableFacts
from headgate_schemas.ambient import Ambient
from headgate_schemas.errors import error_text
from headgate_table.errors import TableNotFound

READERS = 3
"""Tables that are read at the same time."""
CHANGED_S = 2.0
"""How long a table rests between two readings, at least, if it has a new version or its mirror is behind."""
LATE_S = 2.0
"""How long a table whose proposals wait for long rests: its store may be why, and people look at the page to see it."""
UNCHANGED_S = 20.0
"""The same of others, which may be written by somebody who announces nothing."""
FAILED_S = 5.0
"""The same of one that could not be read: people look at the page to see when it can."""
UNCHANGED_EACH_S = 0.2
"""More tables are each looked at less often: this times their number."""
REST = 20
"""A table rests so many times as long as its reading took: a twentieth of the time goes to reading it at most. One that could
not be read, or whose proposals wait for long, rests as long as the reading took, which was mostly waiting for a store.
"""
SLOW_S = 15.0
"""A reading that takes so long may be one that hangs: what is shown of the table is old, and is said so."""
_ROUND_S = 0.2


@dataclass(slots=True)
class _Visit:
    """The last read of a table."""

    version: int | None = None
    ended_s: float | None = None
    took_s: float = 0.0
    failed: bool = False
    mirror_is_behind: bool = False
    began_s: float = 0.0
    work: "Future[TableFacts] | None" = None

    def due_s(self, version: int | None, is_late: bool, tables: int) -> float:
        """The time of its next read."""
        if self.ended_s is None:
            return 0.0
        if self.failed:
            return self.ended_s + max(FAILED_S, UNCHANGED_EACH_S * tables, self.took_s)
        if is_late:
            return self.ended_s + max(LATE_S, UNCHANGED_EACH_S * tables, self.took_s)
        is_changing = version != self.version or self.mirror_is_behind
        least_s = CHANGED_S if is_changing else max(UNCHANGED_S, UNCHANGED_EACH_S * tables)
        return self.ended_s + max(least_s, REST * self.took_s)


class Sweeper:
    """For one thread; reads run in the executor."""

    def __init__(
        self,
        board: Board,
        looks: TableLooks,
        executor: Executor,
        ambient: Ambient,
        stopping: Callable[[float], bool],
    ) -> None:
        self._board = board
        self._looks = looks
        self._executor = executor
        self._ambient = ambient
        self._stopping = stopping
        self._visits: dict[str, _Visit] = {}

    def run(self) -> None:
        while not self._stopping(_ROUND_S):
            self.step()

    def step(self) -> None:
        """Collect finished reads, and begin those that are due."""
        now_s = self._ambient.monotonic_s()
        for uri, visit in self._visits.items():
            if visit.work is not None and visit.work.done():
                self._finish(uri, visit, visit.work)
            elif visit.work is not None and now_s - visit.began_s > SLOW_S:
                self._say_trouble(uri, f"its store has not answered for more than {SLOW_S:g} s")
        known = self._board.tell(
            lambda state, _: {uri: (state.version_of(uri), state.is_late(uri)) for uri in state.tables}
        )
        self._visits = {uri: visit for uri, visit in self._visits.items() if uri in known or visit.work is not None}
        idle = [uri for uri in known if self._visits.setdefault(uri, _Visit()).work is None]
        due_s = {uri: self._visits[uri].due_s(*known[uri], len(known)) for uri in idle}
        room = READERS - sum(visit.work is not None for visit in self._visits.values())
        for uri in sorted((uri for uri in idle if due_s[uri] <= now_s), key=due_s.__getitem__)[: max(0, room)]:
            visit = self._visits[uri]
            visit.began_s = now_s
            visit.work = self._executor.submit(self._looks.facts, uri)

    def _finish(self, uri: str, visit: _Visit, work: "Future[TableFacts]") -> None:
        visit.work, visit.ended_s = None, self._ambient.monotonic_s()
        visit.took_s = visit.ended_s - visit.began_s
        try:
            facts = work.result()
        except Exception as error:  # noqa: BLE001 - one table that can't be read must not end the reading of all
            visit.failed = True
            self._say_trouble(uri, self._reason(uri, error))
            return
        visit.failed, visit.mirror_is_behind = False, facts.mirror_is_behind
        self._board.tell(lambda state, _: state.saw_facts(uri, facts))
        visit.version = self._version_of(uri)

    def _reason(self, uri: str, error: Exception) -> str:
        version = self._version_of(uri)
        if isinstance(error, TableNotFound) and version is not None:
            # The error's own message is for users with a wrong address: it suggests creating a table.
            return f"nothing of it is found at {uri} any more, where version {version} was: is its disk mounted?"
        return error_text(error)

    def _version_of(self, uri: str) -> int | None:
        return self._board.tell(lambda state, _: state.version_of(uri))

    def _say_trouble(self, uri: str, reason: str) -> None:
        self._board.tell(lambda state, _: state.saw_trouble(uri, reason))
