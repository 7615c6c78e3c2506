"""DESCRIBE STATE: a table in one value. `describe_log` makes the rows of its log."""

from collections.abc import Callable, Mapping, Sequence
from typing import assert_never

import pyarrow as pa
import pyarrow.compute as pc

from headgate_schemas.errors import HeadgateError
from headgate_table.errors import TableNotFound
from headgate_table.indextables.compaction.plan import compaction_due
from headgate_table.indextables.format.names import LOG, parse_checkpoint_part_name
from headgate_table.indextables.log.newest import NewestVersion
from headgate_table.indextables.log.reader import LoadedLog, LogReader
from headgate_table.indextables.log.resolve import Base, BaseKind
from headgate_table.indextables.read.entry_reader import read_entries
from headgate_table.indextables.rules.skips import skips
from headgate_table.interface.answers import NO_CHECKPOINT, OK, SkippedFile, TableDescription
from headgate_table.settings.options import TableOptions
from headgate_table.store.interface import Store
from headgate_table.totals import total_of

MAX_SKIPS_SHOWN = 100
"""Of the files that are left alone; all of them are counted."""


def describe(
    newest: NewestVersion, options_for: Callable[[Mapping[str, str]], TableOptions], now_ms: int | None = None
) -> TableDescription:
    """The newest version; with a time, also the skips that hold at that time.

    For an unreadable log, the result contains the error. Raises `TableNotFound`.
    """
    reader = newest.reader
    try:
        log = newest.current()
        return _described(reader, log, options_for(reader.metadata(log).configuration), now_ms)
    except TableNotFound:
        raise
    except HeadgateError as error:
        return TableDescription(
            table_path=reader.store.uri,
            format="error",
            version=-1,
            num_files=0,
            num_manifests=0,
            num_tombstones=0,
            tombstone_ratio=0.0,
            total_bytes=0,
            needs_compaction=False,
            status=f"ERROR: {error}",
            created_at=None,
            protocol_version=0,
        )


def _described(reader: LogReader, log: LoadedLog, options: TableOptions, now_ms: int | None) -> TableDescription:
    entries, _ = read_entries(reader.store, reader.resources, log, ("path", "size"))
    state = log.state
    skipped = () if now_ms is None else _skipped(reader, log, entries.column("path"), now_ms)
    listed = sum(info.num_entries for info in state.manifests) if state is not None else 0
    return TableDescription(
        table_path=reader.store.uri,
        format=_format(reader.store, log.plan.base),
        version=log.version,
        num_files=entries.num_rows,
        num_manifests=len(state.manifests) if state is not None else 0,
        num_tombstones=len(state.tombstones) if state is not None else 0,
        tombstone_ratio=len(state.tombstones) / listed if state is not None and listed else 0.0,
        total_bytes=total_of(entries.column("size")),
        needs_compaction=state is not None and compaction_due(state, options) is not None,
        status=NO_CHECKPOINT if log.plan.base.kind is BaseKind.NOTHING else OK,
        created_at=state.created_at if state is not None else None,
        protocol_version=log.protocol.min_reader_version,
        num_skipped=len(skipped),
        skipped=tuple(skipped[:MAX_SKIPS_SHOWN]),
    )


def _skipped(reader: LogReader, log: LoadedLog, live: pa.ChunkedArray, now_ms: int) -> Sequence[SkippedFile]:
    held = skips(reader, log, now_ms)
    if not held:
        return ()
    paths = live.filter(pc.is_in(live, value_set=pa.array(sorted(held), pa.string()))).to_pylist()
    return [
        SkippedFile(path, skip.reason, skip.skip_count, skip.skip_timestamp, skip.retry_after)
        for path, skip in ((path, held[path]) for path in sorted(paths))
    ]


def _format(store: Store, base: Base) -> str:
    match base.kind:
        case BaseKind.STATE:
            return "avro-state"
        case BaseKind.CHECKPOINT:
            parts = store.list(f"{LOG}/{base.version:020d}.checkpoint.")
            names = (info.key.rpartition("/")[2] for info in parts)
            return "json-multipart" if any(parse_checkpoint_part_name(name) is not None for name in names) else "json"
        case BaseKind.NOTHING:
            return "none"
        case _:
            assert_never(base.kind)
