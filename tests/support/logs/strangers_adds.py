"""Files that another program adds to a table, which asks nobody whether they fit: a version file, written by hand."""

import json
from collections.abc import Mapping

from headgate_table.store.interface import Store


def added_elsewhere(
    store: Store, version: int, path: str, size: int, partition_values: Mapping[str, str] | None = None
) -> None:
    """Commit the version that adds this file."""
    body = {
        "path": path,
        "partitionValues": dict(partition_values or {}),
        "size": size,
        "modificationTime": 0,
        "dataChange": True,
    }
    store.put(f"_transaction_log/{version:020d}.json", json.dumps({"add": body}).encode("utf-8"))
