"""The manifests of Milvus storage: values, encoding, paths, transactions. Names are imported at their first use.

Users call it as `headgate_table.milvus`; the committer uses its parts. A version is one manifest, created only if
absent.

Begin with `table` and `transaction`, then `format` for the files, `rules` for the allowed operations, and `committed`
for the records that a committer keeps beside manifests.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headgate_schemas.milvus import (
        ColumnGroup,
        ColumnGroupFile,
        DeltaLog,
        DeltaLogType,
        Index,
        LobFile,
        Resolver,
        Stat,
        Updates,
    )
    from headgate_table.milvus.format.encoding import decode_manifest, encode_manifest
    from headgate_table.milvus.format.manifest import Manifest, ManifestForm
    from headgate_table.milvus.format.paths import PathPolicy
    from headgate_table.milvus.log import ManifestLog
    from headgate_table.milvus.rules.resolvers import FAIL, MERGE, OVERWRITE, VersionedManifest
    from headgate_table.milvus.rules.updating import Refused, apply_updates
    from headgate_table.milvus.transaction import LATEST, Transaction

_HOMES = {
    "ColumnGroup": "headgate_schemas.milvus",
    "ColumnGroupFile": "headgate_schemas.milvus",
    "DeltaLog": "headgate_schemas.milvus",
    "DeltaLogType": "headgate_schemas.milvus",
    "FAIL": "headgate_table.milvus.rules.resolvers",
    "Index": "headgate_schemas.milvus",
    "LATEST": "headgate_table.milvus.transaction",
    "LobFile": "headgate_schemas.milvus",
    "MERGE": "headgate_table.milvus.rules.resolvers",
    "Manifest": "headgate_table.milvus.format.manifest",
    "ManifestForm": "headgate_table.milvus.format.manifest",
    "ManifestLog": "headgate_table.milvus.log",
    "OVERWRITE": "headgate_table.milvus.rules.resolvers",
    "PathPolicy": "headgate_table.milvus.format.paths",
    "Refused": "headgate_table.milvus.rules.updating",
    "Resolver": "headgate_schemas.milvus",
    "Stat": "headgate_schemas.milvus",
    "Transaction": "headgate_table.milvus.transaction",
    "Updates": "headgate_schemas.milvus",
    "VersionedManifest": "headgate_table.milvus.rules.resolvers",
    "apply_updates": "headgate_table.milvus.rules.updating",
    "decode_manifest": "headgate_table.milvus.format.encoding",
    "encode_manifest": "headgate_table.milvus.format.encoding",
}

__all__ = [
    "FAIL",
    "LATEST",
    "MERGE",
    "OVERWRITE",
    "ColumnGroup",
    "ColumnGroupFile",
    "DeltaLog",
    "DeltaLogType",
    "Index",
    "LobFile",
    "Manifest",
    "ManifestForm",
    "ManifestLog",
    "PathPolicy",
    "Refused",
    "Resolver",
    "Stat",
    "Transaction",
    "Updates",
    "VersionedManifest",
    "apply_updates",
    "decode_manifest",
    "encode_manifest",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
