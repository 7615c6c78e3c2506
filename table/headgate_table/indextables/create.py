"""Making a table: version 0 with its protocol and metadata, if the log is empty."""

from headgate_schemas.actions import CommitInfo, Metadata, Protocol
from headgate_schemas.ambient import Ambient
from headgate_schemas.errors import InvalidInput
from headgate_schemas.operations import Create
from headgate_schemas.table_schema import check_partition_columns
from headgate_schemas.version import __version__
from headgate_table.errors import OutcomeUnknown, TableExists
from headgate_table.indextables.listing import list_log
from headgate_table.indextables.names import version_key
from headgate_table.indextables.option_conflicts import check_configuration
from headgate_table.indextables.options import TableOptions, reserved_key, table_options
from headgate_table.indextables.version_file import MAX_VERSION_FILE_BYTES, decode_actions, encode_actions
from headgate_table.store.interface import AlreadyExists, Created, Store, Unknown

_ATTEMPTS = 5


def create_table(store: Store, ambient: Ambient, operation: Create) -> Metadata:
    """Write version 0. `TableExists` when anything of a log is there already."""
    options: TableOptions = table_options(operation.configuration)
    now_ms = ambient.now_ms()
    metadata = metadata_of(operation, ambient.new_id(), now_ms)
    if not list_log(store).is_empty:
        raise TableExists(f"there is a table at {store.uri} already; open it, or choose another place")
    nonce = ambient.new_id()
    info = CommitInfo({"timestamp": now_ms, "operation": "Create", "engine": f"headgate/{__version__}", "nonce": nonce})
    data = encode_actions([Protocol(), metadata, info], compressed=options.transaction_compression)
    reason = ""
    for _ in range(_ATTEMPTS):
        match store.create(version_key(0), data):
            case Created():
                return metadata
            case AlreadyExists():
                there = store.get(version_key(0), max_bytes=MAX_VERSION_FILE_BYTES)
                found = decode_actions(there, version_key(0))
                if any(isinstance(action, CommitInfo) and action.body.get("nonce") == nonce for action in found):
                    return metadata
                raise TableExists(f"another program has just created a table at {store.uri}; open that one")
            case Unknown(reason):
                continue
    raise OutcomeUnknown(f"the store never said whether {store.uri} was created ({reason}); open it to find out")


def metadata_of(operation: Create, new_id: str, now_ms: int) -> Metadata:
    """The metadata of a new table. Raises `InvalidInput` for a schema or a configuration that no table can have."""
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
