"""What a table looks like from outside, in one value: DESCRIBE STATE. The rows of its log are `describe_log`'s subject."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, assert_never

import pyarrow.compute as pc

from headgate_schemas.errors import HeadgateError
from headgate_table.errors import TableNotFound
from headgate_table.indextables.compaction import compaction_due
from headgate_table.indextables.entry_reader import read_entries
from headgate_table.indextables.log_reader import LoadedLog, LogReader
from headgate_table.indextables.names import LOG, parse_checkpoint_part_name
from headgate_table.indextables.options import TableOptions
from headgate_table.indextables.resolve import Base, BaseKind
from headgate_table.store.interface import Store

OK = "OK"
NO_CHECKPOINT = "No checkpoint found"


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

    def __getitem__(self, key: str) -> Any:
        if key not in _NAMES:
            raise KeyError(key)
        return getattr(self, key)

    def __iter__(self) -> Iterator[str]:
        return iter(_NAMES)

    def __len__(self) -> int:
        return len(_NAMES)


_NAMES = tuple(field.name for field in fields(TableDescription))


def describe(reader: LogReader, options_for: Callable[[Mapping[str, str]], TableOptions]) -> TableDescription:
    """The newest version. A log that can't be read is described, too, by its error. Raises `TableNotFound`."""
    try:
        log = reader.latest()
        return _described(reader, log, options_for(reader.metadata(log).configuration))
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


def _described(reader: LogReader, log: LoadedLog, options: TableOptions) -> TableDescription:
    entries, _ = read_entries(reader.store, reader.resources, log, ("path", "size"))
    state = log.state
    listed = sum(info.num_entries for info in state.manifests) if state is not None else 0
    return TableDescription(
        table_path=reader.store.uri,
        format=_format(reader.store, log.plan.base),
        version=log.version,
        num_files=entries.num_rows,
        num_manifests=len(state.manifests) if state is not None else 0,
        num_tombstones=len(state.tombstones) if state is not None else 0,
        tombstone_ratio=len(state.tombstones) / listed if state is not None and listed else 0.0,
        total_bytes=pc.sum(entries.column("size")).as_py() or 0,
        needs_compaction=state is not None and compaction_due(state, options) is not None,
        status=NO_CHECKPOINT if log.plan.base.kind is BaseKind.NOTHING else OK,
        created_at=state.created_at if state is not None else None,
        protocol_version=log.protocol.min_reader_version,
    )


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
