"""Finds the possible data files below a table without a log, by their keys alone. No I/O."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum

from headgate_table.indextables.cleaning.inner_tables import FOREIGN_LOG, InnerTables
from headgate_table.indextables.cleaning.orphans import is_data_key
from headgate_table.indextables.format.names import LOG
from headgate_table.store.interface import ObjectInfo
from headgate_table.store.paths import is_hidden_folder

OWN_FOLDER = "_headgate"
"""Claims of proposals, files in quarantine, and what tries out a store: never data."""

_PARQUET = re.compile(r"(?i)\.(parquet|parq|pq)$")
_TEMPORARY = re.compile(r"(?i)(\.(tmp|temp|inprogress|partial|part|crdownload|_copying_)|~)$")
_STAGING = ("_temporary", ".spark-staging", ".hive-staging")
_MERGED = re.compile(r"merged-[0-9a-f]{32}\.parquet")


class Found(Enum):
    """The kind of an object, by its key. Reports use the values."""

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
    """The kind of the object, from its own key; other keys show whether it belongs to another table."""
    first, slash, _ = key.partition("/")
    if first == LOG:
        return Found.LOG
    if slash and first == OWN_FOLDER:
        return Found.OWN
    name = key.rpartition("/")[2]
    staged = any(is_hidden_folder(part) and part.startswith(_STAGING) for part in key.split("/"))
    if "#" in key or _TEMPORARY.search(name) or staged:
        return Found.TEMPORARY
    if not is_data_key(key):
        return Found.HIDDEN
    if _PARQUET.search(name):
        return Found.PARQUET
    return Found.NOT_PARQUET if "." in name else Found.NAMELESS


def is_merged(key: str) -> bool:
    """Whether a merge of Headgate wrote the file: the files that it replaced hold the same rows."""
    return _MERGED.fullmatch(key.rpartition("/")[2]) is not None


class FileSurvey:
    """Two passes over the same listing: the first finds other tables inside of this one, the second sorts the objects.

    The key that shows another table may come after that table's files, so one pass isn't enough.
    """

    def __init__(self) -> None:
        self._inner = InnerTables()
        self.has_foreign_log = False
        self.counts: Counter[Found] = Counter()
        """Of everything that the second walk has seen."""

    def note(self, key: str) -> None:
        """The first pass."""
        if key.startswith(f"{FOREIGN_LOG}/"):
            self.has_foreign_log = True
        self._inner.note(key)

    def candidates(self, infos: Iterable[ObjectInfo]) -> Iterator[tuple[ObjectInfo, Found]]:
        """The second pass: the possible data files; every object is counted."""
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
        """The number of objects of each other kind, for a report."""
        return {
            found.value: self.counts[found]
            for found in Found
            if found not in (Found.PARQUET, Found.NAMELESS) and self.counts[found]
        }
