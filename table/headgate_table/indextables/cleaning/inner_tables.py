"""Finds tables inside of another table, by their logs among the keys of a listing. No I/O."""

from headgate_table.indextables.format.names import LOG
from headgate_table.store.paths import HUDI_LOG

FOREIGN_LOG = "_delta_log"

_LOGS = frozenset((LOG, FOREIGN_LOG, HUDI_LOG, "_metadata", "_versions"))
"""Folders in which tables keep their logs: ours and its relatives, Delta Lake, Hudi, Milvus, Lance."""

_ICEBERG_FOLDER = "metadata"
_ICEBERG_HINT = "version-hint.text"
_ICEBERG_SUFFIX = ".metadata.json"
"""Iceberg's folder has a common name, so that only what lies in it tells."""


class InnerTables:
    """The folders of these tables, as far as their logs were seen; a log may come after its files in the listing."""

    def __init__(self) -> None:
        self._folders: set[str] = set()

    def note(self, key: str) -> None:
        """A key of the listing."""
        parts = key.split("/")
        for place in range(1, len(parts) - 1):
            if parts[place] in _LOGS:
                self._folders.add("/".join(parts[:place]))
                return
        if len(parts) > 2 and parts[-2] == _ICEBERG_FOLDER and _is_iceberg(parts[-1]):
            self._folders.add("/".join(parts[:-2]))

    def __contains__(self, key: str) -> bool:
        """Whether the object belongs to one of them."""
        if not self._folders:
            return False
        parts = key.split("/")
        return any("/".join(parts[:place]) in self._folders for place in range(1, len(parts)))

    @property
    def folders(self) -> tuple[str, ...]:
        return tuple(sorted(self._folders))


def _is_iceberg(name: str) -> bool:
    return name == _ICEBERG_HINT or name.endswith((_ICEBERG_SUFFIX, f"{_ICEBERG_SUFFIX}.gz"))
