"""Actions as lines of JSON: read tolerantly, written strictly (docs/format.md, sections 3, 13 and 14).

Other modules handle files, compression and the effect of a line on a table.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, assert_never

from headgate_schemas.actions import tolerant_json as read
from headgate_schemas.actions.actions import (
    COORDINATOR_KEY,
    NULL_PARTITION,
    Action,
    AddFile,
    CommitInfo,
    Metadata,
    Protocol,
    RemoveFile,
    SkipFile,
    StoredTexts,
    UnknownAction,
)
from headgate_schemas.actions.tolerant_json import INT32, INT64, MAX_JSON_DEPTH, MAX_LINE_BYTES, JsonObject
from headgate_schemas.columns.near_names import damaged_name
from headgate_schemas.errors import InvalidInput, MalformedAction


def parse_action(line: str | bytes) -> Action:
    """The action of one line. Raises `MalformedAction` with the reason and, if known, the place in the line."""
    envelope = read.decode_object(line)
    for key, action_of in _READERS.items():
        body = read.optional_object(envelope, key)
        if body is not None:
            return action_of(body)
    _refuse_damaged(envelope, _ACTION_KEYS)
    key, body = next(iter(envelope.items()), ("", None))
    return UnknownAction(key=key if len(envelope) == 1 and isinstance(body, dict) else "")


def format_action(action: Action) -> str:
    """One line without its newline, in a form that every known reader accepts. Raises `InvalidInput`."""
    match action:
        case AddFile():
            key, body = "add", _written(action, action.path, _ADD_FIELDS)
        case RemoveFile():
            key, body = "remove", _written(action, action.path, _REMOVE_FIELDS)
        case SkipFile():
            key, body = "mergeskip", _written(action, action.path, _SKIP_FIELDS)
        case Protocol():
            key, body = "protocol", _written_protocol(action)
        case Metadata():
            key, body = "metaData", _written_metadata(action)
        case CommitInfo():
            key, body = "commitInfo", dict(action.body)
        case UnknownAction():
            raise InvalidInput(f"an action of the unknown kind {action.key!r} can't be written; leave it out")
        case _:
            assert_never(action)
    return _encode(key, body)


# ---- reading actions


def _refuse_damaged(body: JsonObject, known: frozenset[str]) -> None:
    """Unknown names are ignored. A damaged known name is an error, because ignoring it would lose its value."""
    if body.keys() <= known:
        return
    found = damaged_name(body.keys(), known)
    if found is not None:
        raise MalformedAction(f"the name {found[0]!r} stands where {found[1]!r} belongs, so the line is damaged")


def _protocol(body: JsonObject) -> Protocol:
    _refuse_damaged(body, _PROTOCOL_NAMES)
    # A missing version is 1: known readers treat a log without a protocol action in the same way.
    reader, writer = read.integer(body, "minReaderVersion"), read.integer(body, "minWriterVersion")
    return Protocol(
        min_reader_version=1 if reader is None else reader,
        min_writer_version=1 if writer is None else writer,
        reader_features=read.texts(body, "readerFeatures"),
        writer_features=read.texts(body, "writerFeatures"),
    )


def _metadata(body: JsonObject) -> Metadata:
    _refuse_damaged(body, _METADATA_NAMES)
    identity = read.text(body, "id")
    if identity is None:
        raise MalformedAction("field id is missing; it is needed in every action of this kind")
    format_body = read.optional_object(body, "format") or {}
    _refuse_damaged(format_body, _FORMAT_NAMES)
    configuration = read.text_map(body, "configuration") or {}
    return Metadata(
        id=identity,
        schema_string=read.text(body, "schemaString") or "",
        partition_columns=read.texts(body, "partitionColumns") or (),
        configuration={key: text for key, text in configuration.items() if key != COORDINATOR_KEY},
        name=read.text(body, "name"),
        description=read.text(body, "description"),
        format_provider=read.text(format_body, "provider") or "parquet",
        format_options=read.text_map(format_body, "options") or {},
        created_time=read.integer(body, "createdTime"),
        coordinator=configuration.get(COORDINATOR_KEY),
    )


def _add(body: JsonObject) -> AddFile:
    _refuse_damaged(body, _ADD_NAMES)
    data_change = read.boolean(body, "dataChange")
    return AddFile(
        path=read.path(body),
        partition_values=read.partition_values(body) or StoredTexts(),
        size=read.needed_integer(body, "size"),
        modification_time=read.needed_integer(body, "modificationTime"),
        data_change=True if data_change is None else data_change,
        stats=read.text(body, "stats"),
        min_values=read.text_map(body, "minValues"),
        max_values=read.text_map(body, "maxValues"),
        num_records=read.integer(body, "numRecords"),
        footer_start_offset=read.integer(body, "footerStartOffset"),
        footer_end_offset=read.integer(body, "footerEndOffset"),
        has_footer_offsets=read.boolean(body, "hasFooterOffsets") or False,
        delete_opstamp=read.integer(body, "deleteOpstamp"),
        split_tags=read.texts(body, "splitTags"),
        num_merge_ops=read.integer(body, "numMergeOps", INT32),
        doc_mapping_json=read.text(body, "docMappingJson"),
        doc_mapping_ref=read.text(body, "docMappingRef"),
        uncompressed_size_bytes=read.integer(body, "uncompressedSizeBytes"),
        time_range_start=read.text(body, "timeRangeStart"),
        time_range_end=read.text(body, "timeRangeEnd"),
        companion_source_files=read.texts(body, "companionSourceFiles"),
        companion_delta_version=read.integer(body, "companionDeltaVersion"),
        companion_fast_field_mode=read.text(body, "companionFastFieldMode"),
        tags=read.text_map(body, "tags"),
        hotcache_start_offset=read.integer(body, "hotcacheStartOffset"),
        hotcache_length=read.integer(body, "hotcacheLength"),
    )


def _remove(body: JsonObject) -> RemoveFile:
    _refuse_damaged(body, _REMOVE_NAMES)
    data_change = read.boolean(body, "dataChange")
    return RemoveFile(
        path=read.path(body),
        deletion_timestamp=read.integer(body, "deletionTimestamp"),
        data_change=True if data_change is None else data_change,
        extended_file_metadata=read.boolean(body, "extendedFileMetadata"),
        partition_values=read.partition_values(body),
        size=read.integer(body, "size"),
        tags=read.text_map(body, "tags"),
    )


def _skip(body: JsonObject) -> SkipFile:
    _refuse_damaged(body, _SKIP_NAMES)
    count = read.integer(body, "skipCount", INT32)
    return SkipFile(
        path=read.path(body),
        skip_timestamp=read.needed_integer(body, "skipTimestamp"),
        reason=read.text(body, "reason") or "",
        operation=read.text(body, "operation") or "",
        partition_values=read.partition_values(body),
        size=read.integer(body, "size"),
        retry_after=read.integer(body, "retryAfter"),
        skip_count=1 if count is None else count,
    )


_READERS: dict[str, Callable[[JsonObject], Action]] = {
    "protocol": _protocol,
    "metaData": _metadata,
    "add": _add,
    "remove": _remove,
    "mergeskip": _skip,
    "commitInfo": lambda body: CommitInfo(body=read.as_plain(body)),
    "skip": _skip,
}
"""In the order in which the first known key of a line wins."""

_ACTION_KEYS = frozenset((*_READERS, "seal"))


# ---- writing


def _check_text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("a text")
    return value


def _check_flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError("True or False")
    return value


def _check_long(value: Any) -> int:
    if type(value) is not int or value not in INT64:
        raise TypeError("a whole number of at most 64 bits")
    return value


def _check_int(value: Any) -> int:
    if type(value) is not int or value not in INT32:
        raise TypeError("a whole number of at most 32 bits")
    return value


def _check_texts(value: Any) -> list[str]:
    if isinstance(value, str) or not all(isinstance(item, str) for item in value):
        raise TypeError("a sequence of texts")
    return list(value)


def _check_map(value: Any) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise TypeError("a mapping of texts to texts")
    for name, item in value.items():
        if not isinstance(name, str) or not isinstance(item, str):
            raise TypeError("a mapping of texts to texts")
    return value if type(value) is dict else dict(value)


def _check_partition(value: Any) -> dict[str, str]:
    if isinstance(value, Mapping) and None in value.values():
        return _check_map({name: NULL_PARTITION if item is None else item for name, item in value.items()})
    return _check_map(value)


_Written = tuple[tuple[str, str, Callable[[Any], Any], bool], ...]
"""Key of the format, our attribute, check, and whether readers need the key. The order is that of known writers."""

_ADD_FIELDS: _Written = (
    ("path", "path", _check_text, True),
    ("partitionValues", "partition_values", _check_partition, True),
    ("size", "size", _check_long, True),
    ("modificationTime", "modification_time", _check_long, True),
    ("dataChange", "data_change", _check_flag, True),
    ("stats", "stats", _check_text, False),
    ("tags", "tags", _check_map, False),
    ("minValues", "min_values", _check_map, False),
    ("maxValues", "max_values", _check_map, False),
    ("numRecords", "num_records", _check_long, False),
    ("footerStartOffset", "footer_start_offset", _check_long, False),
    ("footerEndOffset", "footer_end_offset", _check_long, False),
    ("hotcacheStartOffset", "hotcache_start_offset", _check_long, False),
    ("hotcacheLength", "hotcache_length", _check_long, False),
    ("hasFooterOffsets", "has_footer_offsets", _check_flag, True),
    ("timeRangeStart", "time_range_start", _check_text, False),
    ("timeRangeEnd", "time_range_end", _check_text, False),
    ("splitTags", "split_tags", _check_texts, False),
    ("deleteOpstamp", "delete_opstamp", _check_long, False),
    ("numMergeOps", "num_merge_ops", _check_int, False),
    ("docMappingJson", "doc_mapping_json", _check_text, False),
    ("docMappingRef", "doc_mapping_ref", _check_text, False),
    ("uncompressedSizeBytes", "uncompressed_size_bytes", _check_long, False),
    ("companionSourceFiles", "companion_source_files", _check_texts, False),
    ("companionDeltaVersion", "companion_delta_version", _check_long, False),
    ("companionFastFieldMode", "companion_fast_field_mode", _check_text, False),
)

_REMOVE_FIELDS: _Written = (
    ("path", "path", _check_text, True),
    ("deletionTimestamp", "deletion_timestamp", _check_long, False),
    ("dataChange", "data_change", _check_flag, True),
    ("extendedFileMetadata", "extended_file_metadata", _check_flag, False),
    ("partitionValues", "partition_values", _check_partition, False),
    ("size", "size", _check_long, False),
    ("tags", "tags", _check_map, False),
)

_SKIP_FIELDS: _Written = (
    ("path", "path", _check_text, True),
    ("skipTimestamp", "skip_timestamp", _check_long, True),
    ("reason", "reason", _check_text, True),
    ("operation", "operation", _check_text, True),
    ("partitionValues", "partition_values", _check_partition, False),
    ("size", "size", _check_long, False),
    ("retryAfter", "retry_after", _check_long, False),
    ("skipCount", "skip_count", _check_int, True),
)


_ADD_NAMES = frozenset(field[0] for field in _ADD_FIELDS)
_REMOVE_NAMES = frozenset(field[0] for field in _REMOVE_FIELDS)
_SKIP_NAMES = frozenset(field[0] for field in _SKIP_FIELDS)
_PROTOCOL_NAMES = frozenset(("minReaderVersion", "minWriterVersion", "readerFeatures", "writerFeatures"))
_METADATA_NAMES = frozenset(
    ("id", "name", "description", "format", "schemaString", "partitionColumns", "configuration", "createdTime")
)
_FORMAT_NAMES = frozenset(("provider", "options"))


def _written(action: AddFile | RemoveFile | SkipFile, path: str, fields: _Written) -> JsonObject:
    body: JsonObject = {}
    for key, attribute, check, needed in fields:
        value = getattr(action, attribute)
        if value is None and not needed:
            continue
        try:
            body[key] = check(value)
        except TypeError as error:
            raise _refused(key, value, f"file {path!r}", error) from error
    if path == "":
        raise InvalidInput("an action of a file needs a path; this one's is empty")
    return body


def _checked(key: str, value: Any, check: Callable[[Any], Any], owner: str) -> Any:
    try:
        return check(value)
    except TypeError as error:
        raise _refused(key, value, owner, error) from error


def _refused(key: str, value: Any, owner: str, needed: TypeError) -> InvalidInput:
    return InvalidInput(f"{key} of {owner[:200]} is {str(value)[:100]!r}; it must be {needed}")


def _written_protocol(protocol: Protocol) -> JsonObject:
    def features(key: str, value: tuple[str, ...] | None) -> list[str] | None:
        return None if value is None else _checked(key, value, _check_texts, "the protocol")

    return {
        "minReaderVersion": _checked("minReaderVersion", protocol.min_reader_version, _check_int, "the protocol"),
        "minWriterVersion": _checked("minWriterVersion", protocol.min_writer_version, _check_int, "the protocol"),
        "readerFeatures": features("readerFeatures", protocol.reader_features),
        "writerFeatures": features("writerFeatures", protocol.writer_features),
    }


def _written_metadata(metadata: Metadata) -> JsonObject:
    def optional(key: str, value: Any, check: Callable[[Any], Any]) -> Any:
        return None if value is None else _checked(key, value, check, "the metadata")

    def needed(key: str, value: Any, check: Callable[[Any], Any]) -> Any:
        return _checked(key, value, check, "the metadata")

    configuration = dict(needed("configuration", metadata.configuration, _check_map))
    configuration.pop(COORDINATOR_KEY, None)
    if metadata.coordinator is not None:
        configuration[COORDINATOR_KEY] = metadata.coordinator
    return {
        "id": needed("id", metadata.id, _check_text),
        "name": optional("name", metadata.name, _check_text),
        "description": optional("description", metadata.description, _check_text),
        "format": {
            "provider": needed("format.provider", metadata.format_provider, _check_text),
            "options": needed("format.options", metadata.format_options, _check_map),
        },
        "schemaString": needed("schemaString", metadata.schema_string, _check_text),
        "partitionColumns": needed("partitionColumns", metadata.partition_columns, _check_texts),
        "configuration": configuration,
        "createdTime": optional("createdTime", metadata.created_time, _check_long),
    }


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _encode(key: str, body: JsonObject) -> str:
    # The log's own actions have fixed shapes; only a commitInfo can have any depth.
    if key == "commitInfo" and read.is_too_deep({key: body}):
        raise InvalidInput(f"a commitInfo nested deeper than {MAX_JSON_DEPTH} levels can't be written; flatten it")
    try:
        text = _ENCODER.encode({key: body})
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"a {key} action can't be written as JSON: {error}") from error
    if not text.isascii():
        # JSON allows these three characters, but tools that split a text into lines take them for line ends.
        text = text.replace("\x85", "\\u0085").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
        try:
            size = len(text.encode("utf-8"))
        except UnicodeEncodeError as error:
            where = text[max(0, error.start - 40) : error.start]
            raise InvalidInput(
                f"a {key} action holds a lone surrogate after {where!r}; only valid Unicode can be stored"
            ) from error
    else:
        size = len(text)
    if size > MAX_LINE_BYTES:
        raise InvalidInput(f"a {key} action of {size} bytes is longer than {MAX_LINE_BYTES} (MAX_LINE_BYTES); split it")
    return text
