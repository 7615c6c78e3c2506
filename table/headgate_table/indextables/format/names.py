"""The names of the objects of a table log (docs/format.md, section 1). Keys are relative to the table."""

import re

from headgate_schemas.errors import InvalidInput

LOG = "_transaction_log"
POINTER = f"{LOG}/_last_checkpoint"
MANIFESTS = "manifests"
STATE_MANIFEST = "_manifest.avro"
LEGACY_STATE_MANIFEST = "_manifest"
"""The JSON state of the oldest jars (docs/format.md, section 2.5)."""

MAX_VERSION = 2**63 - 1

_VERSION_FILE = re.compile(r"([0-9]{20})\.json")
_STATE_FOLDER = re.compile(r"state-v([0-9]{20})/?")
_CHECKPOINT = re.compile(r"([0-9]{20})\.checkpoint\.json")
_CHECKPOINT_PART = re.compile(r"([0-9]{20})\.checkpoint\.[0-9A-Za-z-]+\.[0-9]{5}\.json")
_MANIFEST = re.compile(r"manifest-([0-9a-z]+)\.avro")
_ABSOLUTE = re.compile(r"/|[A-Za-z][A-Za-z0-9+.-]*://")


def version_key(version: int) -> str:
    return f"{LOG}/{version:020d}.json"


def state_folder(version: int) -> str:
    return f"state-v{version:020d}"


def state_key(version: int, name: str = STATE_MANIFEST) -> str:
    return f"{LOG}/{state_folder(version)}/{name}"


def checkpoint_key(version: int) -> str:
    return f"{LOG}/{version:020d}.checkpoint.json"


def checkpoint_part_key(version: int, checkpoint_id: str, part: int) -> str:
    return f"{LOG}/{version:020d}.checkpoint.{checkpoint_id}.{part:05d}.json"


def manifest_path(manifest_id: str) -> str:
    """The path of a shared manifest in a state: relative to the log."""
    return f"{MANIFESTS}/manifest-{manifest_id}.avro"


def log_key(path: str) -> str:
    return f"{LOG}/{path}"


def parse_version_name(name: str) -> int | None:
    """The number of a version file's name; None for every other name."""
    return _number(_VERSION_FILE, name)


def parse_state_folder(name: str) -> int | None:
    return _number(_STATE_FOLDER, name)


def parse_checkpoint_name(name: str) -> int | None:
    return _number(_CHECKPOINT, name)


def parse_checkpoint_part_name(name: str) -> int | None:
    return _number(_CHECKPOINT_PART, name)


def is_log_name(name: str) -> bool:
    """Whether a file of action lines, or of a checkpoint's parts, can have this name."""
    return any(pattern.fullmatch(name) for pattern in (_VERSION_FILE, _CHECKPOINT, _CHECKPOINT_PART))


def is_manifest_name(name: str) -> bool:
    return _MANIFEST.fullmatch(name) is not None


def has_numeric_bounds(path: str) -> bool:
    """Whether the bounds of this manifest are certainly ordered numerically (docs/format.md, section 7).

    Writers with 16-digit ids always ordered numbers as numbers; those with 8 digits did so only later.
    """
    match = _MANIFEST.fullmatch(path.rpartition("/")[2])
    return match is not None and len(match.group(1)) == 16


def resolve_manifest(path: str, state_version: int, table_uri: str) -> str:
    """The key of a manifest that a state names in one of the known forms (docs/format.md, section 1.2)."""
    if _ABSOLUTE.match(path):
        inside = _inside(path, table_uri)
        if inside is None:
            raise InvalidInput(f"manifest {path!r} lies outside of the table {table_uri}; it can't be read")
        return inside
    if "/" in path:
        return log_key(path)
    return state_key(state_version, path)


def carried_path(path: str, state_version: int) -> str:
    """The path in a later state for a manifest that `state_version` names."""
    return path if "/" in path else f"{state_folder(state_version)}/{path}"


def _inside(path: str, table_uri: str) -> str | None:
    """An absolute path as a key of the table, whatever spelling of the scheme the writer used."""
    for prefix in (table_uri, "file://" + table_uri, "file:" + table_uri, table_uri.replace("s3://", "s3a://", 1)):
        if path.startswith(prefix + "/"):
            return path[len(prefix) + 1 :]
    # The table was copied elsewhere: the part after the name of the log folder still gives the place.
    _, found, rest = path.rpartition(f"/{LOG}/")
    return log_key(rest) if found else None


def _number(pattern: re.Pattern[str], name: str) -> int | None:
    match = pattern.fullmatch(name)
    if match is None:
        return None
    number = int(match.group(1))
    return number if number <= MAX_VERSION else None
