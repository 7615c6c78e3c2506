"""REPAIR: a new log from whatever an old one still says, with the files that still exist. The old log is only read.

What can be made out of a damaged log is `salvage`'s.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from headgate_schemas.actions import Action, AddFile, Metadata, Protocol
from headgate_schemas.ambient import Ambient, SystemAmbient
from headgate_schemas.doc_mapping import registry_key
from headgate_schemas.errors import InvalidInput
from headgate_schemas.logs import get_logger
from headgate_table.errors import CorruptTable, OutcomeUnknown, TableExists
from headgate_table.indextables.log_reader import LogReader
from headgate_table.indextables.named_files import file_keys
from headgate_table.indextables.names import LOG, version_key
from headgate_table.indextables.options import table_options
from headgate_table.indextables.resources import ReadResources, process_resources
from headgate_table.indextables.salvage import Salvaged, salvage
from headgate_table.indextables.statistics import truncate_statistics
from headgate_table.indextables.version_file import encode_actions
from headgate_table.store.interface import AlreadyExists, Created, Store, Unknown
from headgate_table.store.open import StoreSettings, open_store

ADDS_PER_VERSION = 100_000
"""A table with more files gets more versions than one, so that none is too large to be read."""
_SHOWN_MISSING = 100
_ATTEMPTS = 5

_log = get_logger("headgate.repair")


@dataclass(frozen=True, slots=True)
class RepairResult:
    """`status` is SUCCESS, or PARTIAL_SUCCESS when something was lost. `damage` names all that could not be read."""

    source_path: str
    target_path: str
    source_version: int
    total_splits: int
    valid_splits: int
    missing_splits: int
    status: str
    damage: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    """The first of the files that the log lists but the store no longer has."""


def repair_log(
    source_log: str,
    target_log: str,
    storage: Mapping[str, str] | StoreSettings | None = None,
    *,
    metadata: Metadata | None = None,
    ambient: Ambient | None = None,
    resources: ReadResources | None = None,
) -> RepairResult:
    """Write at `target_log` a log of the newest files of `source_log` that can be made out and still exist.

    Paths in the new log are those of the old one, relative to the table: a log becomes a table where it lies beside the
    files, as `<table>/_transaction_log`. `metadata` is used when the source has none left.

    Raises `TableNotFound` where there is no source, `TableExists` for a target that is not empty, `CorruptTable` when the
    metadata is nowhere readable. The target is no table until its last file, version 0, is written.
    """
    chosen = ambient or SystemAmbient()
    settings = storage if isinstance(storage, StoreSettings) else StoreSettings.from_mapping(dict(storage or {}))
    root, name = _split(source_log)
    if name != LOG:
        raise InvalidInput(f"{source_log!r} is no table's log: give the path of a folder called {LOG}")
    source = open_store(root, settings, chosen)
    target = open_store(target_log.rstrip("/"), settings, chosen)
    if source_log.rstrip("/") == target_log.rstrip("/"):
        raise InvalidInput("the source and the target of a repair are the same; the source is kept as it is")
    return repair_into(LogReader(source, resources or process_resources()), source, target, metadata)


def repair_into(reader: LogReader, source: Store, target: Store, metadata: Metadata | None = None) -> RepairResult:
    """The same, from the log of an open table to a store whose root is the new log."""
    occupied = next(iter(target.list()), None)
    if occupied is not None:
        raise TableExists(f"{target.uri} is not empty: it holds {occupied.key}. Repair into an empty folder")
    found = salvage(reader)
    known = found.metadata or metadata
    if known is None:
        raise CorruptTable(
            f"nothing readable in {source.uri}/{LOG} says which columns the table has: every state, checkpoint and version "
            f"file with metadata is damaged or gone. Give the metadata (schema and partition columns) to the repair"
        )
    present, missing = _sorted_by_existence(source, [added.add for added in found.files])
    _write(target, _complete(known, found), present)
    result = RepairResult(
        source_path=f"{source.uri}/{LOG}",
        target_path=target.uri,
        source_version=found.version,
        total_splits=len(found.files),
        valid_splits=len(present),
        missing_splits=len(missing),
        status="SUCCESS" if found.is_complete else "PARTIAL_SUCCESS",
        damage=found.damage,
        missing=tuple(add.path for add in missing[:_SHOWN_MISSING]),
    )
    _log.info(
        "log_repaired",
        table=source.uri,
        target=target.uri,
        version=found.version,
        files=result.valid_splits,
        missing=result.missing_splits,
        damage=len(found.damage),
    )
    return result


def _sorted_by_existence(store: Store, adds: list[AddFile]) -> tuple[list[AddFile], list[AddFile]]:
    """The files that exist and those that don't, by one listing of the table."""
    wanted = {key for add in adds for key in file_keys(add.path, store.uri)}
    there = {info.key for info in store.list() if info.key in wanted}
    present: list[AddFile] = []
    missing: list[AddFile] = []
    for add in adds:
        keys = file_keys(add.path, store.uri)
        # A file outside of the table can't be looked for; it is believed.
        (present if not keys or keys & there else missing).append(add)
    return present, missing


def _complete(metadata: Metadata, found: Salvaged) -> Metadata:
    """The metadata with every document mapping that a file may refer to, as a version file holds it."""
    mappings = {registry_key(hash_): text for hash_, text in found.registry.items()}
    return replace(metadata, configuration={**metadata.configuration, **mappings}, coordinator=None)


def _write(target: Store, metadata: Metadata, adds: list[AddFile]) -> None:
    """Version 0 last: until then nothing at the target looks like a table, least of all like an empty one."""
    options = table_options(metadata.configuration)
    short = [
        replace(
            truncate_statistics(
                add, metadata.partition_columns, max_length=options.stats_max_length, enabled=options.stats_truncation
            ),
            data_change=True,
        )
        for add in adds
    ]
    chunks = [short[start : start + ADDS_PER_VERSION] for start in range(0, len(short), ADDS_PER_VERSION)]
    for version, chunk in reversed(list(enumerate(chunks or [[]], start=1))):
        _create(target, version, chunk)
    _create(target, 0, [Protocol(), metadata])


def _create(target: Store, version: int, actions: Sequence[Action]) -> None:
    key = version_key(version).removeprefix(f"{LOG}/")
    data = encode_actions(actions, compressed=False)
    reason = ""
    for _ in range(_ATTEMPTS):
        match target.create(key, data):
            case Created():
                return
            case AlreadyExists():
                if target.get(key) == data:
                    return  # ours, of an attempt whose answer was lost
                raise TableExists(f"another program has just written {target.uri}/{key}; repair into an empty folder")
            case Unknown(reason):
                continue
    raise OutcomeUnknown(
        f"the store never said whether {target.uri}/{key} was written ({reason}); empty the folder and try again"
    )


def _split(log: str) -> tuple[str, str]:
    root, _, name = log.rstrip("/").rpartition("/")
    return root or ("." if not log.startswith("/") else "/"), name
