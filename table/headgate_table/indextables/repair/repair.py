"""REPAIR: makes a new log from the readable rest of an old one, with the files that still exist. It only reads the old
log.

`salvage` reads a damaged log; if nothing of it is left, see `rebuild`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from headgate_schemas import arguments
from headgate_schemas.actions.actions import AddFile, Metadata
from headgate_schemas.actions.doc_mapping import registry_key
from headgate_schemas.ambient import Ambient, SystemAmbient
from headgate_schemas.arguments import checked
from headgate_schemas.errors import InvalidInput
from headgate_schemas.logs import get_logger
from headgate_table.caching.resources import ReadResources, process_resources
from headgate_table.errors import CorruptTable, TableNotFound
from headgate_table.indextables.format.names import LOG
from headgate_table.indextables.format.version_file import encode_version
from headgate_table.indextables.log.reader import LogReader
from headgate_table.indextables.repair.new_log import ADDS_PER_VERSION, check_empty, first_version, write_new_log
from headgate_table.indextables.repair.salvage import Salvaged, readable_piece, salvage
from headgate_table.indextables.rules.named_files import file_keys
from headgate_table.parquet.statistics import truncate_statistics
from headgate_table.settings.options import table_options
from headgate_table.store.interface import Store
from headgate_table.store.open import StoreSettings, open_store

_SHOWN_MISSING = 100

_log = get_logger("headgate.repair")


@dataclass(frozen=True, slots=True)
class RepairResult:
    """The result of a repair. `status` is SUCCESS, or PARTIAL_SUCCESS if the log lost content. `damage` names all unreadable
    parts.

    Files that no longer exist are counted, but they do not make a repair partial. Leaving them out is its purpose.

    Examples:
        >>> table = headgate.Table.create("lake/events", "id BIGINT")
        >>> result = headgate.repair_log("lake/events/_transaction_log", "lake/mended/_transaction_log")
        >>> result.status, result.valid_splits, result.damage
        ('SUCCESS', 0, ())
    """

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


@checked(
    source_log=arguments.address,
    target_log=arguments.address,
    storage=arguments.either(StoreSettings, arguments.text_map),
    metadata=arguments.instance(Metadata),
)
def repair_log(
    source_log: str,
    target_log: str,
    storage: Mapping[str, str] | StoreSettings | None = None,
    *,
    metadata: Metadata | None = None,
    ambient: Ambient | None = None,
    resources: ReadResources | None = None,
) -> RepairResult:
    """Write a new log at `target_log`, with the newest files of `source_log` that are readable and still exist.

    Paths in the new log equal those of the old one, relative to the table. So the new log must lie beside the files, as
    `<table>/_transaction_log`. `metadata` is used if the source has none left.

    Raises `TableNotFound` if there is no source, `TableExists` if the target is not empty, and `CorruptTable` if no
    metadata is readable. The target becomes a table with its last file, version 0.

    Examples:
        >>> table = headgate.Table.create("lake/events", "id BIGINT")
        >>> headgate.repair_log("lake/events/_transaction_log", "lake/mended/_transaction_log").status
        'SUCCESS'
        >>> headgate.Table.open("lake/mended").metadata.schema_string == table.metadata.schema_string
        True
    """
    source, target = opened_logs(source_log, target_log, storage, ambient or SystemAmbient())
    if source_log.rstrip("/") == target_log.rstrip("/"):
        raise InvalidInput("the source and the target of a repair are the same; the source is kept as it is")
    return repair_into(LogReader(source, resources or process_resources()), source, target, metadata)


def repair_into(reader: LogReader, source: Store, target: Store, metadata: Metadata | None = None) -> RepairResult:
    """Repair from the log of an open table into a store whose root is the new log."""
    check_empty(target)
    try:
        found = salvage(reader)
    except TableNotFound as error:
        raise TableNotFound(
            f"nothing of a log is left at {source.uri}/{LOG}, so there is nothing to repair. If files are left, "
            f"`headgate table repair --from-files` makes a new log of them"
        ) from error
    if not found.is_complete and not found.files and readable_piece(reader) is None:
        raise CorruptTable(
            f"nothing in {source.uri}/{LOG} can be read any more, so it doesn't say which files the table has. "
            f"`headgate table repair --from-files` makes a new log of all files that are left"
        )
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
    """The existing files and the missing ones, by one listing of the table."""
    wanted = {key for add in adds for key in file_keys(add.path, store.uri)}
    there = {info.key for info in store.list() if info.key in wanted}
    present: list[AddFile] = []
    missing: list[AddFile] = []
    for add in adds:
        keys = file_keys(add.path, store.uri)
        # A file outside of the table can't be checked; it counts as existing.
        (present if not keys or keys & there else missing).append(add)
    return present, missing


def _complete(metadata: Metadata, found: Salvaged) -> Metadata:
    """The metadata with every document mapping that a file may refer to, as a version file holds it."""
    mappings = {registry_key(hash_): text for hash_, text in found.registry.items()}
    return replace(metadata, configuration={**metadata.configuration, **mappings}, coordinator=None)


def _write(target: Store, metadata: Metadata, adds: list[AddFile]) -> None:
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
    starts = range(0, len(short), ADDS_PER_VERSION) or range(1)
    versions = (
        encode_version(number, short[start : start + ADDS_PER_VERSION], compressed=False)
        for number, start in enumerate(starts, start=1)
    )
    write_new_log(target, first_version(metadata, compressed=False), versions)


def opened_logs(
    source_log: str, target_log: str, storage: Mapping[str, str] | StoreSettings | None, ambient: Ambient
) -> tuple[Store, Store]:
    """The store of the table with the source log, and one whose root is the target log."""
    settings = StoreSettings.of(storage)
    root, _, name = source_log.rstrip("/").rpartition("/")
    if name != LOG:
        raise InvalidInput(
            f"{source_log!r} is no table's log: give the path of its folder {LOG}, such as {source_log.rstrip('/')}/{LOG}"
        )
    root = root or ("/" if source_log.startswith("/") else ".")
    return open_store(root, settings, ambient), open_store(target_log.rstrip("/"), settings, ambient)
