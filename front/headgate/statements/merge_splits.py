"""MERGE SPLITS: applies its clauses to a merge of Parquet files, and makes its result row."""

from collections.abc import Callable, Mapping
from typing import Any

from headgate.statements.statements import MergeSplits, Target
from headgate.upkeep.merges import TableMerge
from headgate_schemas.ambient import Ambient
from headgate_schemas.errors import InvalidInput
from headgate_table.settings.options import table_options
from headgate_table.table import Table
from headgate_worker.merge.plan import MergePlan
from headgate_worker.merge.report import MergeReport
from headgate_worker.merge.table_settings import asked_limits

WOULD_MERGE = "dry_run"
"""The status of a merge that was only planned; no statement asks for that."""


def path_to_merge(statement: MergeSplits, path_of: Callable[[Target], str]) -> str:
    """The table of the statement. Raises `InvalidInput` for a statement that names none, and for PRECOMMIT."""
    if statement.target is None:
        raise InvalidInput(
            "MERGE SPLITS without a table has no meaning here: there is no current table, and all tables are the workers' to "
            "merge. Name one: MERGE SPLITS 's3://bucket/path'"
        )
    if statement.precommit:
        raise InvalidInput(
            "PRECOMMIT would merge what a running job has written before the job commits it, and only that job knows those "
            "files. Leave PRECOMMIT out to merge committed files; to have new ones merged as soon as they are committed, set "
            "indextables.mergeOnWrite.enabled=true in the table's configuration"
        )
    return path_of(statement.target)


def merge_splits(
    table: Table, statement: MergeSplits, ambient: Ambient, settings: Mapping[str, str]
) -> Mapping[str, Any]:
    """Merge, and return the result row. `settings` are this process's own."""
    options = table.options
    limits = asked_limits(
        options,
        table.metadata,
        target_bytes=statement.target_size_bytes,
        max_outputs=statement.max_dest_splits,
        max_sources=statement.max_source_splits,
        default_target_bytes=statement.default_size_bytes,
    )
    merge = TableMerge(table, ambient, table_options(settings).merge_temp_folder)
    if statement.dry_run:
        metrics = _planned(merge.plan(limits, statement.where))
    else:
        metrics = _reported(merge.run(limits, statement.where))
    return {
        "table_path": table.uri,
        "metrics": metrics,
        "temp_directory_path": merge.scratch_folder,
        "heap_size_bytes": options.merge_heap_bytes,
    }


def _reported(report: MergeReport) -> dict[str, Any]:
    return {
        "status": report.status.value,
        "merged_files": report.merged_files,
        "merge_groups": report.merge_groups,
        "original_size_bytes": report.original_size_bytes,
        "merged_size_bytes": report.merged_size_bytes,
        "message": report.message,
    }


def _planned(plan: MergePlan) -> dict[str, Any]:
    files = sum(len(group.sources) for group in plan.groups)
    said = f"would merge {files} files into {len(plan.groups)}" if plan.groups else "nothing to merge"
    return {
        "status": WOULD_MERGE,
        "merged_files": files,
        "merge_groups": len(plan.groups),
        "original_size_bytes": plan.size_bytes,
        "message": "; ".join([said, *plan.notes()]),
    }
