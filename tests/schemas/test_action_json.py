"""Lines of the log: what is read although it is odd, what is refused, and that what we write suits every known reader."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate_schemas.actions.action_json import format_action, parse_action
from headgate_schemas.actions.actions import (
    NULL_PARTITION,
    Action,
    AddFile,
    CommitInfo,
    Metadata,
    Protocol,
    RemoveFile,
    SkipFile,
    UnknownAction,
)
from headgate_schemas.actions.tolerant_json import MAX_JSON_DEPTH, MAX_LINE_BYTES
from headgate_schemas.errors import InvalidInput, MalformedAction

# ---- a line of each kind as real writers write it


def test_the_protocol_line_of_a_new_table_reads_and_is_written_back_byte_for_byte() -> None:
    line = '{"protocol":{"minReaderVersion":4,"minWriterVersion":4,"readerFeatures":null,"writerFeatures":null}}'
    assert parse_action(line) == Protocol()
    assert format_action(Protocol()) == line


def test_the_metadata_line_of_a_new_table_reads_and_is_written_back_byte_for_byte() -> None:
    line = (
        '{"metaData":{"id":"e8d6","name":null,"description":null,"format":{"provider":"indextables","options":{}},'
        '"schemaString":"{\\"type\\":\\"struct\\",\\"fields\\":[]}","partitionColumns":["date"],"configuration":{},'
        '"createdTime":1775007203099}}'
    )
    action = parse_action(line)
    assert action == Metadata(
        id="e8d6",
        schema_string='{"type":"struct","fields":[]}',
        partition_columns=("date",),
        format_provider="indextables",
        created_time=1775007203099,
    )
    assert format_action(action) == line


def test_an_add_with_every_key_of_a_known_writer_reads_completely() -> None:
    line = json.dumps(
        {
            "add": {
                "path": "date=2024-01-01/a.split",
                "partitionValues": {"date": "2024-01-01"},
                "size": 10,
                "modificationTime": 11,
                "dataChange": False,
                "stats": None,
                "tags": {"k": "v"},
                "minValues": {"id": "1"},
                "maxValues": {"id": "2"},
                "numRecords": 3,
                "footerStartOffset": 4,
                "footerEndOffset": 5,
                "hotcacheStartOffset": 6,
                "hotcacheLength": 7,
                "hasFooterOffsets": True,
                "timeRangeStart": "8",
                "timeRangeEnd": 9,
                "splitTags": ["t"],
                "deleteOpstamp": 12,
                "numMergeOps": 1,
                "docMappingJson": None,
                "docMappingRef": "abc",
                "uncompressedSizeBytes": 4,
                "companionSourceFiles": ["x.parquet"],
                "companionDeltaVersion": 2,
                "companionFastFieldMode": "HYBRID",
            }
        }
    )
    assert parse_action(line) == AddFile(
        path="date=2024-01-01/a.split",
        partition_values={"date": "2024-01-01"},
        size=10,
        modification_time=11,
        data_change=False,
        tags={"k": "v"},
        min_values={"id": "1"},
        max_values={"id": "2"},
        num_records=3,
        footer_start_offset=4,
        footer_end_offset=5,
        hotcache_start_offset=6,
        hotcache_length=7,
        has_footer_offsets=True,
        time_range_start="8",
        time_range_end="9",
        split_tags=("t",),
        delete_opstamp=12,
        num_merge_ops=1,
        doc_mapping_ref="abc",
        uncompressed_size_bytes=4,
        companion_source_files=("x.parquet",),
        companion_delta_version=2,
        companion_fast_field_mode="HYBRID",
    )


def test_a_remove_of_a_known_writer_reads_completely() -> None:
    line = (
        '{"remove":{"path":"a","deletionTimestamp":5,"dataChange":true,"extendedFileMetadata":true,'
        '"partitionValues":{"d":null},"size":7,"tags":null}}'
    )
    assert parse_action(line) == RemoveFile(
        path="a",
        deletion_timestamp=5,
        extended_file_metadata=True,
        partition_values={"d": NULL_PARTITION},
        size=7,
    )


@pytest.mark.parametrize("key", ["mergeskip", "skip"])
def test_a_skip_is_read_under_both_of_its_names(key: str) -> None:
    line = json.dumps({key: {"path": "a", "skipTimestamp": 5, "reason": "merge_failed"}})
    assert parse_action(line) == SkipFile(path="a", skip_timestamp=5, reason="merge_failed", operation="")


def test_a_protocol_without_versions_is_the_first_one() -> None:
    assert parse_action('{"protocol":{}}') == Protocol(min_reader_version=1, min_writer_version=1)


# ---- envelopes


def test_the_first_known_key_in_the_formats_order_wins() -> None:
    line = '{"remove":{"path":"b"},"add":{"path":"a","size":1,"modificationTime":1}}'
    assert isinstance(parse_action(line), AddFile)


def test_a_known_key_that_is_null_counts_as_absent() -> None:
    assert parse_action('{"add":null,"remove":{"path":"b"}}') == RemoveFile(path="b")


def test_an_unknown_action_keeps_its_key() -> None:
    assert parse_action('{"txn":{"appId":"x","version":1}}') == UnknownAction(key="txn")


def test_an_empty_object_is_an_unknown_action() -> None:
    assert parse_action("{}") == UnknownAction(key="")


def test_a_commit_info_keeps_its_body_with_ordinary_numbers() -> None:
    action = parse_action('{"commitInfo":{"version":3,"share":0.5,"nested":[{"a":null}]}}')
    assert action == CommitInfo(body={"version": 3, "share": 0.5, "nested": [{"a": None}]})


def test_a_line_may_be_bytes_with_a_carriage_return() -> None:
    assert parse_action('{"remove":{"path":"é"}}\r'.encode()) == RemoveFile(path="é")


# ---- odd values that can only mean one thing


def _add(**changes: Any) -> AddFile:
    body = {"path": "a", "partitionValues": {}, "size": 1, "modificationTime": 2} | changes
    action = parse_action(json.dumps({"add": body}))
    assert isinstance(action, AddFile)
    return action


def test_unknown_fields_of_an_add_are_ignored() -> None:
    assert _add(shiny={"new": 1}) == _add()


def test_null_partition_values_are_none_at_all() -> None:
    assert _add(partitionValues=None).partition_values == {}


def test_a_null_partition_value_is_the_marker() -> None:
    assert _add(partitionValues={"d": None}).partition_values == {"d": NULL_PARTITION}


def test_a_null_in_another_map_is_dropped() -> None:
    assert _add(minValues={"a": None, "b": "1"}).min_values == {"b": "1"}


def test_numbers_in_maps_keep_the_text_they_were_written_with() -> None:
    line = (
        '{"add":{"path":"a","size":1,"modificationTime":2,"partitionValues":{"i":7,"f":1.50,"b":true},'
        '"minValues":{"e":1E+3}}}'
    )
    action = parse_action(line)
    assert isinstance(action, AddFile)
    assert action.partition_values == {"i": "7", "f": "1.50", "b": "true"}
    assert action.min_values == {"e": "1E+3"}


@pytest.mark.parametrize("written", ["1000", "1000.0", '"1000"', "1e3", "1.000e3"])
def test_an_exact_integer_is_accepted_in_every_spelling(written: str) -> None:
    action = parse_action('{"add":{"path":"a","modificationTime":2,"size":' + written + "}}")
    assert isinstance(action, AddFile)
    assert action.size == 1000


def test_a_negative_size_is_kept() -> None:
    assert _add(size=-1).size == -1


def test_statistics_given_as_an_object_are_kept_as_json_text() -> None:
    line = '{"add":{"path":"a","size":1,"modificationTime":2,"stats":{"numRecords": 5, "minValues": {"x": 1.50}}}}'
    action = parse_action(line)
    assert isinstance(action, AddFile)
    assert action.stats == '{"numRecords":5,"minValues":{"x":1.50}}'


def test_the_last_of_duplicate_keys_wins() -> None:
    action = parse_action('{"add":{"path":"a","path":"b","size":1,"size":2,"modificationTime":1}}')
    assert isinstance(action, AddFile)
    assert (action.path, action.size) == ("b", 2)


@pytest.mark.parametrize("changes", [{}, {"dataChange": None}])
def test_data_change_is_true_unless_said_otherwise(changes: dict[str, Any]) -> None:
    assert _add(**changes).data_change is True


# ---- what is refused


@pytest.mark.parametrize("field", ["path", "size", "modificationTime"])
@pytest.mark.parametrize("how", ["absent", "null"])
def test_an_add_without_a_needed_field_names_it(field: str, how: str) -> None:
    body: dict[str, Any] = {"path": "a", "partitionValues": {}, "size": 1, "modificationTime": 2}
    if how == "absent":
        del body[field]
    else:
        body[field] = None
    with pytest.raises(MalformedAction, match=f"field {field} is missing"):
        parse_action(json.dumps({"add": body}))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('[{"add":{}}]', "an array at character 0"),
        ('"add"', "at character 0"),
        ('{"add":{"path":"a"', "at character 18"),
        ("hello", "at character 0"),
        ('{"remove":{"path":"a"}} trailing', "at character 24"),
        ("", "at character 0"),
        ('\ufeff{"remove":{"path":"a"}}', "byte order mark"),
        ('{"add":[]}', "field add holds an array where an object"),
        ('{"remove":{"path":7}}', "field path holds 7"),
        ('{"add":{"path":"a","size":1.5,"modificationTime":1}}', "field size holds 1.5"),
        ('{"add":{"path":"a","size":1e99,"modificationTime":1}}', "field size holds 1e99"),
        ('{"add":{"path":"a","size":1e999999999,"modificationTime":1}}', "field size holds 1e999999999"),
        ('{"add":{"path":"a","size":9223372036854775808,"modificationTime":1}}', "field size holds 92233"),
        ('{"add":{"path":"a","size":true,"modificationTime":1}}', "field size holds true"),
        ('{"add":{"path":"a","size":NaN,"modificationTime":1}}', "NaN is not JSON"),
        ('{"add":{"path":"a","size":1,"modificationTime":1,"numMergeOps":3000000000}}', "field numMergeOps"),
        ('{"add":{"path":"a","size":1,"modificationTime":1,"partitionValues":[]}}', "field partitionValues"),
        ('{"add":{"path":"a","size":1,"modificationTime":1,"splitTags":"x"}}', "field splitTags"),
        ('{"add":{"path":"a","size":1,"modificationTime":1,"dataChange":"maybe"}}', "field dataChange"),
        ('{"add":{"path":"a","modificationTime":1,"size":' + "1" * 5000 + "}}", "too long"),
        ('{"metaData":{"schemaString":""}}', "field id is missing"),
        ('{"mergeskip":{"path":"a"}}', "field skipTimestamp is missing"),
    ],
)
def test_a_line_that_cant_be_understood_says_what_and_where(line: str, said: str) -> None:
    with pytest.raises(MalformedAction, match=re.escape(said)):
        parse_action(line)


def test_bytes_that_are_not_utf8_name_the_first_bad_byte() -> None:
    with pytest.raises(MalformedAction, match="not UTF-8 at byte 4"):
        parse_action(b'{"ad\xff":{}}')


@pytest.mark.parametrize("depth", [MAX_JSON_DEPTH + 1, 900, 200_000])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_a_line_nested_too_deeply_is_refused(depth: int, opening: str, closing: str) -> None:
    value = opening * (depth - 2) + "1" + closing * (depth - 2)
    with pytest.raises(MalformedAction, match="nested deeper than 100"):
        parse_action('{"commitInfo":{"x":' + value + "}}")


def test_a_line_nested_as_deeply_as_allowed_is_read() -> None:
    inner = MAX_JSON_DEPTH - 2
    action = parse_action('{"commitInfo":{"x":' + "[" * inner + "]" * inner + "}}")
    assert isinstance(action, CommitInfo)


def test_many_brackets_side_by_side_are_not_depth() -> None:
    assert isinstance(parse_action('{"commitInfo":{"x":[' + "[]," * 500 + "[]]}}"), CommitInfo)


def test_a_line_longer_than_the_bound_is_refused_by_name() -> None:
    with pytest.raises(MalformedAction, match="MAX_LINE_BYTES"):
        parse_action(" " * (MAX_LINE_BYTES + 1))


@given(st.binary(max_size=200))
def test_arbitrary_bytes_give_an_action_or_a_malformed_action(line: bytes) -> None:
    try:
        action = parse_action(line)
    except MalformedAction:
        return
    assert isinstance(action, Action)


_words = st.text("ab1é", max_size=3)
_json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_words, inner, max_size=3),
    max_leaves=6,
)


@given(
    st.sampled_from(["protocol", "metaData", "add", "remove", "mergeskip", "commitInfo", "skip"]),
    st.dictionaries(
        st.sampled_from(
            ["path", "size", "id", "modificationTime", "partitionValues", "splitTags", "skipTimestamp", "format"]
        ),
        _json_values,
    ),
)
def test_any_body_gives_an_action_or_a_malformed_action(key: str, body: dict[str, Any]) -> None:
    try:
        action = parse_action(json.dumps({key: body}))
    except MalformedAction:
        return
    assert isinstance(action, Action)


# ---- writing: the two strict readers that we know, as far as they are strict

_LONG, _INT, _TEXT, _FLAG, _MAP, _TEXTS = "long", "int", "text", "flag", "map", "texts"
_KNOWN: dict[str, dict[str, str]] = {
    "protocol": {"minReaderVersion": _INT, "minWriterVersion": _INT, "readerFeatures": _TEXTS, "writerFeatures": _TEXTS},
    "metaData": {
        "id": _TEXT, "name": _TEXT, "description": _TEXT, "format": "format", "schemaString": _TEXT,
        "partitionColumns": _TEXTS, "configuration": _MAP, "createdTime": _LONG,
    },
    "add": {
        "path": _TEXT, "partitionValues": _MAP, "size": _LONG, "modificationTime": _LONG, "dataChange": _FLAG,
        "stats": _TEXT, "tags": _MAP, "minValues": _MAP, "maxValues": _MAP, "numRecords": _LONG,
        "footerStartOffset": _LONG, "footerEndOffset": _LONG, "hotcacheStartOffset": _LONG, "hotcacheLength": _LONG,
        "hasFooterOffsets": _FLAG, "timeRangeStart": _TEXT, "timeRangeEnd": _TEXT, "splitTags": _TEXTS,
        "deleteOpstamp": _LONG, "numMergeOps": _INT, "docMappingJson": _TEXT, "docMappingRef": _TEXT,
        "uncompressedSizeBytes": _LONG, "companionSourceFiles": _TEXTS, "companionDeltaVersion": _LONG,
        "companionFastFieldMode": _TEXT,
    },
    "remove": {
        "path": _TEXT, "deletionTimestamp": _LONG, "dataChange": _FLAG, "extendedFileMetadata": _FLAG,
        "partitionValues": _MAP, "size": _LONG, "tags": _MAP,
    },
    "mergeskip": {
        "path": _TEXT, "skipTimestamp": _LONG, "reason": _TEXT, "operation": _TEXT, "partitionValues": _MAP,
        "size": _LONG, "retryAfter": _LONG, "skipCount": _INT,
    },
}  # fmt: skip
_NEEDED = {
    "protocol": {"minReaderVersion", "minWriterVersion"},
    "metaData": {"id", "schemaString", "partitionColumns", "format", "configuration"},
    "add": {"path", "partitionValues", "size", "modificationTime", "dataChange"},
    "remove": {"path", "dataChange"},
    "mergeskip": {"path", "skipTimestamp", "reason", "operation"},
}
_MAY_BE_NULL = {
    ("protocol", "readerFeatures"),
    ("protocol", "writerFeatures"),
    ("metaData", "name"),
    ("metaData", "description"),
    ("metaData", "createdTime"),
}


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    assert len({key for key, _ in pairs}) == len(pairs), "a strict reader refuses duplicate keys"
    return dict(pairs)


def _strictly_read(line: str) -> tuple[str, dict[str, Any]]:
    """What both strict readers demand together: known keys only, exact types, string-only maps, one line of UTF-8."""
    assert line.encode("utf-8").decode("utf-8").splitlines() == [line]
    envelope = json.loads(line, object_pairs_hook=_no_duplicates)
    ((key, body),) = envelope.items()
    if key == "commitInfo":
        assert isinstance(body, dict)
        return key, body
    known = _KNOWN[key]
    assert list(body) == [name for name in known if name in body], "the order of the known writer"
    assert _NEEDED[key] <= set(body)
    for name, value in body.items():
        _strictly_typed(key, name, known[name], value)
    return key, body


def _strictly_typed(key: str, name: str, kind: str, value: Any) -> None:
    if value is None:
        assert (key, name) in _MAY_BE_NULL
    elif kind == _LONG:
        assert type(value) is int
        assert -(2**63) <= value < 2**63
    elif kind == _INT:
        assert type(value) is int
        assert -(2**31) <= value < 2**31
    elif kind == _TEXT:
        assert type(value) is str
    elif kind == _FLAG:
        assert type(value) is bool
    elif kind == _TEXTS:
        assert all(type(item) is str for item in value)
    elif kind == _MAP:
        assert all(type(item) is str for item in value.values())
    else:
        assert list(value) == ["provider", "options"]
        assert all(type(item) is str for item in value["options"].values())


_texts = st.text(st.characters(codec="utf-8"), max_size=12)
_paths = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
_longs = st.integers(-(2**63), 2**63 - 1)
_ints = st.integers(-(2**31), 2**31 - 1)
_maps = st.dictionaries(_texts, _texts, max_size=3)
_lists = st.lists(_texts, max_size=3).map(tuple)


def _maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


_adds = st.builds(
    AddFile,
    path=_paths,
    partition_values=_maps,
    size=_longs,
    modification_time=_longs,
    data_change=st.booleans(),
    stats=_maybe(_texts),
    min_values=_maybe(_maps),
    max_values=_maybe(_maps),
    num_records=_maybe(_longs),
    footer_start_offset=_maybe(_longs),
    footer_end_offset=_maybe(_longs),
    has_footer_offsets=st.booleans(),
    delete_opstamp=_maybe(_longs),
    split_tags=_maybe(_lists),
    num_merge_ops=_maybe(_ints),
    doc_mapping_json=_maybe(_texts),
    doc_mapping_ref=_maybe(_texts),
    uncompressed_size_bytes=_maybe(_longs),
    time_range_start=_maybe(_texts),
    time_range_end=_maybe(_texts),
    companion_source_files=_maybe(_lists),
    companion_delta_version=_maybe(_longs),
    companion_fast_field_mode=_maybe(_texts),
    tags=_maybe(_maps),
    hotcache_start_offset=_maybe(_longs),
    hotcache_length=_maybe(_longs),
)
_removes = st.builds(
    RemoveFile,
    path=_paths,
    deletion_timestamp=_maybe(_longs),
    data_change=st.booleans(),
    extended_file_metadata=_maybe(st.booleans()),
    partition_values=_maybe(_maps),
    size=_maybe(_longs),
    tags=_maybe(_maps),
)
_skips = st.builds(
    SkipFile,
    path=_paths,
    skip_timestamp=_longs,
    reason=_texts,
    operation=_texts,
    partition_values=_maybe(_maps),
    size=_maybe(_longs),
    retry_after=_maybe(_longs),
    skip_count=_ints,
)
_protocols = st.builds(
    Protocol,
    min_reader_version=_ints,
    min_writer_version=_ints,
    reader_features=_maybe(_lists),
    writer_features=_maybe(_lists),
)
_metadatas = st.builds(
    Metadata,
    id=_texts,
    schema_string=_texts,
    partition_columns=_lists,
    configuration=_maps,
    name=_maybe(_texts),
    description=_maybe(_texts),
    format_provider=_paths,
    format_options=_maps,
    created_time=_maybe(_longs),
)
_bodies = st.recursive(
    st.none() | st.booleans() | _longs | st.floats(allow_nan=False, allow_infinity=False) | _texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_texts, inner, max_size=3),
    max_leaves=6,
)
_commit_infos = st.builds(CommitInfo, body=st.dictionaries(_texts, _bodies, max_size=4))
_actions = st.one_of(_adds, _removes, _skips, _protocols, _metadatas, _commit_infos)


@given(_actions)
def test_every_action_is_read_back_as_it_was_written(action: Action) -> None:
    assert parse_action(format_action(action)) == action


@given(_actions)
def test_everything_that_is_written_suits_the_strictest_known_readers(action: Action) -> None:
    key, _ = _strictly_read(format_action(action))
    assert key in {*_KNOWN, "commitInfo"}


def test_a_minimal_add_leaves_out_what_it_doesnt_have() -> None:
    line = format_action(AddFile("a", {}, 1, 2))
    assert line == (
        '{"add":{"path":"a","partitionValues":{},"size":1,"modificationTime":2,"dataChange":true,'
        '"hasFooterOffsets":false}}'
    )


def test_a_null_partition_value_is_written_as_the_marker() -> None:
    add = AddFile("a", {"d": None}, 1, 2)  # type: ignore[dict-item]  # what an untyped caller may hand over
    assert json.loads(format_action(add))["add"]["partitionValues"] == {"d": NULL_PARTITION}


def test_line_separators_of_unicode_are_escaped() -> None:
    line = format_action(RemoveFile(path="a\u2028b\u2029c\x85d\ne"))
    assert line.splitlines() == [line]


@pytest.mark.parametrize(
    ("action", "said"),
    [
        (AddFile("a", {"d": 5}, 1, 2), "partitionValues of file 'a'"),  # type: ignore[dict-item]  # wrong on purpose
        (AddFile("a", {}, 1.0, 2), "size of file 'a'"),  # type: ignore[arg-type]  # wrong on purpose
        (AddFile("a", {}, 2**63, 2), "size of file 'a'"),
        (AddFile("a", {}, 1, 2, split_tags="ab"), "splitTags of file 'a'"),  # type: ignore[arg-type]  # wrong on purpose
        (AddFile("", {}, 1, 2), "needs a path"),
        (RemoveFile("\ud800"), "lone surrogate"),
        (UnknownAction("txn"), "unknown kind 'txn'"),
        (CommitInfo({"x": float("nan")}), "commitInfo"),
        (CommitInfo({"x": object()}), "commitInfo"),
        (Metadata(id="x", schema_string="", configuration={"a": 1}), "configuration of the metadata"),  # type: ignore[dict-item]  # wrong on purpose
    ],
)
def test_an_action_that_a_strict_reader_would_refuse_is_not_written(action: Action, said: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(said)):
        format_action(action)


def test_a_commit_info_that_could_not_be_read_back_is_not_written() -> None:
    body: Any = []
    for _ in range(5000):
        body = [body]
    with pytest.raises(InvalidInput, match="nested deeper"):
        format_action(CommitInfo({"x": body}))
