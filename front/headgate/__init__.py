"""The names that users import. Each is loaded at its first use.

No room imports this one; it imports all others. It holds the `headgate` command, the processes of a deployment, the
operator statements, the live page, and the functions for Spark programs.

Begin with `cli/main` for the command, `process` for the processes of a deployment, and `embedded` for a committer in a
program.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headgate.embedded import committing as committing
    from headgate.rows import read as read
    from headgate.rows import write as write
    from headgate.statements.execute import sql as sql
    from headgate.statements.statements import StatementError as StatementError
    from headgate.table import Table as Table
    from headgate_producer.batch.job import BatchJob as BatchJob
    from headgate_producer.batch.kafka_source import KafkaRecords as KafkaRecords
    from headgate_producer.batch.record_source import SourceRecord as SourceRecord
    from headgate_producer.delivery.ticket import Ticket as Ticket
    from headgate_producer.errors import JobStopped as JobStopped
    from headgate_producer.errors import NotSent as NotSent
    from headgate_producer.producer import Producer as Producer
    from headgate_schemas.errors import HeadgateError as HeadgateError
    from headgate_schemas.errors import InvalidInput as InvalidInput
    from headgate_schemas.errors import PredicateError as PredicateError
    from headgate_schemas.messages.operations import Committed as Committed
    from headgate_schemas.messages.operations import Duplicate as Duplicate
    from headgate_schemas.messages.operations import Receipt as Receipt
    from headgate_schemas.messages.operations import RejectCode as RejectCode
    from headgate_schemas.messages.operations import Rejected as Rejected
    from headgate_schemas.messages.operations import Writer as Writer
    from headgate_schemas.version import __version__ as __version__
    from headgate_table.data_file import DataFile as DataFile
    from headgate_table.errors import CommitConflict as CommitConflict
    from headgate_table.errors import CorruptTable as CorruptTable
    from headgate_table.errors import ObjectMissing as ObjectMissing
    from headgate_table.errors import OutcomeUnknown as OutcomeUnknown
    from headgate_table.errors import StoreError as StoreError
    from headgate_table.errors import TableExists as TableExists
    from headgate_table.errors import TableNotFound as TableNotFound
    from headgate_table.errors import UnsupportedTable as UnsupportedTable
    from headgate_table.errors import VersionNotRetained as VersionNotRetained
    from headgate_table.errors import WriteRefused as WriteRefused
    from headgate_table.indextables.repair.rebuild import RebuildResult as RebuildResult
    from headgate_table.indextables.repair.rebuild import rebuild_log as rebuild_log
    from headgate_table.indextables.repair.repair import RepairResult as RepairResult
    from headgate_table.indextables.repair.repair import repair_log as repair_log
    from headgate_table.interface.answers import Changes as Changes
    from headgate_table.interface.snapshot import Rows as Rows
    from headgate_table.interface.snapshot import Snapshot as Snapshot
    from headgate_table.store.settings import StoreSettings as StoreSettings

_HOMES = {
    "BatchJob": "headgate_producer.batch.job",
    "Changes": "headgate_table.interface.answers",
    "CommitConflict": "headgate_table.errors",
    "Committed": "headgate_schemas.messages.operations",
    "CorruptTable": "headgate_table.errors",
    "DataFile": "headgate_table.data_file",
    "Duplicate": "headgate_schemas.messages.operations",
    "HeadgateError": "headgate_schemas.errors",
    "InvalidInput": "headgate_schemas.errors",
    "JobStopped": "headgate_producer.errors",
    "KafkaRecords": "headgate_producer.batch.kafka_source",
    "NotSent": "headgate_producer.errors",
    "ObjectMissing": "headgate_table.errors",
    "OutcomeUnknown": "headgate_table.errors",
    "PredicateError": "headgate_schemas.errors",
    "Producer": "headgate_producer.producer",
    "RebuildResult": "headgate_table.indextables.repair.rebuild",
    "Receipt": "headgate_schemas.messages.operations",
    "RejectCode": "headgate_schemas.messages.operations",
    "Rejected": "headgate_schemas.messages.operations",
    "RepairResult": "headgate_table.indextables.repair.repair",
    "Rows": "headgate_table.interface.snapshot",
    "Snapshot": "headgate_table.interface.snapshot",
    "SourceRecord": "headgate_producer.batch.record_source",
    "StatementError": "headgate.statements.statements",
    "StoreError": "headgate_table.errors",
    "StoreSettings": "headgate_table.store.settings",
    "Table": "headgate.table",
    "TableExists": "headgate_table.errors",
    "TableNotFound": "headgate_table.errors",
    "UnsupportedTable": "headgate_table.errors",
    "VersionNotRetained": "headgate_table.errors",
    "Ticket": "headgate_producer.delivery.ticket",
    "WriteRefused": "headgate_table.errors",
    "Writer": "headgate_schemas.messages.operations",
    "__version__": "headgate_schemas.version",
    "committing": "headgate.embedded",
    "read": "headgate.rows",
    "rebuild_log": "headgate_table.indextables.repair.rebuild",
    "repair_log": "headgate_table.indextables.repair.repair",
    "sql": "headgate.statements.execute",
    "write": "headgate.rows",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(_HOMES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
