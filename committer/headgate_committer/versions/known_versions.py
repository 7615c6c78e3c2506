"""Earlier versions of a log: those that this committer has written, and the newest one that it has seen."""

from headgate_committer.errors import TableHeld
from headgate_schemas.actions.actions import Action

MAX_ACTIONS = 100_000
"""Beyond it the oldest are forgotten, and read from the log when needed. Without states the base never moves."""


class OwnVersions:
    """The actions of the newest versions that it has written on top of a base. A base that comes later has to carry them, or to
    agree with them. Bounded; used by one thread at a time.
    """

    def __init__(self, max_actions: int = MAX_ACTIONS) -> None:
        self._max_actions = max_actions
        self._held: dict[int, list[Action]] = {}
        self._count = 0

    def add(self, version: int, actions: list[Action]) -> None:
        """The newest."""
        self._held[version] = actions
        self._count += len(actions)
        while self._count > self._max_actions:
            self._drop(next(iter(self._held)))

    def get(self, version: int) -> list[Action] | None:
        """The actions of a version; None for one of another writer, or one that was forgotten."""
        return self._held.get(version)

    def base_on(self, version: int) -> None:
        """Forget versions up to this one, which a base covers."""
        for covered in [own for own in self._held if own <= version]:
            self._drop(covered)

    def clear(self) -> None:
        self._held.clear()
        self._count = 0

    def _drop(self, version: int) -> None:
        self._count -= len(self._held.pop(version))


class ReachedVersion:
    """The newest version that was seen at one address, for as long as the process lives: a log that ends before has lost its end."""

    def __init__(self, uri: str) -> None:
        self._uri = uri
        self._reached: tuple[str, int] | None = None
        """The table's id and the version."""

    def move(self, table_id: str, version: int) -> None:
        """This version is there. Raises `TableHeld` where the same table had come further: numbers would be told twice."""
        if self._reached is not None and self._reached[0] == table_id and version < self._reached[1]:
            known = self._reached[1]
            raise TableHeld(
                f"version {known} of {self._uri} is gone, and the newest that is left is {version}: an older copy of the table took "
                f"its place, or its end was lost. Nothing is written meanwhile. If the copy is to count, start the committer again "
                f"once all of it is there; what was committed since has to be proposed again. Else put versions {version + 1} to {known} back"
            )
        self._reached = table_id, version

    def check_was_never_there(self) -> None:
        """Raise `TableHeld` where a table was seen: its disk may be away, and nobody is told that there is no table."""
        if self._reached is not None:
            raise TableHeld(
                f"nothing of {self._uri} is found any more, where version {self._reached[1]} was: is its disk mounted? Proposals "
                f"wait until the table is there again. If it was deleted on purpose, make it anew, or start the committer again"
            )
