"""Manifests that the published library wrote, as `golden_v1.json` keeps them: their bytes, and what the library reads."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_FILE = Path(__file__).with_name("golden_v1.json")


@dataclass(frozen=True, slots=True)
class Golden:
    """One file of one case. `values` are the library's own, its paths resolved."""

    case: str
    base: str
    version: int
    data: bytes
    values: dict[str, Any]


def golden_files() -> list[Golden]:
    cases = json.loads(_FILE.read_text(encoding="utf-8"))["cases"]
    return [
        Golden(
            name,
            case["basePath"],
            held["asReadByLibrary"]["version"],
            bytes.fromhex(held["hex"]),
            held["asReadByLibrary"],
        )
        for name, case in cases.items()
        for held in case["files"].values()
    ]
