"""What a correct reader must find in the real tables: the answer key that lies beside their folder."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.suites import REAL_TABLES

KEY_FILE = "answer_key.json"


@dataclass(frozen=True, slots=True)
class RealTable:
    name: str
    path: Path
    key: dict[str, Any]

    @property
    def log(self) -> Path:
        return self.path / "_transaction_log"

    @property
    def extra(self) -> dict[str, Any]:
        found: dict[str, Any] = self.key["extra"]
        return found


def real_tables() -> list[RealTable]:
    """Every table of the answer key; none when the suite is not selected."""
    folder = REAL_TABLES.folder(os.environ)
    if folder is None:
        return []
    key_path = folder.parent / KEY_FILE
    if not key_path.is_file():
        raise pytest.UsageError(f"{REAL_TABLES.setting} is set, but {key_path} is missing; put the answer key there.")
    keys: dict[str, dict[str, Any]] = json.loads(key_path.read_bytes())
    absent = [name for name in keys if not (folder / name).is_dir()]
    if absent:
        raise pytest.UsageError(f"{folder} lacks the tables {', '.join(absent)}, which {key_path} describes.")
    return [RealTable(name, folder / name, key) for name, key in sorted(keys.items())]
