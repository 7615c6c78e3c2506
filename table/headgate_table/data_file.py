"""`DataFile`: a file as users give it to a table, checked early, while they can still correct it.

Other modules decide its effect on a table; `AddFile` is the same value without the checks.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from headgate_schemas.actions.actions import NULL_PARTITION, AddFile, StoredTexts
from headgate_schemas.columns.file_columns import FileColumns, columns_misfit
from headgate_schemas.columns.table_schema import HasJson, schema_string_of
from headgate_schemas.errors import InvalidInput
from headgate_schemas.predicates.partition_text import stored_text, unescape_partition_text
from headgate_table.errors import ObjectMissing, StoreError
from headgate_table.parquet.file_schema import described_columns
from headgate_table.parquet.fine_times import time_misfit
from headgate_table.parquet.footer import Footer, read_footer
from headgate_table.parquet.statistics import INDEXED_COLUMNS, MAX_TEXT_LENGTH
from headgate_table.store.interface import Store
from headgate_table.store.paths import check_key

if TYPE_CHECKING:
    import pyarrow as pa

MAX_MAP_ENTRIES = 10_000
"""Keys of one map of a file: as many as a table may have columns."""

MAX_TEXT_CHARS = 1024 * 1024
"""One value of a map. Anything longer belongs into the file, not into the log that everybody reads."""

_LOG_FOLDER = "_transaction_log"
_LONG_LIMIT = 2**63
_INT_LIMIT = 2**31


class DataFile(AddFile):
    """A file to append. Raises `InvalidInput` for values that no table accepts. The message names the file and the field.

    `path` is relative to the table. Partition values are plain: `a%20b` is read as `a%20b`. None is null, and so are
    the empty text and `__HIVE_DEFAULT_PARTITION__`. Times are epoch milliseconds. The file then has its values in the
    form of the log. If you copy them to another file, they are taken unchanged.

    Examples:
        >>> file = headgate.DataFile(
        ...     path="day=1/a.parquet", partition_values={"day": "1"}, size=100, modification_time=0, num_records=7
        ... )
        >>> file.num_records
        7
        >>> headgate.DataFile(path="../a.parquet", size=100, modification_time=0)
        Traceback (most recent call last):
        headgate_schemas.errors.InvalidInput: ...
    """

    __slots__ = ("columns",)

    columns: FileColumns | None
    """What its footer says of its columns, where it was read. Proposals carry it; the log doesn't."""

    def __init__(
        self,
        *,
        path: str,
        size: int,
        modification_time: int,
        partition_values: Mapping[str, str | None] | None = None,
        data_change: bool = True,
        stats: str | None = None,
        min_values: Mapping[str, str] | None = None,
        max_values: Mapping[str, str] | None = None,
        num_records: int | None = None,
        footer_start_offset: int | None = None,
        footer_end_offset: int | None = None,
        has_footer_offsets: bool = False,
        delete_opstamp: int | None = None,
        split_tags: Sequence[str] | None = None,
        num_merge_ops: int | None = None,
        doc_mapping_json: str | None = None,
        doc_mapping_ref: str | None = None,
        uncompressed_size_bytes: int | None = None,
        time_range_start: str | None = None,
        time_range_end: str | None = None,
        companion_source_files: Sequence[str] | None = None,
        companion_delta_version: int | None = None,
        companion_fast_field_mode: str | None = None,
        tags: Mapping[str, str] | None = None,
        hotcache_start_offset: int | None = None,
        hotcache_length: int | None = None,
    ) -> None:
        check = _Checks(_checked_path(path))
        object.__setattr__(self, "columns", None)
        AddFile.__init__(
            self,
            path=path,
            partition_values=check.partition_values(partition_values),
            size=check.needed_number("size", size),
            modification_time=check.needed_number("modification_time", modification_time),
            data_change=check.flag("data_change", data_change),
            stats=check.text("stats", stats),
            min_values=check.text_map("min_values", min_values),
            max_values=check.text_map("max_values", max_values),
            num_records=check.number("num_records", num_records),
            footer_start_offset=check.number("footer_start_offset", footer_start_offset),
            footer_end_offset=check.number("footer_end_offset", footer_end_offset),
            has_footer_offsets=check.flag("has_footer_offsets", has_footer_offsets),
            delete_opstamp=check.number("delete_opstamp", delete_opstamp),
            split_tags=check.texts("split_tags", split_tags),
            num_merge_ops=check.number("num_merge_ops", num_merge_ops, _INT_LIMIT),
            doc_mapping_json=check.text("doc_mapping_json", doc_mapping_json),
            doc_mapping_ref=check.text("doc_mapping_ref", doc_mapping_ref),
            uncompressed_size_bytes=check.number("uncompressed_size_bytes", uncompressed_size_bytes),
            time_range_start=check.text("time_range_start", time_range_start),
            time_range_end=check.text("time_range_end", time_range_end),
            companion_source_files=check.texts("companion_source_files", companion_source_files),
            companion_delta_version=check.number("companion_delta_version", companion_delta_version),
            companion_fast_field_mode=check.text("companion_fast_field_mode", companion_fast_field_mode),
            tags=check.text_map("tags", tags),
            hotcache_start_offset=check.number("hotcache_start_offset", hotcache_start_offset),
            hotcache_length=check.number("hotcache_length", hotcache_length),
        )

    def __eq__(self, other: object) -> bool:
        """A file is the same value whether a user or the log gave it."""
        if not isinstance(other, AddFile):
            return NotImplemented
        return all(getattr(self, field.name) == getattr(other, field.name) for field in fields(AddFile))

    __hash__ = AddFile.__hash__

    @classmethod
    def of_parquet(
        cls,
        path: str,
        *,
        root: "str | os.PathLike[str] | None" = None,
        store: Store | None = None,
        partition_values: Mapping[str, str | None] | None = None,
        modification_time: int | None = None,
        data_change: bool = True,
        tags: Mapping[str, str] | None = None,
        indexed_columns: int = INDEXED_COLUMNS,
        max_text_length: int = MAX_TEXT_LENGTH,
        schema: "pa.Schema | str | HasJson | None" = None,
        partition_columns: Sequence[str] | None = None,
    ) -> "DataFile":
        """A Parquet file at its final place. Reads size, time, row count and column bounds from its footer.

        `path` is relative to the table, which is `store`, or the local folder `root` (else the current one). Partition
        values come from `key=value` folders in the path, unless given. They are plain, as for any `DataFile`, and None is
        null. Bounds cover the first `indexed_columns` columns, with texts of at most `max_text_length` characters. With the
        table's `schema`, the file's columns are compared immediately, else when the change is decided. The partition
        columns are those with values, unless given.

        Raises `InvalidInput` if the file is no readable Parquet file, does not fit the table's columns, or shows times that
        no table holds. Raises `ObjectMissing` if there is no file.

        Examples:
            >>> import pathlib, pyarrow, pyarrow.parquet
            >>> pathlib.Path("lake/events/day=1").mkdir(parents=True)
            >>> pyarrow.parquet.write_table(pyarrow.table({"id": [1, 2]}), "lake/events/day=1/a.parquet")
            >>> file = headgate.DataFile.of_parquet("day=1/a.parquet", root="lake/events")
            >>> file.num_records, file.partition_values, file.max_values
            (2, {'day': '1'}, {'id': '2'})
        """
        # Programs that only name files don't need numpy.
        from headgate_table.parquet.bounds import column_bounds

        if max_text_length < 1:
            raise InvalidInput(f"max_text_length is {max_text_length}; it must be at least 1")
        _checked_path(path)
        if store is None:
            source: _LocalFile | _StoredFile = _LocalFile(path, "" if root is None else os.fspath(root))
        elif root is None:
            source = _StoredFile(path, store)
        else:
            raise InvalidInput(f"file {path!r}: give either root= or store=, not both")
        values = partition_values_in(path) if partition_values is None else partition_values
        footer = read_footer(source.name, source.size, source.read)
        lower, upper = column_bounds(
            footer, without=values, indexed_columns=indexed_columns, max_length=max_text_length
        )
        columns = described_columns(path, footer)
        fine = time_misfit(footer)
        if fine is not None:
            raise InvalidInput(f"{source.name} can't be added: {fine}")
        if schema is not None:
            named = tuple(values if partition_columns is None else partition_columns)
            # A table's own text is used unchanged, whatever another program has put into it.
            is_own = isinstance(schema, str) and schema.lstrip().startswith("{")
            text = schema if isinstance(schema, str) and is_own else schema_string_of(schema)
            problem = columns_misfit(columns.types, columns.nulls, text, named)
            if problem is not None:
                raise InvalidInput(f"{source.name} can't be added: {problem}")
        return cls._of_footer(
            footer,
            columns,
            path=path,
            size=source.size,
            modification_time=source.modified_ms if modification_time is None else modification_time,
            partition_values=values,
            data_change=data_change,
            min_values=lower or None,
            max_values=upper or None,
            tags=tags,
        )

    @classmethod
    def of_footer(cls, footer: Footer, *, path: str, **fields: Any) -> "DataFile":
        """A file with a footer that was read already. Takes row count and columns from the footer, and the other fields as given.

        Examples:
            >>> import io, pyarrow, pyarrow.parquet
            >>> from headgate_table.parquet.footer import read_footer
            >>> written = io.BytesIO()
            >>> pyarrow.parquet.write_table(pyarrow.table({"id": [1, 2]}), written)
            >>> content = written.getvalue()
            >>> footer = read_footer("a.parquet", len(content), lambda start, length: content[start : start + length])
            >>> file = headgate.DataFile.of_footer(footer, path="a.parquet", size=len(content), modification_time=0)
            >>> file.num_records
            2
        """
        return cls._of_footer(footer, described_columns(path, footer), path=path, **fields)

    @classmethod
    def _of_footer(cls, footer: Footer, columns: FileColumns, **fields: Any) -> "DataFile":
        file = cls(num_records=footer.num_rows, **fields)
        object.__setattr__(file, "columns", columns)
        return file


def partition_values_in(path: str) -> dict[str, str | None]:
    """The `key=value` folders of a path, unescaped, whoever wrote them.

    Raises `InvalidInput` for a key that occurs twice or is empty.
    """
    values: dict[str, str | None] = {}
    for key, value in partition_folders(path):
        if not key or key in values:
            raise InvalidInput(
                f"path {path!r} has {key!r} as a partition twice or without a name; give partition_values="
            )
        values[key] = value
    return values


def partition_folders(path: str) -> Iterator[tuple[str, str]]:
    """Key and value of each `key=value` folder of a path, unescaped, in their order."""
    for folder in path.split("/")[:-1]:
        escaped, separator, value = folder.partition("=")
        if separator:
            yield _plain(escaped), _plain(value)


def _plain(folder_text: str) -> str:
    # Arrow escapes as in URLs, in UTF-8; Hive escapes a part of that. Both escape `%`, so no escape is ambiguous.
    if "%" not in folder_text:
        return folder_text
    try:
        return unquote(folder_text, errors="strict")
    except UnicodeDecodeError:
        return unescape_partition_text(folder_text)


class _LocalFile:
    """A file of the local file system. Its size is that of one moment; the footer shows whether the file is still being
    written.
    """

    __slots__ = ("_full", "modified_ms", "name", "size")

    def __init__(self, path: str, root: str) -> None:
        if "://" in root:
            raise InvalidInput(f"root {root!r} is an address; open it as a store and give store= instead of root=")
        self._full = os.path.join(root, path)
        self.name = f"file {self._full!r}"
        try:
            status = os.stat(self._full)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise ObjectMissing(
                f"there is no {self.name}; give the path relative to the table, and the table's folder as root=", path
            ) from error
        except OSError as error:
            raise StoreError(f"{self.name} can't be looked at: {error.strerror}") from error
        self.size = status.st_size
        self.modified_ms = status.st_mtime_ns // 1_000_000

    def read(self, start: int, length: int) -> bytes:
        try:
            with open(self._full, "rb") as stream:
                stream.seek(start)
                return stream.read(length)
        except OSError as error:
            raise StoreError(f"{self.name} can't be read: {error.strerror}") from error


class _StoredFile:
    __slots__ = ("_path", "_store", "modified_ms", "name", "size")

    def __init__(self, path: str, store: Store) -> None:
        self._path, self._store = path, store
        self.name = f"file {store.uri}/{path}"
        info = store.head(path)
        if info is None:
            raise ObjectMissing(f"there is no {self.name}; write it before it is appended", path)
        self.size, self.modified_ms = info.size, info.modified_ms

    def read(self, start: int, length: int) -> bytes:
        return self._store.get_range(self._path, start, length)


def _checked_path(path: str) -> str:
    if not isinstance(path, str):
        raise InvalidInput(f"the path of a file is {str(path)[:100]!r}; it must be a text relative to the table")
    check_key(path)
    if path.partition("/")[0].casefold() == _LOG_FOLDER:
        raise InvalidInput(f"path {path!r} can't be used: that folder holds the table's log")
    return path


class _Checks:
    """The rules for the fields of one file; every error names the file, the field and the value."""

    __slots__ = ("_path",)

    def __init__(self, path: str) -> None:
        self._path = path

    def needed_number(self, field: str, value: Any, limit: int = _LONG_LIMIT) -> int:
        if type(value) is not int:
            raise self._refused(field, value, "a whole number")
        if not 0 <= value < limit:
            raise self._refused(field, value, f"from 0 to {limit - 1}")
        return value

    def number(self, field: str, value: Any, limit: int = _LONG_LIMIT) -> int | None:
        return None if value is None else self.needed_number(field, value, limit)

    def flag(self, field: str, value: Any) -> bool:
        if not isinstance(value, bool):
            raise self._refused(field, value, "True or False")
        return value

    def text(self, field: str, value: Any) -> str | None:
        if value is None:
            return None
        if not isinstance(value, str):
            raise self._refused(field, value, "a text")
        if not value.isascii() and any(0xD800 <= ord(character) < 0xE000 for character in value):
            raise self._refused(field, value, "valid Unicode (it has a lone surrogate)")
        return value

    def texts(self, field: str, value: Any) -> tuple[str, ...] | None:
        if value is None:
            return None
        if isinstance(value, str) or not isinstance(value, Sequence):
            raise self._refused(field, value, "a list of texts")
        return tuple(self._needed_text(field, item) for item in value)

    def text_map(self, field: str, value: Any) -> dict[str, str] | None:
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise self._refused(field, value, "a mapping of texts to texts")
        if len(value) > MAX_MAP_ENTRIES:
            raise self._refused(field, len(value), f"a mapping of at most {MAX_MAP_ENTRIES} keys (MAX_MAP_ENTRIES)")
        return {
            self._needed_text(f"a key of {field}", key): self._needed_text(f"{field}[{key!r}]", item)
            for key, item in value.items()
        }

    def partition_values(self, value: Any) -> StoredTexts:
        given = value
        if isinstance(given, Mapping):
            given = {key: NULL_PARTITION if item is None else item for key, item in given.items()}
        texts = self.text_map("partition_values", given) or {}
        if not isinstance(value, StoredTexts):
            texts = {key: stored_text(text) for key, text in texts.items()}
        return StoredTexts(texts)

    def _needed_text(self, field: str, value: Any) -> str:
        text = self.text(field, value)
        if text is None:
            raise self._refused(field, value, "a text; leave the key out where there is no value")
        if len(text) > MAX_TEXT_CHARS:
            raise self._refused(field, len(text), f"at most {MAX_TEXT_CHARS} characters long (MAX_TEXT_CHARS)")
        return text

    def _refused(self, field: str, value: Any, needed: str) -> InvalidInput:
        shown = str(value)[:80] if isinstance(value, int) else repr(value)[:80]
        return InvalidInput(f"{field} of file {self._path!r} is {shown}; it must be {needed}")
