"""Operations as anybody may propose them: each field any value that its message takes, or one of those that are given."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from headgate_schemas.actions.actions import NULL_PARTITION, AddFile, SkipFile
from headgate_schemas.messages.operations import (
    Alter,
    Append,
    CompactState,
    Create,
    Delete,
    Milvus,
    NewManifest,
    Operation,
    Overwrite,
    Purge,
    Restore,
    Rewrite,
    Skip,
)
from headgate_schemas.milvus import ColumnGroup, ColumnGroupFile, DeltaLog, Resolver, Stat, Updates

_LONGS = st.integers(-(2**63), 2**63 - 1)
_INTS = st.integers(-(2**31), 2**31 - 1)
_TEXTS = st.text(max_size=20)
_NAMES = st.text(min_size=1, max_size=20)
_COUNTS = st.integers(0, 2**63 - 1)
_MAPS = st.dictionaries(_TEXTS, _TEXTS, max_size=3)


@dataclass(frozen=True, slots=True)
class Values:
    """What the fields that a table is asked about are drawn from."""

    paths: st.SearchStrategy[str] = _NAMES
    """Also of manifests."""
    wheres: st.SearchStrategy[str] = _NAMES
    schemas: st.SearchStrategy[str] = _TEXTS
    columns: st.SearchStrategy[str] = _TEXTS
    """Of partitions."""
    counts: st.SearchStrategy[int] = _COUNTS
    """Also of versions."""


def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


def operations(values: Values | None = None) -> Mapping[type[Operation], st.SearchStrategy[Operation]]:
    """By their kind."""
    given = values or Values()
    paths = st.lists(given.paths, max_size=3).map(tuple)
    files = st.lists(_files(given), max_size=3).map(tuple)
    return {
        Create: st.builds(
            Create,
            schema_string=given.schemas,
            partition_columns=st.lists(given.columns, max_size=2).map(tuple),
            configuration=_MAPS,
            name=maybe(_TEXTS),
            description=maybe(_TEXTS),
            table_id=maybe(st.from_regex(r"[!-~]{1,20}", fullmatch=True)),
        ),
        Append: st.builds(Append, files),
        Overwrite: st.builds(Overwrite, files, maybe(given.wheres)),
        Delete: st.builds(Delete, paths, maybe(given.wheres)),
        Restore: st.builds(Restore, given.counts),
        Rewrite: st.builds(Rewrite, paths, files),
        Skip: st.builds(Skip, st.lists(_skips(given), max_size=3).map(tuple)),
        Alter: st.builds(
            Alter,
            based_on=given.counts,
            configuration=st.dictionaries(_TEXTS, maybe(_TEXTS), max_size=3),
            description=maybe(_TEXTS),
            name=maybe(_TEXTS),
            schema_string=maybe(given.schemas),
        ),
        Purge: st.builds(Purge, paths),
        CompactState: st.builds(
            CompactState,
            base=given.counts,
            removes=paths,
            adds=st.lists(_manifests(given), max_size=2).map(tuple),
            tombstones=paths,
            mappings=_MAPS,
        ),
        Milvus: st.builds(
            Milvus, updates=_updates(given), resolver=st.sampled_from(Resolver), read_version=given.counts
        ),
    }


def _files(given: Values) -> st.SearchStrategy[AddFile]:
    return st.builds(
        AddFile,
        path=given.paths,
        partition_values=st.dictionaries(given.columns, _TEXTS | st.just(NULL_PARTITION), max_size=3),
        size=given.counts,
        modification_time=_LONGS,
        data_change=st.booleans(),
        stats=maybe(_TEXTS),
        min_values=maybe(_MAPS),
        max_values=maybe(_MAPS),
        num_records=maybe(given.counts),
        footer_start_offset=maybe(_LONGS),
        footer_end_offset=maybe(_LONGS),
        has_footer_offsets=st.booleans(),
        delete_opstamp=maybe(_LONGS),
        split_tags=maybe(st.lists(_TEXTS, max_size=2).map(tuple)),
        num_merge_ops=maybe(_INTS),
        doc_mapping_json=maybe(_TEXTS),
        doc_mapping_ref=maybe(_TEXTS),
        uncompressed_size_bytes=maybe(_LONGS),
        time_range_start=maybe(_TEXTS),
        time_range_end=maybe(_TEXTS),
        companion_source_files=maybe(st.lists(_TEXTS, max_size=2).map(tuple)),
        companion_delta_version=maybe(_LONGS),
        companion_fast_field_mode=maybe(_TEXTS),
        tags=maybe(_MAPS),
        hotcache_start_offset=maybe(_LONGS),
        hotcache_length=maybe(_LONGS),
    )


def _skips(given: Values) -> st.SearchStrategy[SkipFile]:
    return st.builds(
        SkipFile,
        path=given.paths,
        skip_timestamp=_LONGS,
        reason=_TEXTS,
        operation=_TEXTS,
        partition_values=maybe(_MAPS),
        size=maybe(_LONGS),
        retry_after=maybe(_LONGS),
        skip_count=_INTS,
    )


def _manifests(given: Values) -> st.SearchStrategy[NewManifest]:
    return st.builds(
        NewManifest,
        path=given.paths,
        num_entries=given.counts,
        min_added_at_version=given.counts,
        max_added_at_version=given.counts,
        total_bytes=given.counts,
        partition_bounds=maybe(st.dictionaries(_TEXTS, st.tuples(maybe(_TEXTS), maybe(_TEXTS)), max_size=2)),
    )


def _updates(given: Values) -> st.SearchStrategy[Updates]:
    group_files = st.builds(
        ColumnGroupFile,
        path=given.paths,
        start_index=_LONGS,
        end_index=_LONGS,
        metadata=st.binary(max_size=8),
        properties=_MAPS,
    )
    groups = st.lists(
        st.builds(
            ColumnGroup,
            columns=st.lists(_TEXTS, min_size=1, max_size=2).map(tuple),
            files=st.lists(group_files, max_size=2).map(tuple),
            format=_TEXTS,
        ),
        min_size=1,
        max_size=2,
    ).map(tuple)
    return st.builds(
        Updates,
        added_column_groups=groups,
        appended_files=st.lists(groups, max_size=2).map(tuple),
        added_delta_logs=st.lists(
            st.builds(DeltaLog, path=given.paths, num_entries=_LONGS, type=_INTS), max_size=2
        ).map(tuple),
        added_stats=st.dictionaries(
            _TEXTS, st.builds(Stat, paths=st.lists(given.paths, max_size=3).map(tuple), metadata=_MAPS), max_size=2
        ),
    )
