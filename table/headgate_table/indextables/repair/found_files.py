"""Which objects below a table may be its data files when no log says so: told by their keys alone. No I/O."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum

from headgate_table.indextables.cleaning.inner_tables import FOREIGN_LOG, InnerTables
from headgate_table.indextables.cleaning.orphans import is_data_key
from headgate_table.indextables.format.names import LOG
from headgate_table.store.interface import ObjectInfo

OWN_FOLDER = "_headgate"
"""Claims of proposals, files in quarantine, and what tries out a store: never data."""

_PARQUET = re.compile(r"(?i)\.(parquet|parq|pq)$")
_TEMPORARY = re.compile(r"(?i)(\.(tmp|temp|inprogress|partial|part|crdownload|_copying_)|~)$")
_STAGING = ("_temporary", ".spark-staging", ".hive-staging")
_MERGED = re.compile(r"merged-[0-9a-f]{32}\.parquet")


class Found(Enum):
    """What an object is, by its key. The values are what reports call it."""

    PARQUET = "parquet"
    NAMELESS = "no_extension"
    """A name without an extension, as Hive gives them: what is in it says whether it is a data file."""
    LOG = "log"
    OWN = "headgate"
    HIDDEN = "hidden"
    TEMPORARY = "temporary"
    OTHER_TABLE = "other_table"
    NOT_PARQUET = "not_parquet"


def what_is(key: str) -> Found:
    """What the object is, as far as its own key tells; whether it lies in another table, others' keys do."""
    first, slash, _ = key.partition("/")
    if first == LOG:
        return Found.LOG
    if slash and first == OWN_FOLDER:
        return Found.OWN
    name = key.rpartition("/")[2]
    if "#" in key or _TEMPORARY.search(name) or any(part.startswith(_STAGING) for part in key.split("/")):
        return Found.TEMPORARY
    if not is_data_key(key):
        return Found.HIDDEN
    if _PARQUET.search(name):
        return Found.PARQUET
    return Found.NOT_PARQUET if "." in name else Found.NAMELESS


def is_merged(key: str) -> bool:
    """Whether a merge of ours wrote the file: the files that it replaced hold the same rows."""
    return _MERGED.fullmatch(key.rpartition("/")[2]) is not None


class FileSurvey:
    """Two walks over the same listing: the first finds out where other tables lie inside of this one, the second sorts.

    A key that tells of another table may come after that table's files, so one walk can't do.
    """

    def __init__(self) -> None:
        self._inner = InnerTables()
        self.has_foreign_log = False
        self.counts: Counter[Found] = Counter()
        """Of everything that the second walk has seen."""

    def note(self, key: str) -> None:
        """The first walk."""
        if key.startswith(f"{FOREIGN_LOG}/"):
            self.has_foreign_log = True
        self._inner.note(key)

    def candidates(self, infos: Iterable[ObjectInfo]) -> Iterator[tuple[ObjectInfo, Found]]:
        """The second walk: what may be a data file; everything is counted."""
        self.counts.clear()
        for info in infos:
            found = Found.OTHER_TABLE if info.key in self._inner else what_is(info.key)
            self.counts[found] += 1
            if found in (Found.PARQUET, Found.NAMELESS):
                yield info, found

    @property
    def inner_tables(self) -> tuple[str, ...]:
        return self._inner.folders

    def ignored(self) -> Mapping[str, int]:
        """How many objects of each kind are no data files, for a report."""
        return {
            found.value: self.counts[found]
            for found in Found
            if found not in (Found.PARQUET, Found.NAMELESS) and self.counts[found]
        }
