"""Creates a table: version 0 with its protocol and metadata, if the log is empty."""

from headgate_schemas.actions.actions import CommitInfo, Metadata, Protocol
from headgate_schemas.ambient import Ambient
from headgate_schemas.columns.spark_types import check_known, parse_schema
from headgate_schemas.columns.table_schema import check_partition_columns
from headgate_schemas.errors import InvalidInput
from headgate_schemas.messages.operations import Create
from headgate_schemas.version import __version__
from headgate_table.coordination.refusals import NumberTaken
from headgate_table.errors import TableExists
from headgate_table.indextables.format.version_file import encode_version
from headgate_table.indextables.format.version_seal import SEALED
from headgate_table.indextables.log.reader import LogReader
from headgate_table.indextables.write.commit_times import commit_time_ms
from headgate_table.indextables.write.version_body import Summary, VersionBody
from headgate_table.indextables.write.version_writer import write_version
from headgate_table.settings.option_conflicts import check_configuration
from headgate_table.settings.options import TableOptions, reserved_key, table_options


def create_table(reader: LogReader, ambient: Ambient, operation: Create) -> Metadata:
    """Write version 0. Raises `TableExists` if any object of a log exists, `OutcomeUnknown` if nobody knows the
    outcome.
    """
    store = reader.store
    options: TableOptions = table_options(operation.configuration)
    new_id = ambient.new_id()
    metadata_of(operation, new_id, ambient.now_ms())  # refused before any request to the store
    if not reader.full_listing().is_empty:
        raise TableExists(f"there is a table at {store.uri} already; open it, or choose another place")
    now_ms = commit_time_ms(store, ambient)  # the listing has set the store's clock
    metadata = metadata_of(operation, new_id, now_ms)
    nonce = ambient.new_id()
    engine = f"headgate/{__version__}"
    info = CommitInfo({"timestamp": now_ms, "operation": "Create", "engine": engine, "nonce": nonce, SEALED: True})
    body = VersionBody(0, nonce, [Protocol(), metadata, info], Summary("Create", 0, 0, 0, 0), ())
    data = encode_version(body.version, body.actions, compressed=options.transaction_compression)
    try:
        write_version(reader, body, data, after_file=False)
    except NumberTaken:
        raise TableExists(f"another program has just created a table at {store.uri}; open that one") from None
    return metadata


def metadata_of(operation: Create, new_id: str, now_ms: int) -> Metadata:
    """The metadata of a new table. Raises `InvalidInput` for a schema or a configuration that no table can have."""
    if operation.schema_string:
        check_known(parse_schema(operation.schema_string))
    check_partition_columns(operation.schema_string, operation.partition_columns)
    check_configuration(operation.configuration)
    reserved = reserved_key(operation.configuration)
    if reserved is not None:
        raise InvalidInput(f"{reserved} belongs to the committer and can't be set")
    return Metadata(
        id=operation.table_id or _dashed(new_id),
        schema_string=operation.schema_string,
        partition_columns=operation.partition_columns,
        configuration=operation.configuration,
        name=operation.name,
        description=operation.description,
        created_time=now_ms,
    )


def _dashed(hex_id: str) -> str:
    return f"{hex_id[:8]}-{hex_id[8:12]}-{hex_id[12:16]}-{hex_id[16:20]}-{hex_id[20:]}"
