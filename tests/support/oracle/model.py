"""What a table holds, by the documentation alone: files with their rows, versions as sets of files, and what is refused."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from support.oracle.values.cells import Cell, Key, key_of
from support.oracle.values.columns import Column
from support.oracle.values.conditions import Condition

Rows = Counter[tuple[Key, ...]]


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file: its rows without partition columns, and one value for each of these."""

    path: str
    columns: Mapping[str, Sequence[Cell]]
    count: int
    partition: Mapping[str, Cell]

    def rows(self, table: Sequence[Column]) -> list[dict[str, Cell]]:
        """As rows of a table with these columns; one that the file lacks is null."""
        return [
            {
                column.name: self.partition[column.name]
                if column.name in self.partition
                else self.columns[column.name][index]
                if column.name in self.columns
                else None
                for column in table
            }
            for index in range(self.count)
        ]


@dataclass(frozen=True, slots=True)
class Version:
    live: frozenset[str]
    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class Expected:
    """What the documentation says of an operation: the live files after it, and why it may or must be refused."""

    live: frozenset[str]
    refusals: frozenset[str] = frozenset()
    must: bool = False
    """One of the refusals has to come; without it, one may."""
    columns: tuple[Column, ...] | None = None
    """The table's columns after it, where they change."""


@dataclass(slots=True)
class Model:
    columns: tuple[Column, ...]
    partition: tuple[str, ...]
    files: dict[str, DataFile] = field(default_factory=dict)
    versions: dict[int, Version] = field(default_factory=dict)
    floor: int = 0
    """Versions below it may be gone."""
    cleaned: bool = False
    """Files that no version names may be gone, and their paths purged."""
    added: set[str] = field(default_factory=set)
    """Every path that was ever live."""

    @property
    def newest(self) -> int:
        return max(self.versions)

    @property
    def live(self) -> frozenset[str]:
        return self.versions[self.newest].live

    def column(self, name: str) -> Column:
        return next(column for column in self.columns if column.name == name)

    @property
    def partition_columns(self) -> list[Column]:
        return [self.column(name) for name in self.partition]

    # ---- what an operation comes to

    def append(self, files: Sequence[DataFile]) -> Expected:
        return self._added(self.live, files)

    def overwrite(self, files: Sequence[DataFile], where: Condition | None) -> Expected:
        if where is not None:
            if where.columns - set(self.partition):
                return _refused(self.live, "not_a_partition")
            if any(not where.holds(file.partition) for file in files):
                return _refused(self.live, "outside_where", "path_in_use")
        return self._added(self.live - self.matching(where), files)

    def delete_where(self, where: Condition) -> Expected:
        if where.columns - set(self.partition):
            return _refused(self.live, "not_a_partition")
        return Expected(self.live - self.matching(where))

    def delete_paths(self, paths: Iterable[str]) -> Expected:
        named = frozenset(paths)
        return _refused(self.live, "not_live") if named - self.live else Expected(self.live - named)

    def rewrite(self, removes: Iterable[str], adds: Sequence[DataFile]) -> Expected:
        sources = frozenset(removes)
        if sources - self.live:
            return _refused(self.live, "source_gone")
        if sum(self.files[path].count for path in sources) != sum(file.count for file in adds):
            return _refused(self.live, "records_differ", "path_in_use")
        return self._added(self.live - sources, adds)

    def restore(self, version: int) -> Expected:
        found = self.versions.get(version)
        if found is None:
            return _refused(self.live, "gone", "invalid", "InvalidInput")
        may_be_gone = self.cleaned or version < self.floor
        return Expected(found.live, frozenset(("gone",)) if may_be_gone else frozenset())

    def add_columns(self, columns: Sequence[Column]) -> Expected:
        taken = {column.name.casefold() for column in self.columns}
        for column in columns:
            if column.name.casefold() in taken or not column.nullable:
                return _refused(self.live, "schema_change", "InvalidInput")
            taken.add(column.name.casefold())
        return Expected(self.live, columns=(*self.columns, *columns))

    def _added(self, kept: frozenset[str], files: Sequence[DataFile]) -> Expected:
        paths = [file.path for file in files]
        if len(set(paths)) < len(paths) or set(paths) & self.added:
            # What was removed in a version that is kept is in use; what nobody keeps may be added again.
            in_use = len(set(paths)) < len(paths) or bool(set(paths) & self.live) or not self.cleaned
            return Expected(kept | set(paths), frozenset(("path_in_use",)), must=in_use)
        return Expected(kept | set(paths))

    def matching(self, where: Condition | None) -> frozenset[str]:
        """The live files whose partition values match."""
        return frozenset(path for path in self.live if where is None or where.holds(self.files[path].partition))

    # ---- what happened

    def knows(self, files: Iterable[DataFile]) -> None:
        self.files |= {file.path: file for file in files}

    def committed(self, version: int, expected: Expected) -> None:
        """A version that an operation was committed in; those before it that nobody claims change no row."""
        self.columns = expected.columns or self.columns
        self.versions[version] = Version(expected.live, self.columns)
        self.added |= expected.live

    def upkeep(self, version: int, live: Iterable[str]) -> None:
        """A version of maintenance, with these files live."""
        self.versions[version] = Version(frozenset(live), self.columns)
        self.added |= self.versions[version].live

    # ---- what is read

    def rows(self, version: int, paths: Iterable[str] | None = None) -> list[dict[str, Cell]]:
        found = self.versions[version]
        wanted = found.live if paths is None else paths
        return [row for path in sorted(wanted) for row in self.files[path].rows(found.columns)]


def _refused(live: frozenset[str], *codes: str) -> Expected:
    return Expected(live, frozenset(codes), must=True)


def counted(rows: Iterable[Mapping[str, Cell]], columns: Sequence[Column]) -> Rows:
    """Rows as a multiset."""
    return Counter(tuple(key_of(row[column.name]) for column in columns) for row in rows)
