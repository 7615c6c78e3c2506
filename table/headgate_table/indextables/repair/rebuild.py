"""REPAIR without a log: makes a new log of the Parquet files below the table.

`found_files` finds these files, `found_partitions` their partitions, `merged_schema` their columns. Memory is bounded
by the read-ahead of `footers` and by one version; everything else waits in a `version_spool`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

from headgate_schemas import arguments
from headgate_schemas.ambient import Ambient, SystemAmbient
from headgate_schemas.arguments import checked
from headgate_schemas.columns.spark_types import Field, SparkType, Struct, check_known, parse_schema, print_schema
from headgate_schemas.columns.table_schema import HasJson, schema_string_of
from headgate_schemas.errors import InvalidInput
from headgate_schemas.logs import get_logger
from headgate_schemas.messages.operations import Create
from headgate_table.caching.resources import ReadResources, process_resources
from headgate_table.data_file import DataFile
from headgate_table.errors import TableNotFound
from headgate_table.indextables.format.names import LOG
from headgate_table.indextables.log.reader import LogReader
from headgate_table.indextables.repair import new_log
from headgate_table.indextables.repair.footers import Footers, NoParquet, ReadFile, UnreadableFooter
from headgate_table.indextables.repair.found_files import FileSurvey, Found, is_merged
from headgate_table.indextables.repair.found_partitions import Partitions, types_of
from headgate_table.indextables.repair.merged_schema import GivenSchema, MergedSchema, widened
from headgate_table.indextables.repair.repair import opened_logs
from headgate_table.indextables.repair.salvage import readable_piece
from headgate_table.indextables.repair.version_spool import Spool, spool_file
from headgate_table.indextables.write.create import metadata_of
from headgate_table.parquet.schema import VOID, StoredColumn, Unusable
from headgate_table.store.interface import Store
from headgate_table.store.open import StoreSettings

if TYPE_CHECKING:
    import pyarrow as pa

FOOTERS_AT_ONCE = 16
"""Footers being read at the same time: a request each, and most of it is waiting."""

_SHOWN = 100

_log = get_logger("headgate.repair")


@dataclass(frozen=True, slots=True)
class Wishes:
    """Values that the user gives because the files may be misleading. None: derived from the files."""

    schema_string: str | None = None
    """The columns of the table, those of partitions included."""
    partition_columns: tuple[str, ...] | None = None
    partition_types: Mapping[str, SparkType] | None = None
    """Only where no schema says them."""

    def __post_init__(self) -> None:
        if self.schema_string is not None and self.partition_types:
            raise InvalidInput(
                "types of partition columns are given beside a schema that says them, too; give one of the two"
            )


@dataclass(frozen=True, slots=True)
class RebuildResult:
    """The columns of `RepairResult`, as far as they apply, and the findings.

    `status` is SUCCESS, DRY_RUN, or PARTIAL_SUCCESS if unreadable files were left out.

    Examples:
        >>> import pathlib, pyarrow, pyarrow.parquet
        >>> pathlib.Path("lake/events").mkdir(parents=True)
        >>> pyarrow.parquet.write_table(pyarrow.table({"id": [1, 2]}), "lake/events/a.parquet")
        >>> result = headgate.rebuild_log("lake/events/_transaction_log", dry_run=True)
        >>> result.status, result.valid_splits, result.num_records
        ('DRY_RUN', 1, 2)
    """

    source_path: str
    target_path: str
    source_version: int
    """-1: nothing says which it was."""
    total_splits: int
    """Parquet files below the table."""
    valid_splits: int
    missing_splits: int
    """Files that are left out, as they can't be read."""
    status: str
    damage: tuple[str, ...]
    """The first of these files, and what is wrong with each."""
    num_records: int
    total_bytes: int
    partition_columns: tuple[str, ...]
    schema_string: str
    ignored: Mapping[str, int]
    """Objects that are no data files of the table, by what they are."""
    notes: tuple[str, ...]
    """What whoever uses the table must know."""


@checked(
    source_log=arguments.address,
    target_log=arguments.address,
    storage=arguments.either(StoreSettings, arguments.text_map),
    partition_by=arguments.texts,
    dry_run=arguments.flag,
)
def rebuild_log(
    source_log: str,
    target_log: str | None = None,
    storage: Mapping[str, str] | StoreSettings | None = None,
    *,
    schema: "pa.Schema | str | HasJson | None" = None,
    partition_by: Sequence[str] | None = None,
    partition_types: "pa.Schema | str | HasJson | None" = None,
    dry_run: bool = False,
    ambient: Ambient | None = None,
    resources: ReadResources | None = None,
) -> RebuildResult:
    """Write a new log from all Parquet files below a table whose log, `source_log`, is gone or unreadable.

    Files do not tell whether they were removed. So files that were removed but not yet deleted become live, and so do
    files that nobody ever committed. `target_log` must be empty. By default it is the place of the lost log. Footers and
    folders supply what `schema` (all columns), `partition_by` and `partition_types` (columns in SQL) leave out.

    Raises `InvalidInput` if the log is still readable, if the files do not fit together, or if they contradict the
    arguments. Raises `TableNotFound` if there are no files, and `TableExists` if the target is not empty. Nothing is
    written until all files are read. The target becomes a table with its last file, version 0.

    Examples:
        >>> import pathlib, pyarrow, pyarrow.parquet
        >>> pathlib.Path("lake/events").mkdir(parents=True)
        >>> pyarrow.parquet.write_table(pyarrow.table({"id": [1, 2]}), "lake/events/a.parquet")
        >>> headgate.rebuild_log("lake/events/_transaction_log").status
        'SUCCESS'
        >>> headgate.Table.open("lake/events").snapshot().num_records
        2
    """
    chosen = ambient or SystemAmbient()
    source, target = opened_logs(source_log, target_log or source_log, storage, chosen)
    wishes = Wishes(
        schema_string=None if schema is None else schema_string_of(schema),
        partition_columns=None if partition_by is None else tuple(partition_by),
        partition_types=None if partition_types is None else _types(partition_types),
    )
    shared = resources or process_resources(FOOTERS_AT_ONCE)
    shared.invalidate(source.uri)  # of an earlier log at this place
    result = rebuild_into(LogReader(source, shared), target, wishes, chosen, dry_run=dry_run)
    shared.invalidate(source.uri)
    return result


def _types(given: "pa.Schema | str | HasJson") -> dict[str, SparkType]:
    return {field.name: field.type for field in parse_schema(schema_string_of(given)).fields}


def rebuild_into(
    reader: LogReader, target: Store, wishes: Wishes, ambient: Ambient, *, dry_run: bool = False
) -> RebuildResult:
    """Rebuild from the store of a table into one whose root is the new log."""
    source = reader.store
    new_log.check_empty(target)
    piece = readable_piece(reader)
    if piece is not None:
        raise InvalidInput(
            f"the log of {source.uri} still says something ({piece} can be read), which files alone don't: which of them were "
            f"removed. Repair it without rebuilding it from files. If you know that it must not count, move {LOG} away first"
        )
    if not dry_run:
        _log.warning("log_rebuild_started", table=source.uri, target=target.uri, caution=CAUTION)
    with spool_file() as file:
        spool = Spool(file, ambient)
        rebuild = _Rebuild(reader, wishes, spool)
        rebuild.read()
        schema, partition_columns = rebuild.columns()
        # The data columns are checked with the files; this checks that they make a table together.
        metadata = metadata_of(Create(schema, partition_columns), ambient.new_id(), spool.time_ms)
        if not dry_run:
            first = new_log.first_version(metadata, spool.info, compressed=True)
            new_log.write_new_log(target, first, spool.versions())
    result = rebuild.result(target, schema, partition_columns, dry_run=dry_run)
    _log.info(
        "log_rebuilt",
        table=source.uri,
        target=target.uri,
        status=result.status,
        files=result.valid_splits,
        unreadable=result.missing_splits,
        records=result.num_records,
    )
    return result


CAUTION = (
    "files don't say whether they were removed: every Parquet file below the table is live now, also those that a delete, an "
    "overwrite or a merge had removed and cleaning had not deleted yet, and those that were written but never committed. Rows "
    "may be there twice, or again. Compare the table with its sources before you use it"
)


class _Rebuild:
    """Takes one file after the other."""

    def __init__(self, reader: LogReader, wishes: Wishes, spool: Spool) -> None:
        self._reader = reader
        self._store = reader.store
        self._wishes = wishes
        self._spool = spool
        self._survey = FileSurvey()
        self._partitions = Partitions(wishes.partition_columns)
        self._merged = MergedSchema()
        self._struct = None if wishes.schema_string is None else parse_schema(wishes.schema_string)
        self._given = None if self._struct is None else GivenSchema(self._struct)
        self._held: dict[str, SparkType | None] = {}
        self._unreadable: list[UnreadableFooter] = []
        self._left_out = 0
        self._merges = 0
        self._records = 0
        self._bytes = 0

    def read(self) -> None:
        """Raises `InvalidInput` for files that don't fit together, `TableNotFound` if there are none."""
        for info in self._store.list():
            self._survey.note(info.key)
        for found in Footers(self._reader, self._wishes.partition_columns).of(
            self._survey.candidates(self._store.list())
        ):
            match found:
                case ReadFile():
                    self._take(found)
                case UnreadableFooter():
                    self._left_out += 1
                    if len(self._unreadable) < _SHOWN:
                        self._unreadable.append(found)
                    _log.warning("file_left_out", table=self._store.uri, path=found.path, reason=found.reason)
                case NoParquet():
                    self._survey.counts[Found.NAMELESS] -= 1
                    self._survey.counts[Found.NOT_PARQUET] += 1
                case _:
                    assert_never(found)
        if self._spool.count == 0:
            raise TableNotFound(
                f"there is no Parquet file below {self._store.uri} that can be read, so nothing can be rebuilt"
                + "".join(f"; {one.path}: {one.reason}" for one in self._unreadable[:1])
            )

    def _take(self, file: ReadFile) -> None:
        path = file.info.key
        values = self._partitions.values(path)
        if self._given is None:
            self._merged.add(path, tuple(column for column in file.columns if column.name not in values))
            self._note_held([column for column in file.columns if column.name in values])
        else:
            self._given.add(path, file.columns, values)
        self._spool.add(
            DataFile(
                path=path,
                size=file.info.size,
                modification_time=max(0, file.info.modified_ms),
                partition_values=values,
                min_values=file.lower or None,
                max_values=file.upper or None,
                num_records=file.num_records,
            )
        )
        self._records += file.num_records
        self._bytes += file.info.size
        self._merges += is_merged(path)

    def _note_held(self, columns: Sequence[StoredColumn]) -> None:
        """The files' own columns with names of partitions: only a hint at their types."""
        for column in columns:
            known = self._held.get(column.name, VOID)
            of_file = None if isinstance(column.type, Unusable) else column.type
            self._held[column.name] = None if known is None or of_file is None else widened(known, of_file)

    def columns(self) -> tuple[str, tuple[str, ...]]:
        """The schema of the table for its metadata, and the partition columns."""
        names = self._partitions.columns
        types = types_of(self._wishes.partition_types or {}, names)
        if self._struct is not None:
            given = {field.name: field.type for field in self._struct.fields}
            for name in names:
                self._partitions.type_of(name, given.get(name), None)
            assert self._wishes.schema_string is not None  # the struct was read from it
            return self._wishes.schema_string, names
        partitions = [
            Field(name, self._partitions.type_of(name, types.get(name), self._held.get(name))) for name in names
        ]
        struct = Struct((*self._merged.fields(without=names), *partitions))
        check_known(struct)
        return print_schema(struct), names

    def result(
        self, target: Store, schema_string: str, partition_columns: tuple[str, ...], *, dry_run: bool
    ) -> RebuildResult:
        counts = self._survey.counts
        status = "PARTIAL_SUCCESS" if self._left_out else "SUCCESS"
        return RebuildResult(
            source_path=f"{self._store.uri}/{LOG}",
            target_path=target.uri,
            source_version=-1,
            total_splits=counts[Found.PARQUET] + counts[Found.NAMELESS],
            valid_splits=self._spool.count,
            missing_splits=self._left_out,
            status="DRY_RUN" if dry_run else status,
            damage=tuple(f"{one.path}: {one.reason}" for one in self._unreadable),
            num_records=self._records,
            total_bytes=self._bytes,
            partition_columns=partition_columns,
            schema_string=schema_string,
            ignored=self._survey.ignored(),
            notes=tuple(self._notes()),
        )

    def _notes(self) -> Iterator[str]:
        yield CAUTION
        if self._merges:
            yield (
                f"{self._merges} of the files were written by merges; where the files that they replaced are still there, each of "
                f"their rows is there twice"
            )
        if self._left_out:
            yield f"{self._left_out} files can't be read and were left out; their rows are missing"
        if self._survey.has_foreign_log:
            yield "there is a _delta_log here: these files are a Delta table's as well, and that log says which of them are live"
        if self._survey.inner_tables:
            shown = ", ".join(self._survey.inner_tables[:3])
            yield f"tables of their own that lie below this one were left alone: {shown}"
        untyped = self._merged.untyped()
        if untyped:
            yield f"no file has a value in {', '.join(untyped[:_SHOWN])}; as texts they are as good as anything"
        if self._given is not None and self._given.unnamed():
            listed = ", ".join(f"{name!r} ({path})" for name, path in self._given.unnamed().items())
            yield f"files have columns that the given schema doesn't name, and that nobody will see: {listed}"
        yield (
            "configuration, history, and what writers had sent before were in the log that is lost: the table has a new id, and "
            "a job that repeats its work adds its rows again"
        )
