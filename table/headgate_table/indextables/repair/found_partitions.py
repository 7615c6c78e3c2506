"""Derives a table's partitions from the folders of its files, without a log: columns, values, and types. No I/O.

`headgate_table.data_file` converts a folder's name to a text; `predicates.partition_text` and `columns.column_kinds`
interpret the text.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from headgate_schemas.actions.actions import NULL_PARTITION
from headgate_schemas.columns.column_kinds import (
    ColumnKind,
    column_kind,
    parse_boolean,
    parse_date,
    parse_decimal,
    parse_floating,
    parse_integer,
    parse_timestamp,
)
from headgate_schemas.columns.spark_types import Atomic, SparkType, kind_name
from headgate_schemas.errors import InvalidInput
from headgate_table.data_file import partition_folders

_PARSERS = {
    ColumnKind.INTEGER: parse_integer,
    ColumnKind.DATE: parse_date,
    ColumnKind.BOOLEAN: parse_boolean,
    ColumnKind.DECIMAL: parse_decimal,
    ColumnKind.FLOAT: parse_floating,
    ColumnKind.DOUBLE: parse_floating,
    ColumnKind.TIMESTAMP: parse_timestamp,
}
_PLAIN_INTEGER = re.compile(r"0|-?[1-9][0-9]*")
"""A number that is spelled so may be read as one and written again the same. `007` may not: it is a text."""

_RANGES = {"byte": 2**7, "short": 2**15, "integer": 2**31}


class Partitions:
    """Takes the paths of files; every path must have values of the same columns."""

    def __init__(self, asked: Sequence[str] | None = None) -> None:
        """`asked` are the columns that the user names; other `key=value` folders are then plain folders."""
        self._asked = None if asked is None else tuple(asked)
        self._first: tuple[str, tuple[str, ...]] | None = None
        self._seen: dict[str, _Seen] = {}

    @property
    def columns(self) -> tuple[str, ...]:
        if self._asked is not None:
            return self._asked
        return () if self._first is None else self._first[1]

    def values(self, path: str) -> dict[str, str]:
        """The file's partition values as the log stores them; a folder without a value is null.

        Raises `InvalidInput` if the path contradicts itself, an earlier one, or the user's columns.
        """
        found: dict[str, str] = {}
        for key, text in partition_folders(path):
            if self._asked is not None and key not in self._asked:
                continue
            if not key or key in found:
                raise InvalidInput(
                    f"the folders of {path} name the partition column {key!r} twice, or none; move the file, or give the "
                    f"partition columns"
                )
            found[key] = text or NULL_PARTITION
        self._check(path, tuple(found))
        for column, text in found.items():
            self._seen.setdefault(column, _Seen()).take(path, text)
        return found if self._asked is None else {column: found[column] for column in self._asked}

    def _check(self, path: str, found: tuple[str, ...]) -> None:
        if self._asked is not None:
            missing = [column for column in self._asked if column not in found]
            if missing:
                raise InvalidInput(
                    f"no folder of {path} says the value of the partition column {missing[0]!r}; every file must lie in a folder "
                    f"{missing[0]}=VALUE. Move the file there, or away from the table"
                )
            return
        if self._first is None:
            self._first = path, found
        elif self._first[1] != found:
            first, columns = self._first
            raise InvalidInput(
                f"the folders of {first} say that files are partitioned by {_listed(columns)}, and those of {path} by "
                f"{_listed(found)}. Move what doesn't belong to the table away, or give the partition columns"
            )

    def type_of(self, column: str, given: SparkType | None, stored: SparkType | None) -> SparkType:
        """The type of a partition column: the given one; else that of the files' own column of this name, if the values
        fit; else the type of all values: whole numbers, dates, or texts.

        Raises `InvalidInput` for a value that doesn't fit the given type.
        """
        seen = self._seen.get(column, _Seen())
        if given is not None:
            misfit = seen.misfit(given)
            if misfit is not None:
                raise InvalidInput(
                    f"the partition value {misfit.text[:100]!r} for {column!r} of {misfit.path} is no {kind_name(given)}; give "
                    f"another type, or move the file away"
                )
            return given
        if (
            stored is not None
            and column_kind(kind_name(stored)) is not ColumnKind.OTHER
            and seen.misfit(stored) is None
        ):
            return stored
        return seen.inferred()


@dataclass(frozen=True, slots=True)
class _Misfit:
    path: str
    text: str


@dataclass(slots=True)
class _Seen:
    """The common kind of one column's values."""

    misfits: dict[ColumnKind, _Misfit] = field(default_factory=dict)
    """The first value that is none of the kind."""
    has_values: bool = False
    plain_integers: bool = True
    lowest: _Misfit | None = None
    highest: _Misfit | None = None

    def take(self, path: str, text: str) -> None:
        if text == NULL_PARTITION:
            return
        self.has_values = True
        for kind, parse in _PARSERS.items():
            if kind not in self.misfits and parse(text) is None:
                self.misfits[kind] = _Misfit(path, text)
        if self.plain_integers and not _PLAIN_INTEGER.fullmatch(text):
            self.plain_integers = False
        if ColumnKind.INTEGER not in self.misfits:
            number = int(text)
            if self.lowest is None or number < int(self.lowest.text):
                self.lowest = _Misfit(path, text)
            if self.highest is None or number > int(self.highest.text):
                self.highest = _Misfit(path, text)

    def misfit(self, type_: SparkType) -> _Misfit | None:
        """A value that isn't of the type."""
        name = kind_name(type_)
        kind = column_kind(name)
        if kind in self.misfits:
            return self.misfits[kind]
        limit = _RANGES.get(name)
        if limit is not None:
            if self.lowest is not None and int(self.lowest.text) < -limit:
                return self.lowest
            if self.highest is not None and int(self.highest.text) >= limit:
                return self.highest
        return None

    def inferred(self) -> Atomic:
        """A type that all values have, because a wrong guess could never be changed. Whole numbers become long, to have
        room.
        """
        if self.has_values and self.plain_integers and ColumnKind.INTEGER not in self.misfits:
            return Atomic("long")
        if self.has_values and ColumnKind.DATE not in self.misfits:
            return Atomic("date")
        return Atomic("string")


def _listed(columns: Sequence[str]) -> str:
    return ", ".join(columns) if columns else "nothing"


def types_of(fields: Mapping[str, SparkType], columns: Sequence[str]) -> dict[str, SparkType]:
    """The given types of these columns. Raises `InvalidInput` for a type that is given for another column."""
    for name in fields:
        if name not in columns:
            raise InvalidInput(
                f"a type is given for {name!r}, which is no partition column; they are {_listed(columns)}"
            )
    return dict(fields)
