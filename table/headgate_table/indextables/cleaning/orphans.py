"""Finds unnamed data files in a listing of a table. `rules.named_files` collects the named ones."""

from collections.abc import Callable, Container, Iterable

from headgate_table.indextables.cleaning.inner_tables import InnerTables
from headgate_table.store.interface import ObjectInfo
from headgate_table.store.paths import is_hidden_folder


def _nothing(key: str) -> bool:
    return False


class OrphanSearch:
    """Finds data files that nothing names in a listing of the table, at most `limit` of them.

    It never reports hidden files (a leading dot or underscore, unless it is a partition folder), staged ("#") or young
    ones, and files of another table inside of this one. A file that `must_stay` for another reason isn't an orphan
    either: it is only `left`.
    """

    def __init__(
        self, named: Container[str], youngest_ms: int, limit: int, must_stay: Callable[[str], bool] = _nothing
    ) -> None:
        self._named = named
        self._youngest_ms = youngest_ms
        self._limit = limit
        self._must_stay = must_stay
        self._inner = InnerTables()
        self._begin()

    def _begin(self) -> None:
        self._found: list[ObjectInfo] = []
        self._left: list[str] = []
        self.is_complete = True

    def see(self, info: ObjectInfo) -> None:
        """Take an object of the listing. All of them must be passed, because any may reveal an inner table."""
        self._inner.note(info.key)
        if not is_data_key(info.key):
            return
        if info.modified_ms < self._youngest_ms and info.key not in self._named and info.key not in self._inner:
            if self._must_stay(info.key):
                if len(self._left) < self._limit:
                    self._left.append(info.key)
            elif len(self._found) < self._limit:
                self._found.append(info)
            else:
                self.is_complete = False

    def found(self, again: Callable[[], Iterable[ObjectInfo]]) -> list[ObjectInfo]:
        """The orphans, in the order of the listing; `again` starts a new pass.

        An inner table's log may come after its files, which may have taken the room of orphans. A second pass does
        better: it knows from its start all inner tables of the first pass.
        """
        found = self._outside()
        if self.is_complete or len(found) == self._limit:
            return found
        self._begin()
        for info in again():
            self.see(info)
        return self._outside()

    def left(self) -> list[str]:
        """Keys of objects that would be orphans but must stay, the first `limit` of them."""
        return [key for key in self._left if key not in self._inner]

    def _outside(self) -> list[ObjectInfo]:
        return [info for info in self._found if info.key not in self._inner]


def is_data_key(key: str) -> bool:
    """Whether an object of a table's folder can be a data file at all."""
    *folders, name = key.split("/")
    return not ("#" in key or name.startswith(".") or any(map(is_hidden_folder, [*folders, name])))
