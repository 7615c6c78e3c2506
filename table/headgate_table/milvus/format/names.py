"""The place of a manifest, and the names of manifests in its folder (docs/format.md, section 10.1)."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from headgate_table.store.paths import check_key

METADATA_FOLDER = "_metadata/"
DATA_FOLDER = "_data/"
DELTA_FOLDER = "_delta/"
STATS_FOLDER = "_stats/"
INDEX_FOLDER = "_index/"
LOB_FOLDER = "../lobs/"

_LARGEST = 2**63 - 1
"""What other writers count with; longer numbers are no versions to them."""
_NAME = re.compile(r"manifest-([1-9][0-9]{0,18})\.avro")
_COUNTED_BY_OTHERS = re.compile(r"manifest-(-?[0-9]+).{5}", re.DOTALL)
"""They cut off five characters, whichever those are, and take what is left for a number."""


@dataclass(frozen=True, slots=True)
class FoundManifests:
    """The versions in a folder, ascending, and the names that other writers take for a version which doesn't exist."""

    versions: tuple[int, ...]
    odd: tuple[str, ...] = ()

    @property
    def latest(self) -> int:
        """0 if there is none, which is also the version of the empty manifest."""
        return self.versions[-1] if self.versions else 0


def base_prefix(base_path: str) -> str:
    """The table's folder in the store, "" or ending in "/". Raises `InvalidInput` for an invalid folder."""
    stripped = base_path.strip("/")
    return f"{check_key(stripped)}/" if stripped else ""


def manifest_key(prefix: str, version: int) -> str:
    return f"{prefix}{METADATA_FOLDER}manifest-{version}.avro"


def found_manifests(names: Iterable[str]) -> FoundManifests:
    """Only `manifest-N.avro`, with N written plainly, is a version.

    Other writers count `manifest-20.txt` as version 2, and `manifest-02.avro` too, and then fail to open
    `manifest-2.avro`. A version that they can't open doesn't count here either; but such a name above the newest
    version stops them, so it is reported.
    """
    versions = []
    others: dict[str, int] = {}
    for name in names:
        if (match := _NAME.fullmatch(name)) and (version := int(match[1])) <= _LARGEST:
            versions.append(version)
        elif (match := _COUNTED_BY_OTHERS.fullmatch(name)) and len(match[1]) <= 40 and int(match[1]) <= _LARGEST:
            others[name] = int(match[1])
    versions.sort()
    latest = versions[-1] if versions else 0
    return FoundManifests(tuple(versions), tuple(sorted(name for name, number in others.items() if number > latest)))
