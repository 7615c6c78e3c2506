"""What a committer has written on top of a base: a base that comes later has to carry it, or to agree with it. Bounded."""

from headgate_schemas.actions.actions import Action

MAX_ACTIONS = 100_000
"""Beyond it the oldest are let go of, and read from the log should they be asked for: without states the base never moves."""


class OwnVersions:
    """The actions of the newest of them. Used by one thread at a time."""

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
        """None of a version that is another's, or is not held any more."""
        return self._held.get(version)

    def base_on(self, version: int) -> None:
        """Let go of what a base of this version holds."""
        for covered in [own for own in self._held if own <= version]:
            self._drop(covered)

    def clear(self) -> None:
        self._held.clear()
        self._count = 0

    def _drop(self, version: int) -> None:
        self._count -= len(self._held.pop(version))
