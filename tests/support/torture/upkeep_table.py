"""The table of the maintenance play: its settings, what lies there beforehand, and what must never be touched."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from headgate_table.indextables.format.names import LOG
from headgate_table.table import Table
from support.torture.rows import COLUMNS, SHARED_PARTS
from support.torture.stage.ageing import make_old
from support.torture.stage.scenes import Scene

NAME = "events"
HOUR_LASTS_S = 5.0
OLD_DAYS = 30.0
SETTINGS = {
    "indextables.checkpoint.interval": "5",
    "indextables.state.retention.hours": "1",
    "indextables.state.gc.minManifestAgeHours": "1",
    "indextables.purge.txLogRetentionHours": "1",
    "indextables.purge.defaultRetentionHours": "1",
    "indextables.purge.retentionCheckEnabled": "false",
}
ORPHANS = 20
"""Old data files that nobody has ever named."""


@dataclass(frozen=True, slots=True)
class Planted:
    """What lay there before anybody was at work."""

    garbage: tuple[Path, ...]
    """To be cleaned."""
    strangers: dict[Path, str]
    """Not the table's own, with their digests: to be left as they are."""

    def problems(self) -> list[str]:
        found = [f"{path.name} was planted and never cleaned" for path in self.garbage if path.exists()]
        for path, digest in self.strangers.items():
            if not path.exists():
                found.append(f"{path} is not the table's, and was deleted")
            elif _digest(path) != digest:
                found.append(f"{path} is not the table's, and was changed")
        return found


def new_table(scene: Scene, settings: Mapping[str, str]) -> tuple[str, Path]:
    """Its address, and its folder on this machine; `settings` are added to those of every such table."""
    uri = f"{scene.root}/{NAME}"
    Table.create(uri, COLUMNS, ["part"], configuration={**SETTINGS, **settings}, storage=scene.stores)
    return uri, scene.root_folder / NAME


def plant(table: Path) -> Planted:
    """Old files of all kinds that cleaning finds, and others that are none of its business."""
    garbage = [
        table / f"part={SHARED_PARTS[each % len(SHARED_PARTS)]}/orphan-{each}.parquet" for each in range(ORPHANS)
    ]
    garbage.append(table / LOG / "manifests/manifest-0rphan.avro")
    garbage.append(table / "_headgate/claims/20200101-planted-0123456789ab.json.zst")
    strangers = [
        table.parent / "neighbour/part=a/old.parquet",
        table.parent / f"{NAME}-2/part=a/old.parquet",
        table / "inner/_transaction_log/00000000000000000000.json",
        table / "inner/part=a/old.parquet",
        table / "_staging/old.parquet",
        table / ".hidden/old.parquet",
    ]
    for path in [*garbage, *strangers]:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(path.name.encode())
        make_old(path, OLD_DAYS)
    return Planted(tuple(garbage), {path: _digest(path) for path in strangers})


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
