"""What a table looks like from outside, in one value: DESCRIBE STATE. The rows of its log are `describe_log`'s subject."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, assert_never

import pyarrow as pa
import pyarrow.compute as pc

from headgate_schemas.errors import HeadgateError
from headgate_table.errors import TableNotFound
from headgate_table.indextables.compaction.plan import compaction_due
from headgate_table.indextables.format.names import LOG, parse_checkpoint_part_name
from headgate_table.indextables.log.reader import LoadedLog, LogReader
from headgate_table.indextables.log.resolve import Base, BaseKind
from headgate_table.indextables.read.entry_reader import read_entries
from headgate_table.indextables.rules.skips import skips
from headgate_table.settings.options import TableOptions
from headgate_table.store.interface import Store
from headgate_table.totals import total_of

OK = "OK"
NO_CHECKPOINT = "No checkpoint found"
MAX_SKIPS_SHOWN = 100
"""Of the files that are left alone; all of them are counted."""


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """A live file that merges leave alone for now."""

    path: str
    reason: str
    skip_count: int
    skip_timestamp: int
    retry_after: int | None
    """When it is tried again, in epoch milliseconds; None where the skip doesn't say."""


@dataclass(frozen=True, slots=True)
class TableDescription(Mapping[str, Any]):
    """One version of a table in numbers; a mapping of its own fields, in this order.

    Files and bytes are counted, not taken from the state, whose writer may have estimated them.
    """

    table_path: str
    format: str
    """What the version is read from: avro-state, json, json-multipart, none (version files alone), or error."""
    version: int
    num_files: int
    num_manifests: int
    num_tombstones: int
    tombstone_ratio: float
    total_bytes: int
    needs_compaction: bool
    status: str
    created_at: int | None
    """When the state was written, in epoch milliseconds."""
    protocol_version: int
    num_skipped: int = 0
    """Live files that merges leave alone for now, because they could not be read."""
    skipped: tuple[SkippedFile, ...] = ()
    """The first of them, by path."""
    mirror_version: int | None = None
    """The newest version of the Delta mirror; None of a table whose settings name none."""
    mirror_problem: str = ""
    """Why the mirror can't go on; empty while it can."""

    def __getitem__(self, key: str) -> Any:
        if key not in _NAMES:
            raise KeyError(key)
        return getattr(self, key)

    def __iter__(self) -> Iterator[str]:
        return iter(_NAMES)

    def __len__(self) -> int:
        return len(_NAMES)


_NAMES = tuple(field.name for field in fields(TableDescription))


def describe(
    reader: LogReader, options_for: Callable[[Mapping[str, str]], TableOptions], now_ms: int | None = None
) -> TableDescription:
    """The newest version, and with the time the skips that hold at it.

    A log that can't be read is described, too, by its error. Raises `TableNotFound`.
    """
    try:
        log = reader.latest()
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
