"""Finding data files that nothing names in a listing of a table. Which ones are named is `named_files`'."""

from collections.abc import Container, Iterable

from headgate_table.store.interface import ObjectInfo

_LOG_FOLDERS = ("_transaction_log", "_delta_log")


class OrphanSearch:
    """Finds data files that nothing names in a listing of the table, at most `limit` of them.

    What is hidden (a leading dot or underscore, unless it is a partition folder), staged ("#"), young, or part of another
    table that lies inside of this one, is never found.
    """

    def __init__(self, named: Container[str], youngest_ms: int, limit: int) -> None:
        self._named = named
        self._youngest_ms = youngest_ms
        self._limit = limit
        self._inner_tables: set[str] = set()
        self._found: list[ObjectInfo] = []
        self.is_complete = True

    def look(self, infos: Iterable[ObjectInfo]) -> list[ObjectInfo]:
        """The orphans, in the order of the listing."""
        for info in infos:
            if not is_data_key(info.key):
                self._note_inner_table(info.key)
            elif info.modified_ms < self._youngest_ms and info.key not in self._named:
                if len(self._found) == self._limit:
                    self.is_complete = False
                else:
                    self._found.append(info)
        return [info for info in self._found if not any(info.key.startswith(inner) for inner in self._inner_tables)]

    def _note_inner_table(self, key: str) -> None:
        parts = key.split("/")
        for place in range(1, len(parts) - 1):
            if parts[place] in _LOG_FOLDERS:
                self._inner_tables.add("/".join(parts[:place]) + "/")
                return


def is_data_key(key: str) -> bool:
    """Whether an object of a table's folder can be a data file at all."""
    return not any(
        part.startswith(".") or "#" in part or (part.startswith("_") and "=" not in part) for part in key.split("/")
    )
