"""The parts of a manifest as Avro values, in the fields of each format version. `raw` and `container` have the frame."""

from collections.abc import Mapping

from headgate_schemas.milvus import EMPTY, ColumnGroup, ColumnGroupFile, DeltaLog, DeltaLogType, Index, LobFile, Stat
from headgate_table.milvus.format.binary import (
    Cursor,
    array_bytes,
    long_bytes,
    mapping_bytes,
    text_bytes,
    texts_bytes,
)

_TYPES: dict[int, int] = {int(kind): kind for kind in DeltaLogType}

_FEW_BYTES = 9
"""What the fast loop may look at behind a path without asking where the end is: two numbers of four bytes, and a length."""


def read_groups(cursor: Cursor, *, with_properties: bool) -> tuple[ColumnGroup, ...]:
    def group() -> ColumnGroup:
        columns = cursor.array(cursor.text)
        files = _files_with_properties(cursor) if with_properties else _files_with_metadata(cursor)
        return ColumnGroup(columns, files, cursor.text())

    return cursor.array(group)


def groups_bytes(groups: tuple[ColumnGroup, ...], *, with_properties: bool) -> bytes:
    files_bytes = _with_properties_bytes if with_properties else _with_metadata_bytes
    return array_bytes(
        (texts_bytes(group.columns) + files_bytes(group.files) + text_bytes(group.format) for group in groups),
        len(groups),
    )


def _files_with_metadata(cursor: Cursor) -> tuple[ColumnGroupFile, ...]:
    """Most of a manifest consists of these.

    This loop reads the usual case (short ASCII paths, numbers of up to four bytes, no metadata) in a third of the
    cursor's time; the cursor reads everything else and raises the errors.
    """
    files: list[ColumnGroupFile] = []
    append, make, kind = files.append, tuple.__new__, ColumnGroupFile
    data, size = cursor.data, len(cursor.data)
    last, last_stop = b"\x00", 0  # most files begin where the one before ends
    while count := cursor.count():
        for _ in range(count):
            position = cursor.position
            length = data[position]
            end = position + 1 + (length >> 1)
            if not length & 0x81 and end + _FEW_BYTES < size and (path := data[position + 1 : end]).isascii():
                if data.startswith(last, end):
                    start, position = last_stop, end + len(last)
                else:
                    start, position = _short_long(data, end)
                number_at = position
                stop, position = _short_long(data, position)
                if position and data[position] == 0:
                    last, last_stop = data[number_at:position], stop
                    cursor.position = position + 1
                    append(make(kind, (path.decode("ascii"), start, stop, b"", EMPTY)))
                    continue
            text = cursor.text()
            start, stop = cursor.long(), cursor.long()
            append(ColumnGroupFile(text, start, stop, cursor.blob()))
    return tuple(files)


def _short_long(data: bytes, position: int) -> tuple[int, int]:
    """A long of up to four bytes, and the place after it; place 0 for a longer one, or if an earlier one failed."""
    value = data[position]
    if value < 0x80:
        return (value >> 1) ^ -(value & 1), position + 1 if position else 0
    value = value & 0x7F | (byte := data[position + 1]) << 7
    if byte < 0x80:
        return (value >> 1) ^ -(value & 1), position + 2 if position else 0
    value = value & 0x3FFF | (byte := data[position + 2]) << 14
    if byte < 0x80:
        return (value >> 1) ^ -(value & 1), position + 3 if position else 0
    value = value & 0x1FFFFF | (byte := data[position + 3]) << 21
    return (value >> 1) ^ -(value & 1), position + 4 if byte < 0x80 and position else 0


def _with_metadata_bytes(files: tuple[ColumnGroupFile, ...]) -> bytes:
    pieces = [long_bytes(len(files))] if files else []
    add = pieces.append
    for text, start, stop, metadata, _ in files:
        path = text.encode("utf-8")
        add(long_bytes(len(path)))
        add(path)
        add(long_bytes(start))
        add(long_bytes(stop))
        if metadata:
            add(long_bytes(len(metadata)))
            add(metadata)
        else:
            add(b"\x00")
    add(b"\x00")
    return b"".join(pieces)


def _files_with_properties(cursor: Cursor) -> tuple[ColumnGroupFile, ...]:
    def file() -> ColumnGroupFile:
        path, start, stop = cursor.text(), cursor.long(), cursor.long()
        return ColumnGroupFile(path, start, stop, b"", cursor.mapping(cursor.text) or EMPTY)

    return cursor.array(file)


def _with_properties_bytes(files: tuple[ColumnGroupFile, ...]) -> bytes:
    return array_bytes(
        (
            b"".join(
                (
                    text_bytes(file.path),
                    long_bytes(file.start_index),
                    long_bytes(file.end_index),
                    mapping_bytes(file.properties, text_bytes),
                )
            )
            for file in files
        ),
        len(files),
    )


def read_delta_logs(cursor: Cursor) -> tuple[DeltaLog, ...]:
    def log() -> DeltaLog:
        path, kind, num_entries = cursor.text(), cursor.int32(), cursor.long()
        return DeltaLog(path, num_entries, _TYPES.get(kind, kind))

    return cursor.array(log)


def delta_logs_bytes(logs: tuple[DeltaLog, ...]) -> bytes:
    return array_bytes(
        (text_bytes(log.path) + long_bytes(int(log.type)) + long_bytes(log.num_entries) for log in logs), len(logs)
    )


def read_stats(cursor: Cursor, *, as_records: bool) -> dict[str, Stat]:
    def stat() -> Stat:
        paths = cursor.array(cursor.text)
        return Stat(paths, (cursor.mapping(cursor.text) or EMPTY) if as_records else EMPTY)

    return cursor.mapping(stat)


def stats_bytes(stats: Mapping[str, Stat], *, as_records: bool) -> bytes:
    def stat(value: Stat) -> bytes:
        metadata = mapping_bytes(value.metadata, text_bytes) if as_records else b""
        return texts_bytes(value.paths) + metadata

    return mapping_bytes(stats, stat)


def read_indexes(cursor: Cursor, *, whole: bool) -> tuple[Index, ...]:
    """`whole`: with the twelve fields that came with version 6."""

    def short() -> Index:
        return Index(cursor.text(), cursor.text(), cursor.text(), cursor.mapping(cursor.text) or EMPTY)

    def long() -> Index:
        column_name, index_name, index_type, path = (cursor.text() for _ in range(4))
        return Index(
            column_name=column_name,
            index_type=index_type,
            path=path,
            index_name=index_name,
            field_id=cursor.long(),
            index_id=cursor.long(),
            build_id=cursor.long(),
            index_version=cursor.long(),
            num_rows=cursor.long(),
            serialized_size=cursor.long(),
            mem_size=cursor.long(),
            current_index_version=cursor.int32(),
            current_scalar_index_version=cursor.int32(),
            index_store_path_version=cursor.int32(),
            index_file_keys=cursor.array(cursor.text),
            properties=cursor.mapping(cursor.text) or EMPTY,
        )

    return cursor.array(long if whole else short)


def indexes_bytes(indexes: tuple[Index, ...], *, whole: bool) -> bytes:
    def short(index: Index) -> bytes:
        texts = (index.column_name, index.index_type, index.path)
        return b"".join(map(text_bytes, texts)) + mapping_bytes(index.properties, text_bytes)

    def long(index: Index) -> bytes:
        texts = (index.column_name, index.index_name, index.index_type, index.path)
        numbers = (
            index.field_id,
            index.index_id,
            index.build_id,
            index.index_version,
            index.num_rows,
            index.serialized_size,
            index.mem_size,
            index.current_index_version,
            index.current_scalar_index_version,
            index.index_store_path_version,
        )
        return b"".join(
            (
                *map(text_bytes, texts),
                *map(long_bytes, numbers),
                texts_bytes(index.index_file_keys),
                mapping_bytes(index.properties, text_bytes),
            )
        )

    return array_bytes(map(long if whole else short, indexes), len(indexes))


def read_lob_files(cursor: Cursor) -> tuple[LobFile, ...]:
    return cursor.array(lambda: LobFile(cursor.text(), cursor.long(), cursor.long(), cursor.long(), cursor.long()))


def lob_files_bytes(files: tuple[LobFile, ...]) -> bytes:
    def lob(file: LobFile) -> bytes:
        numbers = (file.field_id, file.total_rows, file.valid_rows, file.file_size_bytes)
        return text_bytes(file.path) + b"".join(map(long_bytes, numbers))

    return array_bytes(map(lob, files), len(files))
